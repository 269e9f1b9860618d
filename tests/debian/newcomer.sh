# SPDX-License-Identifier: MIT
# Sourced by tests/debian.sh: the README's two commands.
new_root "$suite-newcomer"
in_root "$suite-newcomer" sh samples/quickstart.sh
in_root "$suite-newcomer" sh tests/run.sh "$@"
