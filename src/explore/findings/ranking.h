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

#include "measure/summary.h"

/* The successful trials of a configuration. */
struct spex_ranking_input {
    uint64_t trials;
    double mean;
    double squares; /* sum of squared distances from the mean */
    /* Mean of the runs' own standard errors; NaN or 0: not known. */
    double error;
};

struct spex_ranking {
    /* Of the true mean, and cautious, so that one that was lucky once does not come before one that
     * is known well: SPEX_BELIEF_CAUTION deviations worse than expected (noise.h). Configurations
     * are ranked by it. NaN without trials. */
    double estimate;
    /* Half of the 95 % interval of the estimate alone: how many of its digits are known. */
    double margin;
    /* 95 % interval, which holds the estimate. It is wider than the margin says where the
     * configuration was chosen from several. */
    double low;
    double high;
    double first; /* probability that it is the best of those that have trials */
    /* In a set that holds the best of them with a probability of 95 %, whenever the exploration has
     * ended: in the smallest of the posterior, or not certainly worse than the recommended one. */
    bool tied;
    /* Repeated trials gave the same values: the estimate is as measured, and so are both ends of the
     * interval. */
    bool exact;
};

#define SPEX_RANKING_NONE SIZE_MAX

/* Fills in standings[] for each input; deterministic. *best is the one to recommend, that with the
 * best estimate; SPEX_RANKING_NONE without trials. It is always tied. 0 or -ENOMEM. */
int spex_ranking_of(const struct spex_ranking_input *inputs, size_t count, bool maximise,
                    struct spex_ranking *standings, size_t *best);

/* Fills in inputs[] for each group, by the first objective. A group competes if it has a result and
 * keeps the limits, or if none keeps them; the input of any other has no trials. Returns whether
 * some group keeps the limits. */
bool spex_ranking_inputs(const struct spex_summary *summary, struct spex_ranking_input *inputs);

/* Finds the best of the groups, as spex_ranking_of does, and only its estimate and margin. 0 or
 * -ENOMEM. */
int spex_ranking_best(const struct spex_summary *summary, struct spex_ranking *standing,
                      size_t *best);

#endif
