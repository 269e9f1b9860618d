#!/bin/sh
# SPDX-License-Identifier: MIT
# How much of the C code in kernels/, cli/ and plugin/ the ordinary suite (`meson test`) runs: build-coverage/lines.txt and
# branches.txt have a file a line, with what nothing ran. Fails below 90 % of the lines or 80 % of the branches, and where a
# test fails, but for those that see the symbols, files, allocations and messages of the counting. Arguments go to `meson setup`.
#
# A line counts once, however often it is compiled: the kernels for each instruction set, the library once more for the shim
# that stands for a GPU's driver, tests with tiles of their own size. Not counted are kernels/cpu/neon.c, which runs in an
# emulator (the test `qemu`); kernels/cuda/*.cu*, which the shim runs as C++ and nvcc compiles elsewhere; branches that the
# compiler adds, as gcovr tells them; and g_assert_not_reached().
#
# What stays without a count, by kind:
#   refused memory       one ladder an allocation; a run refuses some of them, with TT_FAULT=all each (the test `never lost`)
#   a disk that fails    of each call that fails in turn, likewise; that a file changes between two looks at it
#   other rights         what the command does as another user: that process may not write its counts here
#   killed processes     their counts are lost: a second Ctrl-C, a full stop amid a write
#   other machines       arm64's names, backends that this processor has not, caches and cores that cannot be asked for
#   other libraries      what later or smaller versions of libvips, libtiff and libjpeg do: savers' options, codecs left out
#   too large for tests  launches of more than 2^31 blocks, BigTIFF by libvips, boxes of more than 4 GB
#   what never happens   a decoder that gives other pixels the second time, a turn that its check finds wrong
set -eu
cd "$(dirname "$0")/.."
. samples/setup.sh

# shellcheck disable=SC2086
install_missing $needed_to_build $needed_to_test gcovr
# By atomic additions, so that threads lose none; and of what is ours alone, since counting takes time.
counted='-fprofile-update=atomic -fprofile-filter-files=^\.\./(kernels|cli|plugin)/'
build build-coverage -Dcuda=disabled -Db_coverage=true -Doptimization=1 -Db_ndebug=true "-Dc_args=$counted" \
    -Dcpp_args=-fprofile-exclude-files=. "$@"

find build-coverage -name '*.gcda' -delete
see_counting='exports|install|imgtranspose|inputs|never lost'
# What has given up its rights, as some tests let the command do, is not to say on stderr that it cannot write its counts.
GCOV_ERROR_FILE=/dev/null meson test -C build-coverage --print-errorlogs \
    >build-coverage/tests.log 2>&1 || true
failed=$(sed -En 's,^ *[0-9]+/[0-9]+ .* / (.*[^ ]) +(FAIL|TIMEOUT|ERROR) .*,\1,p' build-coverage/tests.log | sort -u | grep -vxE "$see_counting" || true)
[ -z "$failed" ] || cat build-coverage/tests.log

gcovr -r . --filter kernels/ --filter cli/ --filter plugin/ --exclude kernels/cpu/neon.c --exclude 'kernels/cuda/.*\.cuh?$' \
    --exclude-unreachable-branches --exclude-lines-by-pattern '.*g_assert_not_reached\(\)' \
    --json build-coverage/coverage.json build-coverage
# Into files of its own: gcovr first removes what it writes to, even /dev/null.
report() {
    gcovr -r . -a build-coverage/coverage.json "$@"
}
report --output build-coverage/lines.txt
report --branches --output build-coverage/branches.txt
report --print-summary --output build-coverage/summary.txt --fail-under-line 90 --fail-under-branch 80
[ -z "$failed" ] || { echo "failed: $failed"; exit 1; }
