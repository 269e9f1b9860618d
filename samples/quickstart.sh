#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh clone to a turned picture: installs what is missing, builds, turns a sample.
set -eu
cd "$(dirname "$0")/.."
. samples/setup.sh

# shellcheck disable=SC2086
install_missing $needed_to_build
echo "Building in build/ ..."
targets="cli/imgtranspose plugin/tt_transpose.so" # not the tests
build build

mkdir -p build/quickstart
build/cli/imgtranspose --rotate 90 --overwrite -v -o build/quickstart/command.png samples/pictures/letter.png
vips --plugin=build/plugin/tt_transpose.so tt_transpose samples/pictures/letter.png build/quickstart/libvips.png \
    --orientation rot90

cat <<EOF

Done. Look at these pictures side by side:
    samples/pictures/letter.png      before
    build/quickstart/command.png     turned a quarter clockwise by imgtranspose
    build/quickstart/libvips.png     turned by libvips' new operation tt_transpose
Next:  build/cli/imgtranspose --help
       vips --plugin=build/plugin/tt_transpose.so tt_transpose
       sh tests/run.sh      builds and runs every test
EOF
