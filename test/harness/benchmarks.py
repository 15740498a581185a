#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of benchmarks: as C and C++ of several years, what they print and write, and what compare.py makes of it.

usage: benchmarks.py SOURCE_ROOT BENCHMARKS LIBSPEX_BENCH LIBSPEX
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import unittest

ROOT, BENCHMARKS, *LIBRARY = sys.argv[1:5]
sys.path.insert(0, os.path.join(ROOT, 'test'))
from folder import InFolder, LIBRARIES  # pylint: disable=wrong-import-position

COMPARE = '/usr/share/benchmark/compare.py'
# Debian's modules are for its own Python.
PYTHON = '/usr/bin/python3'
FAST = ['--benchmark_min_time=0.001', '--benchmark_max_time=0.1']
STRICT = ['-Wall', '-Wextra', '-Wpedantic', '-Wshadow', '-Wconversion', '-Wundef', '-Werror', '-O2']
STANDARDS = {'c': ['c11', 'c17'], 'c++': ['c++11', 'c++14', 'c++17', 'c++20']}
COMPILERS = {'c': ['gcc', 'clang'], 'c++': ['g++', 'clang++']}
RIGHT = '--benchmark_filter=-wrong'


class Benchmarks(InFolder):
    def measure(self, *options, program=BENCHMARKS, status=0):
        """The JSON that the program prints."""
        result = subprocess.run([program, *FAST, '--benchmark_format=json', *options], text=True,
                                capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (status, ''))
        return json.loads(result.stdout, parse_constant=self.fail)

    def rows(self, output, kind, name=None):
        return [row for row in output['benchmarks']
                if row.get('aggregate_name', row['run_type']) == kind and name in (None, row['run_name'])]

    def refused(self, status, message, *options):
        result = subprocess.run([BENCHMARKS, *options], text=True, capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stdout), (status, ''))
        self.assertIn(message, result.stderr)
        self.assertNotIn('\x1b', result.stderr)

    def test_as_c_and_cxx(self):
        source = os.path.join(ROOT, 'test', 'harness', 'benchmarks.c')
        expected = None
        for language, compilers in COMPILERS.items():
            for compiler in filter(shutil.which, compilers):
                for standard in STANDARDS[language]:
                    with self.subTest(compiler=compiler, standard=standard):
                        program = self.path('benchmarks')
                        self.succeeds(compiler, '-std=' + standard, *STRICT, '-I', os.path.join(ROOT, 'include'),
                                      '-x', language, source, '-x', 'none', *LIBRARY, *LIBRARIES, '-o', program)
                        names = self.succeeds(program, '--benchmark_list_tests').stdout
                        expected = expected or names
                        self.assertEqual(names, expected)
                        output = self.measure('--benchmark_filter=^add$', '--benchmark_repetitions=1', program=program)
                        self.assertEqual(len(self.rows(output, 'iteration')), 1)

    def test_list_and_filter(self):
        names = self.succeeds(BENCHMARKS, '--benchmark_list_tests').stdout.splitlines()
        self.assertEqual(names[:6], ['add', 'block', 'chain/n:64', 'chain/n:256', 'chain/n:1024', 'chain/n:4096'])
        self.assertIn('shared \\ counter/threads:3', names)
        self.assertIn('paused/n:1/m:4', names)
        some = self.succeeds(BENCHMARKS, '--benchmark_list_tests', '--benchmark_filter=^a|n:64').stdout.split()
        self.assertEqual(some, ['add', 'chain/n:64'])
        others = self.succeeds(BENCHMARKS, '--benchmark_list_tests', '--benchmark_filter=-^a').stdout.splitlines()
        self.assertEqual(others, names[1:])

    def test_bad_input(self):
        self.refused(2, '"[" is no regular expression', '--benchmark_filter=[')
        self.refused(1, 'there is no benchmark that matches nothing', '--benchmark_filter=nothing')
        self.refused(2, 'console, json or csv was expected, not "x?[1m"', '--benchmark_format=x\x1b[1m')
        self.refused(2, '--benchmark_repetitions: a number of 1 to 100000', '--benchmark_repetitions=0')
        self.refused(2, 'no argument "x" was expected', 'x')
        self.refused(1, '"nonsense::event" cannot be counted here', '--benchmark_perf_counters=nonsense::event')
        result = subprocess.run([BENCHMARKS, *FAST, '--benchmark_filter=^add$', '--benchmark_out=/nowhere/file'],
                                text=True, capture_output=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn('/nowhere/file: the figures cannot be written: No such file', result.stderr)
        with open('/dev/full', 'w', encoding='utf-8') as full:
            result = subprocess.run([BENCHMARKS, *FAST, '--benchmark_filter=^add$'], stdout=full, text=True,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 1)

    def test_json(self):
        output = self.measure(RIGHT, '--benchmark_repetitions=2', '--benchmark_seed=7')
        context = output['context']
        self.assertEqual((context['json_schema_version'], context['seed']), (1, 7))
        self.assertEqual(context['executable'], os.path.realpath(BENCHMARKS))
        names = {row['run_name'] for row in self.rows(output, 'iteration')}
        listed = self.succeeds(BENCHMARKS, '--benchmark_list_tests', RIGHT).stdout.splitlines()
        self.assertEqual(names, set(listed))
        for name in names:
            repetitions = self.rows(output, 'iteration', name)
            self.assertEqual([row['repetition_index'] for row in repetitions], [0, 1])
            for row in repetitions:
                self.assertEqual((row['name'], row['time_unit']), (name, 'ns'))
                self.assertGreater(row['real_time'], 0)
                self.assertGreater(row['ticks'], 0)
            mean = sum(row['real_time'] for row in repetitions) / 2
            self.assertAlmostEqual(self.rows(output, 'mean', name)[0]['real_time'] / mean, 1, 9)
            (estimate,) = self.rows(output, 'estimate', name)
            for figure in ('mean_real_time', 'mean_cpu_time'):
                mean = sum(row['iterations'] * row[figure] for row in repetitions) / sum(row['iterations'] for row in repetitions)
                self.assertAlmostEqual(estimate[figure], mean, delta=1e-9 * mean)
            self.assertLessEqual(estimate['p50'], estimate['p99'])
            self.assertLessEqual(estimate['p99.9'], estimate['max'])
            # Two values have no 95 % interval.
            self.assertNotIn('real_time_low', estimate)
            self.assertFalse(estimate['precise'])
        row = self.rows(output, 'iteration', 'chain/n:256')[0]
        self.assertEqual(row['chain "length"'], 256)
        self.assertAlmostEqual(row['bytes_per_second'] / row['items_per_second'], 8, 6)
        self.assertAlmostEqual(row['items_per_second'] * row['real_time'] / 256e9, 1, 6)

    def test_times_are_those_of_the_work(self):
        """256 additions take 4 times as long as 64, and nothing that is paused is timed. Interruptions make single
        repetitions longer, never shorter."""
        output = self.measure('--benchmark_filter=chain|paused', '--benchmark_repetitions=12')
        least = {name: min(row['real_time'] for row in self.rows(output, 'iteration', name))
                 for name in ('chain/n:64', 'chain/n:4096', 'paused/n:1/m:2')}
        self.assertGreater(least['chain/n:4096'], 16 * least['chain/n:64'])
        self.assertLess(least['chain/n:4096'], 256 * least['chain/n:64'])
        # 100,000 iterations of what is paused take 20 µs at least.
        self.assertLess(least['paused/n:1/m:2'], 20000)
        (model,) = self.rows(output, 'BigO')
        self.assertIn(model['big_o'], ('constant', 'logarithmic', 'linear', 'polynomial', 'unknown'))
        self.assertNotIn('real_time', model)

    def test_intervals(self):
        output = self.measure('--benchmark_filter=^add$', '--benchmark_repetitions=8')
        (estimate,) = self.rows(output, 'estimate')
        self.assertLessEqual(estimate['real_time_low'], estimate['real_time'])
        self.assertLessEqual(estimate['real_time'], estimate['real_time_high'])
        # As precise as anybody may ask for: it ends with the least number of repetitions.
        output = self.measure('--benchmark_filter=^add$', '--benchmark_precision=100%', '--benchmark_max_time=60')
        self.assertGreaterEqual(self.rows(output, 'estimate')[0]['iterations'], 6)
        # Never precise enough: it ends by the time, and says so.
        text = self.succeeds(BENCHMARKS, '--benchmark_filter=^add$', '--benchmark_precision=0', *FAST).stdout
        self.assertIn('1 of 1 estimates are less precise', text)

    def test_faults(self):
        output = self.measure('--benchmark_filter=touch', '--benchmark_perf_counters=faults,switches',
                              '--benchmark_repetitions=1')
        (row,) = self.rows(output, 'iteration')
        # 1,024 pages, unless the system gives larger ones.
        self.assertGreater(row['faults'], 0)
        self.assertLess(row['faults'], 1100)
        self.assertGreaterEqual(row['switches'], 0)

    def test_processes(self):
        output = self.measure('--benchmark_filter=add|block', '--benchmark_processes=7')
        for name in ('add', 'block'):
            self.assertEqual([row['process'] for row in self.rows(output, 'iteration', name)], list(range(7)))
            (estimate,) = self.rows(output, 'estimate', name)
            self.assertIn('real_time_low', estimate)
            self.assertGreater(estimate['singles'], 0)
        output = self.measure('--benchmark_filter=wrong b', '--benchmark_processes=2', status=1)
        self.assertEqual(self.rows(output, 'iteration')[0]['error_message'], 'it has left its loop before the end')

    def test_wrong_benchmarks(self):
        output = self.measure('--benchmark_filter=wrong', status=1)
        errors = {row['run_name']: row['error_message'] for row in self.rows(output, 'iteration')}
        self.assertEqual(errors, {
            'wrong skipped/threads:2': 'no "file"?',
            'wrong broken': 'it has left its loop before the end',
            'wrong returned': 'it has left its loop before the end',
            'wrong empty/threads:2': 'it has no SPEX_BENCH_LOOP',
            'wrong twice': 'it has a second SPEX_BENCH_LOOP'})

    def test_csv(self):
        path = self.path('out.csv')
        self.succeeds(BENCHMARKS, '--benchmark_filter=shared|faults', '--benchmark_repetitions=2', *FAST,
                      '--benchmark_out=' + path, '--benchmark_out_format=csv')
        with open(path, encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row['name'] for row in rows],
                         ['shared \\ counter/threads:%d' % threads for threads in (1, 1, 2, 2, 3, 3)])
        self.assertTrue(all(float(row['real_time']) > 0 and row['time_unit'] == 'ns' for row in rows))

    def test_aggregates_only(self):
        path, options = self.path('out.json'), ['--benchmark_filter=^add$', '--benchmark_repetitions=2', '--benchmark_color=false',
                                                '--benchmark_counters_tabular']
        for option, in_file in (('report', 0), ('display', 2)):
            output = self.measure(*options, '--benchmark_%s_aggregates_only' % option, '--benchmark_out=' + path)
            self.assertEqual(self.rows(output, 'iteration'), [])
            self.assertEqual(len(self.rows(output, 'estimate')), 1)
            with open(path, encoding='utf-8') as file:
                self.assertEqual(len(self.rows(json.load(file), 'iteration')), in_file)
        output = self.measure(*options, '--benchmark_display_aggregates_only=false')
        self.assertEqual(len(self.rows(output, 'iteration')), 2)

    def test_compare(self):
        if not os.path.exists(COMPARE):
            self.skipTest('%s is not here (Debian: libbenchmark-tools)' % COMPARE)
        if subprocess.run([PYTHON, '-c', 'import scipy.stats'], capture_output=True, check=False).returncode:
            self.skipTest('scipy is not here (Debian: python3-scipy)')
        paths = [self.path('a.json'), self.path('b.json')]
        for path in paths:
            subprocess.run([BENCHMARKS, *FAST, '--benchmark_repetitions=3', '--benchmark_out=' + path],
                           check=False, capture_output=True)
        made = self.path('compared.json')
        self.succeeds(PYTHON, COMPARE, '-d', made, 'benchmarks', *paths)
        self.succeeds(PYTHON, COMPARE, '-a', 'benchmarks', BENCHMARKS, BENCHMARKS, *FAST, '--benchmark_filter=^add$',
                      '--benchmark_repetitions=2')
        with open(made, encoding='utf-8') as file:
            compared = {row['name']: row for row in json.load(file)}
        outputs = []
        for path in paths:
            with open(path, encoding='utf-8') as file:
                outputs.append(json.load(file))
        names = {row['run_name'] for output in outputs for row in self.rows(output, 'iteration') if 'error_occurred' not in row}
        self.assertLess(10, len(names))
        self.assertLessEqual(names, set(compared))
        for name in names:
            ours = [self.rows(output, 'iteration', name) for output in outputs]
            measured = compared[name]['measurements']
            for figure in ('real_time', 'cpu_time'):
                for side, of in zip(ours, ('', '_other')):
                    self.assertEqual([row[figure + of] for row in measured], [row[figure] for row in side])
            for row, before, after in zip(measured, *ours):
                change = (after['real_time'] - before['real_time']) / before['real_time'] if before['real_time'] else row['time']
                self.assertAlmostEqual(row['time'], change, 9)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
