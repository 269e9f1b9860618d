#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Debian packages of the last commit, in OUT_DIR:
#
#     samples/debian/build.sh OUT_DIR [OPTION of dpkg-buildpackage...]
#
# What building needs and is missing is named by dpkg-buildpackage; `apt-get build-dep` takes the folder
# OUT_DIR/tiletranspose-VERSION. DEB_BUILD_OPTIONS=nocheck leaves the tests out.
set -eu
[ $# -ge 1 ] || { sed -n 's/^#     //p' "$0"; exit 2; }
mkdir -p "$1"
out=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
umask 022 # the files of a package are for all

version=$(sed -n '1s/.*(\(.*\)-[^-]*).*/\1/p' samples/debian/changelog)
name=tiletranspose-$version
rm -rf "$out/$name"
git archive --format=tar.gz --prefix="$name/" -o "$out/tiletranspose_$version.orig.tar.gz" HEAD
tar -xzf "$out/tiletranspose_$version.orig.tar.gz" -C "$out"
cp -R "$out/$name/samples/debian" "$out/$name/debian"
cd "$out/$name"
exec dpkg-buildpackage --no-sign "$@"
