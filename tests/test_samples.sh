#!/bin/sh
# SPDX-License-Identifier: MIT
# The samples do what they say.  usage: test_samples.sh BUILD_DIR_OF_SAMPLES IMGTRANSPOSE CHECK_PNG SOURCE_DIR
set -eu
programs=$1 command=$2 check=$3 source=$4
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

"$programs/buffer" >"$out/buffer.txt"
diff - "$out/buffer.txt" <<'END'
iea
jfb
kgc
lhd
and once more, as a transpose of the rows from below:
iea
jfb
kgc
lhd
END

IMGTRANSPOSE=$command sh "$source/samples/batch.sh" "$source/samples/pictures" "$out/turned" >"$out/batch.txt"
[ "$(cat "$out/batch.txt")" = "all done" ]
for picture in "$source"/samples/pictures/*.png; do
    "$check" "$picture" "$out/turned/$(basename "$picture")" rot90
done
