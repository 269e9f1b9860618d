#!/bin/sh
# SPDX-License-Identifier: MIT
# One share for each process that srun starts, on as many machines as it likes:
#
#     srun --ntasks=16 samples/cluster/srun.sh scans turned
#
# Only a step has these variables with their meaning: a batch script outside of srun is number 0 of all tasks.
set -eu
exec imgtranspose --rotate 90 --recursive "$1" -d "$2" --skip-existing \
    --shard "$SLURM_PROCID/${SLURM_STEP_NUM_TASKS:?run this by srun}" --report "$2.$SLURM_PROCID.ndjson"
