#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Spans as users see them: in lists, tables and JSON, selected and sampled as other probes.

    spans.py SPEX SPANNED LOOP
"""

import json
import os
import re
import subprocess
import sys
import unittest

SPEX = SPANNED = LOOP = None
PATIENCE = 300  # seconds


def run(*command, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('SPEX_')}
    result = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True,
                            timeout=PATIENCE, env={**environment, 'SPEX_CONTROL': 'off', 'COLUMNS': '200', **variables})
    if result.returncode != 0:
        raise AssertionError(result)
    return result


def recorded(selection, *program):
    """The probes, by name and type, of a run with that selection."""
    told = json.loads(run(SPEX, 'run', '--json', '-e', selection, '--', *program).stderr)
    return {(probe['name'], probe['type']): probe for probe in told['processes'][0]['probes']}


class Spans(unittest.TestCase):
    def test_a_file_tells_begins_and_ends(self):
        told = json.loads(run(SPEX, 'probes', '--json', SPANNED).stdout)
        self.assertEqual([(site['name'], site['type'], site['end']) for site in told['sites']],
                         [('request', 'span', False), ('request', 'span', True)])
        table = run(SPEX, 'probes', SPANNED).stdout
        self.assertRegex(table, r'\nrequest +- +span, BEGIN +1 .*\nrequest +- +span, END +- ')

    def test_the_table_says_what_has_become_of_all(self):
        table = run(SPANNED, SPEX_PROBES='request:span', SPEX_OUT='-').stdout
        self.assertRegex(table, r'\nrequest +span +112 .* [mµn]s')
        self.assertIn('\nrequest span: 5 open, whose END has not come, 7 abandoned, whose END never came, 11 ENDs '
                      'without a BEGIN, or with one from before the probe was on\n', table)

    def test_so_does_json(self):
        probe = recorded('request', SPANNED)['request', 'span']
        self.assertEqual([probe[key] for key in ('count', 'records', 'open', 'abandoned', 'unmatched', 'unrecorded',
                                                 'lost')], [112, 100, 5, 7, 11, 0, 0])
        self.assertEqual([(value['name'], value['unit']) for value in probe['values']], [('time', 's')])
        self.assertGreater(probe['values'][0]['max'], 0)

    def test_of_a_sample_ends_do_not_tell(self):
        probe = recorded('request@10', SPANNED)['request', 'span']
        self.assertEqual((probe['count'], probe['one_in'], probe['unmatched']), (112, 10, None))
        self.assertEqual(probe['records'] + probe['open'] + probe['abandoned'], 11)
        table = run(SPANNED, SPEX_PROBES='request@10', SPEX_OUT='-').stdout
        self.assertNotIn('without a BEGIN', table)

    def test_an_event_loop_answers_all_that_it_has_read(self):
        probes = recorded('*', LOOP, 200)
        for name in ('request', 'queued'):
            probe = probes[name, 'span']
            self.assertEqual([probe[key] for key in ('count', 'records', 'open', 'abandoned', 'unmatched',
                                                     'unrecorded')], [3200, 3200, 0, 0, 0, 0])
        mean = {name: probe['values'][0]['mean'] for (name, _), probe in probes.items()}
        self.assertGreater(mean['request'], mean['queued'])

    def test_a_type_is_selected(self):
        self.assertEqual(set(recorded(':span', LOOP, 10)), {('request', 'span'), ('queued', 'span')})
        self.assertEqual(set(recorded(':lat', LOOP, 10)), {('readable', 'lat'), ('work', 'lat')})


if __name__ == '__main__':
    SPEX, SPANNED, LOOP = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1], verbosity=2)
