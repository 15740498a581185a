#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what models of kernels are worth in programs whose sources nobody has changed: all functions and outermost loops of the
default size are kernels by spex-cc, with the parameters that the compiler has found. For each program: how many kernels have which
class, how many points they need where sampling frequencies are switched, of how many a prediction holds at four times the greatest
size of the training, and what all of them cost in CPU time: off, one execution in 1000 recorded, and within a budget of 2 %.

A prediction is that of `spex fit` for the median of an execution's time with the greatest parameters that the kernel was called with;
it holds where that is within the 95 % interval. It is asked for where one of the parameters is beyond those of the training.

FOLDER is that of compiler.py; of sqlite it has what "./configure --disable-tcl" and "make sqlite3.c shell.c" leave, of memcached what
"./configure" does (libevent-dev), which memcached_load.py loads. hpcc is the HPC Challenge: HPL, DGEMM, STREAM, PTRANS, RandomAccess and
FFT, with matrices of a quarter of the size, executed in one process (libmpich-dev, and a BLAS, of whose functions none has a probe).

usage: kernels_evaluation.py [--json | --markdown] [--rounds N] [--runs N] [--least SECONDS] [--seconds S] BUILD FOLDER
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

import compiler

KIB = 1024
SIZES = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536]
BEYOND = 4
# Kernels whose executions are too many to be recorded all are recorded in bursts.
SELECTION = "*:kernel@100x32"
SQL = ("CREATE TABLE t(id INTEGER PRIMARY KEY, zone INT, fare REAL, note TEXT);"
       "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < {size} * 16)"
       " INSERT INTO t SELECT x, x * 7919 % 260, x * 31 % 10007 / 100.0, 'trip ' || x * 104729 % 65537 FROM c;"
       "CREATE INDEX by_zone ON t(zone); SELECT zone, count(*), avg(fare) FROM t GROUP BY zone;"
       "SELECT count(*) FROM t WHERE note LIKE '%77%'; SELECT sum(fare) FROM (SELECT fare FROM t ORDER BY note LIMIT 1000);"
       "UPDATE t SET fare = fare + 1 WHERE zone < 50; DELETE FROM t WHERE zone > 200;")
