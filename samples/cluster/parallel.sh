#!/bin/sh
# SPDX-License-Identifier: MIT
# One share for each job of GNU parallel, here or, with --sshlogin, on other machines that see the same folders.
# {#} counts jobs from 1. One imgtranspose keeps all cores of a machine busy: so a job is a machine.
#
#     samples/cluster/parallel.sh scans turned 4 [-j 1 --sshlogin a,b,c,d]
#
set -eu
scans=$1 turned=$2 shares=$3
shift 3
# shellcheck disable=SC2016 # the inner shell expands these
parallel --quote "$@" sh -c 'exec imgtranspose --rotate 90 --recursive "$1" -d "$2" --skip-existing \
    --shard "$(($3 - 1))/$4" --report "$2.$3.ndjson"' sh "$scans" "$turned" '{#}' "$shares" ::: $(seq "$shares")
