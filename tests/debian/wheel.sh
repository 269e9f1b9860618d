# SPDX-License-Identifier: MIT
# Sourced by tests/debian.sh: Python's package as a wheel, built in one root and used in another.
new_root "$suite-wheel"
in_root "$suite-wheel" sh tests/debian/build_wheel.sh

new_root "$suite-wheel-user"
mv "$folder/$suite-wheel/wheels/portable" "$folder/$suite-wheel-user/wheels"
in_root "$suite-wheel-user" sh tests/debian/use_wheel.sh
