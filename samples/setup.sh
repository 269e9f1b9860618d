# SPDX-License-Identifier: MIT
# Sourced by samples/quickstart.sh and tests/run.sh: gets a machine and a checkout ready.

# Installs the Debian packages among "$@" that are missing, and says so first; 1 where it cannot.
install_missing() {
    command -v dpkg-query >/dev/null || {
        echo "This is not Debian or one of its children. Please see that you have what these packages hold:"
        echo "    $*"
        return 0
    }
    missing=
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || status=
        [ "$status" = installed ] || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" != 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || {
            echo "Please have these packages installed, then run this again:$missing"
            return 1
        }
    fi
    echo "Installing from Debian:$missing"
    said=$(mktemp)
    # shellcheck disable=SC2086
    {
        $as_root apt-get update -qq &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
    } >"$said" 2>&1 || {
        cat "$said"
        rm "$said"
        echo "These could not be installed:$missing"
        return 1
    }
    rm "$said"
}

# Configures a folder with options and builds $targets in it, or everything: build FOLDER OPTION... Machine code for every
# GPU takes nvcc many minutes: where there is no GPU, one architecture shows that it builds.
build() {
    folder=$1
    shift
    [ -e /dev/nvidiactl ] || set -- -Dgpu_archs=90 "$@"
    [ ! -e "$folder/build.ninja" ] || set -- --reconfigure "$@"
    mkdir -p "$folder"
    meson setup "$folder" "$@" >"$folder/setup.log" || { cat "$folder/setup.log"; exit 1; }
    # shellcheck disable=SC2086
    if [ -t 1 ]; then
        ninja -C "$folder" ${targets:-} # which shows how far it is
    else
        ninja -C "$folder" ${targets:-} >"$folder/ninja.log" || { cat "$folder/ninja.log"; exit 1; }
    fi
}

targets= # all
needed_to_build="gcc libc6-dev meson ninja-build pkg-config zlib1g-dev libisal-dev libdeflate-dev libpng-dev libjpeg-dev libtiff-dev libglib2.0-dev libjson-glib-dev libvips-dev libvips-tools"
# What the tests look with.
needed_to_test="g++ binutils mandoc strace parallel bash zsh fish python3-numpy python3-mesonpy python3-pip python3-pil pngcheck netpbm imagemagick libjpeg-turbo-progs libtiff-tools libimage-exiftool-perl libjxl-tools"
