#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""libspex-preload.so in programs without spex, with it, and with nothing to do with probes.

usage: preload.py SPEX HOST PROBES OWN EXPORTS PLUGIN MODULE PRELOAD [unittest arguments]
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import textwrap
import unittest

from launched import counts, PATIENCE, Runs, SPEX

HOST, PROBES, OWN, EXPORTS, PLUGIN, MODULE, PRELOAD = (os.path.abspath(path) for path in sys.argv[2:9])
OF_PLUGIN = {("plugin.work", "lat"): 20, ("plugin.work", "snapshot"): 20}
OF_HOST = {("host.work", "cnt"): 20}
HINT = "--preload brings spex to a program without it"

# A module of Python, which wants to be compiled for it.
EXTENSION = """
#include <Python.h>
#include <spex/probe.h>
SPEX_PROVIDER("extension");
static PyObject *work(PyObject *self, PyObject *nothing) {
    SPEX_CNT_SCOPE("step", 1);
    return PyLong_FromLong(7);
}
static PyMethodDef methods[] = {{"work", work, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "extension", "", -1, methods};
PyMODINIT_FUNC PyInit_extension(void) { return PyModule_Create(&module); }
"""


class Preloaded(Runs):
    def found_in(self, *arguments, **options):
        found, result = self.run_json(*arguments, **options)
        return [counts(process) for process in found["processes"]], result.stderr

    def alone(self, *program, **variables):
        return subprocess.run(program, capture_output=True, text=True, check=False, timeout=PATIENCE,
                              env={**self.environment, "LD_PRELOAD": PRELOAD, "SPEX_PROBES": "*", **variables})


