#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The shared library exports the functions that its headers declare and nothing else.
#     exports.sh LIBRARY INCLUDE_DIR
set -u
library=$1 include=$2
command -v nm >/dev/null || { echo "SKIPPED: there is no nm here"; exit 77; }

# Sanitizers put symbols of their own into the code they watch.
exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | grep -v '^__\(asan\|odr_asan\|ubsan\|tsan\)' | sort -u)
declared=$(sed -n 's/^TT_API .*[ *]\(tt_[a-z0-9_]*\)(.*/\1/p' "$include"/tiletranspose/*.h | sort -u)
[ -n "$declared" ] || { echo "no TT_API function found in $include"; exit 1; }

if [ "$exported" != "$declared" ]; then
    echo "exported by $library but in no header, or declared and not exported:"
    printf '%s\n' $exported $declared | sort | uniq -u
    exit 1
fi
