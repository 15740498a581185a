#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rate policy that somebody else has written decides in a program and for `spex plan`; what is none is refused.

    rate_policies.py ROOT SPEX BUSY SHARE PLUGIN OBJECT… [LIBRARY]

SHARE as of budget.py. PLUGIN: an object without a policy. OBJECTs: the example, and wrong_…, by their files' names.
LIBRARY: libspex.a.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from watching import PATIENCE, Watched

ROOT = SPEX = BUSY = SHARE = PLUGIN = LIBRARY = None
OBJECTS = {}
EXPECTED = "fair, budget, fixed or hybrid was expected, or the path of an object, with a \"/\""
TABLE = "name,share,frequency,weight,report_cost,detect_cost\nbusy,.1,1000,1,1e-4,1e-5\nrare,.1,10,5,1e-4,1e-5\n"


def name_of(path):
    """libwrong_size.so: wrong_size"""
    return re.fullmatch(r"(?:lib)?(.*)\.so", os.path.basename(path))[1]


class Programs(Watched):
    def start(self, policy, program=None, **variables):
        return super().start(program=[program] if program else None, **{
            "SPEX_PROBES": "*", "SPEX_BUDGET": SHARE, "SPEX_RATE_POLICY": policy, **variables})

    def finish(self, process):
        return super().finish(process)[1]

    def refused(self, policy, program=None, **variables):
        """The one line that is said."""
        process = self.start(policy, program, **variables)
        output, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, output), (1, ""), errors)
        self.assertRegex(errors, r"\A[^\n]+\n\Z")
        return errors[:-1]


class Deciding(Programs):
    def test_the_example_decides(self):
        process = self.start(OBJECTS["proportional"])
        # With sanitizers executions alone may be too dear, so that the busy probe is in slices; the rare one is not.
        reasons = ("the same part of each", "detecting alone exceeds the budget", "in slices of the time")
        self.wait_for(process, lambda found: found["busy"]["period"] != 1 and (found["busy"].get("why") or "").startswith(reasons)
                      and found["rare"].get("why") == "the same part of each")
        with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
            self.assertIn("/proportional.so", maps.read())
        self.assertRegex(self.finish(process), r"\nbudget: \S+ \S+ used, .*; shared out by proportional\n")

    def test_a_path_is_relative_to_the_program(self):
        shutil.copy(OBJECTS["proportional"], os.path.join(self.folder, "mine.so"))
        process = self.start("./mine.so")
        self.wait_for(process, lambda found: found["rare"].get("why") == "the same part of each")
        self.finish(process)

    def test_those_that_are_built_in_are_told(self):
        for policy in ("fair", "budget", "fixed"):
            process = self.start(policy)
            self.assertIn(f"; shared out by {policy}\n", self.finish(process))

    def test_as_the_page_builds_it(self):
        with open(os.path.join(ROOT, "docs/rate_policies.md"), encoding="utf-8") as page:
            command = re.search(r"^ +(gcc .*)$", page.read(), re.M)[1]
        shutil.copy(os.path.join(ROOT, "examples/rate_policy/proportional.c"), self.folder)
        command = command.replace("$(pkg-config --cflags spex)", "-I'%s'" % os.path.join(ROOT, "include"))
        result = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.finish(self.start("./proportional.so"))

    def test_one_that_fails_is_told_once(self):
        process = self.start(OBJECTS["wrong_decide"])
        said = process.stderr.readline()
        self.assertEqual(said, "spex: the rate policy wrong cannot decide: Numerical result out of range; "
                               "periods stay as they are\n")
        self.wait_for(process, lambda found: found["busy"]["on"])
        self.assertNotIn("cannot decide", self.finish(process))


