#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example programs that are explored by their command lines: they start, are found, make records, refuse what
they do not understand, end when they are told to, and take all that their spaces hold.

    examples.py SOURCE_ROOT SPEX SANITIZER PROGRAM…
"""

import functools
import glob
import json
import math
import os
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

from running import Programs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import tables  # pylint: disable=wrong-import-position

ROOT = SANITIZER = None
PROGRAMS = {}  # by name
PATIENCE = 300  # seconds after which a test has failed, whatever the machine

PROBES = {
    "compress": {("piece", "tpt"), ("block", "tpt"), ("block", "lat"), ("block", "flt"), ("block", "ctxsw"),
                 ("ratio", "snapshot")},
    "allocate": {("operation", "tpt"), ("operation", "lat"), ("receive", "lat"), ("footprint", "snapshot")},
    "queue": {("item", "tpt"), ("item", "lat"), ("put", "lat"), ("put", "ctxsw"), ("take", "lat"), ("take", "ctxsw"),
              ("delay", "snapshot")},
}

REFUSED = {
    "compress": [("--level=20", '--level: "20" is not an integer of 1 to 19'),
                 ("--strategy=best", '--strategy: "best" is none of level, fast, '),
                 ("--dictionary=maybe", '--dictionary: "maybe" is neither yes nor no'),
                 ("--block-kb=6", "--block-kb: 6 is not a multiple of 4")],
    "allocate": [("--threads=0", '--threads: "0" is not an integer of 1 to 64'),
                 ("--mix=huge", '--mix: "huge" is none of small, mixed, large'),
                 ("--arenas=-2", '--arenas: "-2" is not an integer of -1 to 1024')],
    "queue": [("--kind=lifo", '--kind: "lifo" is none of mutex, spinlock, wfcq'),
              ("--wait=", '--wait: "" is none of spin, yield, block'),
              ("--capacity=99999999999999999999", '--capacity: "99999999999999999999" is not an integer')],
    "all": [("--seconds=soon", '--seconds: "soon" is not a number of seconds'),
            ("--threads", "requires an argument"), ("--colour=red", "unrecognized option"),
            ("fast", '"fast" is not an option')],
}


def numbers(parameter):
    return " ".join(map(str, range(int(parameter.get("min")), int(parameter.get("max")) + 1)))


def parameters(name):
    """Of the program's space: the values, by name."""
    root = xml.etree.ElementTree.parse(os.path.join(ROOT, "examples", name, "space.xml")).getroot()
    return {parameter.get("name"): (parameter.get("values") or numbers(parameter)).split()
            for parameter in root.iter("parameter")}


def of_each_program(test):
    @functools.wraps(test)
    def test_all(self):
        for name in PROGRAMS:
            with self.subTest(program=name):
                test(self, name)
    return test_all


