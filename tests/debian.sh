#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What needs a Debian of its own, as root: the last commit, tried in bare roots of debootstrap's.
#
#     tests/debian.sh TRIAL SUITE FOLDER [OPTION...]       as in: tests/debian.sh packages trixie /var/tmp/roots
#
#     newcomer   samples/quickstart.sh, and tests/run.sh with the OPTIONs
#     packages   Debian's packages: built twice by an ordinary user without a network, to the same bytes, and passed by
#                lintian; then installed in another root, tried, and removed. OPTIONs are DEB_BUILD_OPTIONS: nocheck
#     wheel      Python's package, likewise, in a root without a compiler
#     s390x      where the first byte is the highest, emulated: the tests named by OPTIONs, or those of file formats
#
# FOLDER keeps a bare root for each suite, SUITE, and the roots of the last trials, SUITE-TRIAL; what these were before is
# removed.
set -eu
[ $# -ge 3 ] || { sed -n 's/^#     //p' "$0"; exit 2; }
trial=$1 suite=$2 folder=$3
shift 3
cd "$(dirname "$0")/.."
[ -e "tests/debian/$trial.sh" ] || { echo "$trial is no trial"; exit 2; }

# A bare root of the suite, new, with a clone of the last commit.
new_root() {
    root=$folder/$1
    bare=$folder/$suite
    if [ ! -e "$bare/complete" ]; then
        mkdir -p "$folder"
        rm -rf --one-file-system "$bare"
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$bare" >"$bare.log"
        touch "$bare/complete"
    fi
    rm -rf --one-file-system "$root"
    cp -a "$bare" "$root"
    cp /etc/resolv.conf "$root/etc/"
    for setting in /etc/apt/apt.conf.d/*; do # proxies, and whom they are signed by, but nothing that is a package's
        dpkg-query -S "$setting" >/dev/null 2>&1 || cp "$setting" "$root/etc/apt/apt.conf.d/"
    done
    cp -R /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/root" # its files need not be on the disk
    git clone -q --no-hardlinks . "$root/src/tiletranspose"
}

# A command in a root, from the clone. What is mounted, and a kind of programs that the line in $binfmt makes known, is
# so for its processes only.
in_root() {
    root=$folder/$1
    shift
    # shellcheck disable=SC2086,SC2097,SC2098
    root=$(realpath "$root") binfmt=${binfmt-} unshare ${binfmt:+--user --map-root-user} --mount --pid --fork sh -euc '
        mount -t proc proc "$root/proc"
        mount -t devpts devpts "$root/dev/pts" -o newinstance,ptmxmode=666
        mount -t tmpfs tmpfs "$root/dev/shm" -o mode=1777
        if [ "$binfmt" ]; then
            mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
            echo "$binfmt" >/proc/sys/fs/binfmt_misc/register
        fi
        exec chroot "$root" "$@"' sh \
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        http_proxy="${http_proxy-}" https_proxy="${https_proxy-}" PIP_CERT=/etc/ssl/certs/ca-certificates.crt \
        sh -euc 'cd /src/tiletranspose && "$@"' sh "$@"
}

. "tests/debian/$trial.sh"
