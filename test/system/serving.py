# SPDX-License-Identifier: MIT
"""A server of `spex serve` over real programs, for tests that are called with the paths of both."""

import http.client
import os
import re
import shutil
import socket
import subprocess
import time

from running import Programs

TOKEN = "0123456789abcdef0123"
# Other tests may run programs of theirs: those of this test have a name of their own.
NAME = "live-%d" % os.getpid()


class Server(Programs):
    def setUp(self):
        super().setUp()
        self.server = self.url = None
        self.began = time.time()
        self.program = shutil.copy(self.live, self.path(NAME))

    def start(self, *before, **options):
        return super().start(*before, program=self.program, **options)

    def serve(self, *arguments, whom=NAME):
        """Starts the server, and takes its address from the line that it prints."""
        self.server = subprocess.Popen([self.spex, "serve", "--listen", "127.0.0.1:0", *([whom] if whom else []), *arguments],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=self.environment(TMPDIR=self.dir))
        self.addCleanup(self.end)
        self.url = self.server.stdout.readline().strip()
        self.assertRegex(self.url, r"^https?://127\.0\.0\.1:\d+/$")
        self.port = int(self.url.rsplit(":", 1)[1].strip("/"))

    def end(self):
        if self.server.poll() is None:
            self.server.terminate()
        self.server.communicate()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def ask(self, path, method="GET", body=None, **headers):
        connection = self.connect()
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def metrics(self, **headers):
        answer, text = self.ask("/metrics", **headers)
        self.assertEqual(answer.status, 200, text)
        return text

    def values(self, name, text=None):
        """Of each series of this name: its labels, and its value."""
        found = re.findall(r"^%s(?:\{(.*?)\})? (\S+)(?: # .*)?$" % name, text or self.metrics(), re.MULTILINE)
        return {tuple(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)): float(value) for labels, value in found}

    def wait_for(self, name, condition):
        return self.until(lambda: condition(values := self.values(name)) and values)

    def raw(self, data):
        """What comes back for these bytes, until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port)) as client:
            client.sendall(data)
            answer = b""
            try:
                while part := client.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
        return answer
