# SPDX-License-Identifier: MIT
"""Traces for tests of the commands that read them."""

import csv
import io
import os
import subprocess

from folder import InFolder


class Traces(InFolder):
    spex = made = None

    def make(self, kind="all", count=3000):
        """The folder of a trace, and how many records it has."""
        result = self.succeeds(self.made, self.folder, kind, str(count))
        return result.stdout.strip(), int(result.stderr)

    def run_spex(self, *arguments, **options):
        return subprocess.run([self.spex, *map(str, arguments)], check=False, timeout=120,
                              capture_output=True, **options)

    def refused(self, message, *arguments, status=2):
        result = self.run_spex(*arguments)
        self.assertEqual((result.returncode, result.stdout), (status, b""), result.stderr)
        self.assertRegex(result.stderr.decode(), "(?m)^(spex: .*)?" + message)

    def export(self, trace, form, *arguments):
        """What is written to standard output."""
        result = self.run_spex("export", trace, "--format", form, *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout

    def records(self, trace, *arguments):
        """Rows of the table of all records."""
        text = self.export(trace, "csv", *arguments).decode()
        return list(csv.DictReader(io.StringIO(text)))

    def files(self, trace):
        """Paths of a trace's files."""
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(trace) for name in names)
