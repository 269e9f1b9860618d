#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures what the charts of this machine's processor show. Give it the machine to itself; it takes some minutes.
#
#   run.sh BUILD turns DIR               bench.jsonl: the library, by the command's own benchmark; with FULL=1 in the
#                                        environment the long one, of larger pictures
#   run.sh BUILD peers DIR               peers.jsonl: OpenCV, NumPy and Pillow, of the same sizes (Debian: python3-opencv, python3-pil)
#   run.sh BUILD files DIR PHOTOGRAPH    files.jsonl: a photograph from file to file, beside vips, convert, jpegtran
#
# BUILD is where meson built tt. The results of one machine are in xeon, from which ../charts/charts.py draws.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run.sh BUILD turns|peers|files DIR [PHOTOGRAPH]} stage=${2:?which: turns, peers or files?}
out=${3:?usage: run.sh BUILD STAGE DIR [PHOTOGRAPH]}
mkdir -p "$out"

case $stage in
turns) "$build/cli/imgtranspose" --benchmark${FULL:+=full} --overwrite --report "$out/bench.jsonl" ;;
peers) "${PYTHON:-python3}" "$here/arrays.py" "$out/bench.jsonl" >"$out/peers.new" && mv "$out/peers.new" "$out/peers.jsonl" ;;
files) "${PYTHON:-python3}" "$here/files.py" "$build" "${4:?which photograph?}" >"$out/files.new" && mv "$out/files.new" "$out/files.jsonl" ;;
*)
    echo "no stage $stage" >&2
    exit 2
    ;;
esac
