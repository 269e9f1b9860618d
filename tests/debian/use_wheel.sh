#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare root: the wheel of /wheels, with NumPy from where pip finds it, and nothing else.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
! command -v cc gcc clang || exit 1

python3 -m venv /tmp/python
/tmp/python/bin/pip install -q /wheels/*.whl numpy
cp -R samples tests /tmp
cd /tmp # away from the package's sources
setpriv --reuid=nobody --regid=nogroup --clear-groups /tmp/python/bin/python samples/arrays.py
setpriv --reuid=nobody --regid=nogroup --clear-groups /tmp/python/bin/python tests/python/test_numpy.py
/tmp/python/bin/pip uninstall -q -y tiletranspose
! /tmp/python/bin/python -c 'import tiletranspose' 2>/dev/null || exit 1
echo "ok: removed"