compiler.PROGRAMS["sqlite"] = ("sqlite3-*", ["sqlite3.c", "shell.c"], ["-O2", "-I.", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"],
                               [":memory:", SQL])
compiler.PROGRAMS["memcached"] = ("memcached-*", [name + ".c" for name in (
    "memcached hash jenkins_hash murmur3_hash slabs items assoc thread daemon stats_prefix util cache bipbuffer base64 logger crawler"
    " itoa_ljust slab_automove authfile restart proto_text proto_bin extstore crc32c storage slab_automove_extstore").split()],
                                  ["-O2", "-I.", "-DHAVE_CONFIG_H", "-DNDEBUG"], [])
compiler.PROGRAMS["hpcc"] = ("hpcc-*", ["hpl/src/*/*.c", "hpl/testing/*/*.c", "RandomAccess/*.c", "STREAM/*.c", "PTRANS/*.c", "DGEMM/*.c",
                                        "FFT/*.c", "src/*.c"], ["-O3", "-Iinclude", "-Ihpl/include", "-DHPL_CALL_CBLAS"], [])
LIBRARIES = {"memcached": ["-levent"], "hpcc": ["-lblas"]}
# The commands of those that are no PROGRAM with arguments. SERVE: the load in the background, and then the server.
SERVE = 'python3 "$1" "$2" "$3" "$4" & exec "$0" -u "$(id -un)" -A -s "$2" -t 2 -m 1024'
COMMANDS = {"memcached": ["sh", "-c", SERVE, "PROGRAM", os.path.join(compiler.HERE, "memcached_load.py"), "SOCKET", "{size}", "{times}"],
            "hpcc": ["env", "-C", "FOLDER", "OPENBLAS_NUM_THREADS=1", "PROGRAM"]}


class Evaluation(compiler.Bench):
    def __init__(self, options):
        options.peer = ""
        super().__init__(options)
        self.lua = self.written("sized.lua", compiler.SCRIPT.replace("ROUNDS", "1").replace("200000", "SIZE * 100").replace("60000", "SIZE * 30")
                                .replace("SIZE", "tonumber(arg[1])").replace("fib(27)", "fib(15 + #arg[1])"))

    def command(self, name, program, size, times=1):
        words = {"INPUT": [self.path("input-%s" % size)], "SCRIPT": [self.lua, size], "PROGRAM": [program],
                 "SOCKET": [self.path("socket")], "FOLDER": [self.path("matrices-%s" % size)]}
        return [word.replace("{size}", size).replace("{times}", str(times))
                for argument in COMMANDS.get(name, ["PROGRAM", *compiler.PROGRAMS[name][3]]) for word in words.get(argument, [argument])]

    def inputs(self):
        for size in [*SIZES, BEYOND * SIZES[-1]]:
            self.written("input-%d" % size, (self.text_of_input * (1 + size * KIB // len(self.text_of_input)))[:size * KIB])
        if not self.sources("hpcc")[1]:
            return
        compiler.PROGRAMS["hpcc"][2].extend(self.package("--cflags", "mpich"))
        LIBRARIES["hpcc"].extend(self.package("--libs", "mpich"))
        with open(os.path.join(self.sources("hpcc")[0], "_hpccinf.txt"), encoding="utf-8") as file:
            text = re.sub(r"^\d+( +[PQ]s)$", r"1\1", file.read(), flags=re.M)
        for size in [*SIZES, BEYOND * SIZES[-1]]:
            os.makedirs(self.path("matrices-%d" % size), exist_ok=True)
            self.written("matrices-%d/hpccinf.txt" % size, re.sub(r"^\d+( +Ns)$", r"%d\1" % (size // 4), text, flags=re.M))

    def package(self, what, name):
        return subprocess.run(["pkg-config", what, name], check=True, text=True, stdout=subprocess.PIPE).stdout.split()

    def train(self, name, program, sizes, models):
        plan = self.written("plan.xml", '<space name="%s"><parameter name="size" type="integer" values="%s"/><run trials_per_config="%d"/>'
                            "</space>" % (name, " ".join(map(str, sizes)), self.options.runs))
        subprocess.run([self.spex, "train", models, "--runs", plan, "--probes", SELECTION, "--least", str(self.options.least), "--",
                        *self.command(name, program, "{size}")], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, SPEX_RING_RECORDS="65536"))
        return json.loads(subprocess.run([self.spex, "models", models, "--json", "--curves"], check=True, text=True,
                                         stdout=subprocess.PIPE).stdout)

    def holds(self, model, beyond):
        """Whether the prediction holds; None: there is none to ask for."""
        names = [parameter["name"] for parameter in model["parameters"]]
        highest = [parameter["high"] for parameter in model["parameters"]]
        if not beyond or not beyond["points"] or [parameter["name"] for parameter in beyond["parameters"]] != names:
            return None
        point = max(beyond["points"], key=lambda at: math.prod(max(value, 1) for value in at["values"]))
        if all(value <= high for value, high in zip(point["values"], highest)):
            return None
        places = ["p%d" % number for number in range(len(names))]
        table = [",".join([*places, "time"]), *(",".join("%r" % value for value in [*at["values"], at["seconds"]]) for at in model["points"])]
        asked = ",".join("%s=%r" % pair for pair in zip(places, point["values"]))
        fitted = subprocess.run([self.spex, "fit", self.written("table.csv", "\n".join(table) + "\n"), "--predict", asked, "--json"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        prediction = json.loads(fitted.stdout)["prediction"] if fitted.returncode == 0 else {"low": None}
        if None in (prediction["low"], prediction.get("high")):
            return None
        return prediction["low"] <= point["seconds"] <= prediction["high"]

    def cost(self, name):
        """CPU times as multiples of that without probes, and without spex."""
        plain, probes = (self.path(name + way) for way in ("-plain-off", "-kernels"))
        ways = {"plain": (plain, "", {}), "off": (probes, "", {}), "1/1000": (probes, "*@~1000", {}),
                "2 %": (probes, "*", {"SPEX_BUDGET": "2%"})}
        size, logs = str(BEYOND * SIZES[-1]), {way: [] for way in ways if way != "plain"}
        once = max(self.seconds_of(name, plain, size, "", {}, 1), 0.01)
        times = math.ceil(self.options.seconds / once) if "{times}" in COMMANDS.get(name, []) else 1
        for at in range(self.options.rounds):
            took = {way: self.seconds_of(name, program, size, on, more, times)
                    for way, (program, on, more) in sorted(ways.items(), reverse=at % 2)}
            for way, log in logs.items():
                log.append(math.log(took[way] / took["plain"]))
        return {way: compiler.interval(log) for way, log in logs.items()}

    def seconds_of(self, name, program, size, probes, more, times):
        command = self.command(name, program, size, times)
        return self.seconds(command[0], command[1:], probes, more)

    def evaluate(self, name):
        rules = "--spex-list=" + self.written("all.list", compiler.ALL)
        for way, command, linker in (("plain-off", self.clang, self.clang), ("kernels", [self.wrapper, rules], [self.wrapper])):
            _, objects = self.compile(name, command, way)
            subprocess.run([*linker, *objects, *LIBRARIES.get(name, []), "-lm", "-pthread", "-o", self.path(name + "-" + way)], check=True)
        program = self.path(name + "-kernels")
        trained = self.train(name, program, SIZES, self.path("models"))
        beyond = {model["path"]: model for model in self.train(name, program, [BEYOND * SIZES[-1]], self.path("models-beyond"))["models"]}
        held = [self.holds(model, beyond.get(model["path"])) for model in trained["models"]]
        return {"kernels": trained["kernels"], "classes": trained["classes"], "switching_points": trained["switching_points"],
                "predictions": len([one for one in held if one is not None]), "held": len([one for one in held if one]),
                "r2_median": statistics.median([model["adjusted_r2"] for model in trained["models"] if model["class"] != "unknown"] or [0]),
                "cost": self.cost(name)}


WAYS = ["off", "1/1000", "2 %"]


def table(programs):
    columns = ["constant", "logarithmic", "linear", "polynomial", "decreasing", "unknown"]
    print("| program | kernels |", " | ".join(columns), "| switching points | hold at %d times |" % BEYOND,
          " | ".join(WAYS), "|\n" + "| --- " * (10 + len(WAYS)) + "|")
    for name, found in programs.items():
        print("| %s | %d |" % (name, found["kernels"]), " | ".join(str(found["classes"][one]) for one in columns),
              "| %d | %d of %d |" % (found["switching_points"], found["held"], found["predictions"]),
              " | ".join("%.3f (%.3f to %.3f)" % tuple(found["cost"][way]) for way in WAYS), "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/compiler.md, as without it")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--runs", type=int, default=3, help="runs of each size (%(default)s)")
    parser.add_argument("--least", type=float, default=1e-6, help="leaves out kernels that take less on average (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1, help="the least CPU time of memcached without probes (%(default)s)")
    parser.add_argument("--only", help="of these programs, such as zlib,zstd")
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    bench, began, programs = Evaluation(options), time.time(), {}
    names = [name for name in (options.only.split(",") if options.only else compiler.PROGRAMS) if bench.sources(name)[1]]
    if not names:
        sys.exit("%s: sources of %s were expected" % (options.folder, options.only or ", ".join(compiler.PROGRAMS)))
    bench.inputs()
    for name in names:
        programs[name] = bench.evaluate(name)
    if options.json:
        print(json.dumps({"programs": programs, "seconds": time.time() - began}, indent=2))
    else:
        table(programs)


if __name__ == "__main__":
    main()
