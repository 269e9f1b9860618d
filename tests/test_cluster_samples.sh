#!/bin/sh
# SPDX-License-Identifier: MIT
# The scripts of samples/cluster, with their schedulers played: each process gets the variables that it would be
# given. All shares together turn each picture once. (tests/cluster/run.sh runs them under the real ones.)
#
#     test_cluster_samples.sh IMGTRANSPOSE SOURCE_DIR
set -eu
command=$1 source=$2
samples=$source/samples/cluster shares=4
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir "$out/bin" "$out/scans" "$out/scans/below"
ln -s "$(realpath "$command")" "$out/bin/imgtranspose"
PATH=$out/bin:$PATH
cp "$source"/tests/golden/*-13x7.png "$out/scans"
cp "$source"/tests/golden/rgb*-5x3.png "$out/scans/below"
pictures=$(find "$out/scans" -type f | wc -l)

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Each share's own count of what it did adds up, and none did all.
check() { # name, word, reports
    name=$1 word=$2
    shift 2
    done=$(cat "$@" | grep -c "\"status\":\"$word\"" || true)
    [ "$done" = "$pictures" ] || fail "$name: $done of $pictures pictures are $word"
    [ $# = $shares ] || fail "$name: $# reports of $shares shares"
    for report; do
        [ "$(grep -c '"event":"file"' "$report")" -lt "$pictures" ] || fail "$name: one share did all"
    done
}

turned() { # name: its outputs and reports are beside each other
    [ "$(find "$out/$1" -name '*.png' | wc -l)" = "$pictures" ] || fail "$1: not all were turned"
    check "$1" turned "$out/$1".*.ndjson
}

for share in 0 1 2 3; do
    OMPI_COMM_WORLD_RANK=$share OMPI_COMM_WORLD_SIZE=$shares sh "$samples/mpirun.sh" "$out/scans" "$out/mpirun"
    SLURM_PROCID=$share SLURM_STEP_NUM_TASKS=$shares sh "$samples/srun.sh" "$out/scans" "$out/srun"
done 2>"$out/errors" || fail "$(cat "$out/errors")"
turned mpirun
turned srun
if SLURM_PROCID=0 sh "$samples/srun.sh" "$out/scans" "$out/alone" 2>/dev/null; then fail "srun.sh runs outside of srun"; fi

# In place, and then once more, which turns nothing: these pictures are upright, so each is looked at only.
mkdir "$out/reports"
for share in 0 1 2 3; do
    SLURM_ARRAY_TASK_ID=$share SLURM_ARRAY_TASK_COUNT=$shares sh "$samples/slurm_array.sh" "$out/scans" "$out/reports"
done 2>"$out/errors" || fail "$(cat "$out/errors")"
check slurm_array unchanged "$out"/reports/*.ndjson
SHARES=$shares SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=1 sh "$samples/slurm_array.sh" "$out/scans" "$out/reports" 2>/dev/null
[ "$(find "$out/reports" -type f | wc -l)" = $shares ] || fail "slurm_array.sh repeated alone is another share"

# The command of a pod, as the file has it, for as many shares as there are here.
sed -n '/^ *exec imgtranspose/,/"$/p' "$samples/kubernetes.yaml" |
    sed "s#/16#/$shares#; s#/scans#$out/scans#; s#/turned#$out/pods#g" | tr '\n' ' ' >"$out/pod.sh"
mkdir "$out/pods"
for share in 0 1 2 3; do
    JOB_COMPLETION_INDEX=$share sh -c "$(cat "$out/pod.sh")"
done 2>"$out/errors" || fail "$(cat "$out/errors")"
[ "$(find "$out/pods" -name '*.png' | wc -l)" = "$pictures" ] || fail "kubernetes.yaml: not all were turned"
check kubernetes.yaml turned "$out"/pods/.report.*.ndjson

if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q GNU; then
    HOME=$out sh "$samples/parallel.sh" "$out/scans" "$out/parallel" $shares >"$out/errors" 2>&1 || fail "$(cat "$out/errors")"
    turned parallel
else
    echo "not run: parallel.sh (there is no GNU parallel)"
fi

# And no sample is without a test.
for sample in "$source"/samples/*.* "$samples"/*; do
    name=$(basename "$sample")
    case $name in meson.build | setup.sh | quickstart.sh | orientations.png) continue ;; esac # these build, or are looked at
    grep -rqw "${name%.c}" "$source"/tests --include='test_*' || fail "no test runs $name"
done
