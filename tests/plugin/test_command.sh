#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The real vips command with the module, found in a directory of VIPSHOME: every orientation of files in every
# kind of reading order, against vips rot and vips flip. Nothing may be written but the output.
#
#     test_command.sh MODULE MODULE-DIRECTORY
#
# where the directory is the last two parts of the one that libvips searches: lib.../vips-modules-8.X
set -eu

command -v vips >/dev/null || { echo "skipped: there is no vips command"; exit 77; }

module=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir -p "home/$2"
ln -s "$module" "home/$2/"
VIPSHOME=$dir/home
# A scratch file of libvips' would have nowhere to go, and every picture is large enough to need one.
TMPDIR=$dir/nowhere VIPS_DISC_THRESHOLD=1k
export VIPSHOME

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# same A B: the same pixels
same() {
    vips rawsave "$1" a.raw && vips rawsave "$2" b.raw && cmp a.raw b.raw || fail "$1 differs from $2"
}

# reference IN ORIENTATION: makes reference.v with libvips' own operations
reference() {
    case $2 in
    none) vips copy "$1" reference.v ;;
    fliph) vips flip "$1" reference.v horizontal ;;
    flipv) vips flip "$1" reference.v vertical ;;
    rot90) vips rot "$1" reference.v d90 ;;
    rot180) vips rot "$1" reference.v d180 ;;
    rot270) vips rot "$1" reference.v d270 ;;
    transpose) vips rot "$1" step.v d90 && vips flip step.v reference.v horizontal ;;
    transverse) vips rot "$1" step.v d270 && vips flip step.v reference.v horizontal ;;
    esac
}

# turn IN OUT OPTION...: tt_transpose with nowhere to put a scratch file
turn() {
    TMPDIR=$TMPDIR VIPS_DISC_THRESHOLD=$VIPS_DISC_THRESHOLD vips tt_transpose "$@"
}

orientations="none fliph rot180 flipv transpose rot90 transverse rot270"

# ---- usage and errors ----------------------------------------------------------------------------------

vips tt_transpose >usage.txt || fail "usage: exit status $?"
for word in in out orientation backend device memory-limit auto $orientations "default.*: transpose"; do
    grep -q -e "$word" usage.txt || fail "usage does not have '$word'"
done
vips -l | grep -q tt_transpose || fail "vips -l does not list it"
if grep -qw last usage.txt; then fail "usage shows a value that is none"; fi

# refused WORDS OPTION...: one line on stderr that has WORDS, status 1, no output
refused() {
    words=$1
    shift
    status=0
    turn "$@" 2>errors.txt || status=$?
    [ $status = 1 ] || fail "$*: exit status $status"
    [ "$(grep -c . errors.txt)" = 1 ] || fail "$*: not one line: $(cat errors.txt)"
    grep -q -e "$words" errors.txt || fail "$*: '$words' is not in: $(cat errors.txt)"
}

vips gaussnoise noise.v 331 203
vips bandjoin "noise.v noise.v noise.v" rgb.v && vips cast rgb.v picture.v uchar
vips copy picture.v picture.png
allowed="auto, none, fliph, rot180, flipv, transpose, rot90, transverse, rot270"
refused "no member 'rot45', should be one of: $allowed" picture.png refused.png --orientation rot45
# To libvips before 8.18 the last value of an enum is one; later libvips knows the word itself and sets nothing.
if [ "$(vips --version | sed 's/vips-8\.\([0-9]*\).*/\1/')" -lt 18 ]; then
    refused "no member 'last', should be one of: $allowed" picture.png refused.png --orientation last
fi
refused "no backend is named 'abacus'" picture.png refused.png --backend abacus
refused "no temporary file can be made in .*nowhere" picture.png refused.png --memory-limit 10000
[ ! -e refused.png ] || fail "a refused turn left an output"
if TT_BACKEND=abacus turn picture.png refused.png 2>errors.txt; then fail "TT_BACKEND is not looked at"; fi
TT_BACKEND=abacus turn picture.png out.png --backend c || fail "--backend does not win over TT_BACKEND"

# The module can also be named; then it need not be installed.
VIPSHOME= vips --plugin="$module" tt_transpose picture.png out.png || fail "--plugin"
reference picture.png transpose
same out.png reference.v

# ---- files ---------------------------------------------------------------------------------------------

# in order: PNG, JPEG, TIFF in strips, PPM; anywhere: TIFF in tiles, .v
vips copy picture.v picture.ppm
vips tiffsave picture.v strips.tif
vips tiffsave picture.v tiles.tif --tile --tile-width 64 --tile-height 32
files="picture.v picture.png picture.ppm strips.tif tiles.tif"
vips jpegsave picture.v picture.jpg 2>/dev/null && files="$files picture.jpg"
vips pngsave picture.v interlaced.png --interlace && files="$files interlaced.png"
for file in $files; do
    for o in $orientations; do
        reference "$file" $o
        turn "$file" out.v --orientation $o || fail "$file $o"
        same out.v reference.v
        turn "$file" out.tif[tile] --orientation $o || fail "$file $o to tiles"
        same out.tif reference.v
    done
done
[ ! -e nowhere ] || fail "a scratch file was tried"

# ---- memory that is too small --------------------------------------------------------------------------

