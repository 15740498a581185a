#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast traces are read back: `spex export` to each format, and `spex stats`, of a trace with executions of
one probe alone and of one with records of all types. Reports records a second of the command's time and of its CPU
time, bytes written a record, and the most memory that it had.

FOLDER is where traces and exports go; a file system in memory leaves the disk out.

usage: export.py [--json] [--records N] [--rounds N] BUILD FOLDER
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FORMATS = ("perfetto", "chrome", "csv", "pprof", "folded", "sqlite")


class Bench:
    def __init__(self, options, folder):
        self.spex = os.path.join(options.build, "tools", "spex")
        self.made = os.path.join(options.build, "bench", "made")
        self.options, self.folder = options, folder

    def trace(self, kind):
        """The folder of a trace, and how many records it has."""
        result = subprocess.run([self.made, self.folder, kind, str(self.options.records)], check=True, text=True,
                                capture_output=True)
        return result.stdout.strip(), int(result.stderr)

    def once(self, *command):
        """Seconds, seconds of CPU, and MB of a command."""
        begin = time.monotonic()
        process = subprocess.Popen([self.spex, *command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit("%s failed" % " ".join(command))
        return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def measure(self, kind, what, trace, records):
        out = os.path.join(self.folder, "out")
        command = ["stats", trace] if what == "stats" else ["export", trace, "--format", what, "-o", out]
        rounds = [self.once(*command) for _ in range(self.options.rounds)]
        row = {"trace": kind, "what": what, "records": records,
               "per_second": records / statistics.median(wall for wall, _, _ in rounds),
               "per_cpu_second": records / statistics.median(cpu for _, cpu, _ in rounds),
               "memory_mb": max(memory for _, _, memory in rounds), "bytes": None}
        if what != "stats":
            row["bytes"] = os.path.getsize(out) / records
            os.unlink(out)
        return row

    def rows(self):
        for kind in ("spans", "all"):
            trace, records = self.trace(kind)
            for what in FORMATS + ("stats",):
                # Records of one probe that is no kernel have no stacks.
                if kind == "all" or what not in ("pprof", "folded"):
                    yield self.measure(kind, what, trace, records)
            shutil.rmtree(trace)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--records", type=int, default=4000000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = []
        for row in Bench(options, folder).rows():
            rows.append(row)
            if not options.json:
                print("%-6s %-9s %6.2f M/s  %6.2f M/s of CPU  %5.0f MB  %s" % (
                    row["trace"], row["what"], row["per_second"] / 1e6, row["per_cpu_second"] / 1e6, row["memory_mb"],
                    "%.0f B a record" % row["bytes"] if row["bytes"] else ""))
    if options.json:
        json.dump({"rounds": options.rounds, "rows": rows}, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
