/* SPDX-License-Identifier: MIT */
/* A straight line through points, by least squares. */
#ifndef SPEX_BASE_LINE_H
#define SPEX_BASE_LINE_H

#include <math.h>

#include "base/rounding.h"

/* Sums over points (x, y), all zero without points. */
struct spex_line_sums {
    double count, x, y, xx, xy, yy;
};

struct spex_line {
    /* y = at_zero + slope x */
    double at_zero, slope;
    /* The standard deviation of the points' y from the line. */
    double deviation;
};

static inline void spex_line_add(struct spex_line_sums *sums, double x, double y) {
    sums->count++;
    sums->x += x;
    sums->y += y;
    sums->xx += x * x;
    sums->xy += x * y;
    sums->yy += y * y;
}

/* Adds the points of other sums; factor -1: takes them away. */
static inline void spex_line_add_sums(struct spex_line_sums *sums,
                                      const struct spex_line_sums *more, double factor) {
    sums->count += factor * more->count;
    sums->x += factor * more->x;
    sums->y += factor * more->y;
    sums->xx += factor * more->xx;
    sums->xy += factor * more->xy;
    sums->yy += factor * more->yy;
}

/* Returns the line through at least three points, of those with a slope of at most `steepest`.
 * Where x is the same in all, its slope is 0. */
static inline struct spex_line spex_line_fit(const struct spex_line_sums *sums, double steepest) {
    double n = sums->count;
    double xx = sums->xx - sums->x * sums->x / n, xy = sums->xy - sums->x * sums->y / n;
    double yy = sums->yy - sums->y * sums->y / n;
    xx = spex_settled(xx, sums->xx);
    double slope = xx > 0 ? fmin(xy / xx, steepest) : 0;
    struct spex_line line = {.slope = slope, .at_zero = (sums->y - slope * sums->x) / n};
    line.deviation = sqrt(fmax(yy - 2 * slope * xy + slope * slope * xx, 0) / (n - 2));
    return line;
}

#endif
