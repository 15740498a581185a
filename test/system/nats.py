# SPDX-License-Identifier: MIT
"""NATS servers of tests: on loopback, with a free port and a folder of their own."""

import os
import shutil
import socket
import subprocess
import time


# Debian has it where only root looks.
PROGRAM = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin") or "nats-server"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """nats-server with JetStream. `options`: lines of its configuration. It keeps its port and its store when it is
    started again."""

    def __init__(self, folder, options=""):
        self.folder, self.port, self.process = folder, free_port(), None
        self.scheme, self.address = "nats", "127.0.0.1"
        os.makedirs(os.path.join(folder, "store"), exist_ok=True)
        self.options = options

    @property
    def url(self):
        return "%s://%s:%d" % (self.scheme, self.address, self.port)

    def start(self):
        config = os.path.join(self.folder, "nats.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write('listen: "%s:%d"\njetstream { store_dir: "%s" }\n%s\n' % (
                self.address, self.port, os.path.join(self.folder, "store"), self.options))
        log = os.path.join(self.folder, "nats.log")
        for _ in range(2):  # another process may have taken the port meanwhile
            self.process = subprocess.Popen([PROGRAM, "-c", config, "-l", log], stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL)
            if self.is_ready():
                return self
            if self.process.poll() is None:
                self.kill()
        with open(log, encoding="utf-8") as file:
            raise RuntimeError(file.read())

    def is_ready(self):
        """Waits until it accepts connections, or has ended."""
        while self.process.poll() is None:
            try:
                with socket.create_connection((self.address, self.port)) as connection:
                    return connection.recv(4) == b"INFO"
            except ConnectionRefusedError:
                time.sleep(0.01)
        return False

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()


class Client:
    """Speaks the protocol of NATS, as an enemy would."""

    def __init__(self, server, login=None):
        self.connection = socket.create_connection(("127.0.0.1", server.port))
        self.file = self.connection.makefile("rb")
        self.file.readline()
        user = ',"user":"%s","pass":"%s"' % login if login else ""
        self.connection.sendall(b'CONNECT {"verbose":false%s}\r\n' % user.encode())
        self.ping()

    def ping(self):
        """Returns when all that was sent before has been taken; False: the server has refused something."""
        self.connection.sendall(b"PING\r\n")
        good = True
        while True:
            line = self.file.readline()
            if not line or line.startswith(b"-ERR"):
                good = False
            if not line or line.startswith(b"PONG"):
                return good

    def send(self, subject, data):
        self.connection.sendall(b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(data), data))

    def close(self):
        self.file.close()
        self.connection.close()
