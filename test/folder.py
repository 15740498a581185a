# SPDX-License-Identifier: MIT
"""Tests that compile and run programs in a folder of their own."""

import os
import subprocess
import tempfile
import unittest

# What a program needs beside libspex.a.
LIBRARIES = ["-pthread", "-lm"]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def succeeds(self, *command, **keywords):
        result = subprocess.run(command, text=True, capture_output=True, check=False, **keywords)
        self.assertEqual(result.returncode, 0, "%s\n%s%s" % (" ".join(command), result.stdout, result.stderr))
        return result
