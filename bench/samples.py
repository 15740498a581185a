#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the sampling of the kernels of a real program: SQLite and a small application of it (kernels_sqlite.c), all
of whose functions can be kernels by -finstrument-functions. Reports how many kernels are of each class, how many switching
points they need, and whether each has the samples that were asked for: sampled as often as its model says, and all
at one rate.

FOLDER has sqlite3.c and sqlite3.h of the sqlite3 to be measured ("apt-get source sqlite3", "./configure", "make
sqlite3.c"), and gets the files that are built. The functions are those that take --least seconds on average in a first run.

usage: samples.py [--json] [--least SECONDS] [--runs N] [--rounds N] [--samples N] BUILD FOLDER
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys

ROWS = (1000, 2000, 3000, 4000, 6000, 8000, 12000, 16000, 24000, 32000)
SAMPLED_ROWS, SAMPLED_ROUNDS = 16000, 20
PLAN = """<space name="sqlite">
  <parameter name="rows" type="integer" values="%s"/>
  <run trials_per_config="%d"/>
</space>
"""


class Bench:
    def __init__(self, options):
        self.options, self.folder = options, options.folder
        self.spex = os.path.join(options.build, "tools", "spex")
        self.app, self.models = self.path("kernels_sqlite"), self.path("models")

    def path(self, name):
        return os.path.abspath(os.path.join(self.folder, name))

    def run(self, *command, **options):
        return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, **options).stdout

    def build(self):
        """The functions of the application are not inlined, so that each query has a context of its own."""
        here = os.path.dirname(os.path.abspath(__file__))
        common = ["cc", "-O2", "-finstrument-functions", "-I", os.path.join(here, "..", "include"), "-I", self.folder, "-c"]
        self.run(*common, self.path("sqlite3.c"), "-o", self.path("sqlite3.o"))
        self.run(*common, "-fno-inline", os.path.join(here, "kernels_sqlite.c"), "-o", self.path("kernels_sqlite.o"))
        self.run("cc", "-rdynamic", "-o", self.app, self.path("kernels_sqlite.o"), self.path("sqlite3.o"),
                 os.path.join(self.options.build, "src", "libspex.a"), "-lm", "-lpthread", "-ldl")

    def functions(self):
        out = self.path("functions.json")
        self.run(self.spex, "run", "-e", "*:kernel@100x32", "--functions", "*", "--json", "-o", out, "--", self.app, 8000, 2)
        with open(out, encoding="utf-8") as file:
            probes = json.load(file)["processes"][0]["probes"]
        long = [probe["name"] for probe in probes for value in probe["values"]
                if value["mean"] and value["mean"] >= self.options.least]
        return sorted(set(long))

    def train(self, functions):
        plan = self.path("plan.xml")
        with open(plan, "w", encoding="utf-8") as file:
            file.write(PLAN % (" ".join(map(str, ROWS)), max(1, self.options.runs // len(ROWS))))
        self.run(self.spex, "train", self.models, "--runs", plan, "--functions", ",".join(functions), "--probes",
                 "*:kernel@100x32", "--least", self.options.least, "--", self.app, "{rows}", self.options.rounds)
        return json.loads(self.run(self.spex, "models", self.models, "--json", "-n", self.options.samples))

    def sample(self, functions):
        out = self.path("samples.json")
        self.run(self.spex, "sample", self.models, "-n", self.options.samples, "--functions", ",".join(functions), "--json",
                 "-o", out, "--", self.app, SAMPLED_ROWS, SAMPLED_ROUNDS)
        with open(out, encoding="utf-8") as file:
            return json.load(file)


def misses(samples, required):
    """The factor by which the samples miss the required number; 1: not at all. Without a sample: the required number."""
    return max(samples / required, required / max(samples, 1)) if samples else max(required, 1)


def figures(kernels, samples_of):
    missed = sorted(misses(samples_of(kernel), kernel["required"]) for kernel in kernels)
    return {"within_2": sum(factor <= 2 for factor in missed) / len(missed), "median_factor": statistics.median(missed),
            "factor_p90": missed[int(0.9 * (len(missed) - 1))],
            "beyond_10": sum(factor >= 10 for factor in missed) / len(missed)}


def best_rate(kernels, samples_at):
    """The one rate that suits most kernels, of rates a quarter of a power of two apart."""
    rates = [2 ** (exponent / 4) for exponent in range(-120, 121)]
    best = max(rates, key=lambda rate: figures(kernels, lambda kernel: samples_at(kernel, rate))["within_2"])
    return figures(kernels, lambda kernel: samples_at(kernel, best))


def measure(options):
    bench = Bench(options)
    bench.build()
    functions = bench.functions()
    models = bench.train(functions)
    account = bench.sample(functions)
    modelled = [kernel for kernel in account["kernels"] if kernel["class"] != "none"]
    of = lambda kernel: kernel["looks"] + kernel["records"]
    return {
        "functions": len(functions),
        "kernels": models["kernels"],
        "classes": models["classes"],
        "classed": 1 - models["classes"]["unknown"] / models["kernels"],
        "switching_points": models["switching_points"],
        "switching_share": models["switching_points"] / models["kernels"],
        "sampled_kernels": len(modelled),
        "all_contexts": len(account["kernels"]),
        "lost": account["lost"],
        "by_models": figures(modelled, of),
        "by_models_all_contexts": figures(account["kernels"], of),
        # The samples at one rate for all kernels, by their executions: one in so many executions, and looks at all times.
        "one_period": best_rate(modelled, lambda kernel, rate: math.floor(kernel["executions"] * rate)),
        "one_frequency": best_rate(modelled, lambda kernel, rate: math.floor(kernel["executions"] * kernel["mean_seconds"] *
                                                                           rate)),
    }


def show(result):
    print("%u functions are %u kernels in their contexts: %s; %.0f %% classed, %u switching points (%.1f %%)" % (
        result["functions"], result["kernels"], ", ".join("%s %u" % pair for pair in result["classes"].items()),
        100 * result["classed"], result["switching_points"], 100 * result["switching_share"]))
    print("\n%-42s  %10s  %14s  %12s  %12s" % ("samples", "within 2", "median factor", "90th perc.", "10 and more"))
    for name, text in (("by_models", "by models, %u kernels" % result["sampled_kernels"]),
                       ("by_models_all_contexts", "by models, all %u contexts" % result["all_contexts"]),
                       ("one_period", "one period, the best there is"),
                       ("one_frequency", "one frequency of looks, the best there is")):
        row = result[name]
        print("%-42s  %8.1f %%  %14.2f  %12.1f  %10.1f %%" % (text, 100 * row["within_2"], row["median_factor"],
                                                           row["factor_p90"], 100 * row["beyond_10"]))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.strip().splitlines()[-1].removeprefix("usage: "))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--least", type=float, default=1e-5)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--samples", type=float, default=10)
    parser.add_argument("build")
    parser.add_argument("folder")
    options = parser.parse_args()
    try:
        result = measure(options)
    except subprocess.CalledProcessError as error:
        sys.exit("%s: %s" % (" ".join(error.cmd[:3]), error.stderr.strip().splitlines()[-1] if error.stderr else error))
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)


if __name__ == "__main__":
    main()
