# SPDX-License-Identifier: MIT
"""Reads the tables of probes that spex prints."""

import re

PREFIXES = {'': 1, 'k': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12, 's': 1, 'ms': 1e-3, 'µs': 1e-6, 'ns': 1e-9}
# What a column says that is left out.
PLAIN = {'1 in': '1', 'lost': '0', 'value': 'time'}


def cells(line):
    return re.split(' {2,}', line.strip())


def number(cell):
    """What is written as 12, as 73.7 k, or as 13.5 µs."""
    digits, _, prefix = cell.partition(' ')
    return float(digits) * PREFIXES[prefix]


def values_of(headings, row):
    """The cells by heading, and the margins that stand beside them."""
    found = {'margins': {}}
    for heading, cell in zip(headings, row):
        found[heading], *margin = re.split(' (?=±)', cell)
        if margin:
            found['margins'][heading] = margin[0]
    return found


def tables(text):
    """The rows of each table by (probe, type): cells by heading, `margins` by heading, and `values`, which has the same
    of each value by its name."""
    found, headings, last = [], None, None
    for line in text.splitlines():
        row = cells(line)
        if row[:2] == ['probe', 'type']:
            headings = row
            found.append({})
        elif headings and line.startswith(' ') and 'value' in headings:
            last['values'][row[0]] = values_of(headings[headings.index('value'):], row)
        elif headings and len(row) in (len(headings), len(headings) - 1) and not line.startswith(' '):
            last = {**PLAIN, **values_of(headings, row)}
            last['values'] = {last['value']: last}
            found[-1][row[0], row[1]] = last
        else:
            headings = None
    return found


def rows(text):
    """Those of the only table; none where it says that no probe was on."""
    found, = tables(text) or [{}] * text.splitlines().count("no probe was on")
    return found
