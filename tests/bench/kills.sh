#!/bin/sh
# SPDX-License-Identifier: MIT
# Kills an in-place run at random moments, 200 of them or as many as are named, each followed by --resume,
# and sees to it that every file is turned exactly once. The ordinary suite kills 20 times.
#   tests/bench/kills.sh BUILD_DIR [KILLS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
PYTHONPATH=$here/../cli exec python3 "$here/../fault/test_command.py" "$build/cli/imgtranspose" "$build/tests/fault/libdisturb.so" "" "${2:-200}"
