# SPDX-License-Identifier: MIT
"""The program `recorded` under `spex record`, for tests that are called with the paths of both."""

import os
import shutil
import sys
import unittest

from launched import RUNS, SKIP, SPEX, Runs

MISSING = None
try:
    import traces
    if not shutil.which("babeltrace2"):
        MISSING = "babeltrace2 is not installed"
except ImportError as error:
    traces, MISSING = None, "python3-bt2 is not installed: %s" % error

EMULATED, BRIEF = os.environ.get("TEST_EMULATED"), os.environ.get("TEST_BRIEF")


class Recorder(Runs):
    def command(self, arguments):
        separator = arguments.index("--") if "--" in arguments else len(arguments)
        program = [RUNS if word == "recorded" else word for word in arguments[separator:]]
        return [SPEX, "record", "-o", self.path("t"), *arguments[:separator], *program]

    def folders(self):
        return sorted(os.path.join(self.path("t"), name) for name in os.listdir(self.path("t")))


def main():
    """Runs the tests, or skips all where nothing reads traces."""
    if MISSING:
        print(MISSING)
        sys.exit(SKIP)
    del sys.argv[1:3]
    unittest.main()
