#!/bin/sh
# SPDX-License-Identifier: MIT
# samples/setup.sh says what it installs before it does, installs nothing that is there, and where it cannot it says what
# is missing and why. Debian's programs are played.  usage: test_setup.sh SOURCE_DIR
# shellcheck disable=SC2016
set -eu
source=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# The programs that there are: those that any system has, and the players.
for program in cat env mktemp rm sh; do
    ln -s "$(command -v $program)" "$out/$program"
done
play() { # name, script
    printf '#!/bin/sh\n%s\n' "$2" >"$out/$1"
    chmod +x "$out/$1"
}
play id 'echo "$USER_ID"'
play dpkg-query 'case $4 in gcc) echo installed ;; meson) echo config-files ;; *) exit 1 ;; esac'
play apt-get 'cat "$OUT/said" >>"$OUT/before"; echo "$DEBIAN_FRONTEND apt-get $*" >>"$OUT/did"; echo chatter; exit "$FAILING"'

# What is said of packages, and what is done: setup USER_ID FAILING PACKAGE..., which leaves said, before and did
setup() {
    user=$1 failing=$2
    shift 2
    : >"$out/said" && : >"$out/before" && : >"$out/did"
    status=0
    mkdir "$out/temporary"
    env -i PATH="$out" OUT="$out" TMPDIR="$out/temporary" USER_ID="$user" FAILING="$failing" sh -euc '. "$0" && install_missing "$@"' \
        "$source/samples/setup.sh" "$@" >"$out/said" 2>&1 || status=$?
    rmdir "$out/temporary" # where nothing stays
}

expect() { # what, file of what is, lines that should be
    printf '%s' "$3" | diff - "$out/$2" || { echo "FAILED: $1" >&2; exit 1; }
}

installing='Installing from Debian: meson ninja-build
'
run=' apt-get update -qq
noninteractive apt-get install -y -qq --no-install-recommends meson ninja-build
'

setup 0 0 gcc
[ $status = 0 ]
expect "nothing is missing" said ''
expect "nothing is missing" did ''

setup 0 0 gcc meson ninja-build
[ $status = 0 ]
expect "root: what is said" said "$installing"
expect "root: what was said before" before "$installing$installing"
expect "root: what is done" did "$run"

setup 1000 0 gcc meson ninja-build
[ $status = 1 ]
expect "no sudo: what is said" said 'Please have these packages installed, then run this again: meson ninja-build
'
expect "no sudo: what is done" did ''

play sudo 'echo "sudo $1" >>"$OUT/asked"; unset DEBIAN_FRONTEND; exec "$@"'
setup 1000 0 gcc meson ninja-build
[ $status = 0 ]
expect "sudo: what is said" said "$installing"
expect "sudo: what is done" did "$run"
expect "sudo is asked" asked 'sudo apt-get
sudo env
'

setup 0 100 gcc meson ninja-build
[ $status = 1 ]
expect "apt-get fails: what is said" said "${installing}chatter
These could not be installed: meson ninja-build
"

rm "$out/dpkg-query"
setup 0 0 gcc meson
[ $status = 0 ]
expect "not Debian: what is said" said 'This is not Debian or one of its children. Please see that you have what these packages hold:
    gcc meson
'
expect "not Debian: what is done" did ''