class Refusals(Programs):
    def test_what_is_no_object(self):
        text = os.path.join(self.folder, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no object\n" * 1000)
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        for path, said in [("./none.so", "cannot open shared object file: No such file or directory"),
                           (text, "invalid ELF header"), (self.folder, "not a regular file"), (pipe, "not a regular file")]:
            self.assertEqual(self.refused(path),
                             f"spex: SPEX_RATE_POLICY={path}: a shared object was expected: {said}")

    def test_what_is_no_policy(self):
        for path, said in [
                (PLUGIN, "a shared object with the symbol spex_rate_policy was expected, as SPEX_RATE_POLICY_OBJECT "
                         "makes it"),
                (OBJECTS["wrong_version"], "a policy of version 1 of spex/rate_policy.h was expected, not 2"),
                (OBJECTS["wrong_summary"], "a policy with name, summary, workspace_size and decide was expected, and "
                                           "both of combinations and combinations_workspace_size or none")]:
            self.assertEqual(self.refused(path), f"spex: SPEX_RATE_POLICY={path}: {said}")
        self.assertRegex(self.refused(OBJECTS["wrong_size"]), r": a policy of \d+ bytes was expected, as in this "
                                                              r"spex/rate_policy\.h, not \d+$")

    def test_names(self):
        for name in ("best", "mine.so", "x"):
            self.assertEqual(self.refused(name), f"spex: SPEX_RATE_POLICY={name}: {EXPECTED}")

    def test_a_workspace_that_cannot_be_had(self):
        process = self.start(OBJECTS["wrong_workspace"])
        _, errors = process.communicate(timeout=PATIENCE)
        if "Sanitizer" in errors:
            self.skipTest("the sanitizer does not let a program ask for so much")
        self.assertEqual((process.returncode, errors),
                         (1, "spex: cannot reserve memory for the rate policy wrong: Cannot allocate memory\n"))

    def test_another_mistake_unloads_it(self):
        self.assertIn("SPEX_COUNTERS", self.refused(OBJECTS["proportional"], SPEX_COUNTERS="none such"))

    def test_a_statically_linked_program(self):
        program = os.path.join(self.folder, "static")
        command = ["gcc", "-static", "-Wl,--fatal-warnings", "-I", os.path.join(ROOT, "include"), "-o", program]
        libraries = ["-pthread", "-lm"]
        if not LIBRARY or subprocess.run(command + ["-x", "c", "-", "-x", "none", *libraries], text=True, check=False,
                                         input="int main(void) { return 0; }", capture_output=True).returncode:
            self.skipTest("nothing can be linked statically here")
        subprocess.run(command + [os.path.join(ROOT, "test/system/busy.c"), LIBRARY, *libraries], check=True)
        path = OBJECTS["proportional"]
        self.assertEqual(self.refused(path, program),
                         f"spex: SPEX_RATE_POLICY={path}: a policy's name was expected: a statically linked program "
                         "loads no objects")
        self.assertIn("shared out by fair\n", self.finish(self.start("fair", program)))


class Plans(unittest.TestCase):
    def setUp(self):
        if not SPEX.startswith(os.path.dirname(os.path.dirname(PLUGIN)) + os.sep):
            self.skipTest("the command is of another build, which may not load objects of this one")

    def plan(self, *arguments, status=0, table=TABLE):
        result = subprocess.run([SPEX, "plan", "-", *arguments], input=table, capture_output=True, text=True,
                                check=False, timeout=PATIENCE)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stderr if status else result.stdout

    def decided(self, *arguments):
        return json.loads(self.plan("--json", *arguments))

    def test_the_example_decides(self):
        # Detecting takes 1.01 %, recording everything 10.1 % more.
        plan = self.decided("--policy", OBJECTS["proportional"], "--budget", "6.06%")
        self.assertEqual((plan["policy"], plan["feasible"]), ("proportional", True))
        self.assertAlmostEqual(plan["overhead"], .0606)
        self.assertAlmostEqual(plan["information"], .5 * (1000 + 50))
        self.assertEqual([(decision["name"], decision["mode"], decision["reason"]) for decision in plan["classes"]],
                         [("busy", "sampled", "the same part of each"), ("rare", "sampled", "the same part of each")])
        for decision, frequency in zip(plan["classes"], (500, 5)):
            self.assertAlmostEqual(decision["frequency"], frequency)

    def test_as_text(self):
        lines = self.plan("--policy", OBJECTS["proportional"], "--budget", "6.06%").splitlines()
        self.assertEqual([line.split(None, 4) for line in lines[:3]],
                         [["class", "mode", "records/s", "of", "why"],
                          ["busy", "sampled", "500.00", "1000.00", "the same part of each"],
                          ["rare", "sampled", "5.00", "10.00", "the same part of each"]])
        self.assertEqual(lines[3:], ["proportional: as large a part as the budget pays for; information 525.00, "
                                     "overhead 6.06%"])

    def test_as_the_page_shows(self):
        with open(os.path.join(ROOT, "docs/rate_policies.md"), encoding="utf-8") as file:
            page = file.read()
        command = re.search(r"^    spex (plan server.*)$", page, re.M)[1].split()
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(OBJECTS["proportional"], folder)
            shutil.copy(os.path.join(ROOT, "examples/rate_policy/server.csv"), folder)
            result = subprocess.run([SPEX, *command], cwd=folder, text=True, capture_output=True, check=True)
        self.assertIn("```text\n" + result.stdout + "```\n", page)

    def test_those_that_are_built_in_decide(self):
        fair = self.decided("--policy", "fair", "--budget", "6.06%")
        self.assertEqual([decision["mode"] for decision in fair["classes"]], ["sampled", "traced"])
        fixed = self.decided("--policy", "fixed", "--budget", "6.06%")
        self.assertEqual((fixed["feasible"], [decision["mode"] for decision in fixed["classes"]]),
                         (False, ["traced", "traced"]))
        hybrid = self.decided("--policy", "hybrid", "--budget", "6.06%", "--sample-cost", "1e-4")
        self.assertGreater(hybrid["probing_frequency"], 0)
        self.assertIn("probed", {decision["mode"] for decision in hybrid["classes"]})

    def test_refusals(self):
        for status, said, arguments in [
                (2, f"plan: --policy x: {EXPECTED}", ["--policy", "x"]),
                (2, "plan: --top: no --policy was expected, which decides one way", ["--policy", "fair", "--top", "3"]),
                (1, "plan: --policy ./none.so: a shared object was expected: cannot open shared object file: "
                    "No such file or directory", ["--policy", "./none.so"]),
                (1, f"plan: --policy {PLUGIN}: a shared object with the symbol spex_rate_policy was expected, as "
                    "SPEX_RATE_POLICY_OBJECT makes it", ["--policy", PLUGIN]),
                (1, "plan: the policy wrong cannot decide: Numerical result out of range",
                 ["--policy", OBJECTS["wrong_decide"]]),
                (1, "plan: the policy wrong: for class \"busy\" a mode, and a frequency of 0 to 1000 Hz, was expected",
                 ["--policy", OBJECTS["wrong_decision"]]),
                (1, "plan: the policy hybrid cannot decide: Invalid argument", ["--policy", "hybrid"])]:
            with self.subTest(arguments=arguments):
                self.assertEqual(self.plan(*arguments, status=status), f"spex: {said}\n")


if __name__ == "__main__":
    ROOT, SPEX, BUSY = map(os.path.abspath, sys.argv[1:4])
    SHARE = sys.argv[4]
    Watched.spex, Watched.program = SPEX, [BUSY]
    PLUGIN = os.path.abspath(sys.argv[5])
    for argument in map(os.path.abspath, sys.argv[6:]):
        if argument.endswith(".so"):
            OBJECTS[name_of(argument)] = argument
        else:
            LIBRARY = argument
    unittest.main(argv=sys.argv[:1], verbosity=2)
