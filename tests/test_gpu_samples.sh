#!/bin/sh
# SPDX-License-Identifier: MIT
# The samples for a GPU do what they say.  usage: test_gpu_samples.sh PROGRAM...
set -eu
[ $# -gt 0 ] || { echo "skipped: built without CUDA's toolkit, so without samples for a GPU"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

cuda_graph() {
    "$1" >"$out/graph.txt" || return $?
    diff - "$out/graph.txt" <<'END' || fail "cuda_graph"
iea
jfb
kgc
lhd
IEA
JFB
KGC
LHD
840
951
+62
-73
END
}

# Four colours in quarters come back as a quarter turn places them, but for what a JPEG loses.
nvjpeg_pipeline() {
    python=$(python3 "$(dirname "$0")/plugin/python_with.py" PIL)
    [ -n "$python" ] || { echo "not run: nvjpeg_pipeline (no python3 here has PIL)"; return 77; }
    "$python" - "$out/in.jpg" <<'END'
import sys
from PIL import Image
picture = Image.new("RGB", (128, 96))
for place, colour in (((0, 0), "#f01010"), ((64, 0), "#10f010"), ((0, 48), "#1010f0"), ((64, 48), "#f0f0f0")):
    picture.paste(colour, place + (place[0] + 64, place[1] + 48))
picture.save(sys.argv[1], quality=95)
END
    "$1" "$out/in.jpg" "$out/out.jpg" rot90 || return $?
    "$python" - "$out/out.jpg" <<'END' || fail "nvjpeg_pipeline"
import sys
from PIL import Image
picture = Image.open(sys.argv[1]).convert("RGB")
assert picture.size == (96, 128), picture.size
for place, colour in (((24, 32), (16, 16, 240)), ((72, 32), (240, 16, 16)), ((24, 96), (240, 240, 240)), ((72, 96), (16, 240, 16))):
    found = picture.getpixel(place)
    assert all(abs(a - b) < 12 for a, b in zip(found, colour)), (place, found, colour)
END
}

ran=0
for program; do
    status=0
    "$(basename "$program")" "$program" || status=$?
    case $status in
    0) ran=$((ran + 1)) ;;
    77) ;;
    *) fail "$program: exit status $status" ;;
    esac
done
[ $ran -gt 0 ] || exit 77
