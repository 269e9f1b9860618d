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

# A frame between rows: the pictures, and cards of every format; what is interlaced has no rows in order.
for picture in "$source"/samples/pictures/*.png "$source"/tests/golden/*-13x7.png; do
    for orientation in none fliph rot180 flipv transpose rot90 transverse rot270; do
        case $picture in
        *interlaced*)
            if "$programs/rows" "$picture" "$out/rows.png" $orientation 2>"$out/rows.txt"; then exit 1; fi
            grep -q "is interlaced" "$out/rows.txt"
            ;;
        *)
            "$programs/rows" "$picture" "$out/rows.png" $orientation
            "$check" "$picture" "$out/rows.png" $orientation
            ;;
        esac
    done
done
TT_MEMORY_LIMIT=256K "$programs/rows" "$source/samples/pictures/map.png" "$out/rows.png"
"$check" "$source/samples/pictures/map.png" "$out/rows.png" rot90
if "$programs/rows" /dev/null "$out/rows.png" 2>/dev/null; then exit 1; fi
