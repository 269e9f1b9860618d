#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The samples of libvips pipelines, from C and from Python: what they make is what the vips command makes.
#
#     test_pipelines.sh PROGRAMS SCRIPTS
set -eu

command -v vips >/dev/null || { echo "skipped: there is no vips command"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

same() {
    vips rawsave "$1" "$dir/a.raw" && vips rawsave "$2" "$dir/b.raw" && cmp "$dir/a.raw" "$dir/b.raw" || fail "$3"
}

vips gaussnoise "$dir/noise.v" 300 200 --seed 1 && vips cast "$dir/noise.v" "$dir/in.png" uchar
vips rot "$dir/in.png" "$dir/turned.v" d270 && vips resize "$dir/turned.v" "$dir/half.png" 0.5
vips resize "$dir/in.png" "$dir/plain.png" 0.5

check() {
    "$@" "$dir/in.png" "$dir/out.png" rot270
    same "$dir/out.png" "$dir/half.png" "$* rot270"
    "$@" "$dir/in.png" "$dir/out.png"
    same "$dir/out.png" "$dir/plain.png" "$* without a tag"
    if "$@" "$dir/in.png" "$dir/out.png" rot45 2>"$dir/errors"; then fail "$* takes rot45"; fi
    grep -q rot45 "$dir/errors" || fail "$* does not say what is wrong: $(cat "$dir/errors")"
}

check "$1/libvips_pipeline"
python=$(python3 "$(dirname "$0")/python_with.py" pyvips)
if [ -n "$python" ]; then
    check "$python" "$2/pyvips_pipeline.py"
else
    echo "not run: $2/pyvips_pipeline.py (no python3 here has pyvips)"
fi
