# SPDX-License-Identifier: MIT
"""Tests in a folder of their own."""
import os
import shutil
import signal
import tempfile
import unittest

# What a test sends arrives, also under nohup and in a shell's background, where such signals are ignored.
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


class FolderTest(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="imgtranspose-test-"))  # as the command names it
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()
