/* SPDX-License-Identifier: MIT */
/* Ranks configurations from a few trials of each: estimates each true mean, and the probability
 * that the configuration is the best. The method is empirical Bayes. It takes the true means for
 * samples of one distribution, and the variances for samples of another, and estimates both
 * distributions from all configurations. An estimate lies between the observed mean and the mean of
 * all, closer to the latter the less certain it is. So the best of many is not overestimated for
 * its luck. */
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
