# SPDX-License-Identifier: MIT
"""Explorations of the program `subject`, for tests that are called with the paths of spex and of the program."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SPEX, SUBJECT = map(os.path.abspath, sys.argv[1:3])
PATIENCE = 300  # seconds after which a test has failed, whatever the machine


# Runs are as short as a test can have them, unless it says otherwise.
def space(parameters, run='records_per_thread="20" warmup="0.01"', probe="work:tpt",
          metric="throughput", goal="maximise", rest=""):
    if "least=" not in run:
        run += ' least="0"'
    return (f'<space name="test">\n{parameters}\n'
            f'<objective probe="{probe}" metric="{metric}" goal="{goal}"/>\n'
            f'<run {run}/>\n{rest}</space>\n')


def behaviours(*names):
    return f'<parameter name="behaviour" type="categorical" values="{" ".join(names)}"/>'


WORK = '<parameter name="work" type="integer" unit="us" values="200 800"/>'
THREADS = '<parameter name="threads" type="integer" min="1" max="2"/>'
MANY = '<parameter name="work" type="integer" min="101" max="160"/>'


def subjects(folder):
    """Processes that run the subject for an exploration whose files are in the folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                explored = f"\0SPEX_CONFIG={folder}/".encode() in b"\0" + environment.read()
            if explored and os.readlink(f"/proc/{pid}/exe") == SUBJECT:
                found.append(int(pid))
        except OSError:
            pass  # ended meanwhile, or a thread of the kernel
    return found


class Exploration(unittest.TestCase):
    def setUp(self):
        self.dir = os.path.realpath(tempfile.mkdtemp(prefix="spex-test-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.store = os.path.join(self.dir, "trials.db")
        self.environment = dict(os.environ, TMPDIR=self.dir)

    def write(self, text, name="space.xml"):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def spex(self, *arguments, **more):
        more.setdefault("env", self.environment)
        return subprocess.run([SPEX, *arguments], capture_output=True, text=True, check=False,
                              timeout=PATIENCE, **more)

    def command(self, text, program=None, policy="grid"):
        return ["explore", self.write(text), "--policy", policy, "--store", self.store, "--",
                *(program or [SUBJECT])]

    def explore(self, text, program=None, policy="grid", **more):
        return self.spex(*self.command(text, program, policy), **more)

    def until(self, condition, otherwise=None):
        """Its value, when it holds. Between looks the exploration has the processor."""
        limit = time.monotonic() + PATIENCE
        while not (value := condition()):
            self.assertLess(time.monotonic(), limit, otherwise)
            time.sleep(0.02)
        return value

    def report(self):
        result = self.spex("report", self.store, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def rows(self, sql):
        db = sqlite3.connect(self.store)
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def assert_fails(self, result, status, *phrases):
        self.assertEqual(result.returncode, status, result.stderr)
        for phrase in phrases:
            self.assertIn(phrase, result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def assert_nothing_left(self):
        """Neither files nor processes of ours."""
        self.assertEqual([n for n in os.listdir(self.dir) if n.startswith("spex-")], [])
        self.assertEqual(subjects(self.dir), [])
