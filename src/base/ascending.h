/* SPDX-License-Identifier: MIT */
#ifndef SPEX_BASE_ASCENDING_H
#define SPEX_BASE_ASCENDING_H

/* The order of doubles, for qsort. */
static inline int spex_ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

#endif
