#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check_png accepts what is right and nothing else.
#     test_check_png.sh CHECK_PNG GOLDEN_FOLDER
set -u
check=$1 golden=$2 status=0
names="none fliph rot180 flipv transpose rot90 transverse rot270"

# expect STATUS WORDS IN OUT ORIENTATION: the exact status, and one line that says WORDS, or none.
expect() {
    line=$("$check" "$3" "$4" "$5" 2>&1)
    got=$?
    case $line in
    *"$2"*) said=yes ;;
    *) said=no ;;
    esac
    [ $got = "$1" ] && [ $said = yes ] && [ "$(printf '%s' "$line" | grep -c .)" = "$1" ] && return
    echo "check_png $3 $4 $5: status $got, not $1; it says '$line' where '$2' is expected"
    status=1
}

for made in $names; do
    for claimed in $names; do
        if [ "$made" = "$claimed" ]; then
            expect 0 "" "$golden/rgb8-5x3.png" "$golden/turned/$made.png" $claimed
        else
            expect 1 "" "$golden/rgb8-5x3.png" "$golden/turned/$made.png" $claimed
        fi
    done
done

for card in "$golden"/*.png; do
    expect 0 "" "$card" "$card" none
    expect 1 "" "$card" "$card" rot180
done

spoiled=$golden/spoiled
while read -r good fault words; do
    expect 0 "" "$spoiled/$good.png" "$spoiled/$good.png" none
    expect 1 "$words" "$spoiled/$good.png" "$spoiled/$fault.png" none
done <<END
good sample sample 0 of pixel 12, 6
good palette-order entry 0 of its palette
good palette-entry entry 15 of its palette
good palette-shorter has 15 entries, not 16
good trns-gone tRNS has 0 entries, not 3
good trns-longer tRNS has 4 entries, not 3
good trns-value entry 2 of its tRNS
good interlaced it is interlaced
good depth depth is 8 bits, not 4
good colour-type colour type is 2, not 3
good width 12 x 7 pixels, not 13 x 7
good height 13 x 6 pixels, not 13 x 7
good phys-gone has no pHYs
good phys-swapped pHYs is 5906 x 11811, not 11811 x 5906
rgb-good rgb-sample sample 2 of pixel 4, 2
rgb-good rgb-trns-value colour of its tRNS
grey-good grey-trns-value colour of its tRNS
END
[ "$(ls "$spoiled" | wc -l)" = 20 ] || { echo "a spoiled card is not in the list"; status=1; }

wide=$golden/turned/density-wide.png tall=$golden/turned/density-tall.png
for orientation in transpose rot90 transverse rot270; do
    expect 0 "" "$wide" "$tall" $orientation
    expect 1 "pHYs" "$wide" "$wide" $orientation
done
for orientation in none fliph rot180 flipv; do
    expect 0 "" "$wide" "$wide" $orientation
    expect 1 "pHYs" "$wide" "$tall" $orientation
done

expect 1 "has no tRNS" "$golden/rgb8-trns-5x3.png" "$golden/rgb8-5x3.png" none
expect 1 "has a tRNS" "$golden/grey4-5x3.png" "$golden/grey4-trns-5x3.png" none
expect 1 "cannot be read" "$golden/rgb8-5x3.png" "$golden/no-such.png" none
expect 1 "cannot be read" "$golden/rgb8-5x3.png" "$golden/rgb8-5x3.pam" none

"$check" "$golden/rgb8-5x3.png" "$golden/rgb8-5x3.png" 2>/dev/null
[ $? = 2 ] || { echo "an argument too few is not status 2"; status=1; }
"$check" "$golden/rgb8-5x3.png" "$golden/rgb8-5x3.png" rot45 2>/dev/null
[ $? = 2 ] || { echo "an unknown orientation is not status 2"; status=1; }
exit $status
