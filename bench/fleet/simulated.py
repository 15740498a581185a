#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets the master's state machine lead 10,000 instances in virtual time (`spex fleet simulate`): the load goes up by half
and down again, each instance is exchanged and lost now and then by chance, with several seeds. Told is whether every run
converged, how soon changes of the load were answered, and what a second of it takes in real time.

usage: simulated.py [--json] [--instances N] [--probes N] [--seeds N] BUILD
"""

import argparse
import json
import resource
import sys
import time

import parts

SECONDS = 240
LOAD = "0:0.6,80:0.9,160:0.6"
CHURN, FAILURES = 1, 0.5  # an hour and instance


def simulate(fleet, policy, options, seed):
    begin = time.monotonic()
    told = json.loads(fleet.run_spex(
        "fleet", "simulate", policy, "--instances", options.instances, "--probes", options.probes, "--seconds", SECONDS,
        "--load", LOAD, "--churn", CHURN, "--failures", FAILURES, "--probe-cost", "0.1%", "--seed", seed, "--json").stdout)
    answered = [one["answered"] - one["broken"] for one in told["answers"] if one["broken"] is not None and
                one["answered"] is not None]
    unanswered = sum(one["broken"] is not None and one["answered"] is None for one in told["answers"])
    return {"seed": seed, "converged": told["converged"], "answered": answered, "unanswered": unanswered,
            "covered": told["end"]["covered"], "map": told["map"], "slow_seconds": told["slow_seconds"],
            "dear_seconds": told["dear_seconds"], "real_seconds": time.monotonic() - begin}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--instances", type=int, default=10000)
    parser.add_argument("--probes", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("build")
    options = parser.parse_args()
    fleet = parts.Parts(options.build)
    try:
        more = (f'<cost an_instance_hour="1" at_most="{1.2 * options.instances:g}"/>'
                f'<instances least="{options.instances // 2}"/>')
        policy = fleet.policy("many", '    <unit type="glob" name="*" modes="lat"/>', response="50ms", more=more)
        runs = [simulate(fleet, policy, options, seed) for seed in range(1, options.seeds + 1)]
    finally:
        fleet.close()
    result = {"bench": "fleet simulated", "instances": options.instances, "probes": options.probes, "seconds": SECONDS,
              "load": LOAD, "churn": CHURN, "failures": FAILURES, "runs": runs,
              "memory": 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for run in runs:
        print(f"seed {run['seed']}: converged after {run['converged']} s of {SECONDS}; answered within "
              f"{', '.join(f'{one:g}' for one in run['answered'])} s, {run['unanswered']} not; {run['covered']} of {run['map']} "
              f"probes; {run['slow_seconds']:g} s too slow; {run['real_seconds']:.1f} s")
    print(f"{result['memory'] / 1e6:.0f} MB at most")


if __name__ == "__main__":
    main()
