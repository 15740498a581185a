#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a user sees of a program with probes: tables, files, messages; and nothing without variables.

    output.py PROGRAM OTHERS
"""

import errno
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from tables import cells, number, rows  # pylint: disable=wrong-import-position

PROGRAM, OTHERS = map(os.path.abspath, sys.argv[1:3])
HEADINGS = ['probe', 'type', '1 in', 'count', 'per s', 'value', 'total', 'mean', 'p50', 'p90', 'p99', 'p99.9', 'max']
VALUES = HEADINGS[5:]
QUANTILES = {'p50': 0.5, 'p90': 0.9, 'p99': 0.99, 'p99.9': 0.999}
TYPES = ('cnt', 'lat', 'tpt', 'llc', 'flt', 'ctxsw', 'perfcntr', 'snapshot')
KNOWN = 'request:lat, request.step:cnt, 9:snapshot'


SKIP = 77


def run(*arguments, folder=None, program=PROGRAM, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith('SPEX_')}
    environment.update({'SPEX_' + name: value for name, value in variables.items()}, COLUMNS='200')
    return subprocess.run([program, *arguments], env=environment, text=True, check=False, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def accounts(table):
    found = re.search(r'records: (\d+) produced, (\d+) consumed, (\d+) lost', table)
    return [int(number) for number in found.groups()]


class Output(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check_table(self, table, times=1):
        self.assertEqual(cells(table.splitlines()[0]), HEADINGS)
        found = rows(table)
        self.assertEqual(set(found), {('request', 'lat'), ('request.step', 'cnt'), ('9', 'snapshot')})
        self.assertEqual(found['request', 'lat']['count'], str(1000 * times))
        self.assertEqual(found['request.step', 'cnt']['count'], str(1000 * times))
        self.assertEqual(found['9', 'snapshot']['count'], str(1000 * times))

    def check_file(self, path, tables, children=0):
        """So many tables, each of all that was done in its time; those of children name their processes."""
        with open(path, encoding='utf-8') as file:
            texts = re.split(r'^(?:process (\d+), a child of a fork:\n)?(probe )', file.read(), flags=re.MULTILINE)
        processes, found = texts[1::3], [''.join(text) for text in zip(texts[2::3], texts[3::3])]
        self.assertEqual((texts[0], len(found)), ('', tables))
        self.assertEqual(len(set(filter(None, processes))), children)
        for text in found:
            self.check_table(text)
            self.assertEqual(accounts(text), [2100, 2100, 0])

    def test_nothing_without_variables(self):
        for mode in ['stop', 'exit', 'twice']:
            result = run(mode)
            self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))

    def test_nothing_with_empty_variables(self):
        result = run(PROBES='', OUT='', COLLECTORS='', RING_RECORDS='', BATCH_RECORDS='')
        self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))

    def test_a_table_on_standard_error(self):
        result = run(PROBES='*')
        self.assertEqual(result.stdout, 'done 0\n')
        self.check_table(result.stderr)
        self.assertEqual(accounts(result.stderr), [2100, 2100, 0])

    def test_a_table_on_standard_output(self):
        for mode in ['stop', 'exit']:
            result = run(mode, PROBES='*', OUT='-')
            self.assertEqual(result.stderr, '')
            self.assertIn('done 0\n', result.stdout)
            self.check_table(result.stdout.replace('done 0\n', ''))

    def test_a_table_in_a_file(self):
        path = os.path.join(self.folder, 'table')
        for mode in ['stop', 'exit']:
            result = run(mode, PROBES='*', OUT=path)
            self.assertEqual((result.stdout, result.stderr), ('done 0\n', ''))
            with open(path, encoding='utf-8') as file:
                self.check_table(file.read())

    def on_terminal(self, width):
        """The lines of the table on a terminal, which has the last word on the width."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, width, 0, 0))
        environment = {**os.environ, 'SPEX_PROBES': '*', 'SPEX_OUT': '-', 'COLUMNS': '60'}
        subprocess.run([PROGRAM], env=environment, stdout=slave, check=True)
        os.close(slave)
        text = b''
        while not text.endswith(b'done 0\r\n') and (more := os.read(master, 4096)):
            text += more
        lines = text.decode().splitlines()
        return lines[[line.startswith('probe ') for line in lines].index(True):-1]

    def test_tables_fit_the_terminal(self):
        shown = []
        for width in (40, 80, 200):
            lines = self.on_terminal(width)
            self.assertLessEqual(max(map(len, lines)), width)
            shown.append(cells(lines[0]))
        self.assertLess(len(shown[0]), len(shown[1]))
        self.assertLess(len(shown[1]), len(shown[2]))
        self.assertEqual(shown[2], HEADINGS)

    def test_notes_are_few(self):
        brief = run(PROBES='*', OUT='-').stdout
        self.assertNotIn('rings: ', brief)
        self.assertRegex(brief, r'\noverhead, as believed: probes [0-9.]+ % of the CPU time, ')
        verbose = run(PROBES='*', OUT='-', VERBOSE='1').stdout
        self.assertRegex(verbose, r'(?s)\noverhead, .*\nrings: .*\nCPU time: program ')

    def test_values(self):
        found = rows(run(PROBES='*', OUT='-').stdout)
        for name, factor in [('i', 1), ('2 * i', 2)]:
            value = found['9', 'snapshot']['values'][name]
            for key, exact in [('mean', 499.5), ('max', 999), ('total', 499500)]:
                self.assertLessEqual(abs(number(value[key]) - factor * exact), factor * exact / 200, key)  # three digits
            for key, share in QUANTILES.items():
                exact = factor * (1000 * share - 1)
                self.assertLessEqual(abs(number(value[key]) - exact), exact / 128 + exact / 200, key)
        self.assertEqual(list(found['9', 'snapshot']['values']), ['i', '2 * i'])
        time = {key: number(found['request', 'lat'][key]) for key in VALUES[1:]}
        ascending = [0] + [time[key] for key in QUANTILES] + [time['max']]
        self.assertEqual(ascending, sorted(ascending))
        self.assertLessEqual(time['mean'], time['max'])
        self.assertLessEqual(abs(time['total'] - 1000 * time['mean']), time['total'] / 100)

    def test_probes_without_values(self):
        row = rows(run(PROBES='*', OUT='-').stdout)['request.step', 'cnt']
        self.assertEqual([row[key] for key in VALUES], ['-'] * len(VALUES))

    def test_probes_that_never_execute_have_rows(self):
        found = rows(run('never', PROBES='*', OUT='-').stdout)
        self.assertEqual(set(found), {('request', 'lat'), ('request.step', 'cnt'), ('9', 'snapshot')})
        for row in found.values():
            self.assertEqual((row['count'], row['per s'], row['lost']), ('0', '0', '0'))
            self.assertNotIn('mean', row)
        self.assertEqual([found[key]['1 in'] for key in sorted(found)], ['1', '1', '10'])
        self.assertEqual(rows(run('never', PROBES='9', OUT='-').stdout).keys(), {('9', 'snapshot')})

    def test_samples_have_margins(self):
        found = rows(run(PROBES='*@7', OUT='-').stdout)
        for row in found.values():
            # 142 or 143 records, each of 7 executions; the others are counted all the same.
            self.assertEqual((row['1 in'], row['count']), ('7', '1000'))
        self.assertEqual(found['request.step', 'cnt']['margins'], {})
        for value in found['9', 'snapshot']['values'].values():
            margins = value['margins']
            # 499.5 ± 1.977 · 288.7 / √142 · √(6/7); max has none, total has that of the count besides
            self.assertRegex(margins['mean'], r'^±(7\.[89]|8\.[0189]) %$')
            self.assertEqual((margins['p99'], margins['p99.9']), ('±?', '±?'))
            self.assertEqual(set(margins), {'total', 'mean', *QUANTILES})

    def test_margins_hold_the_truth(self):
        """Values that are evenly spread, sampled in their order: the margins are wider than need be."""
        for period in (3, 10, 70):
            found = rows(run(PROBES='9@%d' % period, OUT='-').stdout)['9', 'snapshot']
            for name, factor in [('i', 1), ('2 * i', 2)]:
                value, margins = found['values'][name], found['values'][name]['margins']
                truths = {'mean': 499.5, 'p50': 499, 'p90': 899, 'total': 499500}
                for key, truth in truths.items():
                    if margins.get(key, '±?') != '±?':
                        margin = (float(margins[key][1:-2]) / 100 + 1 / 200) * number(value[key])
                        self.assertLessEqual(abs(number(value[key]) - factor * truth), margin + factor, (period, key))

    def test_without_sampling_there_are_no_margins(self):
        found = rows(run(PROBES='*@1', OUT='-').stdout)
        for (_, kind), row in found.items():
            if kind != 'lat':  # of times, the clock's error may be told
                self.assertEqual([value['margins'] for value in row['values'].values()], [{}] * len(row['values']))

    def test_names_of_values(self):
        """Of the types whose counters may not be available here, too."""
        result = run(program=OTHERS, PROBES='*', OUT='-')
        found = rows(result.stdout)
        names = {'llc': ['references', 'misses'], 'flt': ['faults'], 'ctxsw': ['switches'], 'perfcntr': ['events'],
                 'tpt': ['time']}
        for kind, expected in names.items():
            row = found['60', kind]
            self.assertEqual(row['count'], '10')
            if '60 %s: 10 of 10 records have no values' % kind in result.stdout:
                self.assertEqual(row['mean'], '-')
            else:
                self.assertEqual(list(row['values']), expected)

    def test_selection_by_name_type_and_period(self):
        result = run(PROBES='request*,request.*@100', OUT='-')
        self.assertEqual(set(rows(result.stdout)), {('request', 'lat'), ('request.step', 'cnt')})
        self.assertEqual(rows(result.stdout)['request.step', 'cnt']['count'], '1000')
        self.assertEqual(rows(result.stdout)['request.step', 'cnt']['1 in'], '100')
        self.assertEqual(accounts(result.stdout), [1010, 1010, 0])
        self.assertEqual(set(rows(run(PROBES='*:cnt', OUT='-').stdout)), {('request.step', 'cnt')})

    def test_selection_with_exceptions_files_and_types(self):
        for probes in ['*,request.*@off,9@off', ':lat', '*@off,request:lat', ' request ',
                       '+request']:
            found = rows(run(PROBES=probes, OUT='-').stdout)
            self.assertEqual(set(found), {('request', 'lat')}, probes)
        for probes in ['file=program.c', 'file=*/program.c', 'file=system/*']:
            self.check_table(run(PROBES=probes, OUT='-').stdout)
        result = run(PROBES=' off ')
        self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))

    def test_losses_are_told(self):
        """Exactly, with one probe of each type."""
        text = run(PROBES='*', OUT='-', RING_RECORDS='2').stdout
        produced, consumed, lost = accounts(text)
        self.assertEqual(produced, 2100)
        self.assertEqual(produced, consumed + lost)
        found = rows(text)
        self.assertEqual(sum(int(row['lost']) for row in found.values()), lost)
        for row in found.values():
            self.assertEqual(int(row['count']), 1000)

    def test_losses_are_known_of_each_probe_that_is_recorded_in_full(self):
        text = run(program=OTHERS, PROBES='*:cnt', OUT='-', RING_RECORDS='2').stdout
        _, _, lost = accounts(text)
        self.assertEqual(sum(int(row['lost']) for row in rows(text).values()), lost)
        self.assertEqual({row['1 in'] for row in rows(text).values()}, {'1'})

    def test_losses_are_shared_by_several_probes_of_a_type(self):
        text = run(program=OTHERS, PROBES='*:cnt@2', OUT='-', RING_RECORDS='2').stdout
        produced, _, lost = accounts(text)
        found = rows(text)
        self.assertEqual(produced, 2000)
        self.assertGreater(lost, 0)
        for row in found.values():
            self.assertTrue(row['lost'].startswith('~'), row)
        self.assertLessEqual(abs(sum(int(row['lost'][1:]) for row in found.values()) - lost), 2)
        self.assertIn("~ is a probe's share of its type's", text)

    def test_several_collectors_and_small_batches(self):
        result = run(PROBES='*', OUT='-', COLLECTORS='3', BATCH_RECORDS='1')
        self.check_table(result.stdout)
        self.assertEqual(accounts(result.stdout), [2100, 2100, 0])

    def test_start_again(self):
        path = os.path.join(self.folder, 'table')
        for _ in range(2):  # the tables of the program that ran before are gone
            result = run('twice', PROBES='*', OUT=path)
            self.assertEqual((result.stdout, result.stderr), ('done 0\n', ''))
            self.check_file(path, tables=2)

    def test_start_again_with_another_file(self):
        paths = [os.path.join(self.folder, name) for name in ('table', 'other')]
        for _ in range(2):
            result = run('twice', paths[1], PROBES='*', OUT=paths[0])
            self.assertEqual((result.stdout, result.stderr), ('done 0\n', ''))
            for path in paths:
                self.check_file(path, tables=1)

    def test_forked_children_have_tables_of_their_own(self):
        path = os.path.join(self.folder, 'table')
        result = run('forks', PROBES='*', OUT=path)
        if result.returncode == SKIP:
            self.skipTest("the child of a fork cannot start threads with gcc's sanitizers")
        self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))
        self.check_file(path, tables=3, children=2)

    def test_a_program_that_changes_its_directory(self):
        result = run('away', folder=self.folder, PROBES='*', OUT='table')
        self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))
        self.check_file(os.path.join(self.folder, 'table'), tables=1)

    def test_a_program_that_closes_all_descriptors(self):
        path = os.path.join(self.folder, 'table')
        result = run('closes', folder=self.folder, PROBES='*', OUT=path)
        self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))
        self.check_file(path, tables=1)
        with open(os.path.join(self.folder, 'own'), encoding='utf-8') as file:
            self.assertEqual(set(file.read()), {'x'})

    def test_rates_are_over_the_time_of_the_probes(self):
        result = run('timed', PROBES='*', OUT='-')
        found = re.search(r'^([0-9.]+)\ndone 0\n', result.stdout, re.MULTILINE)
        for row in rows(result.stdout).values():
            count, rate = float(row['count']), number(row['per s'])
            # Both clocks are read within a moment, not at once: the rate is right to 1 % in any case.
            self.assertGreaterEqual(rate * 1.01, count / float(found[1]))

    def test_rates_are_over_the_time_that_probes_are_on(self):
        result = run('switched', OUT='-', RING_RECORDS='1048576')
        most, least = (float(number) for number in result.stdout.split('\n', 1)[0].split())
        for row in rows(result.stdout).values():
            count, rate = float(row['count']), number(row['per s'])
            self.assertGreaterEqual(rate * 1.01, count / most)
            self.assertLessEqual(rate * 0.99, count / least)

    def test_each_start_counts_its_own(self):
        result = run('often', PROBES='*@3', OUT='-')
        texts = re.split('^(?=probe )', result.stdout, flags=re.MULTILINE)[1:]
        self.assertEqual(len(texts), 10)
        for text in texts:
            produced, consumed, lost = accounts(text)
            found = rows(text)
            self.assertEqual((produced, lost), (consumed, 0))
            self.assertEqual({row['count'] for row in found.values()}, {'1000'})

    def children(self, mode, tables, **variables):
        """So many tables of all, in a file; the program's own alone without following."""
        path = os.path.join(self.folder, 'table')
        for follow, expected in [('', 1), ('follow', tables)]:
            result = run(mode, PROBES='*', OUT=path, FORKS=follow, **variables)
            if result.returncode == SKIP:
                self.skipTest("the child of a fork cannot start threads with gcc's sanitizers")
            self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))
            yield path, expected

    def test_children_and_theirs_are_followed(self):
        for path, tables in self.children('family', 3):
            self.check_file(path, tables, children=tables - 1)

    def test_children_that_start_spex_are_followed_alike(self):
        path = os.path.join(self.folder, 'table')
        for follow in ('', 'follow'):
            result = run('forks', PROBES='*', OUT=path, FORKS=follow)
            if result.returncode == SKIP:
                self.skipTest("the child of a fork cannot start threads with gcc's sanitizers")
            self.assertEqual((result.stdout, result.stderr, result.returncode), ('done 0\n', '', 0))
            self.check_file(path, tables=3, children=2)

    def test_children_of_a_thread_are_followed_while_others_record(self):
        for path, tables in self.children('threads', 4, RING_RECORDS='65536'):
            with open(path, encoding='utf-8') as file:
                texts = re.split('^(?=probe )', file.read(), flags=re.MULTILINE)[1:]
            self.assertEqual(len(texts), tables)
            counts = sorted(int(row['count']) for text in texts for row in rows(text).values())
            self.assertEqual(counts, [1000] * 3 * (tables - 1) + [21000] * 3)
            self.assertEqual(sorted(map(accounts, texts)), [[2100, 2100, 0]] * (tables - 1) + [[44100, 44100, 0]])

    def test_a_child_that_executes_another_program_has_no_table(self):
        """What that other program has, if it has probes, is its own; here it is the same."""
        for follow in ('', 'follow'):
            result = run('executes', PROBES='*', FORKS=follow)
            if result.returncode == SKIP:
                self.skipTest("the child of a fork cannot start threads with gcc's sanitizers")
            self.assertEqual((result.stdout, result.returncode), ('done 0\n' * 2, 0))
            texts = re.split('^(?=probe )', result.stderr, flags=re.MULTILINE)
            self.assertEqual((texts[0], len(texts)), ('', 3))
            for text in texts[1:]:
                self.check_table(text)

    def test_a_bad_choice_for_forks(self):
        self.refused(errno.EINVAL, 'SPEX_FORKS=all: "follow" was expected', PROBES='*', FORKS='all')

    def refused(self, error, message, *arguments, **variables):
        """The program goes on without spex, after one line that says what is wrong."""
        result = run(*arguments, **variables)
        self.assertEqual(result.stdout, 'done %d\n' % -error)
        self.assertEqual(result.returncode, 0)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith('spex: '), lines[0])
        self.assertIn(message, lines[0])

    def test_bad_selections(self):
        self.refused(errno.EINVAL, '"request:latency": after ":" a probe type was expected: cnt, lat, ',
                     PROBES='request:latency')
        self.refused(errno.EINVAL, '"*@0": after "@" a period of 1 to', PROBES='request,*@0')
        self.refused(errno.EINVAL, "item 2 is empty: a probe's name or id, file=PATH or :TYPE was expected",
                     PROBES='request,')
        self.refused(errno.EINVAL, 'probe selection: "off": no other items were expected', PROBES='*,off')
        self.refused(errno.EINVAL, '"+request": "+" was expected once, in front', PROBES='9,+request')
        self.refused(errno.EINVAL, '"?[31m:x": after ":"', PROBES='\033[31m:x')
        self.refused(errno.E2BIG, '65536 bytes at most were expected', PROBES='x' * 65537)
        self.refused(errno.E2BIG, '1024 items at most were expected',
                     PROBES=','.join(str(number) for number in range(1025)))

    def test_a_bad_selection_leaves_the_file_alone(self):
        path = os.path.join(self.folder, 'table')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('of last time')
        self.refused(errno.EINVAL, 'was expected', PROBES='request@none', OUT=path)
        with open(path, encoding='utf-8') as file:
            self.assertEqual(file.read(), 'of last time')

    def test_a_bad_file_leaves_the_table_to_standard_error(self):
        for path, why in [('/nowhere/table', 'No such file or directory'), (self.folder, 'Is a directory')]:
            result = run(PROBES='*', OUT=path)
            self.assertEqual((result.returncode, result.stdout), (0, 'done 0\n'))
            line, table = result.stderr.split('\n', 1)
            self.assertEqual(line, 'spex: SPEX_OUT: cannot open %s: %s; the table goes to standard error' % (path, why))
            self.check_table(table)

    def test_bad_sockets(self):
        for out, why in [('unix:/nowhere/socket', 'No such file'), ('unix:', 'No such file'),
                         ('unix:/' + 'x' * 108, 'File name too long'), ('metrics:/nowhere/socket', 'No such file')]:
            self.refused(0, 'SPEX_OUT: cannot connect to %s: %s' % (out.replace('metrics:', ''), why), PROBES='*', OUT=out)

    def test_bad_numbers(self):
        for name, value in [('COLLECTORS', '0'), ('COLLECTORS', '65'), ('COLLECTORS', 'many'),
                            ('PROBING', '0'), ('PROBING', '1001'), ('PROBING', 'often'),
                            ('RING_RECORDS', '1000'), ('RING_RECORDS', '-2'),
                            ('BATCH_RECORDS', '4097'), ('BATCH_RECORDS', '1e3')]:
            with self.subTest(name=name, value=value):
                self.refused(errno.EINVAL, 'SPEX_%s=%s' % (name, value), PROBES='*', **{name: value})

    def test_too_little_memory_for_rings(self):
        if run('limited').returncode == SKIP:
            self.skipTest("the sanitizer needs more itself")
        self.refused(errno.ENOMEM, 'cannot reserve memory for rings of 16777216 records: Cannot allocate memory; '
                     'less is reserved with SPEX_RING_CPUS or SPEX_RING_RECORDS', 'limited', PROBES='*', RING_RECORDS='16777216', CONTROL='off')

    def test_too_little_memory_for_collectors(self):
        if run('cramped').returncode == SKIP:
            self.skipTest("the sanitizer needs more itself")
        self.refused(errno.EAGAIN, 'cannot start 3 collector threads: ',
                     'cramped', PROBES='*', RING_RECORDS='2', BATCH_RECORDS='256', COLLECTORS='3', CONTROL='off')

    def test_little_memory_is_enough(self):
        if run('limited').returncode == SKIP:
            self.skipTest("the sanitizer needs more itself")
        result = run('limited', PROBES='*', OUT='-', RING_RECORDS='1024')
        self.assertEqual((result.returncode, result.stderr), (0, ''))
        self.check_table(result.stdout.replace('done 0\n', ''))

    def test_no_match_lists_what_there_is(self):
        result = run(PROBES='requests')
        self.assertEqual(result.stdout, 'done 0\n')
        self.assertEqual(result.stderr.splitlines()[0],
                         'spex: no probe matches "requests" (yet); there are: ' + KNOWN)

    def test_no_match_beside_a_match_is_told_too(self):
        result = run(PROBES='*,requests:lat@off,file=nowhere.c,\033[2J', OUT='-')
        self.assertEqual(result.stderr, 'spex: no probe matches "requests:lat@off", "file=nowhere.c", "?[2J" '
                         '(yet); there are: ' + KNOWN + '\n')
        self.check_table(result.stdout.replace('done 0\n', ''))

    def test_unknown_variables_are_told(self):
        for name, meant in [('PROBE', 'PROBES'), ('PORBES', 'PROBES'), ('probes', 'PROBES'), ('OUTS', 'OUT'),
                            ('COUNTER', 'COUNTERS'), ('RINGCPUS', 'RING_CPUS')]:
            with self.subTest(name=name):
                result = run(**{name: '*'})
                self.assertEqual(result.stdout, 'done 0\n')
                self.assertEqual(result.stderr, "spex: SPEX_%s is no variable of spex's; did you mean SPEX_%s?\n"
                                 % (name, meant))
        for name in ['NOTHING_LIKE_IT', 'X' * 500, '']:
            result = run('twice', **{name: '1'})  # once, however often it starts
            self.assertEqual(result.stdout, 'done 0\n')
            self.assertRegex(result.stderr, r"\Aspex: SPEX_%s is no variable of spex's; there are: SPEX_PROBES, SPEX_FUNCTIONS, "
                             r"SPEX_OUT, [A-Z_, ]+\n\Z" % name[:59])

    def test_an_unknown_variable_is_printable(self):
        result = run(**{'PROBES\033[2J': '*'})
        self.assertIn("SPEX_PROBES?[2J is no variable", result.stderr)

    def test_known_and_empty_variables_are_not_told(self):
        result = run(PROBE='', CONFIG='x', CONTROL='off', FORKS='')
        self.assertEqual((result.stdout, result.stderr), ('done 0\n', ''))

    def test_nothing_is_read_or_said_in_set_user_id_programs(self):
        program = shutil.copy(PROGRAM, self.folder)
        if os.geteuid() != 0 or os.statvfs(program).f_flag & os.ST_NOSUID:
            self.skipTest('no set-user-ID programs can be made here')
        os.chown(program, 65534, -1)
        os.chmod(program, 0o4755)
        os.chmod(self.folder, 0o755)
        result = run(program=program, PROBES='*', PROBE='*')
        if 'Sanitizer' in result.stderr:
            self.skipTest('the sanitizer does not work in set-user-ID programs')
        self.assertEqual((result.stdout, result.stderr), ('done 0\n', ''))

    def test_known_variables_are_those_of_the_pages(self):
        listed = run(NOTHING_LIKE_IT='1').stderr.strip().split(': ')[-1].split(', ')
        docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs')
        for page, line in [('probes.md', r'^\| `(SPEX_\w+)`'), ('man/spex_probes.7', r'^\.It Ev (SPEX_\w+)$')]:
            with open(os.path.join(docs, page), encoding='utf-8') as file:
                self.assertEqual(set(listed), set(re.findall(line, file.read(), flags=re.MULTILINE)), page)

    def test_a_full_disk_is_told(self):
        if not os.path.exists('/dev/full'):
            self.skipTest('no /dev/full')
        result = run(PROBES='*', OUT='/dev/full')
        self.assertEqual(result.stdout, 'done 0\n')
        self.assertIn('spex: SPEX_OUT: cannot write the table to', result.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
