#!/bin/sh
# SPDX-License-Identifier: MIT
# How the sample pictures were made, with ImageMagick and DejaVu fonts. Not needed to use them.
set -eu
cd "$(dirname "$0")"
sans=/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf
serif=/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf

# letter.png: 8-bit RGB, an F on a slope of colours, so that no two orientations look alike.
convert -size 240x160 gradient:'#ffd166-#ef476f' -rotate 0 \
    \( -size 240x160 gradient:'#000000-#404040' -rotate 180 \) -compose plus -composite \
    -font "$sans" -pointsize 130 -fill '#073b4c' -gravity northwest -annotate +28+2 F \
    -fill '#118ab2' -draw 'circle 200,120 200,140' -depth 8 -strip -define png:color-type=2 letter.png

# scan.png: 1-bit, a page as a scanner gives it, 204 x 98 dots an inch like a fax.
convert -size 430x300 xc:white -font "$serif" -pointsize 20 -fill black -gravity northwest \
    -annotate +24+20 'This page was put on the\nscanner sideways. Turned by\nimgtranspose it stays a page\nof one bit a pixel, and its\nresolution turns with it.' \
    -draw 'line 24,180 400,180' -draw 'rectangle 24,200 120,270' -fill white -draw 'circle 70,235 70,255' \
    -threshold 50% -type bilevel -units PixelsPerInch -density 204x98 \
    -define png:color-type=0 -define png:bit-depth=1 -define png:exclude-chunks=date,time,gama,bkgd scan.png

# map.png: 16 colours of a palette, in an order that a tool which sorts palettes would lose.
convert -seed 7 -size 200x260 plasma:tomato-steelblue -blur 0x2 -colors 16 +dither \
    -define png:color-type=3 -define png:bit-depth=4 -strip map.png

# ../orientations.png: the eight orientations of letter.png, for the README; turned by ImageMagick.
label() { # NAME, ImageMagick's word
    convert letter.png $2 +repage -background white -gravity center -extent 260x260 -font "$sans" -pointsize 24 \
        -fill black -gravity south -splice 0x40 -annotate +0+8 "$1" miff:-
}
{
    label "none 1" ""; label "fliph 2" -flop; label "rot180 3" "-rotate 180"; label "flipv 4" -flip
    label "transpose 5" -transpose; label "rot90 6" "-rotate 90"; label "transverse 7" -transverse
    label "rot270 8" "-rotate 270"
} | montage -tile 4x2 -geometry +4+4 -depth 8 miff:- -strip ../orientations.png