class Programs(Preloaded):
    def test_a_library_has_probes(self):
        self.assertEqual(self.found_in("--preload", "--", HOST, PLUGIN, "works", "20"), ([OF_PLUGIN], ""))

    def test_without_it_the_way_is_told(self):
        result = self.run_it("--", HOST, PLUGIN, "works", "20")
        self.assertEqual((result.returncode, HINT in result.stderr), (0, True))
        result = self.run_it("--preload", "--", HOST, "-", "works", "20")
        self.assertEqual((result.returncode, HINT in result.stderr), (0, False))
        self.assertIn("has loaded no library with probes", result.stderr)

    def test_programs_that_it_executes(self):
        for start in "", "exec ":
            line = "%s %s works 20; %s%s %s works 20" % (HOST, PLUGIN, start, HOST, PLUGIN)
            self.assertEqual(self.found_in("--preload", "--", "sh", "-c", line), ([OF_PLUGIN, OF_PLUGIN], ""))

    def test_a_program_with_a_spex_of_its_own(self):
        for program in OWN, EXPORTS:
            self.assertEqual(self.found_in("--preload", "--", program, "-", "works", "20"), ([OF_HOST], ""))

    def test_a_plugin_of_a_program_with_a_spex_of_its_own(self):
        self.assertEqual(self.found_in("--preload", "--", EXPORTS, PLUGIN, "works", "20"), ([{**OF_HOST, **OF_PLUGIN}], ""))
        # It does not find the program's, and has none without this.
        found, _ = self.found_in("--preload", "--", OWN, PLUGIN, "works", "20")
        self.assertEqual(sorted(found, key=len), [OF_HOST, OF_PLUGIN])

    def test_a_library_that_starts_a_spex_of_its_own(self):
        found, told = self.found_in("--preload", "--", HOST, MODULE, "works", "20")
        self.assertEqual((found, told), ([{("module.work", "cnt"): 20}], ""))

    def test_a_program_with_probes_that_is_linked_without(self):
        result = self.alone(PROBES, PLUGIN, "works", "20")
        self.assertEqual(result.returncode, 0)
        self.assertIn("spex: the program's own probes stay off: it is not linked with spex\n", result.stderr)
        self.assertRegex(result.stderr, r"(?m)^plugin.work +lat +20 ")
        self.assertNotIn("host.work", result.stderr)

    def test_by_the_variable_alone(self):
        result = self.alone(HOST, PLUGIN, "works", "20")
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertRegex(result.stderr, r"\Aprobe (.|\n)*\nplugin.work +lat +20 ")

    def test_programs_without_probes_are_as_ever(self):
        os.mkdir(self.path("control"), 0o700)
        result = self.alone("sh", "-c", "env true; ls $SPEX_CONTROL; grep Threads /proc/self/status",
                            SPEX_CONTROL=self.path("control"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "Threads:\t1\n", ""))

    def test_what_is_preloaded_already_comes_first(self):
        for before, value in ("libm.so.6", "libm.so.6:" + PRELOAD), ("", PRELOAD):
            result = self.run_it("--preload", "--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=before)
            self.assertEqual(result.stdout, value + "\n")

    def test_a_static_program_is_told_of(self):
        with open(self.path("static.c"), "w", encoding="utf-8") as file:
            file.write("int main(void) { return 3; }\n")
        subprocess.run(["cc", "-static", self.path("static.c"), "-o", self.path("static")], check=True)
        result = self.run_it("--preload", "--", self.path("static"))
        self.assertEqual(result.returncode, 3)
        self.assertIn("spex: run: nothing can be preloaded into %s, which is linked statically\n" % self.path("static"),
                      result.stderr)

    def test_recorded(self):
        result = subprocess.run([SPEX, "record", "--preload", "-o", self.path("t"), "--", HOST, PLUGIN, "works", "20"],
                                capture_output=True, text=True, check=False, timeout=PATIENCE, env=self.environment)
        self.assertEqual(result.returncode, 0)
        self.assertIn("spex: 40 records, 0 lost, ", result.stderr)

    def test_record_of_a_process_that_runs_has_no_use_for_it(self):
        result = subprocess.run([SPEX, "record", "--preload", "--pid", "1"], capture_output=True, text=True, check=False,
                                timeout=PATIENCE, env=self.environment)
        self.assertEqual((result.returncode, result.stderr),
                         (2, "spex: record: --preload is settled when a program starts; --pid is of one that runs\n"))


class Children(Preloaded):
    def test_those_that_are_not_followed_are_told(self):
        for children, line in (1, "1 child of a fork was not followed"), (3, "3 children of forks were not followed"):
            program = ["--", HOST, PLUGIN, "forks", "20", str(children)]
            result = self.run_it("--preload", *program)
            self.assertEqual((result.returncode, len(re.findall("(?m)^%s " % line, result.stderr))), (0, 1), result.stderr)
            result = subprocess.run([SPEX, "record", "--preload", "-o", self.path("t%d" % children), *program], capture_output=True,
                                    text=True, check=False, timeout=PATIENCE, env=self.environment)
            self.assertIn("spex: %s (-f follows them)\n" % line, result.stderr)
            found, _ = self.run_json("--preload", *program)
            self.assertEqual([process["unfollowed"] for process in found["processes"]], [children])

    def test_where_there_are_none_nothing_is_told(self):
        for program in ["works", "20"], ["forks", "20", "0"]:
            result = self.run_it("--preload", "--", HOST, PLUGIN, *program)
            self.assertEqual((result.returncode, "not followed" in result.stderr), (0, False))

    def test_those_that_are_followed_lose_nothing_at_their_exit(self):
        found, _ = self.run_json("--preload", "-f", "--", HOST, PLUGIN, "forks", "700", "4")
        processes = found["processes"]
        self.assertEqual(sorted(process["state"] for process in processes), 4 * ["ended"] + ["stopped"])
        for process in processes:
            self.assertEqual(counts(process), {name: 700 for name in OF_PLUGIN})
            self.assertEqual((process["unseen_seconds"], process["records"]["lost"]), (0, 0))
            values = [probe["values"] for probe in process["probes"] if probe["type"] == "snapshot"]
            self.assertEqual([(value["min"], value["max"]) for value, in values], [(1, 700)])
        result = self.run_it("--preload", "-f", "--", HOST, PLUGIN, "forks", "700", "4")
        self.assertEqual(len(re.findall(r" ended without stopping spex: figures are those of all its records\n",
                                        result.stderr)), 4)

    def test_what_has_been_overwritten_is_not_made_up(self):
        found, _ = self.run_json("--preload", "-f", "--", HOST, PLUGIN, "forks", "5000", "1", SPEX_RING_RECORDS="16")
        child, = [process for process in found["processes"] if process["state"] == "ended"]
        for probe in child["probes"]:
            self.assertLessEqual(probe["records"], 5000)
            self.assertLessEqual(probe["count"], 5000)
        self.assertGreater(child["unseen_seconds"], 0)

    def test_a_fork_that_fails_has_no_child(self):
        found, result = self.run_json("--preload", "--", HOST, PLUGIN, "cannot")
        self.assertEqual([process["unfollowed"] for process in found["processes"]], [0], result.stderr)


class Python(Preloaded):
    """With the interpreter that runs this test."""

    def python(self, source, *options):
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(source))
        return self.found_in("--preload", *options, "--", sys.executable, self.path("program.py"))

    def test_a_library_by_ctypes(self):
        self.assertEqual(self.python("""
            import ctypes
            ctypes.CDLL(%r).plugin_work(20)
            """ % PLUGIN), ([OF_PLUGIN], ""))

    def test_an_extension(self):
        headers = sysconfig.get_path("include")
        if not os.path.exists(os.path.join(headers, "Python.h")):
            self.skipTest("there is no Python.h")
        with open(self.path("extension.c"), "w", encoding="utf-8") as file:
            file.write(EXTENSION)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        subprocess.run(["cc", "-shared", "-fPIC", "-I", headers, "-I", os.path.join(root, "include"),
                        self.path("extension.c"), "-o", self.path("extension.so")], check=True)
        self.assertEqual(self.python("""
            import extension
            for _ in range(30):
                extension.work()
            """), ([{("step", "cnt"): 30}], ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[9:], verbosity=2)