# Through a file of the library's, which has no name.
mkdir scratch
for file in picture.png interlaced.png strips.tif; do
    for o in $orientations; do
        reference "$file" $o
        TMPDIR=$dir/scratch vips tt_transpose "$file" out.v --orientation $o --memory-limit 100000 ||
            fail "$file $o in 100,000 bytes"
        same out.v reference.v
        (TMPDIR=$dir/scratch TT_MEMORY_LIMIT=97K vips tt_transpose "$file" out.v --orientation $o) ||
            fail "$file $o in 97 KB of the environment's"
        same out.v reference.v
    done
done
rmdir scratch || fail "something was left in TMPDIR"
if TT_MEMORY_LIMIT=97Q turn picture.png refused.png 2>errors.txt; then fail "TT_MEMORY_LIMIT is not looked at"; fi
grep -q "TT_MEMORY_LIMIT is '97Q'" errors.txt || fail "TT_MEMORY_LIMIT: $(cat errors.txt)"

# ---- pages ---------------------------------------------------------------------------------------------

vips crop picture.v roll.v 0 0 40 200 && vips tiffsave roll.v pages.tif --page-height 20
for o in $orientations; do
    turn 'pages.tif[n=-1]' turned.tif --orientation $o
    [ "$(vipsheader -f n-pages turned.tif)" = 10 ] || fail "pages lost: $o"
    for page in 0 4 9; do
        reference "pages.tif[page=$page]" $o
        same "turned.tif[page=$page]" reference.v
    done
done

# Films: few colours, so that a GIF holds them all, and delays of their own, written into the metadata by hand.
# (libvips reads a WebP through a scratch file of its own.)
vips relational_const roll.v bits.v more 128
delays=$(seq 50 10 140 | tr '\n' ' ')
for format in gif 'webp[lossless]'; do
    name=${format%%[*}
    if ! vips copy bits.v "try.$format" 2>/dev/null; then
        echo "SKIPPED: pages of a $name, since this libvips writes none"
        continue
    fi
    LC_ALL=C sed "s#</meta>#<field type=\"gint\" name=\"page-height\">20</field><field type=\"gint\" name=\"loop\">3</field>\
<field type=\"VipsArrayInt\" name=\"delay\">$delays</field></meta>#" bits.v >film.v
    vips copy film.v "film.$format"
    [ "$(vipsheader -f n-pages "film.$name")" = 10 ] || fail "cannot make a $name of 10 frames"
    for o in $orientations; do
        vips tt_transpose "film.$name[n=-1]" "turned.$format" --orientation $o
        for field in n-pages loop delay; do
            [ "$(vipsheader -f $field "turned.$name")" = "$(vipsheader -f $field "film.$name")" ] || fail "$field of a $name: $o"
        done
        for page in 0 4 9; do
            reference "film.$name[page=$page]" $o
            same "turned.$name[page=$page]" reference.v
        done
    done
    cp "film.$name" "round.$name"
    for i in 1 2 3 4; do
        vips tt_transpose "round.$name[n=-1]" "next.$format" --orientation rot90
        mv "next.$name" "round.$name"
    done
    same "round.$name[n=-1]" "film.$name[n=-1]"
done

# ---- four quarter turns, where a format loses nothing ----------------------------------------------------

about() { vipsheader -a "$1" | sed '1d; /^filename:/d; /^vips-sequential:/d; /^gif-palette:/d; /^background:/d'; }
for format in 'webp[lossless]' gif 'jxl[lossless]' 'jp2[lossless]' tif png hdr v; do
    name=${format%%[*}
    if ! vips copy bits.v "still.$format" 2>/dev/null; then
        echo "SKIPPED: four turns of a $name, since this libvips writes none"
        continue
    fi
    cp "still.$name" "round.$name"
    for i in 1 2 3 4; do
        vips tt_transpose "round.$name" "next.$format" --orientation rot90
        mv "next.$name" "round.$name"
    done
    same "round.$name" "still.$name"
    if [ $name = v ]; then # which keeps where the last turn put the corner, as those of libvips do
        for i in 1 2 3 4; do
            vips rot still.v next.v d90
            mv next.v still.v
        done
    fi
    about "still.$name" >before.txt
    about "round.$name" | diff before.txt - || fail "what a $name says of itself changed"
done

# ---- the orientation tag -------------------------------------------------------------------------------

# A .v file ends in its metadata as XML, so a tag can be written there by hand.
if [ -e picture.jpg ]; then
    for tag in 1 2 3 4 5 6 7 8; do
        o=$(echo $orientations | cut -d' ' -f$tag)
        LC_ALL=C sed "s#</meta>#<field type=\"gint\" name=\"orientation\">$tag</field></meta>#" picture.v >tagged.v
        vips jpegsave tagged.v tagged.jpg
        [ "$(vipsheader -f orientation tagged.jpg)" = $tag ] || fail "cannot make a file with tag $tag"
        turn tagged.jpg upright.v --orientation auto
        reference tagged.jpg $o
        same upright.v reference.v
        turn upright.v again.v --orientation auto
        same again.v reference.v
        turn tagged.jpg upright.png --orientation auto
        turn upright.png again.v --orientation auto
        same again.v reference.v
        turn tagged.jpg kept.v --orientation rot90
        [ "$(vipsheader -f orientation kept.v)" = $tag ] || fail "an explicit turn changed the tag"
    done
fi

# ---- threads -------------------------------------------------------------------------------------------

reference picture.png rot90
for n in 1 2 3 5 8 16 32; do
    VIPS_CONCURRENCY=$n turn picture.png out.v --orientation rot90
    same out.v reference.v
done
for file in picture.png tiles.tif; do
    VIPS_STALL=1 turn "$file" out.v --orientation rot90 >/dev/null
    same out.v reference.v
done
