#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/harnesses.py and bench/sensitivity.py measure, judge what they measured, and print all of it.

usage: harness_benches.py SOURCE_ROOT BUILD
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = sys.argv[1:3]
FUNCTIONS = {'add', 'mix', 'now', 'allocate', 'copy', 'chase', 'hash', 'sort'}


# The program that has all harnesses takes most of the time to compile: a cache keeps it.
if shutil.which('ccache'):
    os.environ['CXX'] = 'ccache ' + os.environ.get('CXX', 'c++')


def bench(name, *options):
    return subprocess.run([os.path.join(ROOT, 'bench', name + '.py'), *options], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


class HarnessBenches(unittest.TestCase):
    def page(self, name, result):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            json.dump(result, file)
            file.flush()
            return bench(name, '--page', file.name)

    def test_harnesses(self):
        with tempfile.TemporaryDirectory() as folder:
            result = json.loads(bench('harnesses', '--json', '--rounds', '2', '--seconds', '0.01', BUILD, folder))
        rows = {(row['function'], row['figure']): row for row in result['results']}
        figures = {figure for _, figure in rows}
        self.assertEqual(len(rows), len(FUNCTIONS) * len(figures))
        self.assertLessEqual({'spex', 'spex_cpu', 'spex_real'}, figures)
        self.assertEqual({'google', 'google_cpu', 'google_short'} <= figures, 'google' not in result['missing'])
        self.assertEqual('catch' in figures, 'catch' not in result['missing'])
        for row in rows.values():
            self.assertGreater(row['ns'], 0)
            if 'ratio' in row:
                low, high = row['ci95']
                self.assertLessEqual(low, row['ratio'])
                self.assertLessEqual(row['ratio'], high)
                self.assertEqual(row['agrees'], low <= 1.005 and high >= 0.995)
        # On a busy machine, real time tells nothing of functions.
        for others in (0, 0.5):
            text = self.page('harnesses', {**result, 'others': others})
            self.assertEqual('real time is not compared' in text, others > 0)
            self.assertEqual('| Google Benchmark, mean real time / ' in text, not others and 'google' in figures)
            for function in FUNCTIONS:
                self.assertIn(f'| {function} | spex/bench.h, estimate | ', text)

    def test_sensitivity(self):
        result = json.loads(bench('sensitivity', '--json', '--runs', '1', '--rounds', '8', '--seconds', '0.001', BUILD))
        for rows in (result['same'], result['worse']):
            self.assertEqual([(row['function'], row['runs']) for row in rows], [('steps', 1), ('chase', 1)])
        self.assertGreater(result['add']['ns'], 0)
        self.assertIn('not known: too few runs', self.page('sensitivity', result))

    def test_limits_of_sensitivity(self):
        """9 of 200 are fewer than 5 %, and 10 are not; 191 are more than 95 %, if a run takes a minute at most."""
        def made(same, worse, seconds):
            row = {'function': 'steps', 'runs': 200, 'ci95': [0, 1], 'ratio': 1, 'width': 0, 'holds_1': 1, 'seconds': seconds,
                   'others': 0}
            return self.page('sensitivity', {
                'rounds': 40, 'seconds': 0.05, 'add': {'ns': 0.2, 'low': 0.2, 'high': 0.2, 'median': 0.2, 'processes': 2},
                'same': [{**row, 'found': same / 200}], 'worse': [{**row, 'found': worse / 200}]})
        self.assertNotIn('not kept', made(9, 191, 60))
        for found in ((10, 191, 60), (9, 190, 60), (9, 191, 61)):
            self.assertEqual(made(*found).count('**not kept**'), 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
