/* SPDX-License-Identifier: MIT */
/* The time of an exploration: how many trials it has room for, and when finals begin. What it tells
 * follows from the times at which trials were told to the policy and nothing else; these are in the
 * store, so that an exploration that goes on tells its policy the same again. */
#ifndef SPEX_EXPLORE_TIME_LEFT_H
#define SPEX_EXPLORE_TIME_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing was told. */
struct spex_time_left {
    double passed; /* seconds of the exploration when the last trial was told */
    double limit;  /* all seconds that it has; 0: no limit */
    double each;   /* seconds from one trial to the next, of late; 0: not known */
    uint64_t told; /* trials */
};

/* A trial was told at this time, in an exploration of `limit` seconds. */
void spex_time_left_tell(struct spex_time_left *time, double passed, double limit);

/* About how many trials there will be in all, when `asked` have been planned; 0: not known. */
uint64_t spex_time_left_trials(const struct spex_time_left *time, uint64_t asked);

/* Whether all time but this share of it has passed. */
bool spex_time_left_finals(const struct spex_time_left *time, double share);

/* Whether no trial is to begin at this time: more than half of it would be after the end. */
bool spex_time_left_over(const struct spex_time_left *time, double passed, double limit);

#endif
