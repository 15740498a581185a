/* SPDX-License-Identifier: MIT */
/* A thousand sites, each of a probe of its own, and work of a chosen length. */
#ifndef SPEX_BENCH_SITES_H
#define SPEX_BENCH_SITES_H

#include <stdint.h>

enum { SITES = 1000 };

/* So many multiplications of which each needs the one before. The result is used, so that the compiler
 * keeps them. */
static inline uint64_t site_work(uint64_t value, unsigned steps) {
    for (unsigned s = 0; s < steps; s++)
        value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9u;
    return value;
}

/* Executes the LAT around so much work at one of the sites. */
void site_execute(uint64_t *number, unsigned site, unsigned steps);

#endif
