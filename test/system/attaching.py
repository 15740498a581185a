# SPDX-License-Identifier: MIT
"""A program of a test that does what it is told, and a `spex attach` that looks at it."""

import json
import signal
import subprocess


class Program:
    """Does what a line says, and answers with numbers."""

    def __init__(self, *argv):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = str(self.process.pid)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def tell(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def do(self, command):
        self.tell(command)
        line = self.process.stdout.readline()
        assert line, "the program ended with %s" % self.process.wait()
        return tuple(map(int, line.split()))

    def end(self):
        self.tell("end")
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.communicate()


class Attached:
    """A command that looks at its functions already."""
    spex = None

    def __init__(self, program, functions, *options, budget="100%", before=()):
        self.process = subprocess.Popen([*before, self.spex, "attach", program.pid, "-e", functions, "--json", "-b", budget, *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""
        while "looking at" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line

    def wait(self):
        out, more = self.process.communicate(timeout=120)
        self.said += more
        assert self.process.returncode == 0, self.said
        self.found = json.loads(out)
        return self.found

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.wait()

    def count(self):
        return self.stop()["probes"][0]["count"]
