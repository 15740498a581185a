/* SPDX-License-Identifier: MIT */
/* How far what sampled records say may lie from the truth by chance: sums from which the variance of a mean, and of
 * the share of values beyond any limit, can be estimated at any time.
 *
 * A unit is what is recorded or not as a whole: an execution, a burst of them, or the stretch of records that is left
 * where others were lost before it. A unit that is there with probability 1/w and stands for w has the variance
 * w (w - 1) of its sum (Horvitz and Thompson, for a Poisson sample); what is recorded for sure has none. A burst
 * within a stretch adds to both (two stages: Cochran, Sampling Techniques, 3rd ed., 10.3).
 *
 * Bursts and stretches come all along a run, each for what lies around it, as in systematic sampling: how far a mean is
 * off is told by its distance from the one before, so that a trend does not count (successive differences: Wolter,
 * Introduction to Variance Estimation, 2nd ed., 8.2).
 *
 * The share beyond a limit is not known before its end. So the units' weights are kept by value, several times over,
 * each time with a sign that chance gives the unit: the square of such a sum over all values beyond a limit has the
 * variance as its mean (a bootstrap by multipliers: R. Y. Liu, Annals of Statistics 16(4), 1988). */
#ifndef SPEX_STATS_VARIANCE_H
#define SPEX_STATS_VARIANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/histogram.h"

#define SPEX_VARIANCE_WAYS 16

/* A quarter of a power of two each, where the histogram has one bucket for several values. */
#define SPEX_VARIANCE_BUCKETS 16
#define SPEX_VARIANCE_ROWS                                                                         \
    (SPEX_HISTOGRAM_SUB + (SPEX_HISTOGRAM_BUCKETS - SPEX_HISTOGRAM_SUB) / SPEX_VARIANCE_BUCKETS)

/* Over single executions, and what has no neighbour, with the sum of the weights W of each, of weighted distances D from the origin, and a factor f. */
struct spex_variance_sums {
    double distances;   /* f D² */
    double products;    /* f D W */
    double weights;     /* f W² */
    double weights_all; /* of neighbours too */
    double squares;     /* (f W²)² of all */
    double local;       /* f W² d²/2 of neighbours, whose means differ by d */
};

/* A unit that may go on. */
struct spex_variance_unit {
    double distance;
    double weight; /* 0: there is none */
    double factor;
    double amplitude; /* of an execution of weight 1, in the rows */
    uint32_t signs;
    double former_mean; /* from the origin, of the unit before */
    double former_weight;
};

struct spex_variance {
    double origin;
    struct spex_variance_sums sums; /* of units that have ended */
    struct spex_variance_unit burst;
    struct spex_variance_unit stretch;
    uint32_t number; /* of the stretch, as the caller says; 0: none */
    uint64_t random; /* a counter, from which signs are made */
    float rows[SPEX_VARIANCE_ROWS][SPEX_VARIANCE_WAYS];
};

/* Records from here on are of this stretch (0: of none), each of whose records stands for `scale` of them. */
void spex_variance_stretch(struct spex_variance *spread, uint32_t number, double scale);

/* A record; of a burst: whether it is the first. */
void spex_variance_single(struct spex_variance *spread, uint64_t value, uint32_t weight,
                          double scale);
void spex_variance_in_burst(struct spex_variance *spread, uint64_t value, uint32_t weight,
                            double scale, bool first);

/* With the units that go on. */
struct spex_variance_sums spex_variance_sums(const struct spex_variance *spread);

void spex_variance_subtract(struct spex_variance *spread, const struct spex_variance *before);

/* The variance of the weight beyond the limit of a share, times that of all: of what has values in rows from `row` on,
 * which are the share `share` of all. 0: it is not known. */
double spex_variance_above(const struct spex_variance *spread, unsigned row, double share);

static inline unsigned spex_variance_row(unsigned bucket) {
    return bucket < SPEX_HISTOGRAM_SUB
               ? bucket
               : SPEX_HISTOGRAM_SUB + (bucket - SPEX_HISTOGRAM_SUB) / SPEX_VARIANCE_BUCKETS;
}

/* The first bucket of a row. */
static inline unsigned spex_variance_bucket(unsigned row) {
    return row < SPEX_HISTOGRAM_SUB
               ? row
               : SPEX_HISTOGRAM_SUB + (row - SPEX_HISTOGRAM_SUB) * SPEX_VARIANCE_BUCKETS;
}

#endif
