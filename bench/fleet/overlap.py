# SPDX-License-Identifier: MIT
"""The overlap percentage of Arnold and Ryder, of profiles as the executions of each probe."""

import itertools
import math


def overlap(one, other):
    """As a share: of each probe the smaller of its shares of all executions, summed."""
    sums = sum(one.values()), sum(other.values())
    if not all(sums):
        return math.nan
    return sum(min(one.get(probe, 0) / sums[0], other.get(probe, 0) / sums[1]) for probe in {*one, *other})


def added(profiles):
    sums = {}
    for profile in profiles:
        for probe, count in profile.items():
            sums[probe] = sums.get(probe, 0) + count
    return sums


def overlaps_of_parts(profiles, size):
    """Of each selection of so many instances with all of them, in the same time."""
    whole = added(profiles)
    return [overlap(added(part), whole) for part in itertools.combinations(profiles, size)]
