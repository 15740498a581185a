#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex bench` compares programs and what was kept, says what is worse, and refuses what is no program of benchmarks.

usage: bench.py SPEX BENCHMARKS
"""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

SPEX, BENCHMARKS = sys.argv[1:3]

# Times of a program that this test makes: those of a list, run after run, with the factor of the program.
SCRIPT = '''#!/usr/bin/env python3
import json, os, random, sys
chance = random.Random(%(seed)d * 1000 + os.path.getsize(%(log)r))
open(%(log)r, "a").write(%(name)r)
rows = [{"name": "work/%%d" %% i, "run_name": "work/%%d" %% i, "run_type": "iteration", "time_unit": "ns",
         "real_time": %(factor)g * (i + 1) * chance.uniform(1, 1.01), "cpu_time": 1} for i in range(%(count)d)]
out = [argument.split("=", 1)[1] for argument in sys.argv if argument.startswith("--benchmark_out=")][0]
print("this is not JSON")
json.dump({"context": %(context)s, "benchmarks": rows}, open(out, "w"))
'''


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = self.path('log')
        with open(self.log, 'w', encoding='utf-8'):
            pass

    def path(self, name):
        return os.path.join(self.folder, name)

    def script(self, name, text):
        with open(self.path(name), 'w', encoding='utf-8') as file:
            file.write(text)
        os.chmod(self.path(name), stat.S_IRWXU)
        return self.path(name)

    def program(self, name, factor, count=3, context=None):
        """A program that has measured before."""
        return self.script(name, SCRIPT % {'seed': ord(name), 'log': self.log, 'name': name, 'factor': factor,
                                           'count': count, 'context': repr(context or {'host_name': 'x'})})

    def run_bench(self, *arguments):
        return subprocess.run([SPEX, 'bench', *arguments], text=True, capture_output=True, check=False)

    def bench(self, status, *arguments):
        result = self.run_bench('--json', *arguments)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout)

    def refused(self, status, message, *arguments):
        result = self.run_bench(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, ''))
        self.assertIn(message, result.stderr)

    def test_one_is_worse(self):
        a, b = self.program('a', 1), self.program('b', 1.02)
        found = self.bench(3, a, b, '--rounds', '15', '--seed', '3')
        self.assertEqual([row['name'] for row in found['benchmarks']], ['work/0', 'work/1', 'work/2'])
        for row in found['benchmarks']:
            self.assertTrue(row['worse'] and row['differs'])
            self.assertLess(row['ratio']['low'], 1.02)
            self.assertGreater(row['ratio']['high'], 1.02)
            self.assertEqual((len(row['values_a']), len(row['values_b'])), (15, 15))
        self.assertEqual((found['rounds'], found['seed'], found['not_judged']), (15, 3, {}))
        # In turns, now one first and now the other.
        with open(self.log, encoding='utf-8') as file:
            order = file.read()
        turns = [order[i:i + 2] for i in range(0, len(order), 2)]
        self.assertEqual(set(turns), {'ab', 'ba'})
        # Less than is allowed; and faster.
        self.bench(0, a, b, '--rounds', '15', '--allow', '5%')
        found = self.bench(0, b, a, '--rounds', '15')
        self.assertTrue(all(row['differs'] and not row['worse'] for row in found['benchmarks']))

    def test_equal(self):
        program = self.program('a', 1)
        found = self.bench(0, program, program, '--rounds', '12', '--figure', 'cpu_time')
        for row in found['benchmarks']:
            self.assertEqual((row['ratio']['value'], row['chance'], row['differs']), (1, 1, False))

    def test_baseline(self):
        a, b = self.program('a', 1), self.program('b', 1.1, context={'host_name': 'y', 'num_cpus': 3})
        kept = self.path('kept.json')
        self.bench(0, a, '--rounds', '12', '--save', kept)
        with open(kept, encoding='utf-8') as file:
            rows = json.load(file)['benchmarks']
        self.assertEqual(len(rows), 36)
        self.assertEqual({row['repetition_index'] for row in rows}, set(range(12)))
        self.bench(0, a, '--rounds', '12', '--baseline', kept)
        found = self.bench(3, b, '--rounds', '12', '--baseline', kept)
        self.assertAlmostEqual(found['benchmarks'][0]['ratio']['value'], 1.1, 1)
        self.assertIn('the baseline was measured on another machine', found['warnings'])
        self.assertIn('the baseline was measured with another number of CPUs', found['warnings'])

    def test_warnings(self):
        a = self.program('a', 1, context={'library_build_type': 'debug'})
        found = self.bench(0, a, a, '--rounds', '9')
        # The least chance is 3 * 2 / 2^9.
        self.assertIn('too few rounds to tell any difference: --rounds', found['warnings'])
        found = self.bench(0, a, a, '--rounds', '10')
        self.assertNotIn('too few rounds to tell any difference: --rounds', found['warnings'])
        self.assertIn('%s says that it is a debug build' % a, found['warnings'])

    def test_what_only_one_has(self):
        a, b = self.program('a', 1, 2), self.program('b', 1, 3)
        found = self.bench(0, a, b, '--rounds', '3')
        self.assertEqual(found['not_judged'], {'work/2': 'A does not have it'})
        text = self.run_bench(a, b, '--rounds', '3').stdout
        self.assertIn('work/2: not judged: A does not have it', text)

    def test_table(self):
        a, b = self.program('a', 1), self.program('b', 1.1)
        self.assertRegex(self.run_bench(a, b, '--rounds', '12').stdout, r'(?m)^work/2 +3\.\d+ ns .* WORSE$')
        self.assertRegex(self.run_bench(a, '--rounds', '12').stdout, r'(?m)^work/2 +3\.\d+ ns +±')

    def verdict(self, *arguments):
        """The last line, which is no warning."""
        return self.run_bench(*arguments).stderr.splitlines()[-1]

    def test_verdict(self):
        a, b = self.program('a', 1), self.program('b', 1.1)
        took = r'; 12 rounds in [\d.]+ m?s$'
        for arguments in [], ['--json']:
            self.assertRegex(self.verdict(a, b, '--rounds', '12', *arguments),
                             r'^spex: B is worse in 3 of 3 benchmarks, most in work/\d: B/A 1\.(09|1)\d* \(95 %: 1\.\d+ to 1\.\d+\)' + took)
        self.assertRegex(self.verdict(a, b, '--rounds', '12', '--allow', '2%'), r'^spex: B is worse by more than 2 % in 3 of 3 ')
        self.assertRegex(self.verdict(b, a, '--rounds', '12'),
                         r'^spex: B is surely worse in none, and differs in 3 of 3 benchmarks, most in work/\d: B/A 0\.9')
        self.assertRegex(self.verdict(a, a, '--rounds', '12', '--figure', 'cpu_time'),
                         '^spex: 3 benchmarks: no difference between A and B was found' + took)
        self.assertRegex(self.verdict(a, '--rounds', '12'), r'^spex: 3 benchmarks, the least certain work/\d, ±[\d.]+ %' + took)
        self.assertRegex(self.verdict(a, '--rounds', '1'), r'^spex: 3 benchmarks; 1 round in [\d.]+ m?s$')

    def test_programs_of_the_harness(self):
        options = ['--', '--benchmark_filter=^add|wrong s', '--benchmark_min_time=0.002']
        found = self.bench(0, BENCHMARKS, '--rounds', '6', *options)
        self.assertEqual([row['name'] for row in found['benchmarks']], ['add'])
        self.assertEqual(found['not_judged'], {'wrong skipped/threads:2': 'no "file"?'})
        self.assertGreater(found['benchmarks'][0]['a']['value'], 0)
        self.assertLess(found['benchmarks'][0]['a']['value'], 1e-3)
        self.bench(0, BENCHMARKS, '--rounds', '1', '--figure', 'ticks', *options)
        found = self.bench(0, BENCHMARKS, '--rounds', '2', '--figure', 'mean_cpu_time', *options)
        self.assertLess(found['benchmarks'][0]['a']['value'], 1e-3)
        # Percentiles are those of the process. They are times, too.
        found = self.bench(0, BENCHMARKS, '--rounds', '6', '--figure', 'p50', '--', '--benchmark_filter=^chain/n:4096$')
        self.assertEqual(len(found['benchmarks'][0]['values_a']), 6)
        self.assertGreater(found['benchmarks'][0]['a']['value'], 0)
        self.assertLess(found['benchmarks'][0]['a']['value'], 1e-3)
        self.refused(1, 'no benchmark has a figure "p7"', BENCHMARKS, '--rounds', '1', '--figure', 'p7', *options)

    def test_bad_programs(self):
        self.refused(1, 'cannot be started: No such file', self.path('nothing'))
        self.refused(1, 'cannot be started: Permission denied', self.log)
        self.refused(1, 'JSON of benchmarks was expected', '/bin/true')
        self.refused(1, 'was killed by signal 9', self.script('killed', '#!/bin/sh\nkill -9 $$\n'))
        self.refused(1, 'no benchmark has a figure "cycles"', self.program('a', 1), '--figure', 'cycles')
        endless = '#!/bin/sh\nfor i; do case $i in --benchmark_out=*) exec cat /dev/zero >"${i#*=}";; esac; done\n'
        self.refused(1, 'cannot be read: File too large', self.script('endless', endless))

    def test_times_are_not_negative(self):
        self.refused(1, 'no benchmark has a figure "real_time"', self.program('a', -1), '--rounds', '1')

    def test_what_a_program_leaves_behind_is_not_waited_for(self):
        """The child ends when the test opens the pipe, after the command."""
        program, pipe = self.program('a', 1), self.path('pipe')
        os.mkfifo(pipe)
        script = self.script('leaves', f'#!/bin/sh\nexec 2>/dev/null\nread line <{pipe} &\nexec {program} "$@"\n')
        found = self.bench(0, script, '--rounds', '1')
        self.assertEqual(len(found['benchmarks']), 3)
        with open(pipe, 'w', encoding='utf-8'):
            pass

    def test_bad_command_lines(self):
        a = self.program('a', 1)
        for arguments in ([], [a, a, a], [a, '--rounds', '0'], [a, '--allow', 'x'], [a, '--allow', '2%%'],
                          [a, '--min-time', '0'], [a, a, '--save', 'x'], [a, a, '--baseline', 'x']):
            self.refused(2, 'spex: ', *arguments)
        self.refused(1, 'No such file', a, '--baseline', self.path('nothing'))
        self.refused(1, 'JSON of benchmarks was expected', a, '--baseline', self.path('a'))
        self.refused(1, '/nowhere', a, '--rounds', '1', '--save', '/nowhere/file')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
