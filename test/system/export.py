#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`spex export`: each format has all records of a trace, and is read by the tools it is for; of a damaged
trace it has what is whole.

    export.py SOURCE_ROOT SPEX MADE
"""

import collections
import contextlib
import csv
import gzip
import io
import json
import os
import pty
import random
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from made_traces import Traces

ROOT = None
SPANS = ("lat", "tpt", "kernel")
SVG = "{http://www.w3.org/2000/svg}"


def decoded(proto, message, data):
    """The text that protoc makes of a message."""
    return subprocess.run(["protoc", "--proto_path", os.path.join(ROOT, "tools", "export"),
                           "--decode=spex." + message, proto], input=data, check=True,
                          stdout=subprocess.PIPE).stdout.decode()


def packets(text):
    """Track events of a decoded trace, and descriptors, each as a dictionary of what it says."""
    for packet in re.split(r"^packet ", text, flags=re.MULTILINE)[1:]:
        fields = dict(re.findall(r"^\s+(\w+): (.*)$", packet, flags=re.MULTILINE))
        fields["descriptor"] = "track_descriptor" in packet
        fields["event"] = "track_event" in packet
        yield fields


def nest(slices):
    """Whether of (begin, end) each two are apart or one is within the other."""
    open_ends = []
    for begin, end in sorted(slices, key=lambda slice: (slice[0], -slice[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            return False
        open_ends.append(end)
    return True


@unittest.skipUnless(sys.byteorder == "little", "the tests of damage know where bytes are")
class Exports(Traces):
    def setUp(self):
        super().setUp()
        self.trace, self.count = self.make()
        self.rows = self.records(self.trace)

    def test_every_record_is_a_line(self):
        self.assertEqual(len(self.rows), self.count)
        times = [int(row["time_ns"]) for row in self.rows]
        self.assertEqual(times, sorted(times))
        self.assertEqual({row["probe"] for row in self.rows},
                         {"query", "outer", "inner", "queue", "5", 'a "name"', "cache", "switches", "events", "pace"})
        inner = [row for row in self.rows if row["probe"] == "inner"]
        self.assertEqual({(row["path"], row["weight"]) for row in inner}, {("outer/inner", "4")})
        queue = [row for row in self.rows if row["probe"] == "queue"][-1]
        self.assertEqual(int(queue["v0"]) + int(queue["v1"]), 2**64 - 1)

    def test_a_part_of_the_time_and_of_the_probes(self):
        middle = int(self.rows[self.count // 2]["time_ns"])
        part = self.records(self.trace, "--from", "%.9f" % (middle / 1e9))
        self.assertAlmostEqual(len(part), self.count - self.count // 2, delta=20)
        rest = self.records(self.trace, "--to", "%.9f" % (middle / 1e9))
        self.assertEqual(len(part) + len(rest), self.count)
        some = self.records(self.trace, "-e", "query,:kernel@off")
        self.assertEqual({row["probe"] for row in some}, {"query"})
        self.assertEqual(len(some), sum(row["probe"] == "query" for row in self.rows))

    def test_wall_clock_times(self):
        begin = json.loads(self.export(self.trace, "chrome"))["otherData"]["begin_realtime_ns"]
        text = subprocess.run(["date", "-u", "-d", "@%d.%09d" % divmod(begin, 10**9), "+%Y-%m-%dT%H:%M:%S.%NZ"],
                              check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
        self.assertEqual(len(self.records(self.trace, "--from", text)), self.count)
        self.refused("has nothing between", "export", self.trace, "--format", "csv", "--to", text, status=1)

    def test_chrome(self):
        data = json.loads(self.export(self.trace, "chrome"))
        tracks, events = collections.defaultdict(list), collections.Counter()
        for event in data["traceEvents"]:
            events[event["ph"]] += 1
            if event["ph"] == "X":
                begin = round(event["ts"] * 1000)
                tracks[event["tid"]].append((begin, begin + round(event["dur"] * 1000)))
        spans = sum(row["type"] in SPANS for row in self.rows)
        self.assertEqual((events["X"], events["C"], events["i"]), (spans, self.count - spans, 1))
        for slices in tracks.values():
            self.assertTrue(nest(slices))
        # Two executions of one thread of which neither is within the other.
        self.assertIn("1000 (overlapping, 1)", [event["args"]["name"] for event in data["traceEvents"]
                                                if event["ph"] == "M"])
        weights = {event["args"]["weight"] for event in data["traceEvents"] if event["name"] == "inner"}
        self.assertEqual(weights, {4})
        parameters = [event["args"] for event in data["traceEvents"] if event["name"] == "outer"]
        self.assertEqual(set(parameters[0]), {"weight", "n", "m"})
        sampled = {probe["probe"]: probe for probe in data["otherData"]["probes"]}
        self.assertEqual(sampled["inner"]["executions"], 4 * sampled["inner"]["records"])
        self.assertEqual(data["otherData"]["lost_records"], 17)

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
    def test_perfetto(self):
        found = list(packets(decoded("perfetto.proto", "perfetto.Trace", self.export(self.trace, "perfetto"))))
        events = [packet for packet in found if packet["event"]]
        kinds = collections.Counter(packet["type"] for packet in events)
        spans = sum(row["type"] in SPANS for row in self.rows)
        # LLC and this SNAPSHOT have two values, and a counter for each.
        counters = sum(2 if row["type"] in ("llc", "snapshot") else 1 for row in self.rows if row["type"] not in SPANS)
        self.assertEqual((kinds["TYPE_SLICE_BEGIN"], kinds["TYPE_SLICE_END"], kinds["TYPE_COUNTER"]),
                         (spans, spans, counters))
        descriptors = {packet["uuid"] for packet in found if packet["descriptor"]}
        self.assertTrue({packet["track_uuid"] for packet in events} <= descriptors)
        stacks, lengths = collections.defaultdict(list), []
        # As readers do: by time, and where that is the same, as they stand.
        for packet in sorted(events, key=lambda packet: int(packet["timestamp"])):
            if packet["type"] == "TYPE_SLICE_BEGIN":
                stacks[packet["track_uuid"]].append(int(packet["timestamp"]))
            elif packet["type"] == "TYPE_SLICE_END":
                lengths.append(int(packet["timestamp"]) - stacks[packet["track_uuid"]].pop())
        self.assertFalse(any(stacks.values()))
        times = [int(row["duration_ns"]) for row in self.rows if row["type"] in SPANS]
        for length, time in zip(sorted(lengths), sorted(times)):
            self.assertAlmostEqual(length, time, delta=1)
        self.assertIn('"inner (kernel) is sampled"', [packet.get("name") for packet in events])

    def test_spans_have_lanes(self):
        """600 that are open at once, and later as many again: each on a track where no other one is."""
        trace, count = self.make("open", 1200)
        data = json.loads(self.export(trace, "chrome"))
        events = [event for event in data["traceEvents"] if event["ph"] in "be"]
        self.assertEqual(len(events), 2 * count)
        self.assertEqual({event["cat"] for event in events}, {"span"})
        self.assertEqual({event["args"]["key"] for event in events if event["ph"] == "b"}, set(range(count)))
        lanes = collections.defaultdict(list)
        for event in sorted(events, key=lambda event: event["ts"]):
            lanes[event["id"]].append(event["ph"])
        self.assertEqual(len(lanes), 600)
        self.assertTrue(all(phases == ["b", "e", "b", "e"] for phases in lanes.values()))
        self.assertEqual(data["otherData"]["slices_left_out"], 0)

    @unittest.skipUnless(shutil.which("protoc"), "protoc is not installed")
    def test_spans_have_lanes_in_perfetto(self):
        trace, count = self.make("open", 1200)
        found = list(packets(decoded("perfetto.proto", "perfetto.Trace", self.export(trace, "perfetto"))))
        names = {packet["uuid"]: (packet.get("name"), packet.get("parent_uuid")) for packet in found
                 if packet["descriptor"]}
        lanes = collections.defaultdict(list)
        for packet in sorted((packet for packet in found if packet["event"] and "SLICE" in packet["type"]),
                             key=lambda packet: int(packet["timestamp"])):
            lanes[packet["track_uuid"]].append(packet["type"])
        (process,) = {parent for _, parent in names.values() if parent}
        self.assertEqual({names[lane] for lane in lanes}, {('"request"', process)})
        self.assertEqual(names[process], (None, None))
        pair = ["TYPE_SLICE_BEGIN", "TYPE_SLICE_END"]
        self.assertTrue(all(types == 2 * pair for types in lanes.values()))
        self.assertEqual(2 * len(lanes), count)

    def test_spans_beyond_the_lanes_are_told(self):
        trace, count = self.make("open", 10000)
        result = self.run_spex("export", trace, "--format", "chrome")
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"spex: 1808 slices were left out", result.stderr)
        data = json.loads(result.stdout)
        self.assertEqual(data["otherData"]["slices_left_out"], 1808)
        self.assertEqual(sum(event["ph"] == "b" for event in data["traceEvents"]), count - 1808)
        self.assertEqual(len({event["id"] for event in data["traceEvents"] if event["ph"] == "b"}), 4096)

    def own_times(self):
        """Weighted nanoseconds of both kernels, without what is within them."""
        sums = collections.Counter()
        for row in self.rows:
            if row["type"] == "kernel":
                sums[row["path"]] += int(row["weight"]) * int(row["duration_ns"])
        return {"outer": sums["outer"] - sums["outer/inner"], "inner": sums["outer/inner"]}

    def test_folded(self):
        times = self.own_times()
        lines = dict(line.rsplit(" ", 1) for line in self.export(self.trace, "folded").decode().splitlines())
        self.assertEqual(set(lines), {"outer", "outer;inner"})
        self.assertAlmostEqual(int(lines["outer"]) / times["outer"], 1, 3)
        self.assertAlmostEqual(int(lines["outer;inner"]) / times["inner"], 1, 3)
        counted = dict(line.rsplit(" ", 1) for line in
                       self.export(self.trace, "folded", "--by", "executions").decode().splitlines())
        inner = 4 * sum(row["probe"] == "inner" for row in self.rows)
        self.assertEqual(counted, {"outer": str(inner // 2), "outer;inner": str(inner)})
        result = self.run_spex("export", self.trace, "--format", "folded", "-e", ":lat")
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"kernels' records", result.stderr)

    def flamegraph(self, trace, *arguments):
        """The picture, and its frames: names, numbers of callers, values and widths."""
        picture = xml.etree.ElementTree.fromstring(self.export(trace, "flamegraph", *arguments))
        frames = []
        for frame in picture.find(SVG + "svg[@class='frames']"):
            caller, time, executions = frame.get("data-v").split()
            frames.append({"name": frame.find(SVG + "title").text.rsplit("\n", 2)[0], "caller": int(caller), "time": float(time),
                           "executions": float(executions), "text": frame.find(SVG + "text").text,
                           "begin": float(frame.get("x")[:-1]), "width": float(frame.get("width")[:-1])})
        return picture, frames

    def test_flamegraph(self):
        times, inner = self.own_times(), 4 * sum(row["probe"] == "inner" for row in self.rows)
        for arguments, share in ((), times["inner"] / sum(times.values())), (("--by", "executions"), 2 / 3):
            picture, frames = self.flamegraph(self.trace, *arguments)
            self.assertEqual([(frame["name"], frame["caller"], frame["text"]) for frame in frames],
                             [("all kernels", -1, "all kernels"), ("outer", 0, "outer"), ("inner", 1, "inner")])
            self.assertEqual([frame["executions"] for frame in frames], [1.5 * inner, 1.5 * inner, inner])
            self.assertAlmostEqual(frames[1]["time"] * 1e9 / sum(times.values()), 1, 3)
            self.assertAlmostEqual(frames[2]["time"] * 1e9 / times["inner"], 1, 3)
            self.assertEqual([round(frame["width"], 1) for frame in frames], [100, 100, round(100 * share, 1)])
            self.assertEqual({frame["begin"] for frame in frames}, {0})
            self.assertIn("by " + (arguments or ["time"])[-1], "".join(picture.find(SVG + "text[@class='head']").itertext()))
            self.assertIn("17 records, of all probes, were lost", "".join(picture.itertext()))

    def test_flamegraph_of_several_processes(self):
        self.make(count=500)
        frames = self.flamegraph(self.folder)[1]
        self.assertRegex(" ".join("%s,%d" % (frame["name"], frame["caller"]) for frame in frames),
                         r"^all kernels,-1 made-\d+,0 made-\d+,0 outer,1 inner,3 outer,2 inner,5$")
        self.assertGreater(frames[1]["width"], frames[2]["width"])
        self.assertAlmostEqual(frames[1]["width"] + frames[2]["width"], 100, 3)
        self.assertAlmostEqual(frames[2]["begin"], frames[1]["width"], 3)
        self.assertAlmostEqual(frames[6]["begin"], frames[5]["begin"], 3)

    def test_flamegraph_of_hostile_names(self):
        trace, _ = self.make("names", 2000)
        picture, frames = self.flamegraph(trace)
        names = {frame["name"]: frame for frame in frames}
        # What is no printable text was made such when the trace was read; U+FFFE is none of XML.
        self.assertLess({"<script>alert(1)</script>", "]]>&\"'", "?[31mred", "?????", "\ufffd\ufffd\ufffd", "\u202etxt",
                         "</title></svg>"}, set(names))
        self.assertEqual(len(frames), 1 + 8 + 1)
        self.assertEqual({part.tag.removeprefix(SVG) for part in picture.iter()},
                         {"svg", "title", "style", "rect", "text", "tspan", "script"})
        self.assertEqual(len(picture.findall(".//" + SVG + "script")), 1)
        (name,) = [name for name in names if name.startswith("onload=")]
        self.assertRegex(names[name]["text"], "^onload=.alert.*…$")
        self.assertTrue(name.startswith(names[name]["text"][:-1]))
        # Nothing is left out silently.
        narrow = names["2000 narrow"]
        self.assertEqual((narrow["executions"], narrow["text"]), (2000, None))
        self.assertEqual(frames[narrow["caller"]]["name"], "<script>alert(1)</script>")
        self.assertIn("2000 calling contexts are narrower than 0.1 pixels", "".join(picture.itertext()))

    def classes(self, picture):
        """What the frames are coloured by, but for that of all kernels."""
        return {frame.find(SVG + "title").text.split("\n")[0]: frame.get("class")
                for frame in picture.find(SVG + "svg[@class='frames']")[1:]}

    def test_a_flamegraph_in_comparison(self):
        before, now = self.make("calls", 20000)[0], self.make("changed", 20001)[0]
        picture, _ = self.flamegraph(now, "--before", before)
        self.assertEqual(self.classes(picture), {"main": "u0", "sort": "m3", "parse": "f3", "hash": "u0", "move": "m3"})
        titles = "\n".join(title.text for title in picture.iter(SVG + "title"))
        self.assertRegex(titles, r"hash\n.*\n.*\nitself, a second: \S+ ms, before \S+ ms \(may be chance\)\n"
                                 r"executions, a second: \d+, before \d+")
        self.assertRegex(titles, r"move\n.*\n.*\nitself, a second: \S+ ms, before 0 ns\n")
        self.assertTrue([text for text in picture.iter(SVG + "text")
                         if (text.text or "").startswith("1 calling contexts of before are not executed any more")])
        # The other way round what is red is blue.
        turned = self.classes(self.flamegraph(before, "--before", now)[0])
        self.assertEqual(turned, {"main": "u0", "sort": "f3", "parse": "m3", "hash": "u0", "copy": "m3"})

    def test_a_comparison_with_a_part_of_the_same_trace(self):
        trace = self.make("calls", 20000)[0]
        picture, _ = self.flamegraph(trace, "--from", "0.4", "--before", "..0.4")
        self.assertEqual(set(self.classes(picture).values()), {"u0"})
        self.refused("export: --before is for --format flamegraph", "export", trace, "--format", "folded", "--before", trace)
        self.refused(".*none: ", "export", trace, "--format", "flamegraph", "--before", self.path("none"), status=1)
        self.refused('.*"x"', "export", trace, "--format", "flamegraph", "--before", "x..")
        self.refused("stacks are made of kernels' records", "export", trace, "--format", "flamegraph", "--before",
                     self.make("spans", 100)[0], status=1)

    def test_comparisons_of_equals_have_no_colours(self):
        """But for chance: in one picture of 20."""
        traces = [self.make("calls", 4000 + n)[0] for n in range(21)]
        coloured = sum(set(self.classes(self.flamegraph(now, "--before", before)[0]).values()) != {"u0"}
                       for before, now in zip(traces, traces[1:]))
        self.assertLessEqual(coloured, 3)

    def test_a_flamegraph_needs_nothing_else(self):
        text = self.export(self.trace, "flamegraph").decode()
        self.assertEqual(set(re.findall(r"\w+://[^'\" ]*", text)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
        self.assertNotRegex(text, r"\b(href|src|import|url\()")

    def test_stacks_that_are_none_replace_nothing(self):
        path = self.path("earlier")
        for form in "folded", "flamegraph", "pprof":
            self.export(self.trace, form, "-o", path)
            with open(path, "rb") as file:
                before = file.read()
            self.refused("kernels' records", "export", self.trace, "--format", form, "-e", ":lat", "-o", path, status=1)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)

    @unittest.skipUnless(shutil.which("go"), "go is not installed")
    def test_pprof(self):
        times = self.own_times()
        path = self.path("profile")
        self.export(self.trace, "pprof", "-o", path)
        top = self.succeeds("go", "tool", "pprof", "-top", path,
                            env={**os.environ, "HOME": self.folder, "GOCACHE": self.folder}).stdout
        for name, time in times.items():
            share = re.search(rf"([\d.]+)% +[\d.]+% +[\d.]+\w+ +[\d.]+% +{name}$", top, re.MULTILINE)
            self.assertAlmostEqual(float(share[1]), 100 * time / sum(times.values()), delta=0.1)
        self.assertRegex(top, r"\d+ records of kernels that stand for \d+ executions")

    def test_database(self):
        path = self.path("trace.db")
        self.export(self.trace, "sqlite", "-o", path)
        with sqlite3.connect(path) as database:
            self.assertEqual(database.execute("SELECT count(*) FROM record").fetchone(), (self.count,))
            times = database.execute("SELECT sum(weight * duration_ns) FROM record JOIN context ON context.id = context"
                                     " WHERE path = 'outer/inner'").fetchone()[0]
            self.assertEqual(times, self.own_times()["inner"])
            questions = self.questions()
            self.assertEqual(len(questions), 5)
            for question in questions:
                self.assertTrue(database.execute(question).fetchall(), question)
        database.close()
        self.assertEqual(os.listdir(self.folder).count("trace.db"), 1)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".spex-")])

    def test_a_database_replaces_files_alone(self):
        pipe, null, link, real = map(self.path, ("pipe", "null", "link", "real"))
        os.mkfifo(pipe)
        os.symlink("/dev/null", null)
        os.symlink("real", link)
        for path in pipe, null:
            self.refused("%s: a regular file was expected$" % path, "export", self.trace, "--format", "sqlite", "-o", path,
                         status=1)
        self.refused("%s: Is a directory$" % self.folder, "export", self.trace, "--format", "sqlite", "-o", self.folder,
                     status=1)
        self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
        self.assertEqual(os.readlink(null), "/dev/null")
        with open(real, "wb"):
            os.chmod(real, 0o640)
        for _ in range(2):
            self.export(self.trace, "sqlite", "-o", link)
            self.assertEqual(os.readlink(link), "real")
            self.assertEqual(stat.S_IMODE(os.stat(real).st_mode), 0o640)
            with open(real, "rb") as file:
                self.assertEqual(file.read(15), b"SQLite format 3")

    def test_a_full_disk(self):
        for form in "chrome", "csv", "perfetto":
            result = subprocess.run([self.spex, "export", self.trace, "--format", form, "-o", "/dev/full"], check=False,
                                    stderr=subprocess.PIPE, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stderr, "spex: /dev/full: No space left on device\n")

    def told(self, form, path):
        """What a terminal is told."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        command = [os.path.abspath(self.spex), "export", self.trace, "--format", form, "-o", path]
        result = subprocess.run(command, check=False, stderr=slave, stdout=slave, cwd=self.folder, env={**os.environ, "COLUMNS": "200"})
        self.assertEqual(result.returncode, 0)
        os.write(slave, b"\n.\n")
        os.close(slave)
        said = b""
        while b"\n.\r\n" not in said:
            said += os.read(master, 4096)
        return said.decode().replace("\r", "").split("\n\n.\n", maxsplit=1)[0]

    def test_a_verdict_on_a_terminal(self):
        for form, look in {"perfetto": "open x in https://ui.perfetto.dev", "folded": "flamegraph.pl x", "sqlite": "sqlite3 x"}.items():
            self.assertRegex(self.told(form, "x"), r"\Aspex: %d records, [\d.]+( [KM]i| )B in x\nnext: %s" % (self.count, look))
        self.assertRegex(self.told("csv", "x"), r"\Aspex: \d+ records, .* in x\Z")
        self.assertRegex(self.told("csv", "/dev/null"), r"\Aspex: \d+ records in /dev/null\Z")

    def questions(self):
        """The queries of the page on traces."""
        with open(os.path.join(ROOT, "docs", "traces.md"), encoding="utf-8") as page:
            return re.findall(r"```sql\n(.*?)```", page.read(), re.DOTALL)

    def test_several_processes(self):
        self.make(count=500)
        self.assertGreater(len({row["process"] for row in self.records(self.folder)}), 1)
        lines = self.export(self.folder, "folded").decode().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertTrue(all(re.match(r"made-\d+;outer", line) for line in lines))

    def interrupted_stream(self, trace, form, number):
        """What is written when the signal comes while the export waits for its reader."""
        export = subprocess.Popen([self.spex, "export", trace, "--format", form], bufsize=0, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        first = export.stdout.read(1)
        export.send_signal(number)
        rest, errors = export.communicate()
        self.assertEqual((export.returncode, errors),
                         (128 + number, b"spex: interrupted: what was exported before is complete\n"))
        return first + rest

    def test_interrupted_streams(self):
        """What was exported before is complete: the same records in each format."""
        trace, count = self.make(count=60000)
        rows = list(csv.DictReader(io.StringIO(self.interrupted_stream(trace, "csv", signal.SIGTERM).decode())))
        self.assertTrue(0 < len(rows) < count)
        self.assertNotIn(None, rows[-1].values())
        events = json.loads(self.interrupted_stream(trace, "chrome", signal.SIGINT))["traceEvents"]
        self.assertEqual(sum(event["ph"] in "XC" for event in events), len(rows))
        data = self.interrupted_stream(trace, "perfetto", signal.SIGHUP)
        if shutil.which("protoc"):
            found = packets(decoded("perfetto.proto", "perfetto.Trace", data))
            self.assertEqual(sum(packet.get("type") == "TYPE_SLICE_END" for packet in found),
                             sum(row["type"] in SPANS for row in rows))

    def interrupted_file(self, trace, form):
        """The path of an export that was interrupted; a fast machine may be done by then, and is asked again."""
        path = self.path("interrupted." + form)
        for _ in range(100):
            export = subprocess.Popen([self.spex, "export", trace, "--format", form, "-o", path], stderr=subprocess.PIPE)
            blocked = 0
            while export.poll() is None and not blocked:
                with open("/proc/%d/status" % export.pid, encoding="ascii") as file:
                    blocked = int(re.search(r"^SigBlk:\s(\w+)", file.read(), re.MULTILINE)[1], 16)
            export.send_signal(signal.SIGINT)
            errors = export.communicate()[1]
            self.assertIn(export.returncode, (0, 130))
            if export.returncode == 130:
                self.assertEqual(errors, b"spex: interrupted: what was exported before is complete\n")
                return path
        return self.skipTest("the machine is too fast")

    def test_interrupted_files(self):
        """Of formats that are written at the end."""
        trace, count = self.make(count=300000)
        with contextlib.closing(sqlite3.connect(self.interrupted_file(trace, "sqlite"))) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            (rows,), = database.execute("SELECT count(*) FROM record").fetchall()
            self.assertTrue(0 < rows < count)
            self.assertEqual(database.execute("SELECT sum(records) FROM probe").fetchall(), [(rows,)])
        with open(self.interrupted_file(trace, "folded"), encoding="utf-8") as file:
            self.assertEqual([line.split(" ")[0] for line in file], ["outer", "outer;inner"])
        with gzip.open(self.interrupted_file(trace, "pprof")) as file:
            self.assertIn(b"outer", file.read())
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".spex-")])

    def test_what_cannot_be_done(self):
        self.refused("perfetto, chrome, pprof, folded, flamegraph, csv or sqlite was expected", "export", self.trace)
        self.refused("expected, not \"ctf\"", "export", self.trace, "--format", "ctf")
        self.refused("one trace was expected", "export", "--format", "csv")
        self.refused("a file was expected", "export", self.trace, "--format", "sqlite")
        self.refused("time or executions", "export", self.trace, "--format", "csv", "--by", "time")
        self.refused("--from: seconds", "export", self.trace, "--format", "csv", "--from", "noon")
        self.refused("-e: ", "export", self.trace, "--format", "csv", "-e", "query@x")
        self.refused("No such file", "export", self.path("none"), "--format", "csv", status=1)
        self.refused("neither metadata nor", "export", os.path.join(self.trace, ".spex"), "--format", "csv", status=1)
        shutil.rmtree(os.path.join(self.trace, ".spex"))
        self.refused("no trace of spex", "export", self.trace, "--format", "csv", status=1)


