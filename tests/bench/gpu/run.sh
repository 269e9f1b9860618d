#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The benchmark on a machine with an NVIDIA GPU, in stages of a few minutes each.
#
#   run.sh build DIR      the library, the test and the benchmark, for this machine's GPU, into DIR
#   run.sh check DIR      kernels against a naive loop; every large result, and sizes past 2^32 bytes
#   run.sh measure DIR    bench.jsonl: the library, copies, textbook tile, cuBLAS and NPP
#   run.sh link DIR       link.jsonl: pixels in host memory, against the link
#   run.sh peers DIR      peers.jsonl: PyTorch and JAX, where installed
#   run.sh tools DIR      compute-sanitizer and, where counters can be read, ncu
#
# Results are in DIR; those of an H200 are beside this file, in h200. Nothing of the machine's settings is changed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)
stage=${1:?usage: run.sh build|check|measure|link|peers|tools DIR}
mkdir -p "${2:?usage: run.sh STAGE DIR}"
out=$(cd "$2" && pwd)
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)

build() {
    arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
    meson setup --reconfigure -Dgpu_archs="$arch" -Dcuda=enabled -Dcli=disabled "$out/build" "$source" ||
        meson setup -Dgpu_archs="$arch" -Dcuda=enabled -Dcli=disabled "$out/build" "$source"
    ninja -C "$out/build"
    libraries='' defines=''
    toolkit=$(dirname "$(dirname "$nvcc")")
    for library in cublas nppidei; do
        found=$(find "$toolkit/" /usr/lib -name "lib$library.so*" 2>/dev/null | head -n 1)
        [ -n "$found" ] || continue
        case $library in
        cublas) defines="$defines -DWITH_CUBLAS" libraries="$libraries -lcublas" ;;
        nppidei) defines="$defines -DWITH_NPP" libraries="$libraries -lnppidei -lnppc" ;;
        esac
    done
    # shellcheck disable=SC2086
    "$nvcc" -O3 -std=c++17 -arch="sm_$arch" $defines -I"$source/kernels" -o "$out/bench" "$here/bench.cu" \
        "$out/build/kernels/libtiletranspose.a" $libraries -lpthread -ldl
    "$nvcc" -O3 -std=c++17 -arch="sm_$arch" -I"$source/kernels" -o "$out/link" "$here/link.cu" \
        "$out/build/kernels/libtiletranspose.a" -lpthread -ldl
}

sanitize() {
    for tool in memcheck racecheck synccheck initcheck; do
        echo "== compute-sanitizer --tool $tool"
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$out/build/tests/cuda/test_turn_gpu" 150 20000 2>&1 | tail -n 4
    done
}

# Shared memory's wavefronts and the fewest that would do, of the kernels of 1, 2 and 4-byte pixels.
wavefronts() {
    for pixel in 'u8 aligned' 'u8 odd' 'u16 aligned' 'u16 odd' 'f32 aligned' 'f32 odd'; do
        ncu --clock-control none --page raw --csv --section SourceCounters -k regex:tt_turn -c 1 \
            "$out/bench" --quick --case "$pixel" 2>/dev/null | grep '^"' >"$out/ncu.csv"
        python3 - "$pixel" "$out/ncu.csv" <<'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[2])))
for name, value in zip(rows[0], rows[-1]):
    if name in ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"):
        print(f"{sys.argv[1]:12} {name:36} {value}")
END
    done
}

case $stage in
build) build ;;
check)
    "$out/build/tests/cuda/test_turn_gpu" 4000 4000000
    "$out/build/tests/cuda/test_store_gpu"
    "$out/bench" --check --quick >"$out/check.jsonl" && echo "all results right"
    ;;
measure) "$out/bench" >"$out/bench.jsonl" ;;
link) "$out/link" >"$out/link.jsonl" ;;
peers) python3 "$here/peers.py" >"$out/peers.jsonl" ;;
tools)
    sanitize
    wavefronts
    ;;
*)
    echo "no stage $stage" >&2
    exit 2
    ;;
esac
