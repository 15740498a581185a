/* SPDX-License-Identifier: MIT */
/* Where the time begins to follow another form: values of one parameter at which the points on both
 * sides are explained better by themselves. */
#ifndef SPEX_MODEL_FIT_CHANGES_H
#define SPEX_MODEL_FIT_CHANGES_H

#include "model/fit/part.h"

/* A form that misses the points by no more, relative to the time, is good enough. */
#define SPEX_ENOUGH 0.01

struct spex_changes {
    size_t count;
    /* Each is between two measured values, ascending; the 95 % interval. */
    struct {
        double before, from;
        double low, high;
    } at[SPEX_MODEL_CHANGES_MAX];
    /* By how much the score is better than without, less the price of the changes; not above 0:
     * there is no change. */
    double gain;
};

/* The best changes by this parameter. `best`, with its fit, is the best form of all points. 0 or
 * -ENOMEM. */
int spex_changes_find(const struct spex_problem *problem, size_t parameter,
                      const struct spex_hypothesis *best, const struct spex_least_squares *fit,
                      struct spex_changes *changes);

#endif
