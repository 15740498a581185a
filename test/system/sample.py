#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex sample` runs a program, or follows one that runs, and has its kernels sampled as often as their models say.

usage: sample.py SPEX KERNELS STALLED LIVE
"""

import json
import os
import signal
import subprocess
import sys
import unittest

from running import AS_NOBODY, can_become_nobody, Programs

SPEX = KERNELS = STALLED = LIVE = None

PATIENCE = 120


class Samples(Programs):
    @classmethod
    def setUpClass(cls):
        cls.spex, cls.live = SPEX, LIVE

    def models(self, program, count):
        return self.train(program, count)[0]

    def sample(self, *arguments):
        return subprocess.run([SPEX, "sample", *arguments], capture_output=True, text=True, check=False,
                              timeout=PATIENCE, env=self.environment())

    def sound(self, account, samples):
        self.assertEqual((account["samples"], account["lost"]), (samples, 0))
        self.assertEqual(account["enough"], sum(kernel["enough"] for kernel in account["kernels"]))
        for kernel in account["kernels"]:
            self.assertLessEqual(kernel["looked_at"], kernel["executions"])
            self.assertGreaterEqual(kernel["required"], samples * kernel["looked_at"])
            self.assertGreater(kernel["records"] + kernel["looked_at"], 0, kernel)
            self.assertGreater(kernel["mean_seconds"], 0)
            if kernel["margin_seconds"] is not None:
                self.assertGreaterEqual(kernel["margin_seconds"], 0)

    def test_a_program(self):
        models = self.models(KERNELS, 3)
        result = self.sample(models, "-n", "2", "--json", "-o", self.path("out"), "--", KERNELS, "30000", "4")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertRegex(result.stdout, r"^\d+\n$")
        with open(self.path("out"), encoding="utf-8") as file:
            account = json.load(file)
        self.sound(account, 2)
        kernels = {kernel["kernel"]: kernel for kernel in account["kernels"]}
        self.assertEqual(list(kernels), ["report", "report/find", "report/load", "report/pairs", "report/sort"])
        # Which kernels are long enough to be looked at depends on the machine, and beside other work training may
        # find no class. The first execution of each is recorded.
        for kernel in kernels.values():
            self.assertGreaterEqual(kernel["executions"], 1, kernel)
            self.assertLessEqual(kernel["executions"], 4 + kernel["executions_margin"], kernel)
        known = [kernel for kernel in kernels.values() if kernel["class"] != "unknown"]
        self.assertNotEqual(known, [])
        self.assertEqual({kernel["class"] for kernel in kernels.values()} - {"unknown", "constant", "logarithmic"} -
                         {"linear", "polynomial"}, set())

    def test_a_table_beside_the_programs_own_output(self):
        models = self.models(KERNELS, 3)
        result = self.sample(models, "-b", "2%", "--", KERNELS, "4000", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^\d+\n$")
        # Long figures, as a busy machine makes them, leave no room for the last column.
        self.assertRegex(result.stderr, r"^kernel +class +executions +± +samples +asked for +mean +±( +predicted)?\nreport  ")
        self.assertRegex(result.stderr, r"kernels have half to twice the samples asked for, 10 an execution; \d+ records lost\n$")

    def test_the_programs_end_is_its_own(self):
        models = self.models(KERNELS, 3)
        shell = 'exec "$0" "$@"'
        result = self.sample(models, "--", "/bin/sh", "-c", "%s; exit 7" % '"$0" 1000', KERNELS)
        self.assertEqual(result.returncode, 7, result.stderr)
        result = self.sample(models, "--", "/bin/sh", "-c", shell, KERNELS, "1000")
        self.assertEqual(result.returncode, 0, result.stderr)
        result = self.sample(models, "--", "/bin/sh", "-c", "kill -KILL $$")
        self.assertEqual(result.returncode, -signal.SIGKILL, result.stderr)
        result = self.sample(models, "--", "/nowhere")
        self.assertEqual(result.returncode, 127, result.stderr)
        result = self.sample(models, "--", "/bin/true")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "spex: sample: /bin/true did not connect: no spex_start with the SPEX_OUT given\n")

    def test_a_program_that_has_dropped_its_privileges(self):
        if not can_become_nobody(KERNELS):
            self.skipTest("root, and a program that others can run, were expected")
        models = self.models(KERNELS, 3)
        os.chmod(self.dir, 0o711)
        with open(self.path("out"), "w", encoding="utf-8") as file:
            file.write("old")
        os.link(self.path("out"), self.path("link"))
        result = self.sample(models, "--json", "-o", self.path("out"), "--", *AS_NOBODY, KERNELS, "1000", "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("out"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["kernels"]), 5)
        with open(self.path("link"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "old")

    def test_a_running_program(self):
        models = self.models(STALLED, 60)
        process = self.start(STALLED, "2000", program="1000000000",
                             environment=self.environment(STALL=self.path("slow")))
        self.addCleanup(process.kill)
        self.set(process.pid, "request@1000000")
        before = self.selected(process)
        for _ in range(2):
            result = self.sample(models, "--pid", str(process.pid), "--for", "1000ms", "-n", "5", "--json")
            self.assertEqual(result.returncode, 0, result.stderr)
            account = json.loads(result.stdout)
            self.sound(account, 5)
            self.assertEqual(len(account["kernels"]), 3)
            self.assertEqual(self.selected(process), before)
        # So that it goes by no models any more.
        result = self.run_spex("set", str(process.pid), "*:kernel@poll")
        self.assertEqual(result.returncode, 0, result.stderr)

    def refused(self, status, message, *arguments):
        result = self.sample(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result)
        self.assertEqual(result.stderr.replace("; see spex sample --help\n", "\n"), "spex: %s\n" % message)

    def test_what_cannot_be_done_is_refused(self):
        models = self.models(KERNELS, 3)
        self.refused(2, "sample: one file of models was expected, not 0", "--", KERNELS)
        self.refused(2, 'sample: one file of models was expected, not 2; the program goes after "--"', models, KERNELS)
        self.refused(2, 'sample: "-- PROGRAM" was expected', models)
        self.refused(2, "sample: -n 0: a number of 0.01 to 1000000 was expected", models, "-n", "0", "--", KERNELS)
        self.refused(2, "sample: --budget 0: a percentage of the program's CPU time, above 0% and up to 100%, was expected, "
                        "such as 2%", models, "-b", "0", "--", KERNELS)
        self.refused(2, "sample: --for goes with --pid", models, "--for", "1", "--", KERNELS)
        self.refused(2, "sample: either --pid or a program to be run was expected, not both", models, "--pid", "1", "--",
                     KERNELS)
        self.refused(1, "cannot read %s: No such file or directory" % self.path("none"), self.path("none"), "--", KERNELS)
        result = self.sample("/dev/null", "--", KERNELS)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("/dev/null", result.stderr)

    def test_what_a_program_is_told_is_looked_at(self):
        models, pipe = self.models(KERNELS, 3), self.path("pipe")
        os.mkfifo(pipe)
        for variables, message in (({"SPEX_MODELS": "/nowhere"},
                                    "spex: SPEX_MODELS: cannot read /nowhere: No such file or directory\n"),
                                   ({"SPEX_MODELS": "/dev/zero"},
                                    "spex: SPEX_MODELS: cannot read /dev/zero: a regular file was expected\n"),
                                   ({"SPEX_MODELS": pipe},
                                    "spex: SPEX_MODELS: cannot read %s: a regular file was expected\n" % pipe),
                                   ({"SPEX_MODELS": models, "SPEX_SAMPLES": "many"},
                                    "spex: SPEX_SAMPLES=many: a number of 0.01 to 1000000 was expected\n")):
            result = subprocess.run([KERNELS, "1000"], capture_output=True, text=True, check=False,
                                    timeout=PATIENCE, env=self.environment(SPEX_PROBES="*:kernel@poll", **variables))
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    SPEX, KERNELS, STALLED, LIVE = sys.argv[1:5]
    unittest.main(argv=sys.argv[:1], verbosity=2)
