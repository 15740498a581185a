/* SPDX-License-Identifier: MIT */
/* The mean of an experiment's figures, calculated in a simpler way. */
#ifndef SPEX_TEST_TRIMMED_H
#define SPEX_TEST_TRIMMED_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rate/experiment/finding.h"

static inline int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A fifth of the figures is left out at each end of the mean; the variance has the outermost figures
 * that are left in their places. */
static inline void trimmed(const double *figures, size_t n, double *mean, double *error) {
    double sorted[SPEX_FIGURES_MOST], sum = 0, squares = 0;
    size_t out = n / 5, left = n - 2 * out;
    memcpy(sorted, figures, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    *mean = 0;
    for (size_t f = out; f < n - out; f++)
        *mean += sorted[f] / (double)left;
    for (size_t f = 0; f < out; f++) {
        sorted[f] = sorted[out];
        sorted[n - 1 - f] = sorted[n - 1 - out];
    }
    for (size_t f = 0; f < n; f++)
        sum += sorted[f];
    for (size_t f = 0; f < n; f++)
        squares += pow(sorted[f] - sum / (double)n, 2);
    *error = sqrt(squares / (double)(n - 1)) * sqrt((double)n) / (double)left;
}

#endif
