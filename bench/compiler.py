#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what spex-cc makes of programs: of how many outermost loops the trip count is known where they begin, what probes cost
in CPU time, text and build time, with regions and without, while they are off and while one execution in 1000 is recorded, and of how
many kernels of known complexity it finds the parameter, and spex train the class. Beside it stands what a compiler does that samples
its counters itself, `clang-19 -fprofile-generate -mllvm -sampled-instrumentation`, with as many counted: one in 1000.

FOLDER has the unpacked sources of those of zlib, zstd, lz4, bzip2 and lua that are to be measured ("apt-get source …"), and gets
what is built. All functions and outermost loops of the default size have probes.

usage: compiler.py [--json | --markdown] [--rounds N] [--seconds S] [--peer CLANG] BUILD FOLDER
"""

import argparse
import glob
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ALL, EACH = "function *\nloop *\n", "loop * least=0\n"
# name: folder of the sources, sources, flags, arguments of the program
PROGRAMS = {
    "zlib": ("zlib-*", ["adler32.c", "crc32.c", "deflate.c", "inf*.c", "trees.c", "zutil.c", "compress.c", "uncompr.c", "gz*.c",
                        "test/minigzip.c"], ["-O2", "-I.", "-DHAVE_UNISTD_H"], ["-9", "-c", "INPUT"]),
    "zstd": ("zstd-*", ["lib/common/*.c", "lib/compress/*.c", "lib/decompress/*.c", "programs/*.c"],
             ["-O3", "-Ilib", "-Ilib/common", "-DZSTD_DISABLE_ASM", "-DXXH_NAMESPACE=ZSTD_", "-DZSTD_NODICT", "-DZSTD_NOBENCH",
              "-DZSTD_NOTRACE"], ["-9", "-q", "-c", "--single-thread", "INPUT"]),
    "lz4": ("lz4-*", ["lib/*.c", "programs/*.c"], ["-O3", "-Ilib", "-DXXH_NAMESPACE=LZ4_"], ["-9", "-q", "-c", "INPUT"]),
    "bzip2": ("bzip2-*", ["blocksort.c", "huffman.c", "crctable.c", "randtable.c", "compress.c", "decompress.c", "bzlib.c", "bzip2.c"],
              ["-O2", "-D_FILE_OFFSET_BITS=64"], ["-k", "-c", "INPUT"]),
    "lua": ("lua-*", ["src/l*.c"], ["-O2", "-DLUA_USE_POSIX"], ["SCRIPT"]),
}
LEFT_OUT = {"luac.c", "zdict.c", "benchzstd.c", "benchfn.c", "dibio.c"}
PROFILE = ["-fprofile-generate"]
# Of the peer's: all executions counted, and one in 1000.
PEER_WAYS = {"counters": PROFILE,
             "counters 1/1000": [*PROFILE, *(part for option in ("ed-instrumentation", "ed-instr-period=1000", "ed-instr-burst-duration=1")
                                             for part in ("-mllvm", "-sampl" + option))]}
SCRIPT = """for round = 1, ROUNDS do local t = {} for i = 1, 200000 do t[i] = (i * 7919) % 100003 end table.sort(t)
local s = {} for i = 1, 60000 do s[#s + 1] = tostring(t[i]) .. string.rep("x", i % 7) end
local n = 0 for w in table.concat(s, ","):gmatch("%d+x+") do n = n + #w end
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
print(n, fib(27)) end
"""
# Of test/compiler/known.c, from a size to the class of its model, and the parameters.
CLASSES = {
    "sum_array": ("linear", "n"), "dot": ("linear", "count"), "fill": ("linear", "t->rows"), "bubble": ("polynomial", "n"),
    "pairs": ("polynomial", "t->rows"), "multiply": ("polynomial", "n"), "find_all": ("log", "n"), "sort_rows": ("polynomial", "n"),
    "heap_sort": ("polynomial", "n"), "bits": ("linear", "count"), "matrix_vector": ("polynomial", "columns, rows"),
    "reverse": ("linear", "length"), "prefix_sums": ("linear", "n"), "histogram": ("linear", "n"), "triangle": ("polynomial", "n"),
    "range_sum": ("linear", "trips.164"), "first_negative": ("linear", "max(n)"), "upper": ("linear", "length"),
    "in_main_table": ("linear", "d->main->rows"), "by_variable": ("linear", "variable_rows"),
}
KNOWN = {"constant": "a constant count", "its count is known": "known where it begins", "a bound": "a bound is known",
         "what its count depends": "what it depends on is known", "nothing": "counted", "no probe": "no probe"}


class Bench:
    def __init__(self, options):
        self.options, self.folder = options, os.path.abspath(options.folder)
        self.wrapper = os.path.join(os.path.abspath(options.build), "compiler", "spex-cc")
        self.spex = os.path.join(os.path.abspath(options.build), "tools", "spex")
        with open(self.wrapper, encoding="utf-8") as file:
            self.clang = re.search(r"^clang='(.*?)'", file.read(), re.M)[1].split()
        self.peer = shutil.which(options.peer)
        text = ""
        for path in sorted(glob.glob(os.path.join(self.folder, "*", "**", "*.[ch]"), recursive=True)):
            with open(path, encoding="utf-8", errors="replace") as file:
                text += file.read() if len(text) < 1 << 23 else ""
        self.text_of_input = text

    def path(self, name):
        return os.path.join(self.folder, name)

    def written(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def sources(self, name):
        folder, patterns, flags, _ = PROGRAMS[name]
        folder = next(iter(sorted(glob.glob(self.path(folder)))), None)
        files = [file for pattern in patterns for file in sorted(glob.glob(os.path.join(folder or "", pattern)))
                 if os.path.basename(file) not in LEFT_OUT]
        return folder, [os.path.relpath(file, folder) for file in files], flags

    def compile(self, name, compiler, out):
        """Seconds of CPU time in user mode, and the objects."""
        folder, sources, flags = self.sources(name)
        before, objects = os.times(), []
        for source in sources:
            objects.append(self.path("%s-%s-%s.o" % (name, out, source.replace("/", "-"))))
            subprocess.run([*compiler, *flags, "-w", "-c", source, "-o", objects[-1]], cwd=folder, check=True)
        after = os.times()
        return after[2] - before[2], objects

    def loops(self, name):
        folder, sources, flags = self.sources(name)
        rules, said = self.written("each.list", EACH), ""
        for source in sources:
            said += subprocess.run([self.wrapper, "--spex-list=" + rules, *flags, "-w", "-Rpass=spex", "-Rpass-missed=spex", "-c", source,
                                    "-o", "/dev/null"], cwd=folder, check=True, text=True, stderr=subprocess.PIPE).stderr
        remarks = re.findall(r"remark: (?:loop \S+: (.*);|(no probe around the loop).*)", said)
        return {text: sum(any(part.startswith(key) or key in part[:24] for part in remark if part) for remark in remarks)
                for key, text in KNOWN.items()}

    def work(self, times):
        """So much of it that what a program costs once, where it begins and ends, is little of its time."""
        self.written("script.lua", SCRIPT.replace("ROUNDS", str(times)))
        self.written("input", self.text_of_input * times)

    def work_fit(self, name, plain):
        self.work(1)
        once = max(self.seconds(plain, PROGRAMS[name][3], ""), 0.01)
        self.work(math.ceil(self.options.seconds / once))

    def seconds(self, program, arguments, probes, more=()):
        arguments = [{"INPUT": self.path("input"), "SCRIPT": self.path("script.lua")}.get(argument, argument) for argument in arguments]
        child = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env=dict(os.environ, SPEX_PROBES=probes, SPEX_OUT="/dev/null", SPEX_CONTROL="off",
                                          LLVM_PROFILE_FILE="/dev/null", **dict(more)))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit("%s: exit status %d" % (program, child.returncode))
        return usage.ru_utime

    def text(self, program):
        return int(subprocess.run(["size", program], check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")[1].split()[0])

    def ways(self, name):
        """Programs, with the probes that are on, and of each way what its build took and its text. What is off is without
        libspex: no thread of it runs."""
        rules, programs, builds, texts = "--spex-list=" + self.written("all.list", ALL), {}, {}, {}
        for way, compiler in (("plain", self.clang), ("probes", [self.wrapper, rules]), ("regions", [self.wrapper, rules, "--spex-regions"])):
            builds[way], objects = self.compile(name, compiler, way)
            for state, linker, on in (("off", self.clang, ""), ("1/1000", [self.wrapper], "*@~1000")):
                program = self.path("-".join((name, way, state.replace("/", "-"))))
                if way != "plain" or not on:
                    subprocess.run([*linker, *objects, "-lm", "-pthread", "-o", program], check=True)
                    programs["plain" if way == "plain" else way + " " + state] = (program, on)
            texts[way] = self.text(self.path(name + "-" + way + "-off"))
        for way, flags in (("peer", []), *PEER_WAYS.items()) if self.peer else ():
            builds[way], objects = self.compile(name, [self.peer, *flags], way.replace("/", "-"))
            program = self.path(name + "-" + way.replace("/", "-"))
            subprocess.run([self.peer, *(PROFILE if flags else []), *objects, "-lm", "-pthread", "-o", program], check=True)
            programs[way], texts[way] = (program, ""), self.text(program)
        return programs, builds, texts

    def cost(self, name):
        programs, builds, texts = self.ways(name)
        base = {way: "peer" if way in PEER_WAYS else "plain" for way in (*programs, *builds) if way not in ("plain", "peer")}
        self.work_fit(name, programs["plain"][0])
        logs = {way: [] for way in programs if way in base}
        for at in range(self.options.rounds):
            times = {}
            for way in sorted(programs, reverse=at % 2):
                times[way] = self.seconds(programs[way][0], PROGRAMS[name][3], programs[way][1])
            for way, log in logs.items():
                log.append(math.log(times[way] / times[base[way]]))
        return {"logs": logs, **{what: {way: of[way] / of[base[way]] for way in of if way in base}
                                 for what, of in (("text", texts), ("build", builds))}}

    def classes(self):
        rules = self.written("known.list", "function * least=0 file=known.c\nfunction compare off\nfunction merge off\n")
        program, models, tests = self.path("known"), self.path("models"), os.path.join(HERE, "..", "test", "compiler")
        subprocess.run([self.wrapper, "--spex-list=" + rules, "-O2", os.path.join(tests, "known.c"), os.path.join(tests, "known_main.c"),
                        "-o", program], check=True)
        plan = self.written("plan.xml", '<space name="known"><parameter name="size" type="integer" values="1000 1400 2000 2800 4000 5600 '
                            '8000 11200 16000"/><run trials_per_config="3"/></space>')
        trained = json.loads(subprocess.run([self.spex, "train", models, "--runs", plan, "--json", "--", program, "{size}"], check=True, text=True,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        classes = {model["path"]: model["class"] for model in trained["models"]}
        sites = json.loads(subprocess.run([self.spex, "probes", "--json", program], check=True, text=True,
                                          stdout=subprocess.PIPE).stdout)["sites"]
        parameters = {site["name"]: ", ".join(sorted(site.get("parameters", "").split(", "))) for site in sites}
        return {name: {"class": classes.get(name), "parameters": parameters.get(name),
                       "class_is_right": classes.get(name) == wanted[0], "parameters_are_right": parameters.get(name) == wanted[1]}
                for name, wanted in CLASSES.items()}


def interval(logs):
    """The geometric mean and its 95 % interval, by the bootstrap."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(logs, k=len(logs))) for _ in range(2000))
    return [math.exp(value) for value in (statistics.fmean(logs), means[49], means[1949])]


def times_print(what, times):
    for way, ratios in sorted(times.items()):
        print("%s %s: CPU time × %.4f (95 %%: %.4f to %.4f)" % (what, way, *ratios))


COLUMNS = ["probes off", "probes 1/1000", "regions off", "regions 1/1000", "counters 1/1000", "counters"]


def markdown(report):
    """The table of docs/compiler.md."""
    columns = [way for way in COLUMNS if way in report["time"]]
    sizes = ["probes", "regions", *(way for way in PEER_WAYS if way in report["time"])]
    print("| program |", " | ".join(columns), "|\n" + "| --- " * (1 + len(columns)) + "|")
    for name, times in [*((name, found["time"]) for name, found in report["programs"].items()), ("all", report["time"])]:
        print("| %s |" % name, " | ".join("%.3f (%.3f to %.3f)" % tuple(times[way]) for way in columns), "|")
    print("\n| text, build |", " | ".join(sizes), "|\n" + "| --- " * (1 + len(sizes)) + "|")
    for name, found in report["programs"].items():
        print("| %s |" % name, " | ".join("%.2f, %.2f" % (found["text"][way], found["build"][way]) for way in sizes), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1, help="the least CPU time of a program without probes (%(default)s)")
    parser.add_argument("--peer", default="clang-19", help="a clang with sampled counters (%(default)s, where it is there)")
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    bench, report, logs, began = Bench(options), {"programs": {}}, {}, time.time()
    for name in PROGRAMS:
        if not bench.sources(name)[1]:
            continue
        loops, cost = bench.loops(name), bench.cost(name)
        for way, log in cost["logs"].items():
            logs.setdefault(way, []).append(log)
        report["programs"][name] = {"loops": loops, "time": {way: interval(log) for way, log in cost["logs"].items()},
                                    "text": cost["text"], "build": cost["build"]}
    if not logs:
        sys.exit("%s: sources of %s were expected" % (options.folder, ", ".join(PROGRAMS)))
    report["time"] = {way: interval([statistics.fmean(at) for at in zip(*log)]) for way, log in logs.items()}
    report["known"] = bench.classes()
    report["seconds"] = time.time() - began
    if options.json:
        print(json.dumps(report, indent=2))
        return
    if options.markdown:
        markdown(report)
        return
    for name, found in report["programs"].items():
        total = sum(found["loops"].values())
        print("%-6s %4d outermost loops: %s" % (name, total, ", ".join("%s %.0f %%" % (text, 100 * count / max(total, 1))
                                                                     for text, count in found["loops"].items())))
        for way, ratio in found["text"].items():
            print("       %s: text × %.2f, build × %.2f" % (way, ratio, found["build"][way]))
        times_print("      ", found["time"])
    times_print("all:", report["time"])
    known = report["known"].values()
    print("known kernels: %d of %d with parameters and class right, %d with parameters" % (
        sum(one["class_is_right"] and one["parameters_are_right"] for one in known), len(known),
        sum(one["parameters_are_right"] for one in known)))


if __name__ == "__main__":
    main()
