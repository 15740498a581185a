# SPDX-License-Identifier: MIT
"""Traces as babeltrace2's Python module reads them, and as its command does."""

import os
import re
import struct
import subprocess

import bt2

DISCARDED = re.compile(r"WARNING: Tracer discarded (\d+) events? between ")


class Event:
    def __init__(self, name, nanoseconds, fields, cpu, thread):
        self.name = name
        self.nanoseconds = nanoseconds
        self.fields = fields
        self.cpu = cpu
        self.thread = thread


def read(folder):
    """The events of all traces in a folder, and how many were discarded."""
    events, discarded = [], 0
    for message in bt2.TraceCollectionMessageIterator(folder):
        # pylint: disable=protected-access
        if type(message) is bt2._EventMessageConst:
            event, context = message.event, message.event.packet.context_field
            fields = {name: int(value) for name, value in event.payload_field.items()}
            events.append(Event(event.name, message.default_clock_snapshot.ns_from_origin, fields,
                                int(context["cpu_id"]), fields.get("tid", int(context["tid"]))))
        elif type(message) is bt2._DiscardedEventsMessageConst:
            assert message.count is not None, "an unknown number of events were discarded"
            discarded += message.count
        elif type(message) is bt2._DiscardedPacketsMessageConst:
            raise AssertionError("packets are missing")
    return events, discarded


def count(folder):
    """The number of events, and of discarded ones, by the command, which may complain of nothing else."""
    result = subprocess.run(["babeltrace2", folder], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    discarded = 0
    for line in result.stderr.splitlines():
        found = DISCARDED.match(line)
        assert found, line
        discarded += int(found[1])
    return result.stdout.count("\n"), discarded


def journal(folder):
    """The frames of a trace's journal: kind, size of an entry, entries. A torn one at the end is left out."""
    with open(os.path.join(folder, ".spex", "journal"), "rb") as file:
        data = file.read()
    frames = []
    while len(data) >= 16:
        magic, version, kind, entries, size = struct.unpack_from("=IHHII", data)
        assert magic == 0x524a5853 and version == 3
        if len(data) < 16 + entries * size:
            break
        frames.append((kind, size, data[16:16 + entries * size]))
        data = data[16 + entries * size:]
    return frames


def size(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)
