#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex attach` counts and times functions of programs that know nothing of spex, and leaves nothing behind.

usage: attach.py SPEX ATTACHED [USDT]
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import attaching
from attaching import Attached

SPEX = ATTACHED = USDT = None
DECODES = True

LIBRARY = """
void loaded(void);
unsigned long calls;
__attribute__((visibility("default"))) void loaded(void) { calls++; }
"""

BAD_NOTE = LIBRARY + r'''
__asm__(".pushsection .note.stapsdt,\"\",%note\n.4byte 8, 32, 3\n.asciz \"stapsdt\"\n"
        ".8byte 0x123456789, 0, 0\n.asciz \"bad\"\n.asciz \"one\"\n.popsection\n");
'''

THROWING = """
static void __attribute__((noinline)) inner(unsigned n) { if (n % 3 == 0) throw n; }
extern "C" __attribute__((noinline, visibility("default"))) void may_throw(unsigned n) { inner(n); asm volatile(""); }
extern "C" __attribute__((visibility("default"))) unsigned thrown(unsigned n) {
    unsigned ended = 0;
    for (unsigned i = 0; i < n; i++) {
        try {
            may_throw(i);
            ended++;
        } catch (unsigned) {
            ended++;
        }
    }
    return ended;
}
"""


SMALL = """
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
void counted(void);
__attribute__((noinline)) void counted(void) { __asm__ volatile("nop; nop; nop; nop"); }
static void *work(void *argument) {
    unsigned long count = 0;
    (void)argument;
    puts("ready");
    fflush(stdout);
    while (scanf("%lu", &count) == 1) {
        for (unsigned long c = 0; c < count; c++)
            counted();
        printf("%lu\\n", count);
        fflush(stdout);
    }
    _exit(0);
}
#ifdef MANY
/* It has as many ends as can be looked at. */
__asm__(".text; .globl many; .type many, @function; many: push %rbp; pop %rbp; .rept 63; cmp $0, %edi; jne 1f; ret; 1: ;"
        ".endr; ret; .size many, .-many");
#endif
#ifdef EARLY
__attribute__((constructor)) static void before_main(void) {
    for (int c = 0; c < 7; c++)
        counted();
}
#endif
int main(void) {
#ifdef TRAPS
    signal(SIGTRAP, _exit);
#endif
#ifdef PATCHED
    char *page = (char *)((uintptr_t)counted & ~(uintptr_t)4095);
    if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return 1;
    *(volatile char *)(uintptr_t)counted = *(volatile char *)(uintptr_t)counted == '\\x90' ? '\\xf8' : '\\x90';
#endif
#if HEADLESS
    pthread_t other;
    pthread_create(&other, NULL, work, NULL);
    pthread_exit(NULL);
#endif
    work(NULL);
}
"""


def can_attach():
    """None, or why this machine has no uprobes for this user."""
    with Program() as program:
        result = subprocess.run([SPEX, "attach", program.pid, "-e", "func:plain", "--for", "0.01"], capture_output=True, text=True,
                                check=False, timeout=120)
    return None if result.returncode == 0 else result.stderr.strip()


def can_decode():
    """Whether this spex decodes instructions."""
    with Program() as program:
        result = subprocess.run([SPEX, "probes", program.pid, "--functions", "recursive", "--json"], capture_output=True, text=True,
                                check=True)
        return json.loads(result.stdout)[0]["untimed"] is None


MODELS = """spex-models 3
kernel %s
executions 600
least 1e-6
parameters 1
parameter 0 99000 turns
class linear
adjusted-r2 1
spread 0 0.1 500
constant 0 0
changes 0 0
terms 1
term 0 %s 0 12:0
covariance 0 0
covariance 0 0
points 0
end 1
"""


class Program(attaching.Program):
    """Tells how often its functions were called: (called, deep, escaped, handled)."""

    def __init__(self, *argv):
        super().__init__(*(argv or [ATTACHED]))


def probe(found, name):
    probes = [one for one in found["probes"] if one["name"] == name]
    assert len(probes) == 1, found
    return probes[0]


def text_of(pid):
    """{file: whether its code in memory is that in the file} of a process."""
    same = {}
    with open("/proc/%s/maps" % pid, encoding="utf-8") as maps, open("/proc/%s/mem" % pid, "rb") as memory:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ [1-9]\d* +(/.*)", line)
            if not found:
                continue
            start, end, offset = (int(found.group(g), 16) for g in (1, 2, 3))
            memory.seek(start)
            with open(found.group(4), "rb") as file:
                file.seek(offset)
                expected = file.read(end - start)
            same[found.group(4)] = memory.read(end - start)[:len(expected)] == expected
    return same


class AttachTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.program = self.enterContext(Program()) if hasattr(self, "enterContext") else Program()
        self.addCleanup(self.program.__exit__)

    def needs_decoder(self):
        if not DECODES:
            self.skipTest("this spex decodes no instructions")

    def library(self, source, compiler, suffix):
        path = os.path.join(self.dir, "lib%s.so" % suffix)
        file = os.path.join(self.dir, suffix + (".cc" if compiler == "g++" else ".c"))
        with open(file, "w", encoding="utf-8") as out:
            out.write(source)
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", file, "-o", path], check=True)
        return path

    def refused(self, *arguments, status=1):
        result = subprocess.run([SPEX, *arguments], capture_output=True, text=True, check=False, timeout=120)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result.stderr

    def test_counts_are_exact(self):
        attached = Attached(self.program, "func:plain,func:handler")
        self.program.do("plain 1000")
        self.program.do("threads 8000")
        called, _, _, handled = self.program.do("signals 100")
        found = attached.stop()
        self.assertEqual((probe(found, "plain")["count"], probe(found, "handler")["count"]), (called, handled))
        self.assertEqual((called, handled), (9000, 100))
        self.assertEqual(probe(found, "plain")["count_margin"], 0)

    def test_counts_are_those_since(self):
        self.program.do("plain 500")
        attached = Attached(self.program, "func:plain")
        self.program.do("plain 200")
        self.assertEqual(probe(attached.stop(), "plain")["count"], 200)
        self.program.do("plain 100")
        self.assertEqual(self.program.do("plain 0")[0], 800)

    def test_times_of_recursion(self):
        self.needs_decoder()
        attached = Attached(self.program, "func:recursive:lat")
        self.program.do("recursive 9")
        one = probe(attached.stop(), "recursive")
        self.assertEqual((one["count"], one["records"], one["type"]), (10, 10, "lat"))
        values = one["values"][0]
        # Each level takes 0.1 ms at least, and contains those below it.
        self.assertGreaterEqual(values["min"], 1e-4)
        self.assertGreaterEqual(values["max"], 1e-3)
        self.assertGreaterEqual(values["total"], 55e-4)

    def test_tail_calls_end_a_function(self):
        self.needs_decoder()
        attached = Attached(self.program, "func:ends_elsewhere:lat")
        called = self.program.do("tail 300")[0]
        one = probe(attached.stop(), "ends_elsewhere")
        self.assertEqual((one["count"], one["records"]), (called, called))

    def test_functions_of_one_instruction_are_counted(self):
        """An add with a lock, which can have no breakpoint, and a return."""
        self.needs_decoder()
        said = self.refused("attach", self.program.pid, "-e", "func:locked:lat")
        self.assertIn("it cannot be timed", said)
        attached = Attached(self.program, "func:locked")
        called = self.program.do("locked 50")[0]
        self.assertEqual(probe(attached.stop(), "locked")["count"], called)

    def test_functions_left_by_longjmp(self):
        self.needs_decoder()
        attached = Attached(self.program, "func:escapes:lat")
        escaped = self.program.do("escapes 100")[2]
        one = probe(attached.stop(), "escapes")
        self.assertEqual((one["count"], one["records"], escaped), (100, 50, 100))

    def test_functions_left_by_exceptions(self):
        self.needs_decoder()
        library = self.library(THROWING, "g++", "throwing")
        self.program.do("throw 3 " + library)
        attached = Attached(self.program, "func:may_throw:lat")
        self.program.do("throw 300 " + library)
        one = probe(attached.stop(), "may_throw")
        self.assertEqual((one["count"], one["records"]), (300, 200))

    def test_children_do_not_count(self):
        attached = Attached(self.program, "func:plain")
        called = self.program.do("fork 4000")[0]
        self.assertEqual(probe(attached.stop(), "plain")["count"], called)

    def test_threads_can_be_made_by_any_user(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("this user cannot be another one")
        program = os.path.join(self.dir, "attached")
        shutil.copy(ATTACHED, program)
        os.chmod(self.dir, 0o755)
        with Program("setpriv", "--reuid=65534", "--clear-groups", program) as other:
            attached = Attached(other, "func:plain")
            called = other.do("threads 8000")[0]
            self.assertEqual(other.do("fork 100")[0], called + 100)
            self.assertEqual(probe(attached.stop(), "plain")["count"], called + 100)

    def test_libraries_that_are_loaded_later(self):
        library = self.library(LIBRARY, "gcc", "later")
        attached = Attached(self.program, "func:plain,func:loaded")
        self.assertIn("func:loaded names no function", attached.said)
        self.program.do("load 3000 " + library)
        found = attached.stop()
        self.assertGreater(probe(found, "loaded")["count"], 0)
        self.assertLessEqual(probe(found, "loaded")["count"], 3000)

    def test_a_program_is_run_whose_library_is_loaded_later(self):
        library = self.library(LIBRARY, "gcc", "later")
        os.rename(library, library + ".7")
        found = os.path.join(self.dir, "found")
        result = subprocess.run([SPEX, "run", "-e", "func:liblater.so:loaded", "-b", "100%", "--json", "-o", found, "--", ATTACHED],
                                input="load 3000 %s.7\n" % library, capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("liblater.so is not loaded yet: its functions are looked at when it is", result.stderr)
        with open(found, encoding="utf-8") as file:
            self.assertGreater(probe(json.load(file), "loaded")["count"], 0)
        # Nothing is waited for that cannot come.
        self.refused("run", "-e", "func:none-such", "--", ATTACHED)

    def test_ends_with_the_program(self):
        attached = Attached(self.program, "func:plain")
        self.program.do("plain 7")
        self.program.end()
        found = attached.wait()
        self.assertEqual((probe(found, "plain")["count"], found["state"]), (7, "ended"))

    def test_ends_when_another_program_is_executed(self):
        attached = Attached(self.program, "func:plain")
        self.program.do("plain 7")
        self.program.tell("exec")
        found = attached.wait()
        self.assertEqual((probe(found, "plain")["count"], found["state"]), (7, "replaced"))
        self.assertIn("has executed another program, which is not looked at", attached.said)

    def test_a_stopped_program(self):
        os.kill(int(self.program.pid), signal.SIGSTOP)
        attached = Attached(self.program, "func:plain")
        os.kill(int(self.program.pid), signal.SIGCONT)
        self.program.do("plain 11")
        self.assertEqual(probe(attached.stop(), "plain")["count"], 11)

    def test_nothing_is_left_behind(self):
        self.needs_decoder()
        for end in (signal.SIGINT, signal.SIGKILL):
            attached = Attached(self.program, "func:plain:lat,func:recursive,func:handler")
            self.program.do("plain 100")
            self.assertFalse(text_of(self.program.pid)[os.path.realpath(ATTACHED)])
            attached.process.send_signal(end)
            attached.process.communicate()
            self.program.do("threads 800")
            self.expect_clean(self.program.pid)

    def test_probes_count_at_all_their_sites(self):
        attached = Attached(self.program, "usdt:attached:twice")
        self.assertIn("looking at 1 probe of", attached.said)
        self.program.do("probe 100")
        self.assertEqual(probe(attached.stop(), "attached:twice")["count"], 150)

    def test_probes_with_semaphores(self):
        """The program sees that somebody looks, and that nobody does any more, also after kill -9."""
        attached = Attached(self.program, "usdt:attach*:*,func:probed")
        self.program.do("probe 100")
        found = attached.stop()
        self.assertEqual([probe(found, name)["count"] for name in ("attached:guarded", "attached:twice", "probed")], [100, 150, 1])
        self.assertEqual(self.program.do("probe 100")[1], 100)
        attached = Attached(self.program, "usdt:attached:guarded")
        both = Attached(self.program, "usdt:attached:guarded")
        self.assertEqual(self.program.do("probe 10")[1], 110)
        both.stop()
        self.assertEqual(self.program.do("probe 10")[1], 120)
        attached.process.kill()
        attached.process.communicate()
        self.expect_clean(self.program.pid)
        self.assertEqual(self.program.do("probe 100")[1], 120)

    def test_probes_in_a_program_of_debian(self):
        python = "/usr/bin/python3"
        script = ("import sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n"
                  "    for _ in range(int(line)): (lambda: 0)()\n    print(line, flush=True)")
        notes = os.path.exists(python) and subprocess.run(["readelf", "-n", os.path.realpath(python)], capture_output=True, text=True,
                                                          check=False).stdout
        if not notes or "function__return" not in notes:
            self.skipTest("the system's Python has no USDT probes")
        with Program(python, "-c", script) as other:
            counts = []
            for calls in ("500", "700"):
                attached = Attached(other, "usdt:python:function__return")
                other.tell(calls)
                self.assertEqual(other.process.stdout.readline().strip(), calls)
                other.process.stdout.readline()
                counts.append(probe(attached.stop(), "python:function__return")["count"])
            self.assertEqual(counts[1] - counts[0], 200)

    def test_probes_of_spex(self):
        if not USDT:
            self.skipTest("there is no <sys/sdt.h>")
        with Program(USDT, "waits") as other:
            attached = Attached(other, "usdt:spex:*")
            listed = subprocess.run([SPEX, "probes", other.pid, "--functions", "usdt:spex:*", "--json"], capture_output=True, text=True,
                                    check=True)
            other.tell("")
            other.process.wait()
            found = attached.wait()
        self.assertEqual({one["kind"] for one in json.loads(listed.stdout)}, {"usdt"})
        self.assertEqual({one["count"] for one in found["probes"]}, {100})
        self.assertGreaterEqual(len(found["probes"]), 3)

    def test_arguments_are_values(self):
        self.needs_decoder()
        attached = Attached(self.program, "func:takes(_,sign:i32,turns):lat")
        self.program.do("take 400")
        found = attached.stop()
        rows = {one["type"]: one for one in found["probes"]}
        self.assertEqual((rows["lat"]["records"], rows["snapshot"]["records"]), (400, 400))
        sign, turns = rows["snapshot"]["values"]
        self.assertEqual((sign["name"], sign["min"], sign["max"]), ("sign", -1, 1))
        self.assertAlmostEqual(sign["total"], 0)
        self.assertEqual((turns["name"], turns["min"], turns["max"], turns["total"]), ("turns", 0, 99000, 4 * 4950 * 1000))
        attached = Attached(self.program, "func:takes(_,_,n)")
        self.program.do("take 100")
        one = probe(attached.stop(), "takes")
        self.assertEqual((one["type"], one["count"], one["values"][0]["total"]), ("snapshot", 100, 4950 * 1000))

    def models_of(self, kernel, slope=1e-9):
        path = os.path.join(self.dir, "models-of-" + kernel)
        with open(path, "w", encoding="utf-8") as file:
            file.write(MODELS % (kernel, slope))
        return path

    def test_models_of_a_function(self):
        self.needs_decoder()
        models = os.path.join(self.dir, "models")
        with subprocess.Popen([SPEX, "train", models, "--pid", self.program.pid, "-e", "func:takes(_,_,turns)", "-b", "100%"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as train:
            self.assertIn("looking at 1 function", train.stderr.readline())
            self.program.do("take 2000")
            train.send_signal(signal.SIGINT)
            table, said = train.communicate(timeout=60)
        self.assertEqual(train.returncode, 0, said)
        self.assertIn("2000 executions timed, 0 lost", said)
        self.assertRegex(table, r"takes +2000 ")
        with open(models, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("\nparameter 0 99000 turns\n", text)
        points = sorted((float(turns), float(seconds)) for seconds, turns in re.findall(r"^point (\S+) \S+ (\S+)$", text, re.M))
        self.assertEqual(len(points), 64)
        # Medians: more turns take longer, whatever else the machine does.
        medians = [seconds for _, seconds in points]
        self.assertLess(max(medians[:8]), min(medians[-8:]))

    def watched(self, *options):
        """A command that watches a function already, by the model that it has by its median time, whatever the machine does."""
        attached = Attached(self.program, "func:takes:lat")
        self.program.do("take 1000")
        median = probe(attached.stop(), "takes")["values"][0]["p50"]
        watch = subprocess.Popen([SPEX, "watch", self.models_of("takes", median / 50000), "--pid", self.program.pid, "-e",
                                  "func:takes(_,_,turns)", "--json", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watch.communicate)
        self.addCleanup(watch.kill)
        self.assertIn("looking at 1 function", watch.stderr.readline())
        return watch

    def test_a_function_that_has_become_slower_is_found(self):
        self.needs_decoder()
        watch = self.watched("-b", "100%")
        self.program.do("take 4000")
        self.program.do("slow 50")
        self.program.do("take 500")
        watch.send_signal(signal.SIGINT)
        output, said = watch.communicate(timeout=60)
        *events, account = map(json.loads, output.splitlines())
        # Nothing is foretold of the hundredth without a turn.
        self.assertEqual((watch.returncode, account["judged"], account["not_judged"]["out_of_range"], account["lost"]), (3, 4455, 45, 0), said)
        shifts = [event for event in events if event["shift"] and event["event"] != "begins"]
        found = max(shifts, key=lambda event: event["executions"])
        self.assertEqual((found["kernel"], found["thread"]), ("takes", int(self.program.pid)))
        self.assertGreater(found["executions"], 300)
        # What other programs do to the training makes the ratio another one.
        self.assertGreater(found["median_ratio"], 10)

    def test_a_function_is_watched_within_a_budget(self):
        self.needs_decoder()
        watch = self.watched("-b", "1%")
        self.program.do("take 60000")
        watch.send_signal(signal.SIGINT)
        output, said = watch.communicate(timeout=60)
        account = json.loads(output.splitlines()[-1])
        self.assertIn(watch.returncode, (0, 3), said)
        self.assertLess(account["judged"], 30000)
        self.assertGreater(account["stand_for"], 2 * account["judged"])

    def test_models_within_a_budget(self):
        self.needs_decoder()
        models = os.path.join(self.dir, "models")
        with subprocess.Popen([SPEX, "train", models, "--pid", self.program.pid, "-e", "func:takes(_,_,turns)", "-b", "1%"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as train:
            self.program.tell("take 60000")
            self.assertTrue(self.program.process.stdout.readline())
            train.send_signal(signal.SIGINT)
            _, said = train.communicate(timeout=60)
        self.assertEqual(train.returncode, 0, said)
        self.assertRegex(said, r"takes: (.* of (a CPU|the program's CPU time): )?(it has become more|in slices, for 1 % of)")
        self.assertLess(int(re.search(r"(\d+) executions timed", said).group(1)), 30000)
        with open(models, encoding="utf-8") as file:
            self.assertGreater(float(re.search(r"\nexecutions (\S+)\n", file.read()).group(1)),
                               2 * int(re.search(r"(\d+) executions timed", said).group(1)))

    def recorded(self, directory, *options):
        """The table of a trace, by (name, type); that it goes only forward in time; and how many records it has."""
        stats = subprocess.run([SPEX, "stats", directory, "--json", *options], capture_output=True, text=True, check=True)
        rows = {(one["name"], one["type"]): one for one in json.loads(stats.stdout)["processes"][0]["probes"]}
        csv = subprocess.run([SPEX, "export", directory, "--format", "csv"], capture_output=True, text=True, check=True)
        lines = csv.stdout.splitlines()[1:]
        times = [int(line.split(",", 1)[0]) for line in lines]
        self.assertEqual(times, sorted(times))
        self.assertEqual((stats.stderr, csv.stderr), ("", ""))
        return rows, len(lines)

    def test_a_trace_of_functions(self):
        """Records of times and arguments, of a child's threads, too; counts alone of a function that is counted."""
        self.needs_decoder()
        trace = os.path.join(self.dir, "trace")
        with subprocess.Popen([SPEX, "record", "-e", "func:takes(_,_,turns):lat,func:plain,func:recursive:lat", "-b", "100%", "-o", trace,
                               "--pid", self.program.pid], stderr=subprocess.PIPE, text=True) as record:
            self.assertIn("looking at 3 functions", record.stderr.readline())
            self.program.do("take 500")
            self.program.do("threads 800")
            self.program.do("recursive 9")
            record.send_signal(signal.SIGINT)
            said = record.communicate(timeout=60)[1]
        self.assertEqual(record.returncode, 0, said)
        self.assertIn("1010 records, 0 lost", said)
        rows, lines = self.recorded(trace)
        self.assertEqual({name: row["count"] for name, row in rows.items()},
                         {("takes", "lat"): 500, ("takes", "snapshot"): 500, ("plain", "cnt"): 800, ("recursive", "lat"): 10})
        self.assertEqual(lines, 1010)
        turns = rows["takes", "snapshot"]["values"][0]
        self.assertEqual((turns["name"], turns["total"], turns["max"]), ("turns", 5 * 4950000, 99000))
        # As spex attach tells it: 9 levels, each of a tenth of a millisecond.
        self.assertGreaterEqual(rows["recursive", "lat"]["values"][0]["total"], 55e-4)

    def test_a_trace_of_functions_of_a_program_that_is_run(self):
        self.needs_decoder()
        trace = os.path.join(self.dir, "trace")
        result = subprocess.run([SPEX, "record", "-e", "func:takes(_,_,turns):lat,func:main", "-b", "100%", "-o", trace, "--", ATTACHED],
                                input="take 300\n", capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual((result.returncode, result.stdout.splitlines()[0]), (0, "ready"), result.stderr)
        rows, lines = self.recorded(trace)
        self.assertEqual((rows["takes", "lat"]["count"], rows["main", "cnt"]["count"], lines), (300, 1, 600))

    def test_a_trace_of_functions_within_a_budget(self):
        """The trace has records of slices, and what there was between them."""
        self.needs_decoder()
        trace = os.path.join(self.dir, "trace")
        with subprocess.Popen([SPEX, "record", "-e", "func:takes:lat", "-b", "1%", "-o", trace, "--pid", self.program.pid],
                              stderr=subprocess.PIPE, text=True) as record:
            self.assertIn("looking at 1 function", record.stderr.readline())
            self.program.tell("take 60000")
            self.assertTrue(self.program.process.stdout.readline())
            record.send_signal(signal.SIGINT)
            said = record.communicate(timeout=60)[1]
        self.assertEqual(record.returncode, 0, said)
        rows, lines = self.recorded(trace)
        self.assertLess(lines, 30000)
        self.assertEqual(rows["takes", "lat"]["records"], lines)
        self.assertGreater(rows["takes", "lat"]["held_seconds"], 0)
        self.assertGreaterEqual(rows["takes", "lat"]["count"] + rows["takes", "lat"]["count_margin"], lines)

    def test_top_shows_functions(self):
        with subprocess.Popen([SPEX, "top", self.program.pid, "-e", "func:plain,func:takes(_,_,n)", "-b", "-t", "-d", "0.05",
                               "--budget", "100%"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as top:
            self.assertIn("attached", top.stdout.readline())
            self.program.do("plain 500")
            self.program.do("take 100")
            wanted = [r"^plain +cnt +500 ", r"^takes +snapshot +100 .* n "]
            while wanted:
                line = top.stdout.readline()
                self.assertTrue(line, wanted)
                wanted = [one for one in wanted if not re.search(one, line)]
            self.program.end()
            _, said = top.communicate(timeout=60)
        self.assertEqual((top.returncode, "looking at 2 functions" in said), (0, True), said)

    def test_a_program_is_run(self):
        """All its executions count, also those before main; its status and output are its own."""
        for options in ([], ["-static"]):
            path = self.compiled("early", "-DEARLY", *options)
            result = subprocess.run([SPEX, "run", "-e", "func:counted,func:main", "-b", "100%", "--json", "-o", path + ".json", "--", path],
                                    input="300\n", capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((result.returncode, result.stdout), (0, "ready\n300\n"), result.stderr)
            with open(path + ".json", encoding="utf-8") as file:
                found = json.load(file)
            self.assertEqual([probe(found, name)["count"] for name in ("counted", "main")], [307, 1])

    def test_a_program_that_is_run_and_killed(self):
        result = subprocess.run([SPEX, "run", "-e", "func:write", "--", "sh", "-c", "kill -TERM $$"], capture_output=True, text=True,
                                check=False, timeout=60)
        self.assertEqual(result.returncode, -signal.SIGTERM, result.stderr)

    def test_signals_are_those_of_the_program(self):
        with subprocess.Popen([SPEX, "run", "-e", "func:write", "--", "sh", "-c", "trap 'exit 7' USR1; echo ready; while :; do sleep 0.01; done"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            run.send_signal(signal.SIGUSR1)
            self.assertEqual(run.wait(timeout=60), 7)

    def test_a_program_that_is_run_outlives_the_command(self):
        with subprocess.Popen([SPEX, "run", "-e", "func:plain,func:main", "--", ATTACHED], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as run:
            self.assertEqual(run.stdout.readline(), "ready\n")
            with open("/proc/%d/task/%d/children" % (run.pid, run.pid), encoding="utf-8") as children:
                pid = children.read().split()[0]
            self.assertFalse(text_of(pid)[os.path.realpath(ATTACHED)])
            run.kill()
            run.wait()
            run.stdin.write("plain 100\n")
            run.stdin.flush()
            self.assertEqual(run.stdout.readline().split()[0], "100")
            self.expect_clean(pid)
            run.stdin.close()

    def test_models_of_a_program_that_is_run(self):
        self.needs_decoder()
        models = os.path.join(self.dir, "models")
        result = subprocess.run([SPEX, "train", models, "-e", "func:takes(_,_,turns)", "-b", "100%", "--", ATTACHED], input="take 500\n",
                                capture_output=True, text=True, check=False, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("500 executions timed, 0 lost", result.stderr)
        with open(models, encoding="utf-8") as file:
            self.assertIn("\nexecutions 500\n", file.read())

    def test_malformed_notes_are_told(self):
        library = self.library(BAD_NOTE, "gcc", "bad")
        self.program.do("load 1 " + library)
        said = self.refused("attach", self.program.pid, "-e", "usdt:bad:*")
        self.assertRegex(said, r"libbad.so: 1 notes? of USDT probes (is|are) malformed\n.*usdt:bad:\* names no probe")

    def expect_clean(self, pid):
        """What holds the breakpoints of a command that was killed are other processes, which end by themselves."""
        self.assertTrue(any(set(text_of(pid).values()) == {True} for _ in range(1000)), text_of(pid))

    def test_nothing_is_left_behind_by_a_command_that_is_killed_while_it_switches_off(self):
        """The kernel leaves a breakpoint of a process that is killed while it closes it."""
        if os.uname().machine != "x86_64":
            self.skipTest("the numbers of system calls are those of x86-64")
        path = self.compiled("busy")
        with Program(path) as busy:
            busy.tell("100000000000")
            for _ in range(10):
                attached = Attached(busy, "func:counted", budget="100%")
                attached.process.send_signal(signal.SIGINT)
                while not self.switches_off(attached.process.pid):
                    if attached.process.poll() is not None:
                        break
                attached.process.kill()
                attached.process.communicate()
                self.expect_clean(busy.pid)

    def test_nothing_is_left_behind_by_a_command_that_is_killed_while_it_switches_on(self):
        """The kernel leaves the first breakpoints of a function when a process is killed while it sets the others."""
        self.needs_decoder()
        path = self.compiled("many", "-no-pie", "-fno-pie", "-DMANY")
        with Program(path) as other, open("/proc/%s/mem" % other.pid, "rb", buffering=0) as memory:
            address = self.address(path, "many")
            memory.seek(address)
            before = memory.read(1)
            for _ in range(10):
                with subprocess.Popen([SPEX, "attach", other.pid, "-e", "func:many:lat", "-b", "100%"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as command:
                    there = before
                    while there == before and command.poll() is None:
                        memory.seek(address)
                        there = memory.read(1)
                    command.kill()
                self.expect_clean(other.pid)

    @staticmethod
    def switches_off(pid):
        """Whether one of its threads closes something, or waits for a process that does (close, wait4)."""
        for thread in os.listdir("/proc/%d/task" % pid):
            try:
                with open("/proc/%d/task/%s/syscall" % (pid, thread), encoding="utf-8") as call:
                    if call.read().split()[0] in ("3", "61"):
                        return True
            except (OSError, IndexError):
                pass
        return False

    @staticmethod
    def address(path, name):
        symbols = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        return int(re.search(r"([0-9a-f]+) [Tt] %s\n" % name, symbols).group(1), 16)

    def poke(self, pid, path, name, byte):
        """Puts a byte where a function begins, which nobody has set; the one that was there."""
        with open("/proc/%s/mem" % pid, "r+b", buffering=0) as memory:
            memory.seek(self.address(path, name))
            before = memory.read(1)
            memory.seek(self.address(path, name))
            memory.write(byte)
        return before

    def test_the_next_command_removes_what_is_left_behind(self):
        if os.uname().machine != "x86_64":
            self.skipTest("breakpoints are those of x86-64")
        path = self.compiled("left", "-no-pie", "-fno-pie")
        with Program(path) as other:
            self.poke(other.pid, path, "counted", b"\xcc")
            said = subprocess.run([SPEX, "attach", other.pid, "-e", "func:main", "--for", "0.01"], capture_output=True, text=True,
                                  check=True).stderr
            self.assertIn("spex: removed 1 breakpoint that a command which was killed has left in the program\n", said)
            self.assertEqual(set(text_of(other.pid).values()), {True})
            other.tell("300")
            self.assertEqual(other.process.stdout.readline(), "300\n")

    def test_what_others_have_put_into_a_program_stays(self):
        """Who handles SIGTRAP may have breakpoints of its own; and what is no breakpoint is none."""
        for name, options, byte in (("traps", ["-DTRAPS"], b"\xcc"), ("changed", [], b"\xf8")):
            path = self.compiled(name, "-no-pie", "-fno-pie", *options)
            with Program(path) as other:
                self.poke(other.pid, path, "counted", byte)
                said = subprocess.run([SPEX, "attach", other.pid, "-e", "func:main", "--for", "0.01"], capture_output=True, text=True,
                                      check=True).stderr
                self.assertNotIn("removed", said)
                self.assertEqual(self.poke(other.pid, path, "counted", byte), byte)

    def test_functions_of_globs_that_cost_too_much_are_left_out(self):
        """Before anything is switched on, which a line says; what is named is looked at."""
        path = self.compiled("busy")
        with Program(path) as busy:
            for begun in (False, True):
                if begun:
                    busy.tell("100000000000")
                found = subprocess.run([SPEX, "attach", busy.pid, "-e", "func:libc.so.6:*,func:counted", "--for", "0.1", "-b", "1%",
                                        "--json"], capture_output=True, text=True, check=True, timeout=60)
                said = re.match(r"spex: func:libc.so.6:\*: (\d+) of (\d+) are left out, as switching all on costs [\d.]+ m?s of CPU "
                                r"time, and half of the budget for 0.1s is [\d.]+ .?s: -b \d+%( or --for \d+s)? has room for all\n", found.stderr)
                self.assertTrue(said, found.stderr)
                names = {one["name"] for one in json.loads(found.stdout)["probes"]}
                self.assertIn("counted", names)
                self.assertGreaterEqual(int(said.group(2)) - int(said.group(1)), 16)
            found = subprocess.run([SPEX, "attach", busy.pid, "-e", "func:libc.so.6:str*", "--for", "0.1", "-b", "100%"],
                                   capture_output=True, text=True, check=True, timeout=60)
            self.assertNotIn("left out", found.stderr)

    def test_a_budget_is_told_before(self):
        """In slices, or not at all: the count is never said to be exact."""
        attached = Attached(self.program, "func:plain", budget="0.01%")
        self.program.tell("plain 20000000")
        self.assertTrue(self.program.process.stdout.readline())
        found = attached.stop()
        one = probe(found, "plain")
        self.assertRegex(attached.said, r"plain: (at least )?[\d.]+ ?[kM]?/s × [\d.]+ [nµ]s = .* of (a CPU|the program's CPU time): ")
        self.assertGreater(one["off"], 0)
        self.assertGreaterEqual(one["count"], one["counted"])
        self.assertGreater(one["count_margin"], 0)
        self.assertLess(one["counted"], 20000000)

    def compiled(self, name, *options, compiler="gcc"):
        """A program with a function that it calls as often as its input says; its path."""
        source = os.path.join(self.dir, name + ".c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(SMALL)
        subprocess.run([compiler, "-O1", source, "-o", os.path.join(self.dir, name), *options], check=True)
        return os.path.join(self.dir, name)

    def expect_counted(self, path):
        with Program(path) as other:
            attached = Attached(other, "func:counted")
            other.tell("300")
            self.assertEqual(other.process.stdout.readline(), "300\n")
            self.assertEqual(probe(attached.stop(), "counted")["count"], 300)

    def test_programs_however_linked(self):
        self.expect_counted(self.compiled("fixed", "-no-pie", "-fno-pie"))
        self.expect_counted(self.compiled("static", "-static"))
        self.expect_counted(self.compiled("static_pie", "-static-pie"))
        self.expect_counted(self.compiled("exported", "-rdynamic", "-s"))
        if shutil.which("musl-gcc"):
            self.expect_counted(self.compiled("musl", compiler="musl-gcc"))

    def test_an_object_has_the_name_that_it_was_started_by(self):
        """A link's, hard or symbolic; that of the file chooses it, too."""
        path = self.compiled("file", "-no-pie", "-fno-pie")
        for link, name in ((os.link, "hard"), (os.symlink, "symbolic")):
            link(path, os.path.join(self.dir, name))
            with Program(os.path.join(self.dir, name)) as other:
                for functions in ("func:counted", "func:%s:counted" % name):
                    listed = subprocess.run([SPEX, "probes", other.pid, "--functions", functions, "--json"], capture_output=True,
                                            text=True, check=True)
                    self.assertEqual([one["object"] for one in json.loads(listed.stdout)], [name])
        # The kernel tells the path of the file.
        with Program(os.path.join(self.dir, "symbolic")) as other:
            self.assertIn('"symbolic"', subprocess.run([SPEX, "probes", other.pid, "--functions", "func:file:counted", "--json"],
                                                       capture_output=True, text=True, check=True).stdout)

    def test_counts_say_nothing_of_records(self):
        for functions, records in (("func:plain", False), ("func:recursive:lat", DECODES)):
            if functions.endswith("lat") and not DECODES:
                continue
            told = subprocess.run([SPEX, "attach", self.program.pid, "-e", functions, "--for", "0.01"], capture_output=True, text=True,
                                  check=True).stdout
            self.assertEqual("records: 0 produced" in told, records, told)

    def test_functions_that_were_not_called_are_one_line(self):
        attached = subprocess.Popen([SPEX, "attach", self.program.pid, "-e", "func:attached:*", "-b", "100%"], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        for line in attached.stderr:
            if "looking at" in line:
                break
        self.program.do("plain 7")
        attached.send_signal(signal.SIGINT)
        told, _ = attached.communicate(timeout=120)
        self.assertRegex(told, r"plain +cnt +7\b")
        self.assertNotIn("recursive", told.split("others")[0])
        self.assertRegex(told, r"\n\d+ others were not called\n")

    def test_two_commands_at_a_time(self):
        both = [Attached(self.program, "func:plain,func:handler") for _ in range(2)]
        called = self.program.do("plain 70")[0]
        self.assertEqual([probe(one.stop(), "plain")["count"] for one in both], [called, called])

    def test_a_program_in_a_container(self):
        """Of its mounts nothing is seen here, and it has another number there."""
        alone = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private"]
        if os.geteuid() != 0 or subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
            self.skipTest("no container can be made")
        path = self.compiled("inside", "-static")
        root = os.path.join(self.dir, "root")
        os.mkdir(root)
        script = "mount -t tmpfs none %s && cp %s %s/inside && exec chroot %s /inside" % (root, path, root, root)
        with Program(*alone, "--kill-child", "sh", "-c", script) as other:
            with open("/proc/%s/task/%s/children" % (other.pid, other.pid), encoding="utf-8") as children:
                other.pid = children.read().split()[0]
            attached = Attached(other, "func:counted")
            other.tell("300")
            self.assertEqual(other.process.stdout.readline(), "300\n")
            self.assertEqual(probe(attached.stop(), "counted")["count"], 300)

    def test_a_program_without_symbols(self):
        with Program(self.compiled("stripped", "-s")) as other:
            self.assertIn("names no function", self.refused("attach", other.pid, "-e", "func:counted"))

    def test_a_program_whose_file_was_replaced(self):
        path = self.compiled("gone")
        with Program(path) as other:
            os.unlink(path)
            shutil.copy(ATTACHED, path)
            # By its mapping, if this user may open that.
            result = subprocess.run([SPEX, "attach", other.pid, "-e", "func:gone:counted", "--for", "0.01"], capture_output=True,
                                    text=True, check=False)
            if result.returncode:
                self.assertIn("was replaced since it was loaded", result.stderr)

    def test_code_that_was_patched(self):
        with Program(self.compiled("patched", "-no-pie", "-fno-pie", "-DPATCHED")) as other:
            self.assertIn("its code in memory is not the file's", self.refused("attach", other.pid, "-e", "func:counted"))

    def test_a_program_whose_first_thread_has_ended(self):
        with Program(self.compiled("headless", "-pthread", "-DHEADLESS=1")) as other:
            attached = Attached(other, "func:counted")
            other.tell("300")
            self.assertEqual(other.process.stdout.readline(), "300\n")
            self.assertEqual(probe(attached.stop(), "counted")["count"], 300)

    def test_addresses_and_objects(self):
        symbols = subprocess.run(["nm", ATTACHED], capture_output=True, text=True, check=True).stdout
        address = re.search(r"([0-9a-f]+) T plain\n", symbols).group(1).lstrip("0")
        name = os.path.basename(ATTACHED)
        for functions in ("func:%s:pla?n" % name, "func:%s+0x%s" % (name, address), "func:%s:plain:cnt" % ATTACHED):
            attached = Attached(self.program, functions)
            self.program.do("plain 5")
            self.assertEqual(probe(attached.stop(), "plain")["count"], 5)

    def test_an_address_within_an_instruction_is_refused(self):
        self.needs_decoder()
        symbols = subprocess.run(["nm", ATTACHED], capture_output=True, text=True, check=True).stdout
        address = int(re.search(r"([0-9a-f]+) T recursive\n", symbols).group(1), 16)
        refused = [self.refused("attach", self.program.pid, "-e", "func:attached+0x%x" % (address + at), "--for", "0.01")
                   for at in (1, 2, 3) if self.within(address + at)]
        self.assertTrue(refused)
        for said in refused:
            self.assertIn("no symbol tells that an instruction begins there", said)

    @staticmethod
    def within(address):
        """Whether no instruction begins there, as objdump has it."""
        code = subprocess.run(["objdump", "-d", "--disassemble=recursive", ATTACHED], capture_output=True, text=True, check=True)
        return not re.search(r"^ *%x:" % address, code.stdout, re.M)

    def test_functions_are_listed(self):
        listed = subprocess.run([SPEX, "probes", self.program.pid, "--functions", "plain", "--json"], capture_output=True, text=True,
                                check=True)
        one, = json.loads(listed.stdout)
        self.assertEqual((one["name"], one["site"], one["refused"]), ("plain", "uprobe", None))
        self.assertGreater(one["cost_ns"], 0)
        table = subprocess.run([SPEX, "probes", self.program.pid, "--functions", "func:attached:*"], capture_output=True, text=True,
                               check=True, env={**os.environ, "COLUMNS": "80"}).stdout
        self.assertRegex(table, r"^function +object +site +at +a hit\n|^function ")
        self.assertLessEqual(max(map(len, table.splitlines())), 80)

    def test_what_is_refused(self):
        pid = self.program.pid
        for arguments, status, expected in [
                (["attach", pid], 2, "functions were expected"),
                (["attach", pid, "-e", "plain"], 2, "does not begin with func:"),
                (["attach", pid, "-e", "usdt:attached"], 2, "a provider and a name were expected"),
                (["attach", pid, "-e", "usdt:attached:twice:lat"], 2, "no end to be timed"),
                (["attach", pid, "-e", "func:takes(_,_"], 2, "its arguments are not in parentheses"),
                (["attach", pid, "-e", "func:takes(_,_,1n)"], 2, "expected up to six names"),
                (["attach", pid, "-e", "usdt:attached:twice(n)"], 2, "arguments of a probe are not read"),
                (["attach", pid, "-e", "usdt:attached:twise"], 1, "did you mean attached:twice?"),
                (["probes", pid, "--functions", "usdt:none:such"], 1, "names no probe"),
                (["attach", pid, "-e", "func:"], 2, "it has no name"),
                (["attach", pid, "-e", "func:a:b:c"], 2, "too many colons"),
                (["attach", pid, "-e", "func:x+0xz"], 2, "its address is malformed"),
                (["attach", pid, "-e", "func:plain", "-b", "0"], 2, "a percentage"),
                (["attach", pid, "-e", "func:plain", "--for", "ever"], 2, "a time was expected"),
                (["attach", pid, "-e", "func:plian"], 1, "did you mean plain?"),
                (["attach", pid, "-e", "func:none-such*"], 1, "libraries; spex probes PID --functions '*PART*' lists them"),
                (["attach", "", "-e", "func:x"], 2, 'a process was expected, its number or its name, not ""'),
                (["attach", "-e", "func:x"], 2, "a process was expected, not 0; see spex attach --help"),
                (["attach", "no-such-name", "-e", "func:x"], 1, "no process is called no-such-name"),
                (["attach", "2147483647", "-e", "func:x"], 1, "there is no process 2147483647"),
                (["top", pid, "-b", "--budget", "1%"], 2, "--budget goes with -e"),
                (["top", "-b", "-e", "func:plain"], 2, "a process was expected"),
                (["top", pid, "-b", "-e", "func:none-such"], 1, "names no function"),
                (["train", "m", "-e", "func:takes(n)"], 2, '"-- PROGRAM" was expected'),
                (["train", "m", "--runs", "p.xml", "-e", "func:takes(n)", "--", "true"], 2, "-e and --runs do not go together"),
                (["train", "m", "-e", "func:none-such(n)", "--", "true"], 1, "names no function"),
                (["record", "-e", "func:plain", "-f", "-o", self.dir + "/r", "--", "true"], 2, "functions (func:…, usdt:…) and -f do not go together"),
                (["record", "-e", "func:plain", "--flight", "5s", "--pid", pid], 2, "and --flight do not go together"),
                (["record", "-e", "func:none-such", "-o", self.dir + "/r", "--pid", pid], 1, "names no function"),
                (["record", "-e", "func:none-such", "-o", self.dir + "/r", "--", "true"], 1, "names no function"),
                (["record", "-e", "func:", "-o", self.dir + "/r", "--pid", pid], 2, "record: -e: "),
                (["record", "-e", "func:main", "-o", self.dir + "/r", "--", "/no/such"], 1, "/no/such cannot be run: No such file"),
                (["set", pid, "usdt:a:b"], 2, "looked at by spex attach, record, run, top, train and watch"),
                (["run", "-e", "func:none-such", "--", "true"], 1, "names no function"),
                (["run", "-e", "func:main", "--", "/no/such"], 1, "/no/such cannot be run: No such file"),
                (["run", "-e", "func:main", "-i", "1", "--", "true"], 2, "spex top shows them at intervals"),
                (["train", "m", "--pid", pid, "-b", "1%"], 2, "-b goes with -e"),
                (["train", "m", "--pid", pid, "-e", "func:takes(n)", "--probes", "*"], 2, "do not go together"),
                (["train", "m", "--pid", pid, "-e", "usdt:attached:twice"], 2, "a probe has no time"),
                (["train", "m", "--pid", pid, "-e", "func:plain", "--for", "0.1"], 1, "no function was executed"),
                (["watch", "m", "--pid", pid, "-b", "1%"], 2, "-b goes with -e"),
                (["watch", "m", "--pid", pid, "-e", "func:takes(n)", "--dump"], 2, "-e and --dump do not go together"),
                (["watch", "m", "--pid", pid, "-e", "func:takes(n)"], 1, "m: No such file"),
                (["watch", self.models_of("other"), "--pid", pid, "-e", "func:takes(_,_,turns)"], 1, "has no model of these functions"),
                (["watch", self.models_of("takes"), "--pid", pid, "-e", "func:none-such(n)"], 1, "names no function"),
                (["watch", self.models_of("takes"), "--pid", pid, "-e", "func:plain"], 1, "has no model of these functions"),
                (["watch", self.models_of("takes"), "--pid", pid, "-e", "func:"], 2, "watch: -e: "),
                (["probes", pid, "plain"], 2, "one program or process was expected"),
                (["probes", pid, "--functions", "none-such"], 1, "names no function")]:
            said = self.refused(*arguments, status=status)
            self.assertIn(expected, said)
            self.assertLessEqual(said.count("\n"), 3)

    def test_zombies_and_kernel_threads(self):
        child = subprocess.Popen(["true"])
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        self.assertIn("has no memory", self.refused("attach", str(child.pid), "-e", "func:x"))
        child.wait()
        if os.path.exists("/proc/2/comm") and not os.path.exists("/proc/2/exe"):
            self.assertIn("has no memory", self.refused("attach", "2", "-e", "func:x"))

    def test_without_rights(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("this user cannot be another one")
        result = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", SPEX, "attach", self.program.pid, "-e",
                                 "func:plain"], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1), result.stderr)
        self.assertRegex(result.stderr, "the capabilit.* (PERFMON|SYS_PTRACE)")
        self.assertNotIn("as root", result.stderr)  # it is


class Bench(unittest.TestCase):
    BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "attach.py")

    def bench(self, *arguments):
        return subprocess.run([self.BENCH, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def test_what_is_told_and_what_it_costs(self):
        result = json.loads(self.bench("--json", "--rounds", "1", SPEX))
        self.assertTrue(result["results"] or result["missing"])
        for row in result["results"]:
            self.assertGreaterEqual(row["count"], 100000)
            self.assertGreater(row["told_ns"], 0)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(result, file)
            file.flush()
            page = self.bench("--page", file.name)
        self.assertIn("%d of %d are told within 30 %%" % (result["right"], len(result["results"])), page)


if __name__ == "__main__":
    SPEX, ATTACHED = map(os.path.realpath, sys.argv[1:3])
    Attached.spex = SPEX
    USDT = sys.argv[3] if sys.argv[3:] and os.path.exists(sys.argv[3]) else None
    why = can_attach()
    if why:
        print("SKIP: functions of programs cannot be looked at here: " + why)
        sys.exit(77)
    DECODES = can_decode()
    unittest.main(argv=sys.argv[:1] + sys.argv[4 if USDT else 3:])
