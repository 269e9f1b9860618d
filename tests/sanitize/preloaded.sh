#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the program of its name that comes next in PATH, and what that runs, with a sanitizer's library loaded first. What
# an interpreter never frees is not looked at.
here=:$(dirname "$0"): PATH=:$PATH:
PATH=${PATH%%"$here"*}:${PATH#*"$here"} # others may have put folders before it
PATH=${PATH#:} PATH=${PATH%:}
LD_PRELOAD=$TT_SANITIZER${LD_PRELOAD:+:$LD_PRELOAD}
case $0 in *python3) ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 ;; esac
export PATH LD_PRELOAD ASAN_OPTIONS
exec "${0##*/}" "$@"
