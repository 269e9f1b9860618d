# SPDX-License-Identifier: MIT
# Sourced by tests/debian.sh: everything for s390x, whose first byte is the highest, by a cross compiler, and the tests of
# what reads and writes numbers by their bytes, with qemu-user, which takes twenty times as long.
new_root "$suite-s390x"
in_root "$suite-s390x" sh tests/debian/build_s390x.sh

[ $# != 0 ] || set -- orientation golden plan dlpack orientation_tag pnm png gif heif tiff jpeg upright report tasks "in place" deflate
binfmt=':s390x:M::\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16'
binfmt=$binfmt':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff'
binfmt=$binfmt:$(realpath "$folder/$suite-s390x/usr/bin/qemu-s390x"):F
in_root "$suite-s390x" meson test -C build --no-rebuild --print-errorlogs --timeout-multiplier 20 "$@"
