#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every acquire and release in the sources says what it is for: on its line, or where it goes on, stands its label and, in
brackets, the labels it pairs with, which must name it back.

    spex_store_release(&x, 1); /* A1 (R1, W1): text */
    spex_load_acquire(&y);     /* R1 (A1 in other.c) */

A label may stand at several operations that do the same. Partners are in the same file, or in the one
that is named. In headers every label counts, since an order of inline assembly is no operation of C.

    orders.py SOURCE_ROOT
"""

import pathlib
import re
import sys

OPERATION = re.compile(r'\bspex_(load_acquire|store_release|fetch_add_release|fetch_or_release|cas_acquire|cas_release|'
                       r'cas_acq_rel)\(')
LABEL = re.compile(r'/\* ([A-Z]+[0-9]+) \(([^)]*)\)')
PARTNER = re.compile(r'^([A-Z]+[0-9]+)(?: in ([a-z_0-9]+\.[ch]))?$')


def statement(lines):
    """The first line, with those that it goes on in."""
    text = ''
    for line in lines:
        text += line.strip() + ' '
        if re.search(r'[;{]|\*/\s*$', line):
            break
    return text


class Sources:
    def __init__(self, root):
        self.errors = []
        self.operations = 0
        self.files = {}  # file's name: {label: [(place, {(partner, its file)})]}
        for folder in ['queues', 'src', 'include']:
            for path in sorted((root / folder).rglob('*.[ch]')):
                self.read(path, str(path.relative_to(root)))

    def read(self, path, name):
        labels = self.files.setdefault(path.name, {})
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            if line.startswith('#define spex_'):
                continue  # the operations themselves
            if OPERATION.search(line) or path.suffix == '.h' and LABEL.search(line):
                self.operations += 1
                self.read_label(statement(lines[number - 1:]), labels, path.name,
                                '%s:%u' % (name, number))

    def read_label(self, line, labels, file, place):
        found = LABEL.search(line)
        if not found:
            self.errors.append('%s: an acquire or release without its label and partners' % place)
            return
        partners = set()
        for text in found.group(2).split(','):
            partner = PARTNER.match(text.strip())
            if partner:
                partners.add((partner.group(1), partner.group(2) or file))
            else:
                self.errors.append('%s: "%s" is no label' % (place, text.strip()))
        labels.setdefault(found.group(1), []).append((place, partners))

    def check_partner(self, place, own, partner):
        label, file = partner
        there = self.files.get(file, {}).get(label)
        if not there:
            self.errors.append('%s: partner %s is not in %s' % (place, label, file))
            return
        for other_place, partners in there:
            if own not in partners:
                self.errors.append('%s: does not name its partner %s of %s' % (other_place, own[0], place))

    def check(self):
        for file, labels in self.files.items():
            for label, places in labels.items():
                for place, partners in places:
                    for partner in sorted(partners):
                        self.check_partner(place, (label, file), partner)
        if self.operations < 10:
            self.errors.append('only %u acquires and releases found: is this the right place?'
                               % self.operations)
        return sorted(set(self.errors))


def main():
    sources = Sources(pathlib.Path(sys.argv[1]))
    errors = sources.check()
    for error in errors:
        print(error)
    print('%u acquires and releases' % sources.operations)
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
