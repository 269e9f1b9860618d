#!/bin/sh
# SPDX-License-Identifier: MIT
# Every test, from a fresh clone: installs what is missing, builds, runs `meson test`. Arguments go to
# `meson setup`, as -Dwerror=true. TT_PNGSUITE may name a folder that holds PngSuite.
# The last line counts: N passed, N failed, N skipped.
set -eu
cd "$(dirname "$0")/.."
. samples/setup.sh

# The tests also run the kernels of other processors, emulated.
emulation=
case $(uname -m) in x86_64) emulation="qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; esac
python="python3-numpy python3-mesonpy python3-pip"
# shellcheck disable=SC2086
install_missing $needed_to_build g++ binutils pngcheck libjpeg-turbo-progs libtiff-tools libimage-exiftool-perl $python $emulation
build "$@"

status=0
meson test -C build --print-errorlogs >build/tests.log 2>&1 || status=$?
cat build/tests.log
count() { sed -n "s/^$1: *\([0-9]*\).*/\1/p" build/tests.log | tail -n 1; }
passed=$(count Ok) failed=$(count Fail) timeout=$(count Timeout) skipped=$(count Skipped)
failed=$((${failed:-0} + ${timeout:-0}))
[ "$status" = 0 ] || [ "$failed" != 0 ] || failed=1 # the runner itself failed
echo "${passed:-0} passed, $failed failed, ${skipped:-0} skipped"
exit "$status"
