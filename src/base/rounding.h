/* SPDX-License-Identifier: MIT */
/* Differences that are due to rounding alone. */
#ifndef SPEX_BASE_ROUNDING_H
#define SPEX_BASE_ROUNDING_H

#include <math.h>

/* The part of its terms by which a long sum of doubles may be off: each addition is off by 2^-53 at
 * most, and a million of them by a thousand times as much. */
#define SPEX_ROUNDING 1e-12

/* The value, a difference of terms as large as `of`; 0 where rounding may have made all of it. */
static inline double spex_settled(double value, double of) {
    return fabs(value) <= SPEX_ROUNDING * fabs(of) ? 0 : value;
}

#endif
