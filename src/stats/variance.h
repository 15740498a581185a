/* SPDX-License-Identifier: MIT */
/* Sampling variance: sums from which the variance of a mean, and of the share of values beyond any
 * limit, can be estimated at any time.
 *
 * A unit is recorded or left out as a whole: an execution, a burst of executions, or a stretch,
 * which is the records between two losses. A unit that is recorded with probability 1/w and stands
 * for w units has a sum of variance w (w - 1) (Horvitz and Thompson, for a Poisson sample). A unit
 * that is recorded with certainty has variance 0. A burst within a stretch adds to the variance of
 * both (two stages: Cochran, Sampling Techniques, 3rd ed., 10.3).
 *
 * Bursts and stretches are spread over a run, and each stands for the executions around it, as in
 * systematic sampling. Their variance is estimated from the differences between the means of
 * neighbours, so that a trend does not count as variance (successive differences: Wolter,
 * Introduction to Variance Estimation, 2nd ed., 8.2).
 *
 * The limit whose share is wanted is not known while records come in. So the units' weights are
 * kept by value, in SPEX_VARIANCE_WAYS copies, in each of which every unit has a random sign. The
 * square of such a sum over all values beyond a limit has the variance as its expectation (wild
 * bootstrap: R. Y. Liu, Annals of Statistics 16(4), 1988). */
#ifndef SPEX_STATS_VARIANCE_H
#define SPEX_STATS_VARIANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/histogram.h"
#include "stats/scale.h"

/* Copies of the sums, each with its own random signs. */
#define SPEX_VARIANCE_WAYS 16

/* Buckets of a row, where a bucket of the histogram holds several values: a row is a quarter of a
 * power of two. */
#define SPEX_VARIANCE_BUCKETS 16
#define SPEX_VARIANCE_ROWS                                                                         \
    (SPEX_HISTOGRAM_SUB + (SPEX_HISTOGRAM_BUCKETS - SPEX_HISTOGRAM_SUB) / SPEX_VARIANCE_BUCKETS)

/* Sums over units: W is a unit's sum of weights, D its sum of weighted distances from the origin, f
 * its `factor`. The first three sums are over units without a neighbour. */
struct spex_variance_sums {
    double distances;   /* f D² */
    double products;    /* f D W */
    double weights;     /* f W² */
    double weights_all; /* f W², units with a neighbour included */
    double squares;     /* (f W²)², units with a neighbour included */
    double local;       /* f W² d²/2 of units whose mean differs by d from their neighbour's */
    /* The same of blocks, which are the records of a tenth of a second, with f = 1; and their sum of W.
     * They tell how much stretches differ of which one had no records. */
    struct spex_block_sums {
        double distances, products, squares, weights;
    } blocks;
};

/* A unit to which records may still be added. */
struct spex_variance_unit {
    double distance;
    double weight;    /* 0: there is no unit */
    double factor;    /* f, such that f W² is the variance of its weight */
    double amplitude; /* √factor: what an execution of weight 1 adds to the rows */
    uint32_t signs;
    /* Of the unit before this one: its mean, as a distance from the origin, and its weight. */
    double former_mean;
    double former_weight;
};

/* What is written of each value comes last, where it is on one page with what values begin with. */
struct spex_variance {
    float rows[SPEX_VARIANCE_ROWS][SPEX_VARIANCE_WAYS];
    double origin;
    struct spex_variance_sums sums; /* of units that have ended */
    struct spex_variance_unit burst;
    struct spex_variance_unit stretch;
    struct spex_variance_block {
        uint64_t number; /* set by the caller */
        double distance, weight;
    } block;
    uint32_t number; /* of the stretch, set by the caller; 0: no stretch */
    uint32_t scale;  /* enum spex_value_scale: of the values' buckets, and so of the rows */
    uint64_t random; /* state of the generator of signs */
    /* A bit for each eight rows: a value was added to one of them. Rows that others have filled in
     * are only read. */
    uint64_t written;
};

/* Begins the stretch `number` (0: none), whose records each stand for `scale` records. Nothing
 * happens while the number stays the same. */
void spex_variance_stretch(struct spex_variance *spread, uint32_t number, double scale);

/* What is added from now on is of this block. */
void spex_variance_block(struct spex_variance *spread, uint64_t number);

/* Adds values to the block whose sum of weighted distances from the origin is this. */
static inline void spex_variance_in_block(struct spex_variance *spread, double distance,
                                          double weight) {
    spread->block.distance += distance;
    spread->block.weight += weight;
}

/* Adds, or with factor -1 subtracts, sums of blocks whose origin is greater by `by`. */
void spex_block_sums_add(struct spex_block_sums *to, const struct spex_block_sums *more, double by,
                         double factor);

/* Adds the value of a single execution, or of one in a burst. `first`: the burst begins with it. */
void spex_variance_single(struct spex_variance *spread, double value, uint32_t weight,
                          double scale);
void spex_variance_in_burst(struct spex_variance *spread, double value, uint32_t weight,
                            double scale, bool first);

/* The row that holds the values of one of another scale, which is no wider. */
unsigned spex_variance_row_from(unsigned scale, unsigned from, unsigned row);

/* Has the rows stand for the values of a scale that is no narrower. */
void spex_variance_widen(struct spex_variance *spread, unsigned scale);

/* Adds, or with factor -1 subtracts, the rows of other sums, whose scale is no wider. */
void spex_variance_rows_add(struct spex_variance *spread, const struct spex_variance *more,
                            float factor);

/* Copies to where all is 0. What values were never added to is not touched: most rows have no page
 * of memory. */
void spex_variance_copy(struct spex_variance *empty, const struct spex_variance *from);

/* The sums, with those of units that may still grow. */
struct spex_variance_sums spex_variance_sums(const struct spex_variance *spread);

/* Subtracts a copy of the same sums at an earlier time. */
void spex_variance_subtract(struct spex_variance *spread, const struct spex_variance *before);

/* Estimates the variance of A - share × T, where A is the weight of values in rows from `row` on, T
 * the weight of all, and `share` A / T. 0: not known. */
double spex_variance_above(const struct spex_variance *spread, unsigned row, double share);

/* The row of a histogram's bucket. */
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
