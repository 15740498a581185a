/* SPDX-License-Identifier: MIT */
/* The change of a figure from one configuration, or store, to another. */
#ifndef SPEX_EXPLORE_FINDINGS_CHANGE_H
#define SPEX_EXPLORE_FINDINGS_CHANGE_H

#include "explore/findings/accuracy.h"

/* A smaller change, relative to the value, rounds to none: x 1.000. */
#define SPEX_CHANGE_LEAST 5e-4

struct spex_change {
    bool ratio; /* the members below are of b / a; otherwise of b - a */
    double value;
    double low; /* 95 % interval; NaN when errors are not known */
    double high;
    bool known;       /* the interval is known */
    bool significant; /* the interval does not include "no change", nor a ratio that rounds to 1 */
    /* How much the change matters: the smallest change in the interval, of logarithms or relative
     * to the values; without an interval, the observed change. 0 when it is not significant. */
    double size;
};

/* From two means and their standard errors, which are known with so many degrees of freedom. */
struct spex_change spex_change_by(double a, double error_a, double b, double error_b,
                                  double freedom);

/* From the samples of two configurations. */
struct spex_change spex_change_of(const struct spex_accuracy *accuracy, const struct spex_sample *a,
                                  const struct spex_sample *b);

/* The mean change over `count` pairs of equal weight: `mean` and `squares` (sum of squared
 * distances) of differences, of logarithms if `ratio`. */
struct spex_change spex_change_of_pairs(double mean, double squares, size_t count, bool ratio);

#endif
