# SPDX-License-Identifier: MIT
"""Figures of rounds, with 95 % intervals. Ratios are of one round's values to the other's of the same round, by the
bootstrap: a slow phase of the machine is in both."""

import math
import random
import statistics

# As bench/calm.c has them: a calm round's reference takes at most so many times the fastest; fewer rounds tell no median.
CALM = 1.1
CALM_LEAST = 9
RESAMPLES = 400


def median(values):
    """The ranks n/2 ± 0.98 √n hold the median with 95 % confidence, as in bench/bench.c."""
    ordered, count = sorted(values), len(values)
    half = 0.98 * math.sqrt(count)
    low, high = math.floor((count - 1) / 2 - half), math.ceil((count - 1) / 2 + half)
    return {"median": statistics.median(ordered), "ci95": [ordered[max(low, 0)], ordered[min(high, count - 1)]]}


def fastest(times):
    """The mean of the fastest quarter: what else the machine does takes time from a slice, and adds none to it."""
    ordered = sorted(times)
    return statistics.mean(ordered[:math.ceil(len(ordered) / 4)])


def calm(bursts):
    """The bursts, None where the round was not calm, and whether too few were so that all are taken."""
    fastest = min(burst["reference"] for burst in bursts)
    kept = [burst if burst["reference"] <= CALM * fastest and not burst["waited"] else None for burst in bursts]
    busy = sum(burst is not None for burst in kept) < min(CALM_LEAST, len(bursts))
    return (bursts if busy else kept), busy


def combined(columns, figure, centre=statistics.median, seed=1):
    """figure(centre of each column), and its interval. A column has a value for each round, or None."""
    chance, rounds = random.Random(seed), range(len(columns[0]))

    def of(chosen):
        kept = [[column[i] for i in chosen if column[i] is not None] for column in columns]
        return figure(*map(centre, kept)) if all(kept) else None

    made = sorted(value for value in (of([chance.choice(rounds) for _ in rounds]) for _ in range(RESAMPLES))
                  if value is not None)
    return {"value": of(rounds), "ci95": [made[int(0.025 * len(made))], made[math.ceil(0.975 * len(made)) - 1]]}


def at_most(what, estimate, limit):
    """Whether a figure is within its limit: yes or no where its whole interval is, else not known."""
    low, high = estimate["ci95"]
    return {"what": what, "figure": estimate["value"], "ci95": [low, high], "at_most": limit,
            "kept": True if high <= limit else False if low > limit else None}
