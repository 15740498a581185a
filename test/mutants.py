#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every acquire and release of the atomic ring's slots is needed: with any one of them weakened to relaxed,
ThreadSanitizer finds a data race in stress/ring_orders.c, and with all as they are it finds none. The
operations are those that orders.py finds, but for the accounts', which guard no plain data. Exits with 77 where ThreadSanitizer does not work.

    mutants.py SOURCE_ROOT COMPILER [OPTION...]
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import orders

SOURCE = 'queues/commit_atomic.c'
DRIVER = 'test/stress/ring_orders.c'
ORDER = re.compile(r'(spex_(?:load|store|fetch_add|cas))_(?:acquire|release|acq_rel)\($')
RACE = 'WARNING: ThreadSanitizer: data race'
OF_ACCOUNTS = ['P1']


def mutants(text):
    """Pairs of a name and the source with one order weakened."""
    for operation in orders.OPERATION.finditer(text):
        line = text.count('\n', 0, operation.start()) + 1
        label = orders.LABEL.search(orders.statement(text.splitlines()[line - 1:]))
        if label and label.group(1) in OF_ACCOUNTS:
            continue
        name = '%s (%s:%u)' % (label.group(1) if label else 'without a label', SOURCE, line)
        weakened, changes = ORDER.subn(r'\1_relaxed(', operation.group())
        assert changes == 1, operation.group()
        yield name, text[:operation.start()] + weakened + text[operation.end():]


class Builder:
    def __init__(self, root, compiler, folder):
        self.folder = folder
        self.command = compiler + ['-std=gnu11', '-O1', '-g', '-fsanitize=thread', '-pthread',
                                   *('-I%s' % path for path in (folder, root / 'include', root, root / 'src'))]

    def run(self, program):
        """What a program prints, and its status; None when it cannot be built."""
        binary = self.folder / 'program'
        if subprocess.run(self.command + [program, '-o', binary]).returncode != 0:
            return None
        ran = subprocess.run([binary], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                             env={**os.environ, 'TSAN_OPTIONS': 'halt_on_error=0'})
        return ran.stdout, ran.returncode


def works(builder):
    program = builder.folder / 'empty.c'
    program.write_text('int main(void) { return 0; }\n')
    return builder.run(program) == ('', 0)


def check(builder, root):
    """The number of mutants, and what is wrong."""
    copy = builder.folder / SOURCE  # found before the one in root
    copy.parent.mkdir()
    original = (root / SOURCE).read_text()
    copy.write_text(original)
    ran = builder.run(root / DRIVER)
    if ran != ('', 0):
        return 0, ['unchanged: ' + (ran[0] if ran else 'does not build')]
    count = 0
    errors = []
    for name, text in mutants(original):
        count += 1
        copy.write_text(text)
        ran = builder.run(root / DRIVER)
        if not ran:
            errors.append('%s relaxed does not build' % name)
            continue
        races = ran[0].count(RACE)
        print('%s relaxed: %u races' % (name, races), flush=True)
        if not races:
            errors.append('%s can be relaxed and nothing shows it' % name)
    if not count:
        errors.append('no acquire or release found in %s' % SOURCE)
    return count, errors


def main():
    root = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(root, sys.argv[2:], pathlib.Path(folder))
        if not works(builder):
            print('SKIP: programs built with -fsanitize=thread do not run here')
            return 77
        count, errors = check(builder, root)
    for error in errors:
        print(error)
    print('%u mutants, %u errors' % (count, len(errors)))
    return 1 if errors else 0


if __name__ == '__main__':
    sys.exit(main())
