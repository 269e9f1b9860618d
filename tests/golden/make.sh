#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the golden data anew, into the folder of this script. Needs python3 and netpbm (pngtopam, pamflip).
#
#   NAME.png     a card, written by cards.py
#   NAME.pam     its eight turns, in EXIF's order, one PAM after the other: netpbm's reading of the PNG, turned by
#                netpbm. Samples are the PNG's own: a palette's indices, and the maxval of the PNG's depth.
#   turned/      a card's eight turns as PNG, written by netpbm; and two cards that differ in density alone
#   spoiled/     a card, and the same with one fault each
set -eu
cd "$(dirname "$0")"
rm -rf ./*.png ./*.pam turned spoiled
python3 cards.py .

# The samples of a PNG, as PAM.
samples() {
    case $1 in
    palette*) pngtopam "$1" | pamchannel 0 ;; # entry i of the cards' palettes is red i
    *alpha* | rgba*) pngtopam -alphapam "$1" ;;
    *) pngtopam "$1" | pamtopam ;;
    esac
}

turn() {
    case $1 in
    none) pamflip -null ;;
    fliph) pamflip -leftright ;;
    rot180) pamflip -rotate180 ;;
    flipv) pamflip -topbottom ;;
    transpose) pamflip -transpose ;;
    rot90) pamflip -cw ;;
    transverse) pamflip -xform=transpose,leftright,topbottom ;;
    rot270) pamflip -ccw ;;
    esac
}

for card in *.png; do
    for orientation in none fliph rot180 flipv transpose rot90 transverse rot270; do
        samples "$card" | turn $orientation
    done >"${card%.png}.pam"
done

for orientation in none fliph rot180 flipv transpose rot90 transverse rot270; do
    pngtopam rgb8-5x3.png | turn $orientation | pamtopng >turned/$orientation.png
done
