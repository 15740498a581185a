# SPDX-License-Identifier: MIT
"""Bursts of all peers in random order, round by round, and what they tell."""

import random
import statistics

import estimates
from cases import CASES, RECORDED, Missing, Started

# Pairs in a burst that fits into the memory that spex and LTTng-UST have by default. A nap of so many ms after it lets those
# who carry the records do so.
CARRIED_PAIRS, NAP_MS = 16000, 250
# A loop with nothing in it differs by so much from another; less is no cost.
RESOLVED_TICKS = 0.05


def start_all(place):
    """The programs, and by name why others are missing."""
    started, missing = [], {}
    for case in CASES:
        try:
            started.append(Started(case, place))
        except Missing as why:
            missing[case.name] = str(why)
    return started, missing


def bursts_of(started, rounds, chance):
    """By name, each round's burst. The first burst of each is left out: it writes to fresh memory."""
    found = {one.case.name: [] for one in started}
    for number in range(-1, rounds):
        for one in chance.sample(started, len(started)):
            burst = one.burst(one.case.pairs)
            if number >= 0:
                found[one.case.name].append(burst)
    return found


def carried_of(started, rounds, chance):
    """By name, ns of all processors for a pair in each round: of the program's thread and of who carries the records."""
    recorders = [one for one in started if one.case.state == "on" and one.case.work[4] != "nobody"]
    found = {one.case.name: [] for one in recorders}
    for _ in range(rounds):
        for one in chance.sample(recorders, len(recorders)):
            # A burst of a slow peer is as long as the others'.
            burst = one.burst(CARRIED_PAIRS * one.case.pairs // RECORDED, NAP_MS)
            found[one.case.name].append(burst["all_ns"])
    return found


def row_of(one, columns, busy, carried):
    ticks = [value for value in columns[one.case.name] if value is not None]
    row = {"name": one.case.name, "state": one.case.state, "work": one.case.work, **estimates.median(ticks),
           "calm": len(ticks), "busy": busy[one.case.name]}
    if one.case.name in carried:
        total = estimates.combined([carried[one.case.name]], lambda ns: ns, statistics.mean)
        row["all_ns"] = {"value": total["value"], "ci95": total["ci95"]}
    return row


def ratio(columns, one, other, centre=statistics.median):
    """How many times one is as dear as the other; None: one of both is missing."""
    if one not in columns or other not in columns:
        return None
    return estimates.combined([columns[one], columns[other]], lambda a, b: a / b, centre)


def limits_of(columns, carried, rows):
    """What spex is to be next to its peers, as far as these are there."""
    found, lat = [], "spex LAT"
    wanted = [(columns, "LTTng-UST, two events", 1 / 9, statistics.median, "on the thread"),
              (carried, "LTTng-UST, two events", 1 / 9, statistics.mean, "of all CPU time"),
              (columns, "DPDK trace, two events", 1, statistics.median, "on the thread")]
    for values, peer, limit, centre, where in wanted:
        share = ratio(values, lat, peer, centre)
        if share:
            found.append(estimates.at_most(f"a LAT pair, recorded and drained, to {peer}, {where}", share, limit))
    off = [row for row in rows if row["state"] == "off" and not row["name"].startswith("spex")]
    if off:
        cheapest = min(off, key=lambda row: row["median"])["name"]
        # What is below nothing is how loops differ.
        more = estimates.combined([columns["spex LAT, off"], columns[cheapest]], lambda a, b: a - max(b, 0))
        found.append(estimates.at_most(f"ticks of a LAT pair that is off, beyond the cheapest peer's ({cheapest})", more,
                                       RESOLVED_TICKS))
    return found


def measure(place, rounds, carried_rounds, seed):
    chance = random.Random(seed)
    started, missing = start_all(place)
    if not started:
        raise SystemExit("run: no program of a peer was built: meson compile -C BUILD peers")
    bursts = bursts_of(started, rounds, chance)
    carried = carried_of(started, carried_rounds, chance)
    columns, busy = {}, {}
    for name, values in bursts.items():
        kept, busy[name] = estimates.calm(values)
        columns[name] = [burst and burst["ticks"] for burst in kept]
    rows = [row_of(one, columns, busy, carried) for one in started]
    for row in rows:
        row["to_lat"] = ratio(columns, row["name"], "spex LAT")
    for one, row in zip(started, rows):
        row["lost"] = one.end()
    tick = statistics.median(burst["tick_ns"] for values in bursts.values() for burst in values)
    return {"rounds": rounds, "carried_rounds": carried_rounds, "tick_ns": tick, "rows": rows, "missing": missing,
            "limits": limits_of(columns, carried, rows)}
