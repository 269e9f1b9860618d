#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare root: Debian's packages, into /packages/first, and once more elsewhere, where the name of the folder, the
# language, the time zone and the umask are others.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends build-essential git lintian >/dev/null
mkdir -p /tmp/source /packages/first /packages/second/elsewhere
chown -R nobody: /src /packages
cp -R samples/debian /tmp/source/
apt-get build-dep -y -qq --no-install-recommends /tmp/source >/dev/null

# Like a builder: an ordinary user without a home, and no network.
build() {
    unshare --net setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent "$@"
}
build env DEB_BUILD_OPTIONS="$*" sh samples/debian/build.sh /packages/first
build env LC_ALL=POSIX TZ=Pacific/Chatham DEB_BUILD_OPTIONS="nocheck parallel=1" sh -c \
    'umask 077; sh samples/debian/build.sh /packages/second/elsewhere'

for package in /packages/first/*.deb /packages/first/*.tar.*; do
    cmp "$package" "/packages/second/elsewhere/$(basename "$package")"
done
lintian --fail-on error,warning /packages/first/*.changes
