/* SPDX-License-Identifier: MIT */
/* Which of two things is greater, from pairs of their figures that are added one after another, with
 * looks at them in between. Arithmetic alone.
 *
 * Each pair has the logarithm of the ratio b / a. If both are the same and chance alone decides which
 * of a pair is measured how, it is distributed symmetrically around 0, whatever the noise: so the
 * signed-rank test is exact. Who looks again and again until a difference is seen finds one sooner or
 * later. So there are at most SPEX_PAIRS_LOOKS looks, after 10 pairs, 20, 40, and so on, and one more
 * where the time ends in between, each with an interval that misses with a chance of 5 % divided by
 * their number (Bonferroni): all intervals together hold with 95 %. */
#ifndef SPEX_HARNESS_PAIRS_H
#define SPEX_HARNESS_PAIRS_H

#include <stdbool.h>

#include "harness/ranks.h"

enum {
    SPEX_PAIRS_LOOKS = 10,
    SPEX_PAIRS_FIRST = 10,
    SPEX_PAIRS_MOST = SPEX_PAIRS_FIRST << (SPEX_PAIRS_LOOKS - 1)
};

/* Two that differ by less are as good as the same. */
#define SPEX_PAIRS_INDIFFERENT 0.01

enum spex_pairs_outcome {
    /* The interval has 1 and more than what is indifferent. */
    SPEX_PAIRS_UNKNOWN,
    /* It has not 1. */
    SPEX_PAIRS_DIFFER,
    /* It lies within what is indifferent. */
    SPEX_PAIRS_SAME
};

/* All zero at first. */
struct spex_pairs {
    double *logs;
    size_t count, room;
    /* As of the last look: the logarithm of the ratio, and how many pairs there were. */
    struct spex_estimate log_ratio;
    size_t looked;
    enum spex_pairs_outcome outcome;
    /* No more pairs are needed: they are the same, or differ by a ratio that is known to a third of
     * its logarithm; or there are as many as are looked at. */
    bool over;
};

/* Adds the logarithm of a ratio, and looks where it is time to. 0 or -ENOMEM. */
int spex_pairs_add(struct spex_pairs *pairs, double log_ratio);

/* The last look, at pairs that have come since the one before. 0 or -ENOMEM. */
int spex_pairs_end(struct spex_pairs *pairs);

void spex_pairs_free(struct spex_pairs *pairs);

#endif
