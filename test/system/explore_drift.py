#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drift of the machine in `spex report`: a program whose figures change from a certain run on, and one whose do not.

usage: explore_drift.py SPEX SUBJECT [unittest arguments]
"""

import sqlite3
import sys
import time
import unittest

from exploration import Exploration

# Figures that vary by a few per cent, and become so much greater after so many runs; these are counted in a file.
SCRIPT = """printf x >> COUNT
i=$(wc -c < COUNT)
awk -v n={n} -v i=$i 'BEGIN { more = i > AFTER ? MORE : 1
  print "score:", (100 + (n - 30) ^ 2) * more * (1 + 0.04 * ((i * 7919 % 101) / 101 - 0.5)) }'
"""


class Drift(Exploration):
    def explored(self, after, more, trials=200):
        script = SCRIPT.replace("COUNT", f"{self.dir}/count").replace("AFTER", str(after)).replace("MORE", str(more))
        self.write("", "count")
        text = ('<space name="drift"><parameter name="n" type="integer" min="1" max="400"/>'
                f'<objective output="score: ([0-9.]+)" goal="minimise"/><run trials="{trials}"/></space>')
        result = self.explore(text, ["sh", "-c", script], policy="gaussian")
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.report()["drift"]

    def test_what_becomes_slower_is_told(self):
        drift = self.explored(100, 1.5)
        self.assertEqual(drift["kind"], "step")
        self.assertAlmostEqual(drift["change"], 0.5, delta=0.05)
        self.assertLessEqual(drift["chance"], 0.01)
        with sqlite3.connect(self.store) as store:
            at, = store.execute("SELECT CAST(strftime('%s', finished) AS INTEGER) FROM trial WHERE number = 100").fetchone()
            references, = store.execute("SELECT count(*) FROM trial WHERE reference").fetchone()
        self.assertLessEqual(drift["from"], at)
        self.assertGreaterEqual(drift["to"], at)
        self.assertIn(references, range(3, 14))
        clocks = [time.strftime("%H:%M:%S", time.localtime(drift[one])) for one in ("from", "to")]
        sentence = (f"the machine became {round(100 * drift['change'])} % worse between {clocks[0]} and {clocks[1]}: figures of trials "
                    "at different times do not compare; finals do, since a block is of one time")
        self.assertEqual(drift["text"], sentence)
        indented = sentence.replace(": ", ":\n           ")
        self.assertIn(f"drift      {indented}\n           by {drift['trials']} trials of n=", self.spex("report", self.store).stdout)
        page = self.write("", "page.html")
        self.spex("report", self.store, "--html", page)
        with open(page, encoding="utf-8") as file:
            self.assertIn(f"By the reference configuration, {sentence}.", file.read())

    def test_what_does_not_change_is_not(self):
        drift = self.explored(1000, 2)
        self.assertEqual(drift["kind"], "none")
        self.assertGreater(drift["chance"], 0.01)
        self.assertGreaterEqual(drift["trials"], 10)
        self.assertNotIn("\ndrift ", self.spex("report", self.store).stdout)

    def test_few_trials_have_no_reference(self):
        self.assertIsNone(self.explored(30, 2, trials=60))

    def test_repeats_are_not_next_to_each_other(self):
        self.explored(1000, 2)
        with sqlite3.connect(self.store) as store:
            rows = store.execute("SELECT value, block FROM trial JOIN trial_value ON trial = number ORDER BY number").fetchall()
        searched = [(one, other) for one, other in zip(rows, rows[1:]) if not one[1] and not other[1]]
        self.assertGreater(len(searched), 50)
        self.assertEqual([pair for pair in searched if pair[0][0] == pair[1][0]], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
