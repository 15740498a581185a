/* SPDX-License-Identifier: MIT */
/* What looks at a probed probe have seen: sums, of which those of an interval are the differences, and the shares of
 * time that follow from them. A look counts the threads that are executing the probe.
 *
 *     share    of the time that any thread was executing it
 *     threads  that were, on average: seconds of all threads in it per second, as the times of its executions add up
 *
 * Margins are those of 95 %, of what the program does in the long run. */
#ifndef SPEX_STATS_OCCUPANCY_H
#define SPEX_STATS_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* Goes to commands as it is. With x, for a look: whether there was a thread; y: how many there were. */
struct spex_occupancy {
    uint64_t looks;
    uint64_t active;         /* sum of x, which is that of its squares */
    uint64_t threads;        /* of y */
    uint64_t thread_squares; /* of y y */
    uint64_t pairs;          /* of looks, one after the other */
    uint64_t active_pairs;   /* sum of the products of their x */
    uint64_t thread_pairs;   /* and of their y */
};

/* A look that saw so many threads; `before`: what the one before saw, negative where there is none. */
void spex_occupancy_add(struct spex_occupancy *activity, uint32_t threads, int64_t before);

/* Takes out what was in already at an earlier time; leaves nothing where that cannot have been. */
void spex_occupancy_subtract(struct spex_occupancy *activity, const struct spex_occupancy *before);

/* Whether looks can have come to this. */
bool spex_occupancy_valid(const struct spex_occupancy *activity);

/* 0 to 1; 0 where there were no looks. */
double spex_occupancy_share(const struct spex_occupancy *activity);
double spex_occupancy_threads(const struct spex_occupancy *activity);

/* Their margins; negative: there is no telling. */
double spex_occupancy_share_margin(const struct spex_occupancy *activity);
double spex_occupancy_threads_margin(const struct spex_occupancy *activity);

#endif
