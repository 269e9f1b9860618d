#!/bin/sh
# SPDX-License-Identifier: MIT
# Turns every PNG of a folder a quarter turn clockwise into another folder. Files that fail are named, the rest
# are done all the same, and the exit status tells.
#
# usage: batch.sh FOLDER OUTPUT_FOLDER        IMGTRANSPOSE may name the command
set -eu
[ $# = 2 ] || { echo "usage: batch.sh FOLDER OUTPUT_FOLDER" >&2; exit 2; }
mkdir -p "$2"
status=0
"${IMGTRANSPOSE:-imgtranspose}" --rotate 90 -d "$2" -- "$1"/*.png || status=$?
case $status in
0) echo "all done" ;;
1) echo "some files failed: their names are above, the originals are as they were" ;;
esac
exit $status
