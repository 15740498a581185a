#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The kernel finds the USDT probes where a program's notes say, and counts every execution of them,
whether the probes of spex are on or off.

    usdt.py SOURCE_ROOT [PROGRAM]     no program: it could not be built
"""

import collections
import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
import unittest

ROOT, *PROGRAM = sys.argv[1:]
sys.path.insert(0, os.path.join(ROOT, 'test'))
import usdt  # pylint: disable=wrong-import-position

UPROBE = '/sys/bus/event_source/devices/uprobe/type'
SYS_PERF_EVENT_OPEN = {'x86_64': 298, 'aarch64': 241}
ATTRIBUTES = struct.Struct('<IIQQQQQIIQQ')  # of perf_event_open, up to config2
ATTRIBUTES_SIZE = 128
LIBC = ctypes.CDLL(None, use_errno=True)

EXECUTIONS = {'lat_7_begin': 100, 'lat_7_end': 100, 'flt_8_begin': 100, 'flt_scope_end': 100,
              'snapshot_9': 100}
RECORDS = 100 + 100 + 10


def skip(reason):
    print('SKIP: USDT probes: ' + reason)
    sys.exit(77)


def counter(process, path, offset):
    """Counts the first thread's executions of the instruction there."""
    with open(UPROBE, encoding='ascii') as file:
        kind = int(file.read())
    name = ctypes.create_string_buffer(os.fsencode(path))
    attributes = ctypes.create_string_buffer(
        ATTRIBUTES.pack(kind, ATTRIBUTES_SIZE, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), offset),
        ATTRIBUTES_SIZE)
    descriptor = LIBC.syscall(SYS_PERF_EVENT_OPEN[platform.machine()], attributes, process, -1, -1,
                              ctypes.c_ulong(0))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


def counted(path, notes, environment):
    """Executions by name, and what the program said."""
    places = [(note.name, usdt.file_offset(path, note.address)) for note in notes]
    with subprocess.Popen(['sh', '-c', 'read line; exec "$0"', path], env=environment, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        counters = [(name, counter(process.pid, path, offset)) for name, offset in places]
        output, _ = process.communicate('go\n')
    if process.returncode != 0:
        raise AssertionError('%s: exit status %d' % (path, process.returncode))
    executions = collections.Counter()
    for name, descriptor in counters:
        executions[name] += struct.unpack('<Q', os.read(descriptor, 8))[0]
        os.close(descriptor)
    return executions, output


class Usdt(unittest.TestCase):
    def setUp(self):
        self.notes = usdt.notes(PROGRAM[0])
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith('SPEX_')}

    def test_the_notes_name_every_probe(self):
        self.assertEqual({note.name for note in self.notes}, set(EXECUTIONS))

    @unittest.skipUnless(platform.machine() == 'x86_64', 'a call in place of a breakpoint is of x86-64')
    def test_sites_are_the_two_nops_that_tracers_look_for(self):
        with open(PROGRAM[0], 'rb') as file:
            text = file.read()
        for note in self.notes:
            at = usdt.file_offset(PROGRAM[0], note.address)
            self.assertEqual(text[at:at + 11].hex(), '90' + '662e0f1f840000000000', note.name)

    def test_every_execution_counts_with_the_probes_off(self):
        executions, output = counted(PROGRAM[0], self.notes, self.environment)
        self.assertEqual((executions, output), (EXECUTIONS, ''))

    def test_every_execution_counts_with_the_probes_on(self):
        self.environment.update(SPEX_PROBES='*', SPEX_OUT='-', SPEX_CALIBRATE='0')
        executions, output = counted(PROGRAM[0], self.notes, self.environment)
        self.assertEqual(executions, EXECUTIONS)
        self.assertIn('records: %d produced, %d consumed, 0 lost' % (RECORDS, RECORDS), output)


def main():
    if not PROGRAM:
        skip('there is no <sys/sdt.h>')
    if not os.path.exists(UPROBE) or platform.machine() not in SYS_PERF_EVENT_OPEN:
        skip('this kernel has no uprobes')
    try:
        os.close(counter(0, PROGRAM[0], 0))
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EOPNOTSUPP):
            skip('uprobes: %s' % error.strerror)
        raise
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == '__main__':
    main()
