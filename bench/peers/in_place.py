# SPDX-License-Identifier: MIT
"""LevelDB's db_bench and nginx with the same points by spex, LTTng-UST and USDT, all on, and without: throughput, in slices
in random order."""

import collections
import glob
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import estimates
from cases import CONTEXTS, EVENTS, HERE, Missing, clean_environment
from lttng import cpu_ns

SESSION = "spex-peers-in-place"

# Each way, the program that it is built as, and how it is switched on. The second of the same program is the measure of
# what the machine does by itself.
WAYS = {
    "plain": ("plain", None),
    "plain, again": ("plain", None),
    "spex": ("spex", "spex"),
    "spex, off": ("spex", None),
    "LTTng-UST": ("lttng", "lttng"),
    "USDT, nobody attached": ("usdt", None),
    "USDT, attached": ("usdt-attached", "attached"),
}

# What is told of an operation.
FIGURES = {"rate": "time", "own_ns": "CPU time of the program's own thread", "cpu_ns": "CPU time of all"}

# Of LTTng's slowdown spex may have so much.
QUARTER = 0.25

MICROSECONDS = re.compile(r"^(\w+) +: +([0-9.]+) micros/op", re.M)
RECORDS = re.compile(r"^spex: (\d+) records, (\d+) lost, in ", re.M)
REQUESTS = re.compile(r"(\d+) requests in ")
ANSWERS_WITHIN = 20
# Bytes of the least event of a trace by LTTng.
EVENT_BYTES = 16

CONFIG = """
daemon off;
user {user};
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    server {{
        listen 127.0.0.1:{port};
        location / {{ root {folder}; }}
    }}
}}
"""


