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

# Prints each member of the archive in which an instruction matches: those of AVX are all written with a v in
# front, whatever the width of their registers.
members_with() {
    objdump -d --no-show-raw-insn "$archive" | awk -v instruction="^($1)\$" '
        /file format/ { member = $1; sub(/:$/, "", member) }
        $1 ~ /^[0-9a-f]+:$/ && $2 ~ instruction { found[member] = 1 }
        END { for (m in found) print m }'
}

# expect NAME INSTRUCTIONS FILES...: only these files may have them, and one must, or this test sees nothing.
status=0
expect() {
    name=$1 instructions=$2
    shift 2
    seen=
    for member in $(members_with "$instructions"); do
        allowed=
        for file in "$@"; do
            case $member in *"$file"*) allowed=yes ;; esac
        done
        seen=yes
        [ "$allowed" ] || { echo "FAILED: $member has $name and would not run everywhere" >&2; status=1; }
    done
    [ "$seen" ] || { echo "FAILED: no member has $name, so this test sees nothing" >&2; status=1; }
    echo "$name only in: $*"
}

expect AVX 'v[a-z]+[a-z0-9]*' avx2 avx512
expect SSSE3 'pshufb|palignr|ptest|popcnt|pmulld|phadd[wd]' ssse3
exit $status
