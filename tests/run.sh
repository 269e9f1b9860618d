#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test, from a fresh clone: installs what is missing, builds, runs `meson test`. Arguments go to
# `meson setup`, as -Dwerror=true. TT_PNGSUITE may name a folder that holds PngSuite. What only tests need and cannot be
# installed is done without: the tests say what they skip.
# The last line counts: N passed, N failed, N skipped.
#
# With --sanitize as the first argument: under the address, leak and undefined behaviour sanitizers; what has threads
# under the thread sanitizer; and the library under valgrind. TT_SANITIZE may name some of these: address thread valgrind
set -eu
cd "$(dirname "$0")/.."
. samples/setup.sh

# The kernels of other processors, emulated.
case $(uname -m) in
x86_64) emulation="qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross" ;;
*) emulation= ;;
esac

passed=0 failed=0 skipped=0

# run_tests FOLDER ARGUMENT...: prints what `meson test` says, and counts
run_tests() {
    folder=$1 status=0
    shift
    meson test -C "$folder" --print-errorlogs "$@" >"$folder/tests.log" 2>&1 || status=$?
    cat "$folder/tests.log"
    passed=$((passed + $(count "$folder" Ok))) skipped=$((skipped + $(count "$folder" Skipped)))
    bad=$(($(count "$folder" Fail) + $(count "$folder" Timeout)))
    [ "$status" = 0 ] || [ "$bad" != 0 ] || bad=1 # the runner itself failed
    failed=$((failed + bad))
}

count() {
    number=$(sed -n "s/^$2: *\([0-9]*\).*/\1/p" "$1/tests.log" | tail -n 1)
    echo "${number:-0}"
}

# Sanitized kernels are compiled for the CPU alone: the tests run those for GPUs on it, too. Of -O2 with all that -g
# says, the kernels for one instruction set alone take the compiler a minute; lines are all that a report names.
build_sanitized() {
    folder=$1 sanitizers=$2
    shift 2
    build "$folder" -Dcuda=disabled -Ddebug=true -Doptimization=1 -Dc_args=-g1 -Dcpp_args=-g1 -Db_ndebug=false \
        "-Db_sanitize=$sanitizers" -Db_lundef=false "$@"
}

sanitize_address() {
    build_sanitized build-address address,undefined "$@"
    run_tests build-address
}

sanitize_thread() {
    build_sanitized build-thread thread "$@"
    run_tests build-thread --suite threads
}

sanitize_valgrind() {
    build build-valgrind -Dcuda=disabled -Dbuildtype=debugoptimized "$@"
    run_tests build-valgrind --suite valgrind --wrap 'valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,possible' \
        --timeout-multiplier 20
}

# shellcheck disable=SC2086
{
    install_missing $needed_to_build
    if [ "${1:-}" = --sanitize ]; then more=valgrind; else more=$emulation; fi
    install_missing $needed_to_test $more || echo "Going on without: what needs them is skipped"
}
if [ "${1:-}" = --sanitize ]; then
    shift
    for tool in ${TT_SANITIZE:-address thread valgrind}; do
        "sanitize_$tool" "$@"
    done
else
    build build "$@"
    run_tests build
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
