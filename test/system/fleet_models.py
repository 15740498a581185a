#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models of kernels that are trained over a fleet, with a real NATS server: they are those of `spex train`, over what all
instances do together; classes of machines stay apart; what is malformed is refused; a master that starts again goes on.

    fleet_models.py SPEX KERNEL_SERVICE
"""

import json
import os
import re
import subprocess
import sys
import unittest

import fleet_master
import nats
from fleet_master import Fleet
from running import Programs

POLICY = """<profiling-spec name="shop">
  <instrumentation-map><unit type="glob" name="*" modes="kernel"/></instrumentation-map>
  <qos-requirements>
    <response-time probe="request:lat" metric="mean" at_most="10s"/>
    <overhead at_most="50%"/>
    <instances instrumented="100%"/>
  </qos-requirements>
</profiling-spec>
"""
# What instances have to do, and all of it.
RANGES = (5, 20), (30, 45), (40, 80)
ALL = (5, 80)
# Each size so often, for a model to compare with.
ROUNDS = 8
MACHINE = ["c", "6.1", "other", "64", "512 GiB", "b0", "0.1.0"]


def message(**changes):
    told = {"format": 1, "agent": 7, "machine": MACHINE, "lost": 0,
            "kernels": [{"path": "answer", "parameters": ["units"], "rows": [1, 2, 5 * 10**8, 5, 1, 2, 10**9, 10]}]}
    return json.dumps({**told, **changes}).encode()


class Models(Fleet):
    def policy(self, **_):
        with open(self.path("policy.xml"), "w", encoding="utf-8") as file:
            file.write(POLICY)
        return self.path("policy.xml")

    def service(self, low, high):
        return self.start("env", self.program, str(low), program=str(high))

    def models(self, *arguments, status=0):
        result = self.run_spex("fleet", "models", *arguments, *self.where(), "--fleet", "shop")
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def overview(self):
        return json.loads(self.models("--json").stdout)

    def shown(self, path):
        """The models of a file, by their kernels."""
        told = json.loads(self.run_spex("models", path, "--json", "--curves").stdout)
        return {model["path"]: model for model in told["models"]}

    def trained(self):
        """The models of the fleet, when its instances have told of all that they do; else None."""
        if not self.overview()["classes"]:
            return None
        self.models(self.path("fleet"))
        models = self.shown(self.path("fleet"))
        ranges = [(one["low"], one["high"]) for model in models.values() for one in model["parameters"]]
        return models if ranges == [ALL, ALL] else None

    def test_models_are_those_of_train_over_what_all_instances_do(self):
        master = self.master()
        processes = [self.service(*one) for one in RANGES]
        self.agent("a", processes=processes[:2])
        self.agent("b", processes=processes[2:])
        self.until(self.trained)
        # As busy as the machine is, it is for both.
        plain = self.run_spex("train", self.path("plain"), "--", self.program, *ALL, ROUNDS)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        fleet, plain = self.until(self.trained), self.shown(self.path("plain"))
        self.assertEqual(list(fleet), ["answer", "answer/wait"])
        self.assertEqual(list(plain), list(fleet))
        for path, model in fleet.items():
            for ours, theirs in zip(model["curves"][0]["places"], plain[path]["curves"][0]["places"]):
                # Places, values, and what 95 % of executions are between. What else the machine does may have been another
                # thing for one of them, which its interval tells.
                self.assertEqual(ours[0], theirs[0])
                self.assertTrue(ours[2] <= theirs[3] and theirs[2] <= ours[3], (path, ours, theirs))
        told = self.overview()
        self.assertEqual([told[name] for name in ("refused", "dropped", "no_room", "differing")], [0] * 4)
        self.assertEqual((len(told["classes"]), told["classes"][0]["kernels"]), (1, 2))
        # A program takes the file.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
        environment |= {"SPEX_PROBES": "*:kernel@poll", "SPEX_MODELS": self.path("fleet"), "SPEX_OUT": self.path("table")}
        taken = subprocess.run([self.program, *map(str, RANGES[0]), "1"], capture_output=True, text=True, check=True,
                               env=environment)
        self.assertEqual(taken.stderr, "")
        self.end(master)

    def test_classes_of_machines_stay_apart(self):
        self.master()
        enemy = nats.Client(self.server)
        enemy.send("spex.shop.kernels.c", message())
        enemy.send("spex.shop.kernels.d", message(machine=MACHINE[:2] + ["another"] + MACHINE[3:]))
        # Of one class: hosts' names do not tell machines apart.
        enemy.send("spex.shop.kernels.e", message(machine=["e"] + MACHINE[1:]))
        self.assertTrue(enemy.ping())
        told = self.until(lambda: (told := self.overview())["messages"] == 3 and told)
        self.assertEqual([(one["cpu"], one["rows"]) for one in told["classes"]], [("other", 4), ("another", 2)])
        both = self.models(self.path("fleet"), status=2)
        self.assertEqual(len(re.findall(r"(?m)^class [0-9a-f]{16}: 1 kernels, ", both.stderr)), 2)
        self.assertIn("--class was expected", both.stderr)
        self.assertFalse(os.path.exists(self.path("fleet")))
        one = self.models(self.path("fleet"), "--class", told["classes"][0]["class"])
        self.assertRegex(one.stdout, r"models of 1 kernels of class [0-9a-f]{16}, of 8 executions")
        self.assertEqual(self.shown(self.path("fleet"))["answer"]["executions"], 8)
        self.assertIn("no kernels of such a class", self.models(self.path("fleet"), "--class", "0" * 16, status=1).stderr)
        enemy.close()

    def test_what_is_malformed_is_refused(self):
        master = self.master()
        enemy = nats.Client(self.server)
        enemy.send("spex.shop.kernels.c", message())
        row = {"path": "answer", "parameters": ["units"]}
        for wrong in (b"", b"{", b"x" * (1 << 20), message(format=2), message(machine=MACHINE[1:]), message(kernels=[row]),
                      message(kernels=[{**row, "rows": [1, 2, 3]}]), message(kernels=[{**row, "rows": [1, -2, 3, 4]}]),
                      message(kernels=[{**row, "rows": [1, 2, 3, 1e300]}]), message(kernels=[{**row, "path": "\x1b[2J", "rows": []}]),
                      message(kernels=17 * [{**row, "rows": []}])):
            enemy.send("spex.shop.kernels.c", wrong)
        enemy.send("spex.shop.kernels.c", message(kernels=[{**row, "parameters": ["other"], "rows": [1, 2, 3, 4]}]))
        self.assertTrue(enemy.ping())
        told = self.until(lambda: (told := self.overview())["messages"] == 2 and told)
        self.assertEqual([told[name] for name in ("refused", "rows", "differing", "no_room")], [11, 2, 1, 0])
        enemy.close()
        errors = self.end(master)
        self.assertTrue(all(line.isprintable() for line in errors.splitlines()), errors)
        self.assertIn("were refused: ", errors)

    def test_there_is_room_for_so_many_kernels(self):
        self.master()
        enemy = nats.Client(self.server)
        for number in range(257):
            kernel = {"path": "k%d" % number, "parameters": [], "rows": [1, 1, 1000]}
            enemy.send("spex.shop.kernels.c", message(kernels=[kernel]))
        self.assertTrue(enemy.ping())
        told = self.until(lambda: (told := self.overview())["messages"] == 257 and told)
        self.assertEqual((told["rows"], told["no_room"], told["classes"][0]["kernels"]), (256, 1, 256))
        enemy.close()

    def test_a_master_that_starts_again_goes_on(self):
        store = ["--store", self.path("fleet.db"), "--every", "1"]
        first = self.master(*store)
        enemy = nats.Client(self.server)
        enemy.send("spex.shop.kernels.c", message())
        self.assertTrue(enemy.ping())
        self.until(lambda: self.overview()["messages"] == 1)
        self.end(first)
        self.master(*store)
        enemy.send("spex.shop.kernels.c", message())
        self.until(lambda: self.overview()["messages"] == 1)
        self.models(self.path("fleet"))
        self.assertEqual(self.shown(self.path("fleet"))["answer"]["executions"], 8)
        enemy.close()

    def test_what_there_is(self):
        self.master()
        self.assertIn("no agent has told of kernels yet", self.models(self.path("fleet"), status=1).stderr)
        self.assertRegex(self.models().stdout, r"^kernels +0 messages, 0 rows; refused 0, dropped 0; ")
        wrong = self.run_spex("fleet", "models", "a", "b", *self.where(), "--fleet", "shop")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))


def load_tests(loader, tests, pattern):
    """Not those of the class that Fleet is imported with."""
    suite = unittest.TestSuite()
    suite.addTests(Models(name) for name in sorted(vars(Models)) if name.startswith("test_"))
    return suite


if __name__ == "__main__":
    fleet_master.SPEX, fleet_master.LIVE = map(os.path.abspath, sys.argv[1:3])
    Programs.spex, Programs.live = fleet_master.SPEX, fleet_master.LIVE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
