#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good is what policies find in a real program's space, and what does it take? All configurations are run several
times, in an order of chance: that is the recording. The default policy, with --all each, explores it with one seed after
another (bench/replayed). What they recommend and what looks best in the recording is then run again, in turns: that is the truth.

usage: explored.py [--json] [--seeds N] [--rounds N] [--repeats N] [--live N] [--all] [--precision 5%] [--duration S] SPEX REPLAYED SPACE.xml FOLDER -- PROGRAM [ARGUMENT...]

--live N explores with the default policy and N seeds, too, instead of replaying. With --precision brute force stops its
runs by it, which is compared with brute force that does not. Stores are kept in FOLDER; what is in them is not run again. With
--duration all runs end after so many seconds, warm-up included, instead of by their records.
Only the space's first objective counts.
"""

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys

DEFAULT = "gaussian"
POLICIES = "gaussian", "grid", "halving", "climb", "random", "sensitivity", "tpe"
EACH = 2  # brute force's trials of each configuration
CONTENDERS = 16  # configurations that look best in the recording; and those that are recommended


class Explorations:
    def __init__(self, arguments, program):
        self.spex = arguments.spex
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
            if value is not None:
                text = text.replace("<run", f'<run {name}="{value}"', 1)
        return text

    def run(self, name, policy, text):
        """The report of an exploration."""
        path = os.path.join(self.folder, name)
        with open(path + ".xml", "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([self.spex, "explore", path + ".xml", "--policy", policy, "--store", path + ".db", "--",
                        *self.program], check=True, stderr=subprocess.DEVNULL)
        report = subprocess.run([self.spex, "report", path + ".db", "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(report.stdout)


def key(config):
    return json.dumps(config, sort_keys=True)


def measured(report):
    """Seconds that all trials were measured for: what does not depend on how fast the program starts."""
    return sum(trial["seconds"] for trial in report["trials"])


def by_config(trials):
    found = {}
    for trial in trials:
        if trial["status"] == "ok":
            found.setdefault(key(trial["config"]), []).append(trial["objective"])
    return found


def only(explorations, config):
    """The space with this one configuration, run once."""
    text = explorations.with_run(trials_per_config=1)
    for name, value in json.loads(config).items():
        value = str(value).lower() if isinstance(value, bool) else value
        text = re.sub(rf'(<parameter name="{re.escape(name)}"[^>]*?)(?:\s+default="[^"]*")?(/?>)',
                      rf'\1 fixed="{value}"\2', text)
    return text


def run_in_turns(explorations, configs, repeats):
    """Trials of each, taking turns, so that a machine that drifts does so for all."""
    values = {config: [] for config in configs}
    for repeat in range(repeats):
        for config in configs:
            name = hashlib.sha256(config.encode()).hexdigest()[:16]
            report = explorations.run(f"contender-{name}-{repeat}", "grid", only(explorations, config))
            values[config] += by_config(report["trials"]).get(config, [])
    return values


class Truth:
    """What the contenders are worth: not by the trials that made them contenders, which were lucky."""

    def __init__(self, values, sign):
        self.means = {config: statistics.mean(of) for config, of in values.items()}
        self.best = min(self.means.values(), key=lambda value: sign * value)
        self.sign = sign
        self.error = statistics.median(statistics.stdev(of) / len(of) ** 0.5 / abs(self.means[config])
                                       for config, of in values.items())

    def behind(self, config):
        """How far from the best, as a share of it."""
        return self.sign * (self.means[key(config)] - self.best) / abs(self.best)


def line_of(name, choices, truth, brute_seconds):
    """What a policy's seeds come to."""
    behind = sorted(truth.behind(choice["config"]) for choice in choices)
    return {"policy": name, "seeds": len(choices), "good": sum(value <= 0.05 for value in behind),
            "behind": behind, "median_behind": statistics.median(behind),
            "time": statistics.mean(choice["seconds"] for choice in choices) / brute_seconds,
            "trials": statistics.mean(choice["trials"] for choice in choices),
            "told_again": statistics.mean(choice.get("again", 0) for choice in choices)}


def choice_of(report):
    return {"config": report["best"]["config"], "seconds": measured(report), "trials": len(report["trials"])}


def explore_all(explorations, arguments):
    """The recording's report, and by name what was recommended, seed by seed."""
    recorded = explorations.run("recording", "grid", explorations.with_run(trials_per_config=arguments.rounds))
    policies = POLICIES if arguments.all else (DEFAULT, "grid")
    replays = json.loads(subprocess.run(
        [arguments.replayed, "--json", "--rounds", str(arguments.seeds),
         os.path.join(arguments.folder, "recording.db"), str(EACH), *policies], check=True, stdout=subprocess.PIPE).stdout)
    choices = {}
    for replay in replays:
        choices.setdefault(replay["policy"], []).append(replay)
    for seed in range(1, arguments.live + 1):
        report = explorations.run(f"live-{seed}", DEFAULT, explorations.with_run(seed=seed))
        choices.setdefault(DEFAULT + ", live", []).append(choice_of(report))
    if arguments.precision:
        stopped = explorations.with_run(precision=arguments.precision)
        choices["grid, stopped"] = [choice_of(explorations.run("stopped", "grid", stopped))]
    return recorded, choices


def parse():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--live", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--precision")
    parser.add_argument("--duration")
    for name in "spex", "replayed", "space", "folder":
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
    recorded, choices = explore_all(explorations, arguments)
    sign = -1 if recorded["objective"]["goal"] == "maximise" else 1
    values = by_config(recorded["trials"])
    contenders = set(sorted(values, key=lambda config: sign * statistics.mean(values[config]))[:CONTENDERS])
    contenders |= {key(choice["config"]) for of in choices.values() for choice in of}
    truth = Truth(run_in_turns(explorations, sorted(contenders), max(arguments.repeats, 2)), sign)
    brute_seconds = statistics.mean(choice["seconds"] for choice in choices["grid"])
    result = {"bench": "explored", "space": recorded["space"], "configurations": len(values),
              "noise": statistics.median(statistics.stdev(of) / abs(statistics.mean(of))
                                         for of in values.values() if len(of) > 1),
              "brute_seconds": brute_seconds, "contenders": len(contenders), "truth_error": truth.error,
              "good_contenders": sum(truth.behind(json.loads(config)) <= 0.05 for config in contenders),
              "results": [line_of(name, of, truth, brute_seconds) for name, of in choices.items()]}
    if arguments.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return 0
    print(f"{result['space']}: {len(values)} configurations, whose trials vary by {result['noise']:.1%} (median); brute "
          f"force {brute_seconds:.0f} s. Of {len(contenders)} contenders, known to {truth.error:.1%} (one standard "
          f"error), {result['good_contenders']} are within 5 % of the best.")
    for line in result["results"]:
        print(f"{line['policy']:14} within 5 % {line['good']:2} of {line['seeds']:2}, behind {line['median_behind']:6.1%} "
              f"(median) {max(line['behind']):6.1%} (most), in {line['time']:6.1%} of the time, {line['trials']:.0f} trials, "
              f"{line['told_again']:.0f} told again")
    return 0


if __name__ == "__main__":
    sys.exit(main())
