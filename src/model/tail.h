/* SPDX-License-Identifier: MIT */
/* The level that a stream of numbers exceeds with a small probability, in bounded memory. The
 * greatest numbers are kept. Beyond them a generalized Pareto distribution, fitted to them, gives
 * the level (peaks over threshold; Siffer et al., "Anomaly Detection in Streams with Extreme Value
 * Theory", KDD 2017). */
#ifndef SPEX_MODEL_TAIL_H
#define SPEX_MODEL_TAIL_H

#include <stdint.h>

enum { SPEX_TAIL_PEAKS = 128 };

struct spex_tail {
    /* The greatest numbers, descending. */
    float peaks[SPEX_TAIL_PEAKS];
    uint32_t count;
    /* All numbers above this are among the peaks. */
    double above;
    /* Numbers that the peaks are the greatest of; old numbers count less. */
    double seen;
    /* Numbers that are remembered. */
    double memory;
    /* The level computed when `worked` numbers had been seen; `worked` 0: it must be computed
     * again. */
    double last;
    double worked;
    uint64_t random;
};

/* Remembers as many numbers as a level of `probability` needs. */
void spex_tail_init(struct spex_tail *tail, double probability);

void spex_tail_add(struct spex_tail *tail, double value);

/* The level that a number exceeds with this probability, which must always be the same; INFINITY:
 * fewer than 25 numbers are known. */
double spex_tail_level(struct spex_tail *tail, double probability);

#endif
