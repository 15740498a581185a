# SPDX-License-Identifier: MIT
"""The program `runs` under `spex run`, for tests that are called with the paths of both."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# A shell leaves it ignored in what it starts in the background, and programs inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SPEX, RUNS = (os.path.abspath(path) for path in sys.argv[1:3])
SKIP = 77
PATIENCE = 300  # seconds after which a test has failed, whatever the machine


def wait_for(condition):
    """Until it holds; its value."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    raise AssertionError("waited in vain")


def process_status(number):
    """The text of /proc/NUMBER/status, that of a zombie if the process is gone."""
    try:
        with open("/proc/%d/status" % number, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return "State:\tZ"


def counts(process):
    return {(probe["name"], probe["type"]): probe["count"] for probe in process["probes"]}


EXACTLY = {("request", "lat"): 1000, ("step", "cnt"): 1000}
NOBODY = "no process of %s has connected: each is without spex, or has not called spex_start, or did so without"


class Runs(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="spex-test-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("SPEX_")}
        self.environment["XDG_RUNTIME_DIR"] = self.dir
        self.environment["SPEX_CONTROL"] = "off"

    def tearDown(self):
        """Whatever has happened, the socket is gone."""
        places = os.path.join(self.dir, "spex")
        self.assertEqual(os.listdir(places) if os.path.exists(places) else [], [])

    def path(self, name):
        return os.path.join(self.dir, name)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def command(self, arguments):
        separator = arguments.index("--")
        program = list(arguments[separator + 1:])
        if program and program[0] == "runs":
            program[0] = RUNS
        return [SPEX, "run", *arguments[:separator], "--", *program]

    def run_it(self, *arguments, stdin="", **variables):
        return subprocess.run(self.command(arguments), input=stdin, capture_output=True, text=True,
                              check=False, timeout=PATIENCE,
                              env={**self.environment, **variables})

    def start(self, *arguments, **options):
        process = subprocess.Popen(self.command(arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment, **options)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def ready(self, process):
        """The number of the program, once it is ready."""
        return int(re.fullmatch(r"ready (\d+)\n", process.stdout.readline())[1])

    def finish(self, process, status):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, err)
        return out, err

    def skip_without_forks(self, result):
        if result.returncode == SKIP:
            print("SKIP: gcc's sanitizers have no threads in the child of a fork")
            self.skipTest("no threads after a fork")

    def run_json(self, *arguments, status=0, **options):
        result = self.run_it("--json", "-o", self.path("json"), *arguments, **options)
        self.skip_without_forks(result)
        self.assertEqual(result.returncode, status, result.stderr)
        found = json.loads(self.text("json"))
        self.assertEqual(found["final"], True)
        return found, result
