#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How good is what a policy finds in a real program's space, and what does it take? All configurations are run first, the
best of them again and again: that is the truth. Then the policy explores with one seed after another.

usage: explored.py [--json] [--policy NAME] [--seeds N] [--repeats N] [--precision 5%] SPEX SPACE.xml FOLDER -- PROGRAM [ARGUMENT...]

With --precision brute force stops its runs by it, which is compared, too. Stores are kept in FOLDER; what is in them is
not run again.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

CONTENDERS = 40  # configurations whose truth is measured better


class Explorations:
    def __init__(self, arguments, program):
        self.spex = arguments.spex
        self.folder = arguments.folder
        self.program = program
        with open(arguments.space, encoding="utf-8") as file:
            self.space = file.read()

    def with_run(self, **attributes):
        """The space with other attributes of its <run>."""
        text = self.space
        for name, value in attributes.items():
            text = re.sub(rf'(<run\b[^>]*?)\s+{name}="[^"]*"', r"\1", text)
            if value is not None:
                text = text.replace("<run", f'<run {name}="{value}"', 1)
        return text

    def run(self, name, policy, text):
        """The report of an exploration, and the seconds that it took (0: it had been done)."""
        path = os.path.join(self.folder, name)
        with open(path + ".xml", "w", encoding="utf-8") as file:
            file.write(text)
        begin = time.monotonic()
        subprocess.run([self.spex, "explore", path + ".xml", "--policy", policy, "--store", path + ".db", "--",
                        *self.program], check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        report = subprocess.run([self.spex, "report", path + ".db", "--json"], check=True, stdout=subprocess.PIPE)
        return json.loads(report.stdout), seconds


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


def truth(explorations, repeats):
    """Mean of each configuration; of the contenders over trials that take turns, so that a machine that drifts does so
    for all. Not with the trials that made them contenders: these were lucky."""
    brute, _ = explorations.run("brute", "grid", explorations.space)
    sign = -1 if brute["objective"]["goal"] == "maximise" else 1
    values = by_config(brute["trials"])
    best = sorted(values, key=lambda config: sign * statistics.mean(values[config]))[:CONTENDERS]
    again = {config: [] for config in best}
    for repeat in range(repeats):
        for number, config in enumerate(best):
            report, _ = explorations.run(f"contender-{number}-{repeat}", "grid", only(explorations, config))
            again[config] += by_config(report["trials"]).get(config, [])
    values.update(again)
    means = {config: statistics.mean(of) for config, of in values.items()}
    errors = [statistics.stdev(of) / len(of) ** 0.5 / abs(means[config]) for config, of in again.items()
              if len(of) > 1]
    return brute, sign, means, statistics.median(errors)


def judge(report, sign, means):
    """How far what is called the best is from the best, as a share of it."""
    best = min(means.values(), key=lambda value: sign * value)
    found = means[key(report["best"]["config"])]
    return sign * (found - best) / abs(best)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--policy", default="gaussian")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=16)
    parser.add_argument("--precision")
    parser.add_argument("spex")
    parser.add_argument("space")
    parser.add_argument("folder")
    own = sys.argv[1:sys.argv.index("--")] if "--" in sys.argv else sys.argv[1:]
    arguments = parser.parse_args(own)
    program = sys.argv[len(own) + 2:]
    if not program:
        parser.error('"-- PROGRAM" was expected')
    os.makedirs(arguments.folder, exist_ok=True)
    explorations = Explorations(arguments, program)
    brute, sign, means, error = truth(explorations, max(arguments.repeats, 2))
    result = {"bench": "explored", "space": brute["space"], "policy": arguments.policy,
              "configurations": len(means), "brute_seconds": measured(brute),
              "truth_error": error, "brute_trials": len(brute["trials"]), "brute_behind": judge(brute, sign, means),
              "within_5_percent": sum(sign * (value - min(means.values(), key=lambda v: sign * v))
                                      <= 0.05 * abs(min(means.values(), key=lambda v: sign * v))
                                      for value in means.values()),
              "seeds": []}
    if arguments.precision:
        stopped, _ = explorations.run("stopped", "grid", explorations.with_run(precision=arguments.precision))
        result["stopped"] = {"precision": arguments.precision, "behind": judge(stopped, sign, means),
                             "time": measured(stopped) / measured(brute)}
    for seed in range(1, arguments.seeds + 1):
        report, _ = explorations.run(f"{arguments.policy}-{seed}", arguments.policy,
                                     explorations.with_run(seed=seed))
        result["seeds"].append({"seed": seed, "behind": judge(report, sign, means),
                                "time": measured(report) / measured(brute), "trials": len(report["trials"])})
    good = sum(seed["behind"] <= 0.05 for seed in result["seeds"])
    result["good"] = good
    if arguments.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return 0
    print(f"{result['space']}: {len(means)} configurations, {result['within_5_percent']} within 5 % of the best (whose "
          f"figures are known to {error:.1%}, one standard error); brute force {result['brute_seconds']:.0f} s, its best {result['brute_behind']:.1%} behind")
    if "stopped" in result:
        print(f"stopped at {arguments.precision}: {result['stopped']['time']:.0%} of the time, "
              f"{result['stopped']['behind']:.1%} behind")
    for seed in result["seeds"]:
        print(f"seed {seed['seed']:3}: {seed['behind']:6.1%} behind in {seed['time']:.1%} of the time, "
              f"{seed['trials']} trials")
    print(f"{good} of {arguments.seeds} within 5 %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
