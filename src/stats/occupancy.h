/* SPDX-License-Identifier: MIT */
/* Occupancy of a polled probe, estimated by looks. A look counts the threads that are executing the
 * probe. The structure holds sums over looks, so that the difference of two structures describes
 * the interval between them.
 *
 *     share    part of the time in which at least one thread executed the probe, 0 to 1
 *     threads  mean number of threads that executed it: seconds of all threads in it per second
 *
 * Margins are half-widths of 95 % confidence intervals, for a program that continues as it does.
 * All functions are pure; callers lock. */
#ifndef SPEX_STATS_OCCUPANCY_H
#define SPEX_STATS_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

/* Part of the control socket's format (control_format.h): members may only be added at the end. Of
 * a look, y is the number of threads that it saw, and x is 1 where y is above 0, else 0. */
struct spex_occupancy {
    uint64_t looks;
    uint64_t active;         /* sum of x, equal to the sum of x² */
    uint64_t threads;        /* sum of y */
    uint64_t thread_squares; /* sum of y² */
    uint64_t pairs;          /* pairs of consecutive looks */
    uint64_t active_pairs;   /* sum over pairs of the product of their x */
    uint64_t thread_pairs;   /* sum over pairs of the product of their y */
};

/* Adds a look that saw `threads` threads. `before` is what the look right before it saw; negative
 * where the two do not form a pair. */
void spex_occupancy_add(struct spex_occupancy *activity, uint32_t threads, int64_t before);

/* Subtracts the sums of an earlier time. Leaves all zero where the result is not possible, since
 * the two structures then came from different programs. */
void spex_occupancy_subtract(struct spex_occupancy *activity, const struct spex_occupancy *before);

/* Whether these sums can result from looks. For structures that come from another process. */
bool spex_occupancy_valid(const struct spex_occupancy *activity);

/* The share and the mean number of threads; 0 where there were no looks. */
double spex_occupancy_share(const struct spex_occupancy *activity);
double spex_occupancy_threads(const struct spex_occupancy *activity);

/* The margins of the two; negative where there are too few independent looks to tell. */
double spex_occupancy_share_margin(const struct spex_occupancy *activity);
double spex_occupancy_threads_margin(const struct spex_occupancy *activity);

#endif
