#!/bin/sh
# SPDX-License-Identifier: MIT
#
# test_ladder.sh bank_conflicts.cu: builds the ladder and compares its predictions with degrees worked out by
# hand. The GPU, if there is one, is hidden, so that nothing is timed. Skipped (77) where there is no nvcc.
#
# The arithmetic. There are 32 banks of 4 bytes. Down a column, the lanes of a warp lie one pitch apart.
#
#   A pitch of P whole words puts lane i into bank i * P mod 32: gcd(P, 32) lanes meet in each bank.
#     float   128 bytes  P = 32: 32     132  P = 33: 1     136  P = 34: 2
#     ushort   64 bytes  P = 16: 16      68  P = 17: 1
#     uchar    32 bytes  P =  8: 8       36  P =  9: 1      68, 132: 1
#     rgb      96 bytes  P = 24: 8      100  P = 25: 1
#   8-byte accesses go by half warps, and 16 lanes in pairs of banks: gcd(P / 2, 16) meet.
#     double  256 bytes  32: 16         264  33: 1         272  34: 2
#   Pitches that are no whole number of words, for the worst column, which begins at byte c of its word:
#     ushort   66 bytes: lane 2k + r lies at 132k + 66r + c, in bank k + 16 (r = 1) or k (r = 0) with c = 0, but
#              in k + 17 or k with c = 2; k = 0..15, so that bank 32 = 0 is met twice: 2
#     uchar    33 bytes: lane 4k + r begins banks k + 0, 8, 16, 24 with c = 0, but k + 25 instead of k + 24 with
#              c = 1; k = 0..7, so that bank 32 = 0 is met twice: 2
#     uchar    34 bytes: lane 2k + r lies in bank 17k + 8r: the even k give 0 2 .. 14, the odd ones 17 19 .. 31,
#              and 8 further on lie 8 10 .. 22 and 25 27 .. 7, of which 8 10 12 14 25 27 29 31 are met twice: 2
#     rgb      99 bytes: lane 4k + r lies in bank 3k + 0, 24, 17, 10 for r = 0..3, k = 0..7; 3k is 0 3 6 .. 21,
#              3k + 17 is 17 20 .. 29 0 3 6: 0, 3 and 6 are met twice, and no bank three times, with any c: 2
#     rgb     102 bytes: lane 2k + r lies in 51k + 25r, 51k = 19k mod 32 being 16 different banks, so no bank
#              is met three times; 19k holds 4 and, at k = 15, 29 = 4 + 25: 2
#   Along a row, a warp's pixels are neighbours: never a conflict.

source=$1
nvcc=${NVCC:-nvcc}
command -v "$nvcc" >/dev/null || nvcc=/usr/local/cuda/bin/nvcc
if ! command -v "$nvcc" >/dev/null; then
    echo "SKIPPED: no nvcc here, the ladder is neither built nor run"
    exit 77
fi

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAIL: $*"
    failures=$((failures + 1))
}

CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
if ! "$nvcc" -O3 "$source" -o "$work/bank_conflicts" >"$work/build" 2>&1; then
    cat "$work/build"
    echo "FAIL: nvcc does not build $source"
    exit 1
fi
[ -s "$work/build" ] && fail "nvcc warns: $(cat "$work/build")"

"$work/bank_conflicts" >"$work/out" 2>"$work/err" || fail "exit status $? without a GPU, not 0"
[ -s "$work/err" ] && fail "something on standard error: $(cat "$work/err")"

