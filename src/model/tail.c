/* SPDX-License-Identifier: MIT */
/* Keeps the greatest numbers sorted; an insertion takes time in proportion to their count, but few
 * numbers are that great. The level is computed from them when it is asked for and enough has
 * changed. */
#include "model/tail.h"

#include <math.h>
#include <string.h>

#include "base/splitmix.h"

/* Peaks that the distribution is fitted to: a twentieth of the numbers, and at least so many. */
enum { FITTED_LEAST = 24 };
#define FITTED_SHARE 0.05

/* Prior of the shape: its value, and the number of peaks that it weighs as much as. Logarithms
 * of times have tails of about this shape, or lighter ones. */
#define SHAPE_BEFORE 0.1
#define SHAPE_WEIGHT 20.0

/* Standard errors that are added to the shape. A level that is too low costs more (false alarms)
 * than one that is too high (a missed outlier). */
#define DOUBT 0.5

/* Numbers that are remembered: MEMORY over the probability of the level, within the two limits. */
#define MEMORY       20.0
#define MEMORY_LEAST 1e4
#define MEMORY_MOST  1e8

/* The level is computed again when the count of numbers has grown by this factor. */
#define FRESH 1.02

void spex_tail_init(struct spex_tail *tail, double probability) {
    *tail = (struct spex_tail){
        .above = -INFINITY,
        .memory = fmin(fmax(MEMORY / probability, MEMORY_LEAST), MEMORY_MOST),
        .random = 1,
    };
}

/* Forgets a random half of the numbers, so that old ones lose weight exponentially. */
static void tail_forget_half(struct spex_tail *tail) {
    uint32_t kept = 0;
    for (uint32_t p = 0; p < tail->count; p++)
        if (spex_splitmix_next(&tail->random) & 1)
            tail->peaks[kept++] = tail->peaks[p];
    tail->count = kept;
    tail->seen /= 2;
    tail->worked = 0;
}

/* Inserts a number in descending order. Where there is no room the least peak goes, and `above`
 * becomes its value. */
static void tail_insert(struct spex_tail *tail, float value) {
    if (tail->count == SPEX_TAIL_PEAKS)
        tail->above = tail->peaks[--tail->count];
    uint32_t at = tail->count++;
    for (; at > 0 && tail->peaks[at - 1] < value; at--)
        tail->peaks[at] = tail->peaks[at - 1];
    tail->peaks[at] = value;
    tail->worked = 0;
}

void spex_tail_add(struct spex_tail *tail, double value) {
    tail->seen++;
    if (value > tail->above)
        tail_insert(tail, (float)value);
    if (tail->seen >= tail->memory)
        tail_forget_half(tail);
}

/* Fits the excesses of the first `count` peaks over `from` by probability-weighted moments (Hosking
 * and Wallis, Technometrics 29, 1987, whose k is -shape). */
static void pareto_fit(const float *peaks, uint32_t count, double from, double *shape,
                       double *scale) {
    double mean = 0, weighted = 0;
    for (uint32_t p = 0; p < count; p++) {
        double excess = peaks[p] - from;
        mean += excess / count;
        weighted += excess * p / (count - 1) / count;
    }
    *shape = 0;
    *scale = mean;
    if (mean <= 2 * weighted)
        return;
    double found = 2 - mean / (mean - 2 * weighted);
    *shape = (count * fmax(found, 0) + SHAPE_WEIGHT * SHAPE_BEFORE) / (count + SHAPE_WEIGHT);
    *shape += DOUBT / sqrt(count);
    /* The scale at which the distribution with this shape has the mean of the excesses, where its
     * mean exists. */
    *scale =
        found < 0.5 ? mean * (1 - fmin(*shape, 0.9)) : 2 * mean * weighted / (mean - 2 * weighted);
}

/* The quantile of the fitted distribution. `from` is the threshold: the greatest number that is
 * not fitted. `share` is the wanted probability, given that a number exceeds the threshold. */
static double tail_quantile(const struct spex_tail *tail, double probability) {
    double wanted = fmax(FITTED_LEAST, FITTED_SHARE * tail->seen), shape, scale;
    uint32_t fitted = wanted < tail->count ? (uint32_t)wanted : tail->count;
    double from = fitted < tail->count ? tail->peaks[fitted] : tail->above;
    double share = probability * tail->seen / fitted;
    if (share >= 1)
        return from;
    pareto_fit(tail->peaks, fitted, from, &shape, &scale);
    /* Inverse of the generalized Pareto distribution, in scales; exponential where the shape is
     * 0. */
    double steps = fabs(shape) < 1e-6 ? -log(share) : expm1(-shape * log(share)) / shape;
    return from + scale * steps;
}

/* The peak that has as many above it as the probability makes of all numbers, less the doubt of
 * that many; INFINITY: so few numbers do not tell. */
static double tail_observed(const struct spex_tail *tail, double probability) {
    double above = probability * tail->seen;
    above -= DOUBT * sqrt(above);
    return above >= 1 && above <= tail->count ? tail->peaks[(uint32_t)above - 1] : INFINITY;
}

/* What has been observed goes before the fit, where that is higher: delays of two kinds, such as
 * those of the scheduler and those that an anomaly leaves behind, are no one distribution.
 * The level of the last time is returned until enough numbers have been added. */
double spex_tail_level(struct spex_tail *tail, double probability) {
    if (tail->count <= FITTED_LEAST)
        return INFINITY;
    if (tail->worked == 0 || tail->seen > tail->worked * FRESH) {
        tail->last = fmin(tail_quantile(tail, probability), tail_observed(tail, probability));
        tail->worked = tail->seen;
    }
    return tail->last;
}
