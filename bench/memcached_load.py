#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Loads a memcached that has begun with "-A -s SOCKET", and ends it: writes, reads by one key and by many, replaces, appends, counts,
meta commands, and what its statistics tell, with SIZE keys and values of up to 8 * SIZE bytes, ROUNDS times.

usage: memcached_load.py SOCKET SIZE ROUNDS
"""

import os
import select
import socket
import sys

# Requests that are on their way at a time.
BATCH = 64
# Keys of a request: those of "get" may be more than fit 1024 bytes.
KEYS = 64


def connected(path, tries=600):
    """The server is begun beside this; it binds the socket before it listens."""
    for _ in range(tries):
        try:
            client = socket.socket(socket.AF_UNIX)
            client.connect(path)
            return client
        except (FileNotFoundError, ConnectionRefusedError):
            client.close()
            select.select([], [], [], 0.1)
    return sys.exit("%s: a memcached that listens there was expected" % path)


class Client:
    def __init__(self, path):
        self.file = connected(path).makefile("rwb")

    def ask(self, requests, end=None):
        """Sends them; an answer is a line, or all lines to one that begins with `end`."""
        for at in range(0, len(requests), BATCH):
            self.file.write(b"".join(requests[at:at + BATCH]))
            self.file.flush()
            for _ in requests[at:at + BATCH]:
                line = self.file.readline()
                while line and end and not line.startswith(end):
                    line = self.file.readline()
                if not line or line.startswith((b"ERROR", b"CLIENT_ERROR", b"SERVER_ERROR")):
                    sys.exit("memcached answered %r" % line)

    def round(self, size):
        keys = [b"key%d" % number for number in range(size)]
        values = [b"v" * (8 + 8 * number) for number in range(size)]
        for way in (b"set", b"replace", b"append"):
            self.ask([b"%s %s 0 600 %d\r\n%s\r\n" % (way, key, len(value), value) for key, value in zip(keys, values)])
        self.ask([b"get %s\r\n" % key for key in keys], b"END")
        for many in (size // 8, size // 2, size):
            self.ask([b"get %s\r\n" % b" ".join(keys[:many]), b"gats 600 %s\r\n" % b" ".join(keys[:min(many, KEYS)])], b"END")
        self.ask([b"mg %s t f s\r\n" % key for key in keys] + [b"ms %s 2 T600\r\n12\r\n" % key for key in keys[::2]])
        self.ask([b"incr %s %d\r\n" % (key, number) for number, key in enumerate(keys[::2])])
        self.ask([b"touch %s 900\r\n" % key for key in keys] + [b"delete %s\r\n" % key for key in keys[::4]])
        self.ask([b"stats %s\r\n" % of for of in (b"items", b"slabs", b"settings", b"conns", b"sizes")], b"END")
        self.ask([b"lru_crawler metadump all\r\n"], b"END")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.rsplit("\n\n", maxsplit=1)[-1].strip())
    client = Client(sys.argv[1])
    try:
        for _ in range(int(sys.argv[3])):
            client.round(int(sys.argv[2]))
    finally:
        client = Client(sys.argv[1])
        client.file.write(b"shutdown\r\n")
        client.file.flush()
        client.file.read()
        os.unlink(sys.argv[1])


if __name__ == "__main__":
    main()
