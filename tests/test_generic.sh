#!/bin/sh
# SPDX-License-Identifier: MIT
#
# No file but an instruction set's own may be compiled for it: on an older processor it would crash before
# anything chose it.
#
#     test_generic.sh ARCHIVE
set -u
archive=$1
command -v objdump >/dev/null || { echo "SKIPPED: no objdump"; exit 77; }
case $(objdump -f "$archive" | grep -m1 -o 'file format .*') in
*x86-64*) ;;
*) echo "SKIPPED: only x86-64 has instruction sets to choose from"; exit 77 ;;
esac

# Prints each member of the archive that has wide vectors: ymm or zmm registers.
wide=$(objdump -d --no-show-raw-insn "$archive" | awk '
    /file format/ { member = $1; sub(/:$/, "", member) }
    /%[yz]mm[0-9]/ { wide[member] = 1 }
    END { for (m in wide) print m }')
echo "wide vectors in:" $wide
status=0
found=
for member in $wide; do
    case $member in
    *avx2* | *avx512*) found=yes ;;
    *) echo "FAILED: $member would not run on a processor without AVX" >&2; status=1 ;;
    esac
done
[ "$found" ] || { echo "FAILED: no member has AVX2, so this test sees nothing" >&2; status=1; }
exit $status
