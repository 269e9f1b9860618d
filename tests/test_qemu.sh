#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The kernels on processors that this machine has not: older x86, and arm64, emulated by qemu-user.
#
#     test_qemu.sh SOURCE_ROOT TEST_ORIENT
#
# TEST_ORIENT is the native test; for arm64 the library and the test are compiled here.
set -u
root=$1
native=$2
skipped=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

skip() {
    echo "SKIPPED: $*"
    skipped=1
}

# Runs the test with few cases and expects it to name just those backends at the end of its last line.
expect_backends() {
    want=$1
    shift
    "$@" --every 400 >"$scratch/out" 2>&1 || { cat "$scratch/out"; fail "$* says so"; }
    got=$(sed -n 's/.*turns compared: //p' "$scratch/out")
    echo "$* : $got"
    [ "$got" = "$want" ] || fail "$*: the backends were '$got', not '$want'"
}

case $(uname -m) in
x86_64)
    if qemu=$(command -v qemu-x86_64); then
        expect_backends "sse2 c" "$qemu" -cpu kvm64,-ssse3 "$native"
        expect_backends "ssse3 sse2 c" "$qemu" -cpu core2duo "$native"
        expect_backends "ssse3 sse2 c" "$qemu" -cpu Nehalem "$native"
        expect_backends "avx2 ssse3 sse2 c" "$qemu" -cpu Haswell "$native"
    else
        skip "no qemu-x86_64 (package qemu-user)"
    fi
    ;;
*) skip "older x86: this is not an x86-64" ;;
esac

if ! cc=$(command -v aarch64-linux-gnu-gcc); then
    skip "no aarch64-linux-gnu-gcc"
elif ! qemu=$(command -v qemu-aarch64); then
    skip "no qemu-aarch64 (package qemu-user)"
else
    others='/(sse2|ssse3|avx2|avx512)\.c$|/kernels/cuda/image\.c$' # the latter holds nvcc's output
    sources=$(find "$root/kernels" -name '*.c' | grep -vE "$others")
    "$cc" -std=gnu11 -O2 -Wall -Wextra -static -I"$root/kernels" -o "$scratch/test_orient" \
        "$root/tests/test_orient.c" "$root/tests/pictures.c" $sources -lpthread -lm ||
        fail "the library does not compile for arm64"
    expect_backends "neon c" "$qemu" "$scratch/test_orient"
fi
[ $skipped = 0 ] || exit 77
