/* SPDX-License-Identifier: MIT */
#include "profile/held.h"

#include <math.h>
#include <stdbool.h>

static double off_seconds(const struct spex_profile_probe *probe) {
    return probe->held_seconds + probe->polled_seconds;
}

static double most(const struct spex_profile_probe *probe) {
    return probe->held_count + probe->uncounted;
}

/* Whether slices tell more than a bound. */
static bool is_told(const struct spex_profile_probe *probe) {
    return probe->uncounted <= probe->held_count;
}

/* An estimate with a larger margin is none, and no bound. */
static void set(struct spex_profile_probe *probe, double count, double uncounted) {
    bool none = uncounted > count;
    probe->held_count = none ? 0 : count;
    probe->uncounted = none ? count + uncounted : uncounted;
}

/* An estimate is a sum over hold-offs, so that the difference is that of those since then; what
 * slices have never met, as they may not have, is the same for few hold-offs and for many. Bounds
 * are as the time. Where only the later profile tells, it may be of any time what it has told. */
void spex_held_since(struct spex_profile_probe *probe, const struct spex_profile_probe *before) {
    double off = off_seconds(probe), since = off - off_seconds(before);
    double share = off > 0 ? fmin(fmax(since / off, 0), 1) : 1;
    double squares = pow(probe->uncounted, 2) - pow(before->uncounted, 2);
    if (!is_told(probe) || share <= 0)
        set(probe, 0, share * most(probe));
    else if (is_told(before))
        set(probe, fmax(probe->held_count - before->held_count, 0),
            fmax(sqrt(fmax(squares, 0)), sqrt(share) * probe->uncounted));
    else if (most(before) < probe->held_count)
        set(probe, probe->held_count - before->held_count, probe->uncounted + before->uncounted);
    else
        set(probe, 0, most(probe));
}

/* A bound that one of the two has may hold for the moment no longer, or not yet. */
void spex_held_between(struct spex_profile_probe *probe, const struct spex_profile_probe *first,
                       double part) {
    bool none = off_seconds(first) <= 0, told = is_told(probe);
    double bound = most(probe), bound_first = most(first);
    if (!none && told != is_told(first))
        set(probe, 0, fmax(bound, bound_first));
    else if (!told)
        set(probe, 0, bound_first + part * (bound - bound_first));
    else
        set(probe, first->held_count + part * (probe->held_count - first->held_count),
            fmax(sqrt(part) * probe->uncounted, first->uncounted));
}

/* The least that slices tell of it. */
static double least(const struct spex_profile_probe *probe) {
    return spex_profile_held_is_bound(probe) ? probe->held_count
                                             : fmax(probe->held_count - probe->uncounted, 0);
}

void spex_held_add(struct spex_profile_probe *sum, const struct spex_profile_probe *more) {
    double above = most(sum) + most(more), below = least(sum) + least(more);
    double held = sum->held_count + more->held_count;
    bool bound = above - held > sum->count + more->count + held;
    sum->held_count = bound ? below : held;
    sum->uncounted = above - sum->held_count;
}
