#!/bin/sh
# SPDX-License-Identifier: MIT
# One share for each rank of Open MPI, which starts any program. (MPICH and Intel MPI call the variables PMI_RANK
# and PMI_SIZE.)
#
#     mpirun -n 16 samples/cluster/mpirun.sh scans turned
#
set -eu
exec imgtranspose --rotate 90 --recursive "$1" -d "$2" --skip-existing \
    --shard "$OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE" --report "$2.$OMPI_COMM_WORLD_RANK.ndjson"
