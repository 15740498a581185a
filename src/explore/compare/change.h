/* SPDX-License-Identifier: MIT */
/* What became of a figure from one configuration, or store, to another. */
#ifndef SPEX_EXPLORE_COMPARE_CHANGE_H
#define SPEX_EXPLORE_COMPARE_CHANGE_H

#include "explore/findings/accuracy.h"

struct spex_change {
    bool ratio; /* what follows is b / a; else b - a */
    double value;
    double low; /* 95 % interval; NaN when nothing is known of errors */
    double high;
    bool known;       /* there is an interval */
    bool significant; /* no change lies outside of it */
    /* The least that the interval allows, of logarithms or as a share: how much it matters; without
     * an interval, what was seen. */
    double size;
};

/* From means and their standard errors, which so many degrees of freedom tell of. */
struct spex_change spex_change_by(double a, double error_a, double b, double error_b,
                                  double freedom);

struct spex_change spex_change_of(const struct spex_accuracy *accuracy, const struct spex_sample *a,
                                  const struct spex_sample *b);

/* Over pairs, each weighing the same: of logarithms when `ratio`, else of differences. */
struct spex_change spex_change_of_pairs(double mean, double squares, size_t count, bool ratio);

#endif
