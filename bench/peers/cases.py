# SPDX-License-Identifier: MIT
"""The peers and their states: how each program is started, and what it does of the work that is compared."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "../../test")]

import usdt  # pylint: disable=wrong-import-position
from lttng import Lttng, cpu_ns, lttng_missing  # pylint: disable=wrong-import-position

SESSION = "spex-peers"
EVENTS = ["spex_bench:begin", "spex_bench:end"]
# What LTTng records beside the value; time and CPU are in its format.
CONTEXTS = ["vtid", "vpid"]
NOTED = "spex_bench"


class Missing(Exception):
    """Why something is not measured."""


@dataclasses.dataclass
class Case:
    name: str
    program: str
    argument: str
    # off, on (begin and end are recorded), or call (values are read into an array of the program).
    state: str
    # Pairs in a burst: about as many as take the same time.
    pairs: int
    package: str = ""
    # What is recorded: time stamps, thread, CPU, value, and who reads it.
    work: tuple = ("–",) * 5
    # How it is switched on, a method of Place.
    how: str = "plainly"


OFF, RECORDED, CALLED, ATTACHED = 20000, 4000, 500, 200
# Pairs that are executed before a burst, as peer_main.c has them: a share of the burst's.
WARM = 0.25
# A burst that took longer than its CPU time by so much had to wait for a processor.
WAITED, WAITED_NS = 1.05, 3000


def xray_stamps():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return "both" if " rdtscp " in file.read() else "both, by clock_gettime: no RDTSCP here"


CASES = [
    Case("spex LAT, off", "spex", "lat", "off", OFF),
    Case("LTTng-UST, off", "lttng", "events", "off", OFF, "liblttng-ust-dev"),
    Case("USDT, nobody attached", "usdt", "nops", "off", OFF, "systemtap-sdt-dev", how="copied"),
    Case("uftrace, off", "uftrace", "functions", "off", OFF, "uftrace"),
    Case("XRay, off", "xray", "off", "off", OFF, "clang"),
    Case("DPDK trace, off", "dpdk", "off", "off", OFF, "libdpdk-dev"),
    Case("spex LAT", "spex", "lat", "on", RECORDED, "", ("both", "id", "yes", "no", "a thread of spex, to a trace"),
         "spex_lat"),
    Case("spex KERNEL, one parameter", "spex", "kernel", "on", RECORDED, "",
         ("both", "id", "yes", "one", "a thread of spex, to a trace"), "spex_kernel"),
    Case("LTTng-UST, two events", "lttng", "events", "on", RECORDED, "liblttng-ust-dev",
         ("both", "id, process's too", "yes", "one each", "its daemon, to a trace"), "lttng"),
    Case("USDT, attached by perf_event", "usdt", "nops", "on", ATTACHED, "systemtap-sdt-dev",
         ("both", "id, process's too", "yes", "no", "another process, to nowhere"), "with_reader"),
    Case("uftrace", "uftrace", "functions", "on", RECORDED, "uftrace",
         ("both", "its buffer's", "no", "one", "another process, to a trace"), "uftrace"),
    Case("XRay, flight data recorder", "xray", "on", "on", RECORDED, "clang",
         (xray_stamps(), "its buffer's", "yes", "one", "nobody")),
    Case("DPDK trace, two events", "dpdk", "on", "on", RECORDED, "libdpdk-dev",
         ("both", "its buffer's", "no", "one each", "nobody")),
    Case("PAPI_read, with its clock", "papi", "read", "call", CALLED, "libpapi-dev", ("both", "no", "no", "one each", "nobody")),
    Case("read of a perf event", "calls", "perf_event", "call", CALLED, "", ("none", "no", "no", "one each", "nobody")),
    Case("getrusage", "calls", "getrusage", "call", CALLED, "", ("none", "no", "no", "one each", "nobody")),
    Case("clock_gettime", "calls", "clock_gettime", "call", CALLED, "", ("both", "no", "no", "no", "nobody")),
]


class Attached:
    """Somebody who has attached to all USDT probes of a program."""

    def __init__(self, attach, program):
        offsets = [str(usdt.file_offset(program, note.address)) for note in usdt.notes(program, NOTED)]
        self.process = subprocess.Popen([attach, program, *offsets], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.process.communicate()
            raise Missing(said.removeprefix("missing: ") or "the program that attaches has ended")

    def carried_ns(self):
        return cpu_ns(self.process.pid)

    def end(self):
        """How many records there were, and how many were lost."""
        return [int(word) for word in self.process.communicate()[0].split()[:2]]


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPEX_")}
    return {**kept, "SPEX_CONTROL": "off", **more}


class Place:
    """Where programs are and traces go; the daemon, and who else is needed."""

    def __init__(self, build, folder):
        self.programs = os.path.abspath(os.path.join(build, "bench/peers"))
        self.folder = folder
        self.daemon = None
        self.daemon_missing = None

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def program(self, case):
        path = os.path.join(self.programs, "peer_" + case.program)
        if not os.path.exists(path):
            raise Missing(f"{case.package or case.program} was not there when this was built")
        return path

    def lttng(self):
        """The daemon; it is started when it is needed first."""
        if self.daemon_missing is None and self.daemon is None:
            self.daemon_missing = lttng_missing(os.path.join(self.programs, "peer_lttng"))
            if self.daemon_missing is None:
                try:
                    self.daemon = Lttng()
                except OSError as error:
                    self.daemon_missing = str(error)
        if self.daemon_missing:
            raise Missing(self.daemon_missing)
        return self.daemon

    def attach(self, program):
        return Attached(os.path.join(self.programs, "attach"), program)

    def end(self):
        if self.daemon:
            self.daemon.end()


class Started:
    """A peer's program in one state, which waits for what it shall do."""

    def __init__(self, case, place):
        self.case, self.place = case, place
        self.attached = self.process = self.trace = None
        getattr(self, case.how)()
        said = self.process.stdout.readline().strip()
        if said != "ready":
            self.process.communicate()
            raise Missing(said.removeprefix("missing: ") or f"{case.program} has ended before it was ready")
        if case.how == "lttng":
            self.track()

    def start(self, *command, **environment):
        with open(self.place.path("messages"), "a", encoding="utf-8") as messages:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True,
                                            env=clean_environment(**environment), cwd=self.place.folder)

    def plainly(self, **environment):
        self.start(self.place.program(self.case), self.case.argument, **environment)

    def copied(self):
        """Of a copy, because who attaches does so to all processes of the file."""
        copy = self.place.path("peer_usdt")
        shutil.copy(self.place.program(self.case), copy)
        self.start(copy, self.case.argument)

    def spex_lat(self):
        self.spex("lat")

    def spex_kernel(self):
        self.spex("kernel")

    def spex(self, kind):
        self.trace = self.place.path("spex-" + kind)
        self.plainly(SPEX_PROBES=":" + kind, SPEX_OUT="ctf:" + self.trace)

    def lttng(self):
        self.place.program(self.case)
        self.plainly(**self.place.lttng().environment)

    def track(self):
        """Only of this process are the events on; the one that has them off has registered, too."""
        daemon = self.place.lttng()
        daemon.command("create", SESSION, "--output", self.place.path("lttng"))
        daemon.command("track", "-u", "--vpid", str(self.process.pid))
        daemon.record(EVENTS, CONTEXTS)

    def with_reader(self):
        self.attached = self.place.attach(self.place.program(self.case))
        self.plainly()

    def uftrace(self):
        self.start(shutil.which("uftrace") or "uftrace", "record", "-P", "hooked", "-A", "hooked@arg1/u64", "--no-libcall",
                   "--no-event", "-d", self.place.path("uftrace"), self.place.program(self.case), self.case.argument)

    def carried_ns(self):
        """CPU time of other processes that carry the records."""
        if self.case.how == "lttng":
            return self.place.lttng().consumer_ns()
        if self.case.how == "uftrace":
            return cpu_ns(self.process.pid)
        return self.attached.carried_ns() if self.attached else 0

    def burst(self, pairs, nap_ms=0):
        carried = self.carried_ns()
        self.process.stdin.write(f"{pairs} {nap_ms}\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if len(words) != 6:
            raise OSError(f"{self.case.name}: the program has ended")
        ticks, empty, reference, ns, cpu, others = map(float, words)
        return {"ticks": (ticks - empty) / pairs, "reference": reference, "tick_ns": ns / ticks,
                "waited": ns > WAITED * cpu + WAITED_NS,
                "all_ns": (cpu + (max(others, 0) + self.carried_ns() - carried) / (1 + WARM)) / pairs}

    def end(self):
        """How many records were lost; None: nobody counts them."""
        self.process.communicate()
        if self.trace:
            with open(self.place.path("messages"), encoding="utf-8") as messages:
                return int(re.search(rf"(\d+) lost, in {re.escape(self.trace)}/", messages.read())[1])
        if self.case.how == "lttng":
            return self.place.lttng().stop(SESSION)
        return self.attached.end()[1] if self.attached else None
