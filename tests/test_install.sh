#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What `meson install` installs, elsewhere: every file that a user needs and no other, pages of functions aside. Without
# debugging information none says where it was built, so that each build is the same. A program is built and linked with
# it by what pkg-config says, with the shared library and with the archive.
#
#     test_install.sh BUILD_DIR PREFIX LIBDIR COMPILER [command] [module=FOLDER] [release]
set -eu
build=$1 prefix=$2 libdir=$3 compiler=$4
shift 4
to=$(mktemp -d)
trap 'rm -rf "$to"' EXIT

meson install -C "$build" --no-rebuild --quiet --destdir "$to/root" >"$to/log" || { cat "$to/log"; exit 1; }

library=$prefix/$libdir
{
    for header in tt tt_dlpack tt_frame; do
        echo "$prefix/include/tiletranspose/$header.h"
    done
    for name in a so so.0 so.0.1.0; do
        echo "$library/libtiletranspose.$name"
    done
    echo "$library/pkgconfig/tiletranspose.pc"
    for part; do
        case $part in
        command)
            echo "$prefix/bin/imgtranspose"
            echo "$prefix/share/bash-completion/completions/imgtranspose"
            echo "$prefix/share/fish/vendor_completions.d/imgtranspose.fish"
            echo "$prefix/share/man/man1/imgtranspose.1"
            echo "$prefix/share/zsh/site-functions/_imgtranspose"
            ;;
        module=*) echo "${part#*=}/tt_transpose.so" ;;
        release)
            if grep -rF -e "$build" -e ../cli/ -e ../kernels/ -e ../plugin/ "$to/root"; then
                echo "FAILED: these say where they were built" >&2
                exit 1
            fi
            ;;
        esac
    done
} | sort >"$to/wanted"
(cd "$to/root" && find . ! -type d ! -path '*/man3/*' | sed 's/^\.//' | sort) >"$to/installed"
diff "$to/wanted" "$to/installed" || { echo "FAILED: > is installed and not wanted, < the reverse"; exit 1; }

[ "$compiler" != none ] || exit 0
cat >"$to/turn.c" <<'END'
#include <stdio.h>
#include <tiletranspose/tt.h>

int main(void)
{
    char letters[] = "abcdef", turned[] = "......"; /* 3 x 2 */
    TtImage from = tt_image(letters, 3, 3, 2, 1, 8), to = tt_image(turned, 2, 2, 3, 1, 8);

    if (tt_orient(&from, &to, TT_ROT90, NULL))
        fprintf(stderr, "%s\n", tt_last_error());
    puts(turned);
    return 0;
}
END
export PKG_CONFIG_PATH="$to/root$library/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$to/root"
# shellcheck disable=SC2046
"$compiler" -o "$to/shared" "$to/turn.c" $(pkg-config --cflags --libs tiletranspose)
# shellcheck disable=SC2046
"$compiler" -o "$to/static" "$to/turn.c" \
    $(pkg-config --static --cflags --libs tiletranspose | sed 's/-ltiletranspose/-l:libtiletranspose.a/')
for program in shared static; do
    turned=$(LD_LIBRARY_PATH="$to/root$library" "$to/$program")
    [ "$turned" = daebfc ] || { echo "FAILED: the program with the $program library says '$turned'"; exit 1; }
done
