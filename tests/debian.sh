#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every test on another Debian, as root: the last commit, cloned into a root of debootstrap's, and tests/run.sh there.
#
#     tests/debian.sh SUITE ROOT [OPTION...]       as in: tests/debian.sh sid /var/tmp/sid
#
# ROOT is made if it does not exist, and kept: remove it when it is no longer wanted. /proc is mounted for these
# processes only, so nothing is left mounted, and /dev is the root's own.
set -eu
[ $# -ge 2 ] || { sed -n 's/^#     //p' "$0"; exit 2; }
suite=$1 root=$2
shift 2
cd "$(dirname "$0")/.."

[ -e "$root" ] || debootstrap --variant=minbase --include=ca-certificates "$suite" "$root"
grep -q '^ID=debian' "$root/etc/os-release" || { echo "$root is no root of Debian"; exit 2; }
rm -rf "$root/src/tiletranspose"
git clone -q --no-hardlinks . "$root/src/tiletranspose"
cp /etc/resolv.conf "$root/etc/"
cp -R /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" # proxies

exec unshare --mount --pid --fork --mount-proc="$(realpath "$root")/proc" \
    chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" \
    sh -c 'cd /src/tiletranspose && exec sh tests/run.sh "$@"' run.sh "$@"