def build_all(build, folder):
    """Makes the programs; names, by way, what is missing."""
    made = subprocess.run([os.path.join(HERE, "build"), folder, build], stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        lines = made.stderr.strip().splitlines()
        raise Missing(lines[-1] if lines else "bench/peers/build has failed")
    missing = {}
    for path in glob.glob(os.path.join(folder, "*.missing")):
        with open(path, encoding="utf-8") as file:
            missing[os.path.basename(path).removesuffix(".missing")] = file.read().strip()
    return missing


class Ways:
    """The ways in which a program can be measured; traces are removed again."""

    def __init__(self, place, programs, kind, missing):
        self.place, self.programs, self.name, self.settings = place, os.path.abspath(programs), kind.program, kind.settings
        self.missing, self.here, self.attached, self.lost = {}, [], None, {}
        # By way.
        self.operations, self.records = collections.Counter(), collections.Counter()
        for way, (built, how) in WAYS.items():
            try:
                if way in kind.left_out:
                    raise Missing(kind.left_out[way])
                self.prepare(built, how, missing)
                self.here.append(way)
            except Missing as why:
                self.missing[way] = str(why)

    def prepare(self, built, how, missing):
        if built.split("-")[0] in missing:
            raise Missing(missing[built.split("-")[0]])
        if how == "lttng":
            self.place.lttng()
        elif how == "attached":
            # A copy, because who attaches does so to all processes of the file.
            shutil.copy(self.path("usdt"), self.place.path(self.name + "-usdt-attached"))
            self.attached = self.place.attach(self.place.path(self.name + "-usdt-attached"))

    def path(self, built):
        if built.endswith("-attached"):
            return self.place.path(f"{self.name}-{built}")
        return os.path.join(self.programs, f"{self.name}-{built}")

    def command(self, way):
        """The program, and its environment."""
        built, how = WAYS[way]
        more = {}
        if how == "spex":
            more = {"SPEX_PROBES": "*", "SPEX_OUT": "ctf:" + self.place.path("spex-" + self.name), "SPEX_FORKS": "follow",
                    **self.settings}
        elif how == "lttng":
            # Without this library LTTng records nothing of a child, such as nginx's worker.
            more = {**self.place.lttng().environment, "LD_PRELOAD": "liblttng-ust-fork.so"}
        return self.path(built), clean_environment(**more)

    def carried_ns(self, way):
        """CPU time of other processes that carry the records."""
        how = WAYS[way][1]
        return self.place.lttng().consumer_ns() if how == "lttng" else self.attached.carried_ns() if how == "attached" else 0

    def recorded(self, way, slice_of):
        """A slice. LTTng gets a session for each, because its trace may be of hundreds of MB."""
        lttng = self.place.lttng() if WAYS[way][1] == "lttng" else None
        carried, folder = self.carried_ns(way), self.place.path("lttng-in-place")
        if lttng:
            lttng.session(SESSION, folder, EVENTS, CONTEXTS)
        try:
            one = slice_of(way)
        finally:
            if lttng:
                self.lost[way] = self.lost.get(way, 0) + lttng.stop(SESSION)
                self.records[way] += bytes_of(folder) // EVENT_BYTES
                shutil.rmtree(folder, ignore_errors=True)
        self.operations[way] += one["operations"]
        one["cpu_ns"] += (self.carried_ns(way) - carried) / one["operations"]
        return one

    def tells(self, way, text):
        """What spex says at a program's end."""
        for records, lost in RECORDS.findall(text):
            self.records[way] += int(records)
            self.lost[way] = self.lost.get(way, 0) + int(lost)

    def end(self):
        if self.attached:
            self.records["USDT, attached"], self.lost["USDT, attached"] = self.attached.end()

    def check(self):
        """Each operation has events: where there are fewer, they were not on."""
        for way in self.here:
            if WAYS[way][1] and self.records[way] + self.lost.get(way, 0) < self.operations[way]:
                raise OSError(f"{self.name}, {way}: {self.records[way]} records of {self.operations[way]} operations")


def bytes_of(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


class Database:
    """db_bench of LevelDB: a process a slice, in memory; writes, then reads."""

    program, unit = "db_bench", "operation"
    # With dozens of events in an operation, each of which enters the kernel twice.
    left_out = {"USDT, attached": "a slice would take minutes"}
    # Of 24 bytes and more for each CPU; LTTng has 8 MiB.
    settings = {"SPEX_RING_RECORDS": "131072"}

    def __init__(self, ways, quick):
        self.ways = ways
        self.numbers = 20000 if quick else 50000

    def slice(self, way):
        """Operations a second, and ns of CPU time for one, of the whole process, its start included."""
        path, environment = self.ways.command(way)
        database = self.ways.place.path("database")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = subprocess.run([path, "--db=" + database, "--benchmarks=fillrandom,readrandom", f"--num={self.numbers}"],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.ways.tells(way, said.stderr)
        shutil.rmtree(database, ignore_errors=True)
        shutil.rmtree(self.ways.place.path("spex-" + self.program), ignore_errors=True)
        taken = {name: float(value) for name, value in MICROSECONDS.findall(said.stdout)}
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"rate": 2e6 / (taken["fillrandom"] + taken["readrandom"]), "cpu_ns": cpu * 1e9 / (2 * self.numbers),
                "operations": 2 * self.numbers}

    def end(self):
        """Nothing runs between two slices."""


class Server:
    """nginx with one worker, and wrk, which asks for a page as fast as it is answered."""

    program, unit = "nginx", "request"
    left_out, settings = {}, {}

    def __init__(self, ways, _quick):
        self.ways, self.processes, self.ports = ways, {}, {}
        if not shutil.which("wrk"):
            raise Missing("wrk is not installed")
        with open(ways.place.path("page"), "w", encoding="utf-8") as file:
            file.write("a line of a page\n" * 60)
        os.chmod(ways.place.folder, 0o755)
        for way in ways.here:
            self.start(way)

    def folder(self, way):
        return self.ways.place.path("nginx-" + re.sub(r"\W+", "-", way))

    def start(self, way):
        path, environment = self.ways.command(way)
        folder = self.folder(way)
        os.makedirs(os.path.join(folder, "logs"))
        shutil.copy(self.ways.place.path("page"), folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.ports[way] = free.getsockname()[1]
        user = "root" if os.geteuid() == 0 else os.environ.get("USER", "nobody")
        with open(os.path.join(folder, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(user=user, folder=folder, port=self.ports[way]))
        with open(self.ways.place.path("messages"), "a", encoding="utf-8") as messages:
            self.processes[way] = subprocess.Popen([path, "-p", folder, "-c", "nginx.conf"], env=environment, stdout=messages,
                                                   stderr=messages)
        until = time.monotonic() + ANSWERS_WITHIN
        while not self.answers(way):
            if self.processes[way].poll() is not None or time.monotonic() > until:
                raise OSError(f"nginx ({way}) does not answer")
            time.sleep(0.05)

    def answers(self, way):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports[way])) == 0

    def workers(self, way):
        master = self.processes[way].pid
        with open(f"/proc/{master}/task/{master}/children", encoding="ascii") as file:
            return file.read().split()

    def cpu_ns(self, way):
        """CPU time of the worker's thread; and of all threads, those of spex or LTTng in it, too."""
        return (sum(cpu_ns(worker, worker) for worker in self.workers(way)), sum(map(cpu_ns, self.workers(way))))

    def slice(self, way):
        before = self.cpu_ns(way)
        begin = time.monotonic()
        said = subprocess.run(["wrk", "-t1", "-c16", "-d1s", f"http://127.0.0.1:{self.ports[way]}/page"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        requests, elapsed = int(REQUESTS.search(said)[1]), time.monotonic() - begin
        own, total = ((now - then) / requests for now, then in zip(self.cpu_ns(way), before))
        return {"rate": requests / elapsed, "own_ns": own, "cpu_ns": total, "operations": requests}

    def end(self):
        for process in self.processes.values():
            process.send_signal(signal.SIGQUIT)
        for process in self.processes.values():
            process.wait()
        # nginx has made its error log its standard error.
        for way in self.processes:
            with open(os.path.join(self.folder(way), "error.log"), encoding="utf-8") as log:
                self.ways.tells(way, log.read())


def columns_of(found, figure):
    return {way: [one[figure] for one in slices] for way, slices in found.items()}


def times_of(found, figure):
    """By way, the time for an operation in each round: a rate is one over a time."""
    columns = columns_of(found, figure)
    return {way: [1 / value if figure == "rate" else value for value in values] for way, values in columns.items()}


def figures_of(found):
    return [figure for figure in FIGURES if figure in found["plain"][0]]


def row_of(found, way):
    """Its throughput, and by how much longer an operation takes than in plain."""
    row = {"way": way, "rate": 1 / estimates.fastest(times_of(found, "rate")[way])}
    for figure in figures_of(found):
        times = times_of(found, figure)
        row[figure + "_slowdown"] = estimates.combined([times[way], times["plain"]], lambda a, b: a / b - 1,
                                                        estimates.fastest)
    return row


def beyond(spex, lttng, plain):
    """What spex adds beyond a quarter of what LTTng adds, as a share of plain: no quotient of two small differences."""
    return (spex - plain - QUARTER * (lttng - plain)) / plain


def limits_of(found, program):
    if "LTTng-UST" not in found or "spex" not in found:
        return []
    made = []
    for figure in figures_of(found):
        times = times_of(found, figure)
        estimate = estimates.combined([times["spex"], times["LTTng-UST"], times["plain"]], beyond, estimates.fastest)
        made.append(estimates.at_most(f"{program}: what spex adds to the {FIGURES[figure]} of an operation beyond a quarter of "
                                      "what LTTng-UST adds, as a share", estimate, 0))
    return made


def measure_program(kind, place, programs, missing, rounds, quick, chance):
    ways = Ways(place, programs, kind, missing)
    found = {way: [] for way in ways.here}
    measured = None
    try:
        measured = kind(ways, quick)
        for number in range(-1, rounds):
            for way in chance.sample(ways.here, len(ways.here)):
                one = ways.recorded(way, measured.slice)
                if number >= 0:
                    found[way].append(one)
    finally:
        if measured:
            measured.end()
        ways.end()
    ways.check()
    return {"program": kind.program, "unit": kind.unit, "rounds": rounds, "missing": ways.missing, "lost": ways.lost,
            "rows": [row_of(found, way) for way in ways.here],
            "limits": limits_of(found, kind.program)}


def measure(place, build, programs, rounds, quick, seed):
    """Each program's figures, or why there are none."""
    made = []
    try:
        missing = build_all(build, programs)
    except Missing as why:
        return [{"program": kind.program, "none": str(why)} for kind in (Database, Server)]
    for kind in (Database, Server):
        try:
            made.append(measure_program(kind, place, programs, missing, rounds, quick, random.Random(seed)))
        except Missing as why:
            made.append({"program": kind.program, "none": str(why)})
    return made
