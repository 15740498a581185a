#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex watch` finds what makes a running program slow, and says why; it leaves the program as it was. `spex train --pid`
trains from a running program.

usage: watch.py SPEX STALLED LIVE
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from running import Programs

SPEX = STALLED = LIVE = None

PATIENCE = 120

ROWS = 2000

MODEL = """kernel {kernel}
executions 600
least {least}
parameters 1
parameter 200 4000 rows
class linear
adjusted-r2 1
spread 0 0.1 500
constant 0 0
changes 0 0
terms 1
term 0 {slope} 0 12:0
covariance 0 0
covariance 0 0
points 0
"""


class Watches(Programs):
    @classmethod
    def setUpClass(cls):
        cls.spex, cls.live = SPEX, LIVE

    def write(self, name, text=""):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def models(self):
        """Linear ones of all kernels through the least time of each in one run, which other programs do not change: what
        training makes of a plan depends on them."""
        result = self.run_spex("train", self.path("learnt"), "--", STALLED, ROWS, 200)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("learnt"), encoding="utf-8") as file:
            least = re.findall(r"kernel (\S+)\nexecutions 200\nleast (\S+)\n", file.read())
        self.assertEqual([kernel for kernel, _ in least], ["request", "request/digest", "request/fetch"])
        return self.write("models", "spex-models 3\n" + "".join(
            MODEL.format(kernel=kernel, least=seconds, slope=float(seconds) / ROWS) for kernel, seconds in least) + "end 3\n")

    def serve(self, requests="1000000000", **variables):
        """One that runs until it is killed."""
        process = self.start(STALLED, str(ROWS), program=requests,
                             environment=self.environment(STALL=self.path("slow"), **variables))
        self.addCleanup(process.kill)
        return process

    def watch(self, process, *arguments):
        watch = subprocess.Popen([SPEX, "watch", *arguments, "--pid", str(process.pid)], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        return watch

    def let_it_run(self, process, seconds):
        """So long by its own account, which begins when something is on."""
        begin = self.listed(process)["seconds"]
        self.until(lambda: self.listed(process)["seconds"] > begin + seconds)

    def told(self):
        """What a watch has written to the file "out", as far as its lines are whole."""
        with open(self.path("out"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def is_usual(self, kernel):
        """Whether no anomaly of it goes on."""
        told = [line["event"] for line in self.told() if line.get("kernel") == kernel]
        return not told or told[-1] == "ends"

    def test_a_slow_disk_is_found_and_the_selection_put_back(self):
        models = self.models()
        process = self.serve()
        self.set(process.pid, "request@1000000")
        before = self.selected(process)
        watch = self.watch(process, models, "--alarms", "1e-6", "--json", "-o", self.path("out"))
        # Enough to know what is usual.
        self.until(lambda: "kernel" in self.leased(process))
        self.let_it_run(process, 5)
        # Other programs of the machine may have begun an anomaly, which would hold this one, too.
        self.until(lambda: self.is_usual("request/fetch"))
        slow = time.time()
        self.write("slow")
        self.let_it_run(process, 4)
        os.unlink(self.path("slow"))
        # The first slow execution may have begun before, and waited for the processor.
        self.until(lambda: any(line["event"] == "ends" and line["kernel"] == "request/fetch" and line["time"] > slow - 1
                               and line["executions"] > 50 for line in self.told()))
        watch.send_signal(signal.SIGINT)
        _, errors = watch.communicate(timeout=PATIENCE)
        *lines, account = self.told()
        self.assertEqual((watch.returncode, account["event"]), (3, "account"), errors)
        found = [line for line in lines if line["kernel"] == "request/fetch" and line["time"] > slow - 1]
        waits = [line for line in found if line["cause"] == "waits for I/O or a lock"]
        self.assertTrue(waits and waits[0]["changes"], lines)
        # It may go on as one that other programs make, whose times the median has then; and these make some alone.
        longest = max((line for line in found if line["event"] == "ends"), key=lambda line: line["executions"])
        self.assertGreater(longest["executions"], 50, lines)
        self.assertTrue(longest["shift"], lines)
        self.assertGreater(longest["worst_ratio"], 100, lines)
        self.assertGreater(longest["median_ratio"], 1, lines)
        self.assertEqual(longest["parameters"], {"rows": ROWS}, lines)
        self.assertLess(longest["predicted_seconds"], longest["seconds"], lines)
        self.assertEqual(self.selected(process), before)

    @staticmethod
    def waited(process):
        """The share of its time that a program that computes has waited for a CPU."""
        with open("/proc/%d/schedstat" % process.pid, encoding="utf-8") as file:
            ran, waited = map(int, file.read().split()[:2])
        return waited / (ran + waited)

    def test_nothing_is_found_where_nothing_happens(self):
        models = self.models()
        process = self.serve()
        watch = self.watch(process, models, "--alarms", "1e-6", "--for", "4", "--json")
        output, errors = watch.communicate(timeout=PATIENCE)
        account = json.loads(output.splitlines()[-1])
        self.assertGreater(account["judged"], 1000, errors)
        self.assertEqual(account["kernels"], 3)
        # What else runs on this machine takes the CPU and its caches, which are anomalies indeed. Where it did before, too,
        # figures do not tell so.
        others = ["another program takes the CPU", "computes more, or caches miss", "no figures of its thread"]
        if self.waited(process) > 0.1:
            others.append("its thread's figures do not say why")
        found = [told for told in map(json.loads, output.splitlines())
                 if told["event"] == "begins" and told["cause"] not in others]
        self.assertLessEqual(len(found), 3, output)
        self.assertEqual(self.selected(process), "off")

    def test_two_may_watch_and_the_program_may_end(self):
        models, _ = self.train(STALLED, 60)
        process = self.serve()
        watches = [self.watch(process, models) for _ in range(2)]
        self.let_it_run(process, 1)
        process.kill()
        for watch in watches:
            output, errors = watch.communicate(timeout=PATIENCE)
            self.assertIn(watch.returncode, (0, 3), errors)
            self.assertRegex(output, r"(?m)^\d+ executions of \d kernels? judged in \d+\.\d s: \d+ anomalous, in \d+ anomal")

    def test_text_goes_into_a_file(self):
        models = self.models()
        self.write("slow")
        process = self.serve()
        watch = self.watch(process, models, "--for", "3s", "-o", self.path("out"))
        output, errors = watch.communicate(timeout=PATIENCE)
        self.assertEqual((watch.returncode, output), (3, ""), errors)
        with open(self.path("out"), encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"(?m)^\d\d:\d\d:\d\d\.\d{3}  begins   #\d+ request/fetch\(rows=2000\): \S+ ms instead of \S+ [µm]s "
                         r"\(\S+ [nµm]s to \S+ [µm]s\), thread \d+")
        self.assertRegex(text, r"(?m)^\S+  (goes on|ends   )  #\d+ request/fetch: after \S+ s; \d+ executions took ")

    def test_models_come_from_a_running_program(self):
        process = self.serve()
        result = self.run_spex("train", self.path("learnt"), "--pid", process.pid, "--for", "1s")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"spex: 1\.\d s; \d+ records of kernels, \d+ lost, \d+ left out\n$")
        rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()}
        self.assertGreater(int(rows["request/fetch"][0]), 10)
        self.assertEqual(self.selected(process), "off")
        with open(self.path("learnt"), encoding="utf-8") as file:
            self.assertIn("kernel request/digest\n", file.read())

    def test_training_may_be_ended_and_the_program_may_end(self):
        for end in "training", "program":
            process = self.serve()
            training = subprocess.Popen([SPEX, "train", self.path(end), "--pid", str(process.pid), "--probes",
                                         "fetch:kernel"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=self.environment())
            self.addCleanup(training.communicate)
            self.addCleanup(training.kill)
            self.until(lambda process=process: "fetch" in self.leased(process))
            self.let_it_run(process, 0.5)
            if end == "training":
                training.send_signal(signal.SIGINT)
            else:
                process.kill()
            output, errors = training.communicate(timeout=PATIENCE)
            self.assertEqual(training.returncode, 0, errors)
            self.assertEqual([line.split()[0] for line in output.splitlines()], ["kernel", "fetch"])
            self.assertTrue(os.path.exists(self.path(end)))

    def test_what_cannot_be_trained_is_said(self):
        process = self.serve()
        for status, message, arguments in (
                (2, "either --pid or a program", ["--pid", process.pid, "--", STALLED]),
                (2, "either --pid or a program", ["--pid", process.pid, "--runs", "plan.xml"]),
                (2, "--for goes with --pid", ["--for", "1", "--", STALLED]),
                (2, "--for 0: a time was expected, as 90s, 10min or 2h", ["--pid", process.pid, "--for", "0"]),
                (2, "the number of a process", ["--pid", "stalled"]),
                (1, "no kernel has made a record", ["--pid", process.pid, "--for", "0.1", "--probes", "none:kernel"])):
            result = self.run_spex("train", self.path("learnt"), *arguments)
            self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
            self.assertIn(message, result.stderr)
            self.assertFalse(os.path.exists(self.path("learnt")))

    def test_what_is_not_judged_is_told(self):
        models = self.models()
        process = self.start(STALLED, "9000", program="1000000000")
        self.addCleanup(process.kill)
        watch = self.watch(process, models, "--for", "1")
        output, errors = watch.communicate(timeout=PATIENCE)
        self.assertEqual(watch.returncode, 0, errors)
        self.assertRegex(output, r"(?m)^not judged: \d+ with parameters beyond those of the training$")

    def refuse(self, status, message, *arguments):
        result = self.run_spex("watch", *arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ""), result.stderr)
        self.assertIn(message, result.stderr)

    def test_what_is_wrong_is_said(self):
        models = self.models()
        live = self.start()
        self.refuse(2, "MODELS --pid PID was expected", live.pid)
        self.refuse(2, "MODELS --pid PID was expected", live.pid, "--pid", live.pid, "--model", models)
        self.refuse(2, "one file of models was expected, not 0", "--pid", live.pid)
        self.refuse(2, "the number of a process was expected", "live", "--model", models)
        self.refuse(2, "--alarms 0.5: 1e-9 to 0.01", live.pid, "--model", models, "--alarms", "0.5")
        self.refuse(2, "--for soon: a time was expected, as 90s, 10min or 2h", live.pid, "--model", models, "--for", "soon")
        self.refuse(2, "--probes: ", live.pid, "--model", models, "--probes", "a@b")
        self.refuse(1, "No such file", live.pid, "--model", self.path("nothing"))
        self.refuse(1, "has none of the kernels", live.pid, "--model", models)
        self.refuse(1, "has none of the kernels", models, "--pid", live.pid)
        self.refuse(1, "has no control socket", self.stranger(), "--model", models)
        self.assertEqual(self.selected(live), "off")


if __name__ == "__main__":
    SPEX, STALLED, LIVE = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
