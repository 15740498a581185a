# SPDX-License-Identifier: MIT
"""What an object says of its probes: spex's sites, and the notes of its USDT probes."""

import collections
import re
import struct
import subprocess

Site = collections.namedtuple('Site', 'type id values region')
Note = collections.namedtuple('Note', 'name address arguments')

TYPES = ['cnt', 'lat', 'tpt', 'snapshot', 'llc', 'flt', 'ctxsw', 'perfcntr', 'kernel', 'span']
SITE = struct.Struct('<IIIIHBBH2xq')


def readelf(option, path):
    return subprocess.run(['readelf', option, path], text=True, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def sites(path):
    """From the section spex_sites (include/spex/site.h)."""
    section = re.search(r' spex_sites +PROGBITS +\S+ (\S+) (\S+) ', readelf('-SW', path))
    if not section:
        return []
    offset, size = (int(number, 16) for number in section.groups())
    with open(path, 'rb') as file:
        file.seek(offset)
        data = file.read(size)
    return [Site(TYPES[(kind & 0x7f) - 1], probe_id, detail, region)
            for _, _, _, _, probe_id, kind, detail, region, _ in SITE.iter_unpack(data) if kind]


def notes(path, provider='spex'):
    """Those of this provider; libraries that are linked in may have others."""
    found = re.findall(r'Provider: ' + re.escape(provider) + r'\n +Name: (\S+)\n +Location: (\S+), .*\n +Arguments: (.*)\n',
                       readelf('-nW', path))
    return [Note(name, int(address, 16), arguments.strip()) for name, address, arguments in found]


def file_offset(path, address):
    for fields in (line.split() for line in readelf('-lW', path).splitlines()):
        if fields[:1] == ['LOAD']:
            offset, start, _, size = (int(number, 16) for number in fields[1:5])
            if start <= address < start + size:
                return address - start + offset
    raise ValueError('%s: nothing is loaded at %#x' % (path, address))