# expect SECTION ROW: of the lines under the heading that begins with SECTION, just one begins with ROW.
expect() {
    section=$1 row=$2
    found=$(awk -v section="$section" -v row="$row" '
        function squeeze(s) { gsub(/ +/, " ", s); sub(/^ /, "", s); return s }
        squeeze($0) ~ "^(1\\.|2\\.|3\\.|uchar|ushort|rgb|float|double|[0-9]+ bytes)" { inside = index(squeeze($0), section) == 1 }
        inside && index(squeeze($0) " ", row " ") == 1 { n++ }
        END { print n + 0 }' "$work/out")
    [ "$found" = 1 ] || fail "'$section' should hold one line '$row', holds $found"
}

expect "1. " "32x32 tile - - 1-way 32-way"
expect "1. " "32x33 tile - - 1-way 1-way"

#      type        no padding   by one       by two        for the banks
while read -r type pitch0 load0 pitch1 load1 pitch2 load2 pitch3 load3; do
    expect "$type," "tile 32, no padding $pitch0 1-way $load0-way - - - not run"
    expect "$type," "tile 32, padded by one pixel $pitch1 1-way $load1-way - - - not run"
    expect "$type," "tile 32, padded by two pixels $pitch2 1-way $load2-way - - - not run"
    expect "$type," "tile 32, padded for the banks $pitch3 1-way $load3-way - - - not run"
    expect "$type," "naive, coalesced reads - - - - - - not run"
    expect "$type," "naive, coalesced writes - - - - - - not run"
    expect "$type," "copy, cudaMemcpyAsync - - - - - - not run"
done <<END
uchar   32  8   33 2   34 2   36 1
ushort  64 16   66 2   68 1   68 1
rgb     96  8   99 2  102 2  100 1
float  128 32  132 1  136 2  132 1
double 256 16  264 1  272 2  264 1
END

#      type    pitches for tiles of 32, 64 and 128; rgb: of each channel's tile
while read -r type pitch32 pitch64 pitch128; do
    expect "$type," "dynamic, tile 32 $pitch32 1-way 1-way"
    expect "$type," "dynamic, tile 64 $pitch64 1-way 1-way"
    expect "$type," "dynamic, tile 128 $pitch128 1-way 1-way"
    expect "$type," "dynamic, tile 64, along out rows $pitch64 1-way 1-way"
done <<END
uchar   36  68  132
ushort  68 132  260
rgb     36  68  132
float  132 260  516
double 264 520 1032
END

# Shared memory alone: lane i reads element i * stride, so gcd(stride, 32), of 16 lanes gcd(stride, 16), of 8
# gcd(stride, 8); then cycles: that, times the phases.
while read -r bytes name degree cycles; do
    expect "$bytes bytes" "$(echo "$name" | tr _ ' ') $degree-way $cycles - -"
done <<END
4 stride_1 1 1
4 stride_2 2 2
4 stride_32 32 32
4 stride_33 1 1
4 stride_34 2 2
4 broadcast 1 1
8 stride_1 1 2
8 stride_2 2 4
8 stride_32 16 32
8 stride_33 1 2
8 stride_34 2 4
8 broadcast 1 1
16 stride_1 1 4
16 stride_2 2 8
16 stride_32 8 32
16 stride_33 1 4
16 stride_34 2 8
16 broadcast 1 2
END

# Loud, at both ends, and no result invented.
head -n 1 "$work/out" | grep -q '^NO USABLE GPU: NOTHING IS RUN' || fail "the first line does not say it"
tail -n 1 "$work/out" | grep -q '^NO USABLE GPU: NOTHING WAS RUN' || fail "the last line does not say it"
grep -q 'PASS\|FAIL' "$work/out" && fail "a verdict without a run"
long=$(awk 'length > 100' "$work/out")
[ -n "$long" ] && fail "longer than 100 columns: $long"

# Sizes are taken; anything else is one line on standard error and status 2.
"$work/bank_conflicts" 4097 3001 3 >"$work/out" || fail "4097 3001 3: exit status $?"
grep -q 'transpose 4097 x 3001 pixels' "$work/out" || fail "4097 3001 3: the size is not taken"
refuse() {
    "$work/bank_conflicts" "$@" >"$work/out" 2>"$work/err"
    status=$?
    [ $status -eq 2 ] || fail "'$*': exit status $status, not 2"
    [ -s "$work/out" ] && fail "'$*': output all the same"
    [ "$(wc -l <"$work/err")" -eq 1 ] || fail "'$*': not one line: $(cat "$work/err")"
    grep -q '^bank_conflicts: ' "$work/err" || fail "'$*': $(cat "$work/err")"
}
refuse 4096
refuse 4096 4096 10 1
refuse 0 4096
refuse 4096 -1
refuse 4096 4096 0
refuse 40x 40
refuse "" 40
refuse 4.5 40
refuse 2147483648 1
refuse 99999999999999999999 1
refuse 1073741824 1073741824

[ $failures -eq 0 ] || exit 1
echo "all predictions as worked out by hand"
