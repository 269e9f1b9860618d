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

# Four colours in quarters of 64 x 48 come back as a quarter turn places them, but for what a JPEG loses.
nvjpeg_pipeline() {
    for tool in cjpeg djpeg python3; do
        command -v $tool >/dev/null || { echo "not run: nvjpeg_pipeline (there is no $tool)"; return 77; }
    done
    python3 - >"$out/in.ppm" <<'END'
import sys
red, green, blue, white = b"\xf0\x10\x10", b"\x10\xf0\x10", b"\x10\x10\xf0", b"\xf0\xf0\xf0"
rows = [(red * 64 + green * 64)] * 48 + [(blue * 64 + white * 64)] * 48
sys.stdout.buffer.write(b"P6 128 96 255\n" + b"".join(rows))
END
    cjpeg -quality 95 -outfile "$out/in.jpg" "$out/in.ppm"
    "$1" "$out/in.jpg" "$out/out.jpg" rot90 || return $?
    djpeg -pnm -outfile "$out/out.ppm" "$out/out.jpg"
    python3 - "$out/out.ppm" <<'END' || fail "nvjpeg_pipeline"
import sys
data = open(sys.argv[1], "rb").read()
header, pixels = data[:len(data) - 128 * 96 * 3], data[len(data) - 128 * 96 * 3:]
assert header.split() == [b"P6", b"96", b"128", b"255"], header
wanted = {(24, 32): (16, 16, 240), (72, 32): (240, 16, 16), (24, 96): (240, 240, 240), (72, 96): (16, 240, 16)}
for (x, y), colour in wanted.items():
    at = 3 * (96 * y + x)
    assert all(abs(a - b) < 12 for a, b in zip(pixels[at:at + 3], colour)), (x, y, list(pixels[at:at + 3]), colour)
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