@unittest.skipUnless(sys.byteorder == "little", "as above")
class Damage(Traces):
    def setUp(self):
        super().setUp()
        self.trace, self.count = self.make(count=2400)
        self.whole = self.export(self.trace, "csv").decode().splitlines()

    def damaged(self):
        """The lines of what is left, after checks."""
        result = self.run_spex("export", self.trace, "--format", "csv")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        said = result.stderr.decode().splitlines()
        for line in said:
            self.assertRegex(line, "^spex: ")
        # A trace without an end is that of a writer that was killed: no error.
        errors = [line for line in said if ": recording has no end: " not in line]
        self.assertEqual(bool(errors), result.returncode == 1)
        return result.stdout.decode().splitlines(), errors

    def test_files_cut_at_many_lengths(self):
        for path in self.files(self.trace):
            with open(path, "rb") as file:
                data = file.read()
            for length in range(0, len(data), max(len(data) // 60, 1)):
                with self.subTest(path=path, length=length):
                    with open(path, "wb") as file:
                        file.write(data[:length])
                    lines, errors = self.damaged()
                    if os.path.basename(path).startswith("cpu") and length:
                        # What is left is a part of what there was, but for the names of its times' beginning.
                        self.assertLessEqual(len(lines), len(self.whole))
                        self.assertTrue(set(lines) <= set(self.whole) or errors)
                        self.assertEqual(bool(errors), length % 4096 != 0)
                        if errors:
                            self.assertRegex(errors[-1], r"cpu_.*: at byte \d+ of \d+: the last packet is cut off")
            with open(path, "wb") as file:
                file.write(data)
        self.assertEqual(self.damaged()[0], self.whole)

    def test_changed_bytes(self):
        chance = random.Random(20)
        for path in self.files(self.trace):
            with open(path, "rb") as file:
                data = file.read()
            for _ in range(60):
                changed = bytearray(data)
                for _ in range(chance.randint(1, 8)):
                    changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7f, 0xff, chance.randrange(256)])
                with open(path, "wb") as file:
                    file.write(changed)
                with self.subTest(path=path):
                    self.damaged()
                    result = self.run_spex("stats", self.trace)
                    self.assertIn(result.returncode, (0, 1), result.stderr)
            with open(path, "wb") as file:
                file.write(data)

    def test_another_layout(self):
        """The version is in the header of each of the journal's frames; only the first one's is of the trace."""
        with open(os.path.join(self.trace, ".spex", "journal"), "r+b") as file:
            file.seek(4)
            file.write(b"\1\0")
        self.refused("made-.*/.spex/journal: the trace has layout 1, and 3 was expected", "export", self.trace,
                     "--format", "csv", status=1)

    def test_a_packet_in_the_middle(self):
        """What is behind a damaged packet is read."""
        path = os.path.join(self.trace, "cpu_0_0")
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"\0" * 64)
        lines, errors = self.damaged()
        self.assertGreater(len(lines), len(self.whole) / 2)
        self.assertLess(len(lines), len(self.whole))
        self.assertRegex(errors[0], "cpu_0_0: at byte 4096 of .*: the beginning of a packet was expected; "
                                    "4096 bytes are left out")


if __name__ == "__main__":
    ROOT, Traces.spex, Traces.made = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
