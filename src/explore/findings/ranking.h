/* SPDX-License-Identifier: MIT */
/* Which configuration is the best, with what probability, from a few trials of each. A
 * configuration's variance is drawn from a distribution that all configurations tell of, and true
 * means are drawn from a normal distribution (empirical Bayes). A mean is thus moved towards that
 * of all, the more the less certain it is, so that the best of many is not overestimated for its
 * luck. */
#ifndef SPEX_EXPLORE_FINDINGS_RANKING_H
#define SPEX_EXPLORE_FINDINGS_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The successful trials of a configuration. */
struct spex_ranking_input {
    uint64_t trials;
    double mean;
    double squares; /* sum of squared distances from the mean */
    /* Mean of the runs' own standard errors; NaN or 0: not known. */
    double error;
};

struct spex_ranking {
    double estimate; /* of the true mean; NaN without trials */
    double low;      /* 95 % interval */
    double high;
    double first; /* probability that it is the best */
    bool tied;    /* in the smallest set that holds the best with a probability of 95 % */
};

#define SPEX_RANKING_NONE SIZE_MAX

/* Fills in standings[] for each input; deterministic. *best is the one to recommend,
 * SPEX_RANKING_NONE without trials; it is always tied. 0 or -ENOMEM. */
int spex_ranking_of(const struct spex_ranking_input *inputs, size_t count, bool maximise,
                    struct spex_ranking *standings, size_t *best);

#endif
