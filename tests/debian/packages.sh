# SPDX-License-Identifier: MIT
# Sourced by tests/debian.sh: Debian's packages, built in one root and used in another.
new_root "$suite-packages"
in_root "$suite-packages" sh tests/debian/build_packages.sh "$@"

new_root "$suite-packages-user"
mv "$folder/$suite-packages/packages/first" "$folder/$suite-packages-user/packages"
in_root "$suite-packages-user" sh tests/debian/use_packages.sh
