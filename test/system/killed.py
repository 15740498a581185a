#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Explorations that are killed at random moments, again and again, and in the end have exactly the
trials that they should have: nothing that was finished is lost, nothing is run twice, nothing is left
behind, and the policy finds that there is nothing left to do.

usage: killed.py SPEX SUBJECT POLICY.so [KILLS]
"""

import os
import random
import sqlite3
import subprocess
import sys
import tempfile

CONFIGURATIONS, EACH = 12, 2
POLICIES = None, "grid", "gaussian", "halving", None, "climb", "tpe"  # None: the object
SPACE = f"""<space name="killed">
<parameter name="work" type="integer" min="101" max="{100 + CONFIGURATIONS}"/>
<objective probe="work:tpt" metric="throughput" goal="maximise"/>
<run trials_per_config="{EACH}" records_per_thread="20" warmup="0" least="0"/>
</space>
"""


class Killed:
    def __init__(self, spex, program, folder, policy, jobs):
        self.policy = policy
        self.store = os.path.join(folder, "trials.db")
        self.folder = folder
        space = os.path.join(folder, "space.xml")
        with open(space, "w", encoding="utf-8") as file:
            file.write(SPACE)
        self.command = [spex, "explore", space, "--policy", policy, "--store", self.store, "--jobs",
                        str(jobs), "--share-cpus", "--retry-failed", "--", program]
        self.environment = dict(os.environ, TMPDIR=folder)
        self.trials = []
        self.kills = 0

    def rows(self):
        if not os.path.exists(self.store):
            return []
        db = sqlite3.connect(self.store)
        try:
            return db.execute("SELECT number, asked, told, status, trial_value.value, trial_measured.value"
                              " FROM trial JOIN trial_value ON trial_value.trial = number"
                              " LEFT JOIN trial_measured ON trial_measured.trial = number"
                              " ORDER BY number").fetchall()
        except sqlite3.OperationalError as error:
            assert "no such table" in str(error), error  # killed before the store was one
            return []
        finally:
            db.close()

    def check_kept(self):
        now = self.rows()
        kept = [new if old[3] != "ok" and new[:2] == old[:2] else old for old, new in zip(self.trials, now)]
        assert now[:len(self.trials)] == kept, f"{self.trials} has become {now}"
        assert [row[0] for row in now] == list(range(1, len(now) + 1)), now
        self.trials = now

    def run(self, seconds):
        """Whether it ended by itself within so long."""
        process = subprocess.Popen(self.command, env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        try:
            _, messages = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.kills += 1
            self.check_kept()
            return False
        assert process.returncode == 0, messages
        self.check_kept()
        return True

    def all_well(self):
        return all(row[3] == "ok" for row in self.trials)

    def check_end(self):
        values = [row[4] for row in self.trials]
        if self.policy == "grid":
            assert len(values) == CONFIGURATIONS * EACH, self.trials
            assert all(values.count(value) == EACH for value in values), values
        assert sorted(row[1] for row in self.trials) == list(range(1, len(values) + 1)), self.trials
        left = [name for name in os.listdir(self.folder) if name.startswith("spex-")]
        assert not left, left
        before = self.trials
        assert self.run(60), "nothing was left to do"
        assert self.trials == before


def sometimes_fails(subject, folder):
    """Every fourth time, or so: those that run at a time may count each other's."""
    path = os.path.join(folder, "sometimes-fails")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"""#!/bin/sh
read n <"{folder}/runs"
echo $((n + 1)) >"{folder}/runs"
[ $((n % 4)) -ne 3 ] && exec "{subject}" "$@"
""")
    os.chmod(path, 0o755)
    with open(os.path.join(folder, "runs"), "w", encoding="utf-8") as file:
        file.write("0\n")
    return path


def explore_until_the_end(spex, subject, policy, jobs, moments, most):
    """Kills it at most so often; how often that was."""
    with tempfile.TemporaryDirectory(prefix="killed-") as folder:
        program = sometimes_fails(subject, folder) if moments.random() < 0.5 else subject
        killed = Killed(spex, program, folder, policy, jobs)
        while not (killed.run(moments.uniform(0.002, 0.3) if killed.kills < most else 120) and killed.all_well()):
            pass
        killed.check_end()
        return killed.kills


def main():
    spex, subject, impatient = (os.path.abspath(path) for path in sys.argv[1:4])
    wanted = int(sys.argv[4]) if len(sys.argv) > 4 else 24
    moments = random.Random(1)
    kills = explorations = 0
    while kills < wanted:
        policy, jobs = POLICIES[explorations % len(POLICIES)], 1 + (explorations + explorations // 3) % 3
        kills += explore_until_the_end(spex, subject, policy or impatient, jobs, moments, wanted - kills)
        explorations += 1
    print(f"{explorations} explorations, killed {kills} times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
