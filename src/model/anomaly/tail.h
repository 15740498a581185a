/* SPDX-License-Identifier: MIT */
/* What is exceeded how rarely: the upper tail of a stream of numbers, in bounded memory. The largest numbers are kept; of
 * what lies beyond all that was seen a generalized Pareto distribution, fitted to them, is the judge (peaks over
 * threshold; Siffer et al., "Anomaly Detection in Streams with Extreme Value Theory", KDD 2017). */
#ifndef SPEX_MODEL_ANOMALY_TAIL_H
#define SPEX_MODEL_ANOMALY_TAIL_H

#include <stdint.h>

enum { SPEX_TAIL_PEAKS = 128 };

struct spex_tail {
    float peaks[SPEX_TAIL_PEAKS]; /* the largest, descending */
    uint32_t count;
    double above;  /* all that were greater are among them */
    double seen;   /* numbers, of which these are the largest; old ones count less */
    double memory; /* as many are remembered */
    double last;   /* the level that was worked out when `worked` numbers had been seen; */
    double worked; /* 0: it has to be worked out anew */
    uint64_t random;
};

/* Remembers so many that a level of `probability` is known well. */
void spex_tail_init(struct spex_tail *tail, double probability);

void spex_tail_add(struct spex_tail *tail, double value);

/* What a number exceeds with this probability, which is always the same; INFINITY before there are 25. */
double spex_tail_level(struct spex_tail *tail, double probability);

#endif
