#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how good the recommendations of policies are in the space of a real program, and what they cost.

The recording has several trials of every configuration, in random order. The default policy (with --all, each policy)
explores the recording with one seed after another (bench/replayed). Configurations that a policy asks for more often than
they were recorded are recorded again, until none is missing. The recommended configurations and those that look best
in the recording are then run for longer, in turns: these runs are taken for the truth.

usage: explored.py [--json] [--seeds N] [--rounds N] [--repeats N] [--all] [--precision 5%] [--duration S] [--truth S] BUILD SPACE.xml FOLDER -- PROGRAM [ARGUMENT...]

BUILD is the build folder of meson. --rounds: trials of each configuration. --repeats: runs of S seconds (--truth) for the
truth. With --precision brute force ends its runs by it, and is compared with brute force that does not. With --duration
all runs end after so many seconds, warm-up included, instead of by their records. Stores are kept in FOLDER; trials in
them are not run again. Only the first objective of the space counts.
"""

import argparse
import hashlib
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys

DEFAULT = "gaussian"
POLICIES = "gaussian", "grid", "halving", "climb", "random", "sensitivity", "tpe"
STOPPED = "grid, stopped"
EACH = 2  # trials of each configuration by brute force
CONTENDERS = 16  # configurations that look best in the recording, besides those recommended
MORE_EACH = 10  # trials of a configuration, at most, in one extension of the recording
MORE_MAX = 6  # extensions of the recording


class Explorations:
    def __init__(self, arguments, program):
        self.spex = os.path.join(arguments.build, "tools", "spex")
        self.replayed = os.path.join(arguments.build, "bench", "replayed")
        self.listed = os.path.join(arguments.build, "bench", "liblisted.so")
        self.folder = arguments.folder
        self.program = program
        with open(arguments.space, encoding="utf-8") as file:
            self.space = file.read()
        objectives = re.findall(r"<objective\b[^>]*/>", self.space)
        for objective in objectives[1:]:
            self.space = self.space.replace(objective, "")
        self.space = self.with_run(trials_per_config=EACH)
        if arguments.duration:
            self.space = self.with_run(duration=arguments.duration, records_per_thread=1000000)

    def with_run(self, **attributes):
        """The space with other attributes of its <run>."""
        text = self.space
        for name, value in attributes.items():
            text = re.sub(rf'(<run\b[^>]*?)\s+{name}="[^"]*"', r"\1", text)
            text = text.replace("<run", f'<run {name}="{value}"', 1)
        return text

    def store(self, name):
        return os.path.join(self.folder, name + ".db")

    def run(self, name, policy, text, **environment):
        """The report of an exploration."""
        path = os.path.join(self.folder, name)
        with open(path + ".xml", "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([self.spex, "explore", path + ".xml", "--policy", policy, "--store", self.store(name), "--",
                        *self.program], check=True, stderr=subprocess.DEVNULL, env=dict(os.environ, **environment))
        report = subprocess.run([self.spex, "report", self.store(name), "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(report.stdout)

    def run_list(self, kind, trials, text):
        """Runs the trials, each given by its levels, in this order. The name, by what is in the list, and the report."""
        lines = "".join(" ".join(map(str, levels)) + "\n" for levels in trials)
        name = f"{kind}-{hashlib.sha256(lines.encode()).hexdigest()[:12]}"
        path = os.path.join(self.folder, name + ".list")
        with open(path, "w", encoding="utf-8") as file:
            file.write(lines)
        return name, self.run(name, self.listed, text, BENCH_LIST=path)


def key(config):
    return json.dumps(config, sort_keys=True)


def measured(report):
    """Seconds for which all trials were measured, without the time to start the program."""
    return sum(trial["seconds"] for trial in report["trials"])


def by_config(trials):
    found = {}
    for trial in trials:
        if trial["status"] == "ok":
            found.setdefault(key(trial["config"]), []).append(trial["objective"])
    return found


class Truth:
    """What the contenders are worth: not by the trials that made them contenders, which were lucky, and with what chance
    has in the trials that are asked. A turn's mean is taken out of its trials, so that a machine that drifts does so for
    all; true differences are taken to be drawn from a normal distribution, as wide as the means are beyond their errors
    (empirical Bayes). Without that the luckiest of many that are alike would pass for the best, and all others for
    worse."""

    DRAWS = 4000

    def __init__(self, trials, count, sign):
        """Trials are (configuration, value), `count` a turn."""
        left = {}
        for begin in range(0, len(trials), count):
            turn = [(config, -sign * math.log(value)) for config, value in trials[begin:begin + count]]
            mean = statistics.mean(value for _, value in turn)
            for config, value in turn:
                left.setdefault(config, []).append(value - mean)
        means = {config: statistics.mean(of) for config, of in left.items()}
        variance = statistics.mean(statistics.variance(of) / len(of) for of in left.values())
        among = max(statistics.variance(means.values()) - variance, 0)
        share = among / (among + variance)
        self.error, self.spread = math.sqrt(variance), math.sqrt(among)
        chance, self.gaps = random.Random(1), {config: [] for config in means}
        for _ in range(self.DRAWS):
            draw = {config: chance.gauss(share * mean, math.sqrt(share * variance)) for config, mean in means.items()}
            best = max(draw.values())
            for config, value in draw.items():
                self.gaps[config].append(1 - math.exp(value - best))

    def behind(self, config):
        """The share by which it is expected to be worse than the best."""
        return statistics.mean(self.gaps[key(config)])

    def within(self, config, share):
        """The probability that it is worse by no more than this share."""
        return statistics.mean(gap <= share for gap in self.gaps[key(config)])


def line_of(name, choices, truth, brute_seconds):
    """The summary of the seeds of a policy."""
    behind = sorted(truth.behind(choice["config"]) for choice in choices)
    return {"policy": name, "seeds": len(choices),
            "within_5_percent": statistics.mean(truth.within(choice["config"], 0.05) for choice in choices),
            "behind": behind, "mean_behind": statistics.mean(behind),
            "time": statistics.mean(choice["seconds"] for choice in choices) / brute_seconds,
            "trials": statistics.mean(choice["trials"] for choice in choices),
            "told_again": statistics.mean(choice.get("again", 0) for choice in choices)}


def choice_of(report):
    return {"config": report["best"]["config"], "seconds": measured(report), "trials": len(report["trials"])}


def replay(explorations, arguments, stores):
    policies = POLICIES if arguments.all else (DEFAULT, "grid")
    replayed = subprocess.run([explorations.replayed, "--json", "--rounds", str(arguments.seeds), str(EACH),
                               ",".join(policies), *map(explorations.store, stores)], check=True,
                              stdout=subprocess.PIPE)
    return json.loads(replayed.stdout)


def record(explorations, arguments):
    """The report of the recording, and its replay once all trials asked for are recorded."""
    stores, chance = ["recording"], random.Random(1)
    recorded = explorations.run("recording", "grid", explorations.with_run(trials_per_config=arguments.rounds))
    for _ in range(MORE_MAX):
        replayed = replay(explorations, arguments, stores)
        if not replayed["wanted"]:
            break
        # Other seeds ask for trials, too. A seed that gets the same trials repeatedly asks for more than otherwise.
        trials = [wanted["levels"] for wanted in replayed["wanted"]
                  for _ in range(min(wanted["trials"] * 3 // 2 + 1, MORE_EACH))]
        chance.shuffle(trials)
        stores.append(explorations.run_list("more", trials, explorations.space)[0])
    else:
        replayed = replay(explorations, arguments, stores)
    return recorded, replayed


def find_truth(explorations, arguments, replayed, choices):
    """The best in the recording and the recommended ones, run in turns, so that a drift of the machine affects all."""
    levels = {key(one["config"]): one["levels"] for one in replayed["ranked"]}
    contenders = {key(one["config"]) for one in replayed["ranked"][:CONTENDERS]}
    contenders |= {key(one["config"]) for of in choices.values() for one in of}
    trials = [levels[config] for config in sorted(contenders)] * arguments.repeats
    report = explorations.run_list("truth", trials, explorations.with_run(duration=arguments.truth))[1]
    failed = [trial for trial in report["trials"] if trial["status"] != "ok"]
    if failed:
        sys.exit(f"{key(failed[0]['config'])}: {failed[0]['status']}")
    return Truth([(key(trial["config"]), trial["objective"]) for trial in report["trials"]], len(contenders),
                 -1 if report["objective"]["goal"] == "maximise" else 1)


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0].replace("%", "%%"))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=8)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--precision")
    parser.add_argument("--duration")
    parser.add_argument("--truth", default="4")
    for name in "build", "space", "folder":
        parser.add_argument(name)
    own = sys.argv[1:sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    arguments = parser.parse_args(own)
    if not sys.argv[len(own) + 2:]:
        parser.error('"-- PROGRAM" was expected')
    return arguments, sys.argv[len(own) + 2:]


def main():
    arguments, program = parse()
    os.makedirs(arguments.folder, exist_ok=True)
    explorations = Explorations(arguments, program)
    recorded, replayed = record(explorations, arguments)
    choices = {}
    for one in replayed["results"]:
        choices.setdefault(one["policy"], []).append(one)
    if arguments.precision:
        choices[STOPPED] = [choice_of(explorations.run(
            "stopped", "grid", explorations.with_run(precision=arguments.precision)))]
    truth = find_truth(explorations, arguments, replayed, choices)
    brute_seconds = statistics.mean(choice["seconds"] for choice in choices["grid"])
    values = by_config(recorded["trials"])
    result = {"bench": "explored", "space": recorded["space"], "configurations": len(values),
              "noise": statistics.median(statistics.stdev(of) / abs(statistics.mean(of))
                                         for of in values.values() if len(of) > 1),
              "brute_seconds": brute_seconds, "contenders": len(truth.gaps), "truth_error": truth.error,
              "truth_spread": truth.spread,
              "results": [line_of(name, of, truth, brute_seconds) for name, of in choices.items()]}
    if arguments.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return 0
    print(f"{result['space']}: {len(values)} configurations, whose trials vary by {result['noise']:.1%} (median); brute "
          f"force {brute_seconds:.0f} s. {len(truth.gaps)} contenders, which differ by {truth.spread:.1%} (one standard "
          f"deviation) and are each known to {truth.error:.1%}.")
    for line in result["results"]:
        print(f"{line['policy']:14} within 5 % of the best with probability {line['within_5_percent']:.2f}, expected "
              f"{line['mean_behind']:.1%} behind, worst seed {max(line['behind']):.1%}, in {line['time']:.1%} of the time, "
              f"{line['trials']:.0f} trials, {line['told_again']:.0f} told again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