class Examples(Programs):
    def run_program(self, name, *arguments):
        return subprocess.run([PROGRAMS[name], *arguments], check=False, capture_output=True, text=True,
                              timeout=PATIENCE, env=self.environment())

    def launch(self, name, *arguments, before=(), **variables):
        """Starts it and waits until spex can reach it; the process, and the program's number."""
        process = subprocess.Popen([*before, PROGRAMS[name], *arguments], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=self.environment(**variables))
        self.addCleanup(self.end, process)
        while True:
            # Other tests may run examples, too. The name of a socket begins with the number of the process.
            ours = {int(socket.split("-")[0]) for socket in glob.glob("[0-9]*-*", root_dir=self.control)}
            found = [pid for pid, program in self.programs().items() if pid in ours and program["command"].startswith(name)]
            if found:
                return process, found[0]
            self.assertIsNone(process.poll())

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out, err), (0, "", ""))

    def sites(self, pid):
        listed = json.loads(self.run_spex("probes", pid, "--json").stdout)
        return {(site["name"], site["type"]): site for site in listed["sites"]}

    def recorded(self, pid):
        """The probes, by name and type, that have been executed in an interval that begins now."""
        table = tables.rows(self.run_spex("top", "-b", "-d", "0.05", "-n", "1", pid).stdout)
        return {probe for probe, row in table.items() if row["count"] != "0"}

    def wait_for_records(self, process, pid, probes):
        deadline = time.monotonic() + PATIENCE
        missing = set(probes)
        while missing:
            self.assertLess(time.monotonic(), deadline, missing)
            self.assertIsNone(process.poll())
            missing -= self.recorded(pid)

    @of_each_program
    def test_probes_of_the_file(self, name):
        listed = json.loads(self.run_spex("probes", PROGRAMS[name], "--json").stdout)
        self.assertEqual({(site["name"], site["type"]) for site in listed["sites"]}, PROBES[name])

    @of_each_program
    def test_probes_of_the_process_make_records(self, name):
        process, pid = self.launch(name)
        self.assertEqual(set(self.sites(pid)), PROBES[name])
        self.set(pid, "*")
        self.wait_for_records(process, pid, PROBES[name])
        self.set(pid, "off")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    @of_each_program
    def test_records_from_the_start(self, name):
        out = os.path.join(self.dir, name)
        process, pid = self.launch(name, SPEX_PROBES="*", SPEX_OUT=out)
        self.wait_for_records(process, pid, PROBES[name])
        self.finish(process)
        with open(out, encoding="utf-8") as file:
            table = file.read()
        for probe, kind in PROBES[name]:
            self.assertRegex(table, rf"(?m)^{probe} +{kind} ")

    @of_each_program
    def test_signals_end_it(self, name):
        for number in [signal.SIGTERM, signal.SIGINT]:
            self.finish(self.launch(name)[0], number)

    @of_each_program
    def test_time_ends_it(self, name):
        result = self.run_program(name, "--seconds=0.01")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    @of_each_program
    def test_help_names_every_parameter(self, name):
        result = self.run_program(name, "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for parameter in [*parameters(name), "seed", "seconds"]:
            self.assertIn("  --%s " % parameter, result.stdout)

    @of_each_program
    def test_bad_options(self, name):
        for argument, text in REFUSED[name] + REFUSED["all"]:
            if argument == "--threads" and name == "queue":
                continue
            result = self.run_program(name, argument)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    @of_each_program
    def test_all_values_of_the_space(self, name):
        space = parameters(name)
        for i in range(max(map(len, space.values()))):
            values = {parameter: values[i % len(values)] for parameter, values in space.items()}
            if values.get("kind") == "wfcq" and SANITIZER == "thread":
                continue  # It does not see what liburcu's assembly orders.
            result = self.run_program(name, "--seconds=0.05", *("--%s=%s" % item for item in values.items()))
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""), values)

    @of_each_program
    def test_spaces_are_read_and_named_in_the_commands(self, name):
        """A space is read before the store is opened, which there cannot be."""
        folder = os.path.join(ROOT, "examples", name)
        store = os.path.join(self.dir, "missing", "store.db")
        result = self.run_spex("explore", os.path.join(folder, "space.xml"), "--store", store, "--", PROGRAMS[name])
        self.assertIn("cannot open the store", result.stderr)
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
            readme = file.read()
        for parameter in parameters(name):
            self.assertIn("--%s={%s}" % (parameter, parameter), readme)
        count = math.prod(map(len, parameters(name).values()))
        self.assertIn("Explore %u configurations" % count, readme)

    def ratios(self, seed):
        """Least and greatest compressed size of the two blocks that the journal is."""
        out = os.path.join(self.dir, "ratios")
        process, pid = self.launch("compress", "--level=1", "--block-kb=4096", "--seed=%u" % seed,
                                   before=[self.spex, "run", "-e", "ratio", "--json", "-o", out, "--"])
        for _ in range(2):
            self.wait_for_records(process, pid, [("ratio", "snapshot")])
        self.finish(process)
        with open(out, encoding="utf-8") as file:
            probe = json.load(file)["processes"][0]["probes"][0]
        return probe["values"][1]["min"], probe["values"][1]["max"]

    def test_the_seed_decides_the_input(self):
        if "compress" not in PROGRAMS:
            self.skipTest("libzstd is not installed")
        first = self.ratios(1)
        self.assertEqual(self.ratios(1), first)
        self.assertNotEqual(self.ratios(2), first)


if __name__ == "__main__":
    ROOT, Programs.spex = map(os.path.abspath, sys.argv[1:3])
    SANITIZER = sys.argv[3]
    PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[4:]}
    if SANITIZER == "thread":
        print("SKIP: kind wfcq of examples/queue: the thread sanitizer does not see what liburcu's assembly orders")
    unittest.main(argv=sys.argv[:1], verbosity=2)
