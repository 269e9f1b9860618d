#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare root: the packages of /packages are installed by one command, pass the tests that they come with, and leave
# nothing behind.
set -eu
apt-get update -qq
apt-get install -y -qq /packages/*.deb >/dev/null

tests=samples/debian/tests
# shellcheck disable=SC2046
apt-get install -y -qq --no-install-recommends $(sed -n 's/^Depends: [^,]*, //p' $tests/control | tr -d ,) >/dev/null
for trial in $(sed -n 's/^Tests: //p' $tests/control); do
    setpriv --reuid=nobody --regid=nogroup --clear-groups "$tests/$trial"
    echo "ok: $trial"
done

# shellcheck disable=SC2046
apt-get purge -y -qq $(dpkg-query -W -f '${Source} ${Package}\n' | sed -n 's/^tiletranspose //p') imgtranspose >/dev/null
left=$(find / -path /proc -prune -o -path /packages -prune -o -path /src -prune -o \
    \( -name '*tiletranspose*' -o -name '*imgtranspose*' -o -name 'tt_transpose*' \) -print)
[ -z "$left" ] || { printf 'left behind:\n%s\n' "$left"; exit 1; }
echo "ok: removed"
