#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs to which a preloaded library pretends another time: they start, work and end, and what spex tells is true.

    clocks.py SPEX PROGRAM LIBRARY
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SPEX, PROGRAM, LIBRARY = map(os.path.abspath, sys.argv[1:4])
MANNERS = ('stands', 'back', 'ahead', 'fast', 'slow')

SPACE = """<space name="test">
  <parameter name="rows" type="integer" values="200"/>
  <objective probe="request:lat" metric="mean" goal="minimise"/>
  <run trials_per_config="1" records_per_thread="100" warmup="0" least="0"/>
</space>
"""


class Clocks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_with(self, manner, *command, limit=120, **variables):
        """Runs a command, all of which has the clock. A test that hangs ends by its time limit."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith('SPEX_')}
        environment.update({'SPEX_' + name: value for name, value in variables.items()})
        environment.update(LD_PRELOAD=LIBRARY, CLOCKS=manner)
        return subprocess.run(command, env=environment, text=True, check=False, cwd=self.folder, timeout=limit,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def check_table(self, done):
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r'(?m)^request +lat .* 1000 ')
        # The work of 1,000 executions takes microseconds, and the program less than minutes of this test.
        elapsed = re.search(r'([\d.]+) s; records: 2000 produced', done.stderr)
        self.assertTrue(elapsed, done.stderr)
        self.assertLess(float(elapsed.group(1)), 120)
        self.assertNotRegex(done.stderr, r'\b(nan|inf)\b')

    def test_a_table(self):
        for manner in MANNERS:
            for variables in ({}, {'BUDGET': '50%'}, {'THREAD_BUDGET': '50%'}, {'COLLECTORS': '2'}, {'CALIBRATE': '0'}):
                if variables in ({'BUDGET': '50%'}, {'THREAD_BUDGET': '50%'}):
                    done = self.run_with(manner, PROGRAM, 'exits', '3', PROBES='*', **variables)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertRegex(done.stderr, r'(?m)^request +lat ')
                else:
                    self.check_table(self.run_with(manner, PROGRAM, 'exits', '3', PROBES='*', **variables))

    def test_nothing_is_selected(self):
        for manner in MANNERS + ('kernel',):
            done = self.run_with(manner, PROGRAM, 'exits', '3')
            self.assertEqual((done.returncode, done.stderr), (3, ''))

    def test_forks(self):
        for manner in MANNERS:
            done = self.run_with(manner, PROGRAM, 'forks', PROBES='*', FORKS='follow')
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(re.findall(r'(?m)^request +lat .* 1000 ', done.stderr)), 2, done.stderr)

    def test_traces(self):
        for manner in MANNERS:
            done = self.run_with(manner, PROGRAM, 'exits', '3', PROBES='*', OUT='ctf:own-' + manner)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('2000 records, 0 lost', done.stderr)
            done = self.run_with(manner, SPEX, 'record', '-e', '*', '-o', 'recorded-' + manner, '--', PROGRAM, 'exits', '3')
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('2000 records, 0 lost', done.stderr)

    def test_run(self):
        for manner in MANNERS:
            done = self.run_with(manner, SPEX, 'run', '--', PROGRAM, 'exits', '3')
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r'(?m)^request +lat .* 1000 ')

    def test_a_trial(self):
        with open(os.path.join(self.folder, 'space.xml'), 'w', encoding='utf-8') as file:
            file.write(SPACE)
        for manner in MANNERS:
            store = 'store-' + manner
            done = self.run_with(manner, SPEX, 'explore', 'space.xml', '--store', store, '--', PROGRAM, 'exits', '0')
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_kernel_s_clock_stands_still(self):
        """Nothing can be timed: one line says so, and the program runs as without spex."""
        for variables in ({}, {'BUDGET': '2%'}, {'OUT': 'ctf:trace'}, {'THREAD_BUDGET': '1%'}):
            done = self.run_with('kernel', PROGRAM, 'exits', '3', PROBES='*', **variables)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertEqual(done.stderr, 'spex: the clock stands still, so that nothing can be timed; the probes stay off\n')
        done = self.run_with('kernel', PROGRAM, 'forks', PROBES='*', FORKS='follow')
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
