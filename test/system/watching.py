# SPDX-License-Identifier: MIT
"""Programs that are watched by `spex probes` while they run, until what is waited for is so."""

import json
import os
import subprocess
import tempfile
import time
import unittest

PATIENCE = 180  # a busy machine makes probes look dearer than they are, which takes a while to be found out


class Watched(unittest.TestCase):
    """Their sockets are in a directory of their own."""

    spex = None
    program = ()  # the command

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        self.environment["SPEX_CONTROL"] = os.path.join(self.folder, "control")
        self.environment.update(COLUMNS="200", SPEX_VERBOSE="1")

    def start(self, *before, program=None, **variables):
        process = subprocess.Popen([*before, *(program or self.program)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   env={**self.environment, **variables})
        self.addCleanup(process.kill)
        return process

    def run_spex(self, *arguments, **options):
        return subprocess.run([self.spex, *map(str, arguments)], env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE, **{"check": False, **options})

    def sites(self, process):
        """Of the running program, by name; none while it does not answer itself yet."""
        result = self.run_spex("probes", "--json", process.pid)
        listed = json.loads(result.stdout) if result.stdout else {"sites": []}
        return {site["name"]: site for site in listed["sites"] if "on" in site}

    def wait_for(self, process, condition):
        end = time.monotonic() + PATIENCE
        sites = {}
        while time.monotonic() < end:
            sites = self.sites(process)
            if sites and condition(sites):
                return sites
            time.sleep(0.02)
        self.fail(f"the condition was never met; at last: {sites}")

    def finish(self, process):
        """What it has said, and on standard error."""
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        return output, errors
