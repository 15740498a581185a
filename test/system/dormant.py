#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dormant programs: no thread of spex runs in a program of one thread until a command asks for what it executes.

    dormant.py SPEX PROGRAM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SPEX, PROGRAM = map(os.path.abspath, sys.argv[1:3])

# In a loop, in a thread, in a coroutine, in a function that libc calls, beside children, without its descriptors.
EVERYWHERE = ('loop', 'thread', 'coroutine', 'callback', 'children', 'closed')


def threads_of(process):
    return sorted(pathlib.Path(f'/proc/{process}/task/{task}/comm').read_text(encoding='utf-8').strip()
                  for task in os.listdir(f'/proc/{process}/task'))


class Dormant(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith('SPEX_')}
        self.environment['SPEX_CONTROL'] = folder.name
        self.folder = folder.name

    def begin(self, manner, **variables):
        program = subprocess.Popen([PROGRAM, manner], env={**self.environment, **variables}, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), 'ready\n')
        return program

    def end(self, program):
        """Returns how often it has executed its probe."""
        program.stdin.close()
        executions = int(program.stdout.readline())
        program.stdout.close()
        self.assertEqual(program.wait(60), 0)
        return executions

    def spex(self, *arguments, status=0):
        done = subprocess.run([SPEX, *map(str, arguments)], env=self.environment, text=True, check=False, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def await_that(self, what, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def state(self, program):
        return json.loads(self.spex('probes', '--json', program.pid))['sites']

    def listed(self, program):
        return next(entry for entry in json.loads(self.spex('list', '--json')) if entry['pid'] == program.pid)

    def test_looking_wakes_nobody(self):
        program = self.begin('loop')
        listed = self.listed(program)
        self.assertEqual((listed['sites'], listed['sites_on']), (len(self.state(program)), 0))
        self.assertIn('work', [site['name'] for site in self.state(program)])
        top = subprocess.Popen([SPEX, 'top', '-b', '-n', '3', '-d', '0.1', str(program.pid)], env=self.environment, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        shown, complaint = top.communicate(timeout=60)
        self.assertEqual(top.returncode, 0, complaint)
        self.assertEqual(shown.count('0 produced'), 3, shown)
        self.assertEqual(threads_of(program.pid), ['dormant'])
        self.end(program)

    def test_a_selection_wakes(self):
        for manner in EVERYWHERE:
            with self.subTest(manner):
                program = self.begin(manner)
                before = threads_of(program.pid)
                self.assertNotIn('spex-control', before)
                self.assertRegex(self.spex('set', program.pid, 'work'), '^1 of')
                self.assertIn('spex-control', threads_of(program.pid))
                self.assertRegex(self.spex('set', program.pid, ''), '^0 of')
                self.end(program)

    def execute(self, program):
        program.stdin.write('\n')
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), 'executed\n')

    def count(self, program):
        shown = self.spex('top', '-b', '-t', '-n', '1', program.pid)
        row = next((line.split() for line in shown.splitlines() if line.startswith('work ')), None)
        return int(row[3 if '1 in' in shown else 2]) if row else 0

    def test_counts_are_of_what_is_on(self):
        program = self.begin('demand')
        for _ in range(5):
            self.execute(program)
        selecting = threading.Thread(target=self.spex, args=('set', program.pid, 'work'))
        selecting.start()
        while selecting.is_alive():
            self.execute(program)
        before = self.count(program)
        for _ in range(7):
            self.execute(program)
        self.await_that('seven more', lambda: self.count(program) == before + 7)
        self.end(program)

    def first_is_counted(self):
        program = self.begin('demand')
        self.assertRegex(self.spex('set', program.pid, 'work'), '^0 of')
        self.execute(program)
        counted = self.count(program) == 1
        self.end(program)
        return counted

    def test_the_first_execution_is_counted(self):
        """Of a program that was idle when it was called. It waits 0.1 s at most, which a busy machine may take."""
        self.assertTrue(any(self.first_is_counted() for _ in range(20)))

    def test_all_types(self):
        types = {'cnt', 'span', 'kernel', 'tpt', 'flt', 'ctxsw', 'snapshot'}
        for manner, expected in (('types', types), ('region', {'cnt'})):
            program = self.begin(manner)
            self.spex('set', program.pid, '*')
            self.await_that(manner, lambda: {line.split()[1] for line in self.spex(
                'top', '-b', '-t', '-n', '1', program.pid).splitlines() if len(line.split()) > 4} >= expected)
            self.end(program)

    def test_handlers_wake_nobody(self):
        """They may have interrupted malloc. What is asked for waits until the program executes a probe elsewhere."""
        for manner in ('handler', 'stack'):
            with self.subTest(manner):
                program = self.begin(manner)
                self.assertRegex(self.spex('set', program.pid, 'work'), '^0 of')
                self.assertEqual(threads_of(program.pid), ['dormant'])
                program.stdin.write('\n')
                program.stdin.flush()
                self.await_that('what was asked for', lambda: 'spex-control' in threads_of(program.pid))
                self.await_that('the selection', lambda: self.listed(program)['sites_on'] == 1)
                self.end(program)

    def test_a_sandbox_is_left_alone(self):
        program = self.begin('sandbox')
        self.assertIn('restricted its system calls', self.spex('set', program.pid, 'work', status=1))
        self.assertEqual(threads_of(program.pid), ['dormant'])
        self.end(program)
        awake = self.begin('sandbox', SPEX_WAITS='1')
        self.assertRegex(self.spex('set', awake.pid, 'work'), '^1 of')
        self.end(awake)

    def test_who_has_selected_is_not_dormant(self):
        for manner, variables in (('itself', {}), ('loop', {'SPEX_WAITS': '1'})):
            program = self.begin(manner, **variables)
            self.await_that('a thread', lambda: 'spex-control' in threads_of(program.pid))
            self.end(program)

    def test_many_call_at_once(self):
        for _ in range(10):
            program = self.begin('loop')
            callers = [threading.Thread(target=self.spex, args=('set', program.pid, selection))
                       for selection in ('work', '+work', 'work@2', '+work')]
            for caller in callers:
                caller.start()
            for caller in callers:
                caller.join()
            self.assertEqual(self.listed(program)['sites_on'], 1)
            self.assertEqual(threads_of(program.pid).count('spex-control'), 1)
            self.end(program)

    def test_killed_callers_leave_no_harm(self):
        for moment in range(20):
            program = self.begin('loop')
            caller = subprocess.Popen([SPEX, 'set', str(program.pid), 'work'], env=self.environment,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moment * 0.001)
            caller.kill()
            caller.wait()
            self.assertRegex(self.spex('set', program.pid, 'work'), '^1 of')
            self.end(program)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
