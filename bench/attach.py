#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what `spex attach` tells that a hit costs, before it counts, with what it then costs the program.

Programs of Debian do the same work again and again, with and without a function counted, in turn: the cost of a hit is the
difference of the program's CPU time over the count. Programs and functions that are not there are left out, and named.

usage: attach.py [--json] [--rounds N] [--page JSON] SPEX
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile

from page import page_of, tell

PYTHON = """import os, sys
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
PERL = "$| = 1; while (<STDIN>) { eval $_; print qq(done\\n); }"
SQL = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) "
       "SELECT count(substr('text' || i, 2)) FROM n; SELECT 'done';\n")

# Commands, lines of work for their standard input, and functions that the work calls.
WORK = [
    (["/usr/bin/python3", "-c", PYTHON], "x = [str(i) for i in range(400000)]\n", ["python3*:PyObject_Str", "python3*:PyUnicode_New"]),
    (["/usr/bin/python3", "-c", PYTHON], "x = [abs(i) for i in range(-500000, 0)]\n", ["python3*:PyNumber_Absolute"]),
    (["/usr/bin/python3", "-c", PYTHON], "f = os.open('/dev/zero', 0); [os.read(f, 1) for _ in range(300000)]; os.close(f)\n",
     ["libc.so.6:read", "python3*:PyBytes_FromStringAndSize"]),
    (["/usr/bin/python3", "-c", PYTHON], "import time; any(time.monotonic() < 0 for _ in range(5000000))\n",
     ["libc.so.6:clock_gettime", "libc.so.6:clock_gettime:slots", "libc.so.6:clock_gettime:patch"]),
    (["/usr/bin/sqlite3", ":memory:"], SQL, ["libsqlite3*:sqlite3_value_text", "libsqlite3*:sqlite3_result_text64", "libc.so.6:malloc"]),
    (["/usr/bin/perl", "-e", PERL], "$x += length($_ . 'x') for 1 .. 500000;\n", ["*perl*:Perl_sv_2pv_flags", "*perl*:Perl_sv_setsv_flags"]),
]

CLOSE = 0.3  # what is told is right within that
LEAST = 100000  # hits, of which the cost is seen in the program's time


class Worker:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def cpu_ns(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="utf-8") as file:
            return int(file.read().split()[0])

    def work(self, line):
        """CPU nanoseconds that it takes."""
        before = self.cpu_ns()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        while (said := self.process.stdout.readline()).strip() != "done":
            if not said:
                raise SystemExit(f"attach.py: {self.process.args[0]} has ended")
        return self.cpu_ns() - before

    def end(self):
        self.process.kill()
        self.process.communicate()


def counted(spex, worker, function, line):
    """CPU nanoseconds of the work with the function counted, its executions, and what is told of it. None: it was not on all the
    time. The first time it is only looked at."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "figures")
        with subprocess.Popen([spex, "attach", str(worker.process.pid), "-e", "func:" + function, "-b", "100%", "--json", "-o", path],
                              stderr=subprocess.PIPE, text=True) as command:
            while (said := command.stderr.readline()) and "looking at" not in said:
                pass
            if not said:
                return None
            worker.work(line)
            taken = worker.work(line)
            command.send_signal(signal.SIGINT)
            command.communicate()
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    probe = result["probes"][0] if result["probes"] else {"off": 1}
    return None if probe["off"] or probe["count"] < LEAST else (taken, probe["count"] / 2, result["functions"][0])


def measured(spex, command, line, functions, rounds):
    worker, rows = Worker(command), {function: [] for function in functions}
    try:
        worker.work(line)
        for _ in range(rounds):
            for function in random.sample(functions, len(functions)):
                plain = worker.work(line)
                if one := counted(spex, worker, function, line):
                    taken, count, about = one
                    rows[function].append({"real": (taken - plain) / count, "told": about["cost_ns"], "count": count,
                                           "instruction": about["instruction"]})
    finally:
        worker.end()
    return rows


def row_of(program, function, figures):
    real = sorted(figure["real"] for figure in figures)
    told = statistics.median(figure["told"] for figure in figures)
    return {"program": program, "function": function, "instruction": figures[0]["instruction"], "count": figures[0]["count"],
            "told_ns": told, "real_ns": statistics.median(real), "least_ns": real[0], "most_ns": real[-1],
            "ratio": told / statistics.median(real)}


def result_of(options):
    results, missing = [], []
    for command, line, functions in WORK:
        program = os.path.basename(command[0])
        if not os.path.exists(command[0]):
            missing.append(program)
            continue
        for function, figures in measured(options.spex, command, line, functions, options.rounds).items():
            if figures:
                results.append(row_of(program, function, figures))
            else:
                missing.append(f"{program}: {function}")
    return {"bench": "attach", "rounds": options.rounds, "close": CLOSE, "results": results, "missing": missing,
            "right": sum(abs(row["ratio"] - 1) <= CLOSE for row in results)}


def print_page(result):
    print("\n## What a hit costs, told and real (`bench/attach.py`)\n")
    print(f"{result['rounds']} rounds. Real: the program's CPU time with the function counted, less that without, over the count; the median,")
    print("and the least and greatest of the rounds.\n")
    print("| program | function | instruction | hits | told | real (least to greatest) | told / real |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for row in result["results"]:
        print(f"| {row['program']} | `{row['function']}` | {row['instruction']} | {row['count']:,.0f} | {row['told_ns']:.0f} ns | "
              f"{row['real_ns']:.0f} ns ({row['least_ns']:.0f} to {row['most_ns']:.0f}) | {row['ratio']:.2f} |")
    print(f"\n{result['right']} of {len(result['results'])} are told within {100 * result['close']:.0f} %.")
    if result["missing"]:
        print(f"Not there, or not counted: {', '.join(result['missing'])}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", metavar="JSON")
    parser.add_argument("spex", nargs="?")
    options = parser.parse_args()
    if options.page:
        page_of(options.page, print_page)
        return
    if not options.spex or options.rounds < 1:
        parser.error("SPEX, and 1 round or more, were expected")
    tell(result_of(options), options.json, print_page)


if __name__ == "__main__":
    main()
