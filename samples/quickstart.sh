#!/bin/sh
# SPDX-License-Identifier: MIT
# From a fresh clone to a turned picture: installs what is missing, builds, turns a sample.
set -eu
cd "$(dirname "$0")/.."
. samples/setup.sh

# shellcheck disable=SC2086
install_missing $needed_to_build
echo "Building in build/ ..."
build

mkdir -p build/quickstart
build/cli/imgtranspose --rotate 90 --overwrite -v -o build/quickstart/letter.png samples/pictures/letter.png

cat <<EOF

Done. Look at these two pictures side by side:
    samples/pictures/letter.png
    build/quickstart/letter.png        the same, turned by imgtranspose
Next:  build/cli/imgtranspose --help
EOF
