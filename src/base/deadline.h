/* SPDX-License-Identifier: MIT */
/* Deadlines: moments at which waiting ends. */
#ifndef SPEX_BASE_DEADLINE_H
#define SPEX_BASE_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct spex_deadline {
    int64_t monotonic_ns;
};

/* Returns the deadline that many seconds from now. */
struct spex_deadline spex_deadline_in(double seconds);

/* Returns the milliseconds until the deadline, rounded up, as a timeout for poll(); 0 when the
 * deadline has passed. */
int spex_deadline_left_ms(struct spex_deadline deadline);

/* Returns the share of the next of `parts` that follow one another until the deadline, at least
 * 1 ms. What a part leaves, the ones behind it share. */
int spex_deadline_share_ms(struct spex_deadline deadline, long parts);

/* The patience of a loop that sleeps between looks at something. It ends by the clock, and by the
 * number of sleeps, because a clock may stand still. */
struct spex_patience {
    int64_t until_ns;
    uint64_t sleeps;
};

/* For so many nanoseconds. */
struct spex_patience spex_patience_for(uint64_t ns);

/* Sleeps for a moment, some 0.1 ms. False, without a sleep: it is over. */
bool spex_patience_left(struct spex_patience *patience);

#endif
