#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The kernels on processors that this machine has not: older x86, arm64 and s390x, emulated by qemu-user.
#
#     test_qemu.sh SOURCE_ROOT TEST_ORIENT
#
# TEST_ORIENT is the native test; for the others the library and the test are compiled here.
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
        expect_backends "ssse3 sse2 c" "$qemu" -cpu SandyBridge "$native"
        expect_backends "avx2 ssse3 sse2 c" "$qemu" -cpu Haswell "$native"
    else
        skip "no qemu-x86_64 (package qemu-user)"
    fi
    ;;
*) skip "older x86: this is not an x86-64" ;;
esac

# The library and its test, compiled here with one kernel beside plain C at most.
other_machine() {
    machine=$1 kernel=$2 want=$3
    cc=$machine-linux-gnu-gcc
    if ! echo 'int main(void) { return 0; }' | "$cc" -static -o "$scratch/nothing" -xc - 2>/dev/null; then
        skip "no $cc, or no C library for it"
    elif ! qemu=$(command -v "qemu-$machine"); then
        skip "no qemu-$machine (package qemu-user)"
    else
        # shellcheck disable=SC2086
        "$cc" -std=gnu11 -O2 -Wall -Wextra -Wno-missing-field-initializers -static -I"$root/kernels" -o "$scratch/$machine" \
            "$root/tests/test_orient.c" "$root/tests/pictures.c" $sources $kernel -lpthread -lm ||
            fail "the library does not compile for $machine"
        expect_backends "$want" "$qemu" "$scratch/$machine"
    fi
}

kernels='/(sse2|ssse3|avx2|avx512|neon)\.c$|/kernels/cuda/image\.c$' # the latter holds nvcc's output
sources=$(find "$root/kernels" -name '*.c' | grep -vE "$kernels")
other_machine aarch64 "$root/kernels/cpu/neon.c" "neon c"
other_machine s390x "" "c" # whose first byte is the highest
[ $skipped = 0 ] || exit 77
