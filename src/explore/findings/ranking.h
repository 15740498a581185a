/* SPDX-License-Identifier: MIT */
/* How sure it is which configuration is best, from a few trials of each. Trials of a configuration
 * vary by a variance of its own that is drawn from a distribution which all of them tell of, and
 * true means are drawn from a normal distribution: so a mean is moved towards that of all, the more
 * the less is known of it, and the best of many is not taken for as good as its luckiest trials. */
#ifndef SPEX_EXPLORE_FINDINGS_RANKING_H
#define SPEX_EXPLORE_FINDINGS_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a configuration: its successful trials' values. */
struct spex_ranking_input {
    uint64_t trials;
    double mean;
    double squares; /* sum of squared distances from the mean */
    /* Mean of the standard errors that the runs themselves gave; NaN or 0: not known. */
    double error;
};

struct spex_ranking {
    double estimate; /* of the true mean: NaN without trials */
    double low;      /* 95 % interval of it */
    double high;
    double first; /* probability that it is the best */
    bool tied;    /* one of those of which the best is one with a probability of 95 % */
};

#define SPEX_RANKING_NONE SIZE_MAX

/* The same for the same input. *best is the one to recommend, SPEX_RANKING_NONE without trials; it
 * is always among the tied. 0 or -ENOMEM. */
int spex_ranking_of(const struct spex_ranking_input *inputs, size_t count, bool maximise,
                    struct spex_ranking *standings, size_t *best);

#endif
