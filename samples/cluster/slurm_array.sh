#!/bin/sh
# SPDX-License-Identifier: MIT
# A folder turned in place by a Slurm array of 16 tasks, each its share:
#
#     sbatch samples/cluster/slurm_array.sh /archive/scans /archive/reports
#
# Each task's report is also its journal, so that one that was requeued or is repeated turns nothing twice. Repeated
# alone, as by --array=3, a task sees an array of one: SHARES says how many there were, as
#
#     SHARES=16 sbatch --array=3 samples/cluster/slurm_array.sh /archive/scans /archive/reports
#
#SBATCH --job-name=imgtranspose
#SBATCH --array=0-15
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
scans=$1 reports=$2
share=$SLURM_ARRAY_TASK_ID shares=${SHARES:-$SLURM_ARRAY_TASK_COUNT}
report=$reports/$share-of-$shares.ndjson

exec imgtranspose --auto-orient --in-place --recursive "$scans" --shard "$share/$shares" \
    --report "$report" --resume "$report"
