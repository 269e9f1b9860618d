#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each public header compiles alone, as what it says it is, without a warning.
#     headers.sh INCLUDE_DIR c|c++ COMPILER [ARGUMENT...]
set -u
include=$1 language=$2
shift 2
[ "$language" = c ] && standard=c11 || standard=c++11
if ! command -v "$1" >/dev/null; then
    echo "SKIPPED: there is no $language compiler '$1' here"
    exit 77
fi

status=0 headers=0
for header in "$include"/tiletranspose/*.h; do
    headers=$((headers + 1))
    printf '#include <tiletranspose/%s>\nint main(void) { return 0; }\n' "${header##*/}" |
        "$@" -x "$language" -std=$standard -Wall -Wextra -pedantic -Werror -I"$include" -fsyntax-only - || {
        echo "$header does not compile alone as $standard"
        status=1
    }
done
[ $headers -gt 0 ] || { echo "no header in $include"; status=1; }
exit $status
