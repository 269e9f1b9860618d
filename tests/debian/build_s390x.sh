#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare root: everything, compiled for s390x, in build/.
set -eu
dpkg --add-architecture s390x
apt-get update -qq
apt-get install -y -qq --no-install-recommends crossbuild-essential-s390x qemu-user pngcheck netpbm libjpeg-turbo-progs \
    libtiff-tools libimage-exiftool-perl python3-numpy >/dev/null
mkdir -p /tmp/source
cp -R samples/debian /tmp/source/
apt-get build-dep -y -qq --no-install-recommends -P cross,nocheck -a s390x /tmp/source >/dev/null

# libvips-tools has a script for Python, too, so that apt-get wants python3 for s390x.
(cd /tmp && apt-get download -qq libvips-tools:s390x && dpkg-deb -x libvips-tools_*.deb /)

cat >/tmp/s390x.txt <<'END'
[binaries]
c = 's390x-linux-gnu-gcc'
ar = 's390x-linux-gnu-ar'
strip = 's390x-linux-gnu-strip'
pkgconfig = 's390x-linux-gnu-pkg-config'
exe_wrapper = 'qemu-s390x'
[host_machine]
system = 'linux'
cpu_family = 's390x'
cpu = 's390x'
endian = 'big'
END
meson setup build --cross-file /tmp/s390x.txt -Dcuda=disabled -Dwerror=true
ninja -C build
