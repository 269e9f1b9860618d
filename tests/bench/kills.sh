#!/bin/sh
# SPDX-License-Identifier: MIT
# Kills an in-place run at random moments, 200 of them or as many as are named, each followed by --resume,
# and sees to it that every file is turned exactly once. The ordinary suite kills 20 times.
#   tests/bench/kills.sh BUILD_DIR [KILLS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
exec python3 "$here/../cli/test_never_lost.py" "$build/cli/imgtranspose" "$build/tests/cli/libdisturb.so" "${2:-200}"
