/* SPDX-License-Identifier: MIT */
/* Series of records whose true mean, rate and quantiles are known, with the same random numbers in
 * every run. */
#ifndef SPEX_TEST_EXPLORE_SOURCES_H
#define SPEX_TEST_EXPLORE_SOURCES_H

#include <math.h>

#include "../check.h"

enum { SOURCE_THREADS = 4 };

struct source {
    uint64_t random;
    double rho;   /* correlation of neighbours, or a queue's load */
    double level; /* the process as it is, where the next depends on it */
    double clocks[SOURCE_THREADS];
    double levels[SOURCE_THREADS];
    double now;
    uint64_t made;
};

struct arrival {
    double value;
    double weight;
    double time; /* since the one before */
};

static inline double uniform(uint64_t *state) {
    return ((double)(random_next(state) >> 12) + 0.5) * 0x1p-52;
}

static inline double exponential(uint64_t *state) {
    return -log(uniform(state));
}

/* Box and Muller. */
static inline double normal(uint64_t *state) {
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.28318530717958647692 * uniform(state));
}

/* Means of 1. */
static inline struct arrival independent(struct source *source) {
    return (struct arrival){exponential(&source->random), 1, exponential(&source->random)};
}

static inline void source_advance(struct source *source, double *level, double rho) {
    *level = source->made ? rho * *level + sqrt(1 - rho * rho) * normal(&source->random)
                          : normal(&source->random);
}

/* Values and gaps of the standard deviation 0.2 around 1. */
static inline struct arrival autoregressive(struct source *source) {
    source_advance(source, &source->level, source->rho);
    source->made++;
    return (struct arrival){1 + 0.2 * source->level, 1, 1 + 0.2 * source->level};
}

/* Waiting times in a queue with arrivals and service that are exponential (Lindley's recurrence),
 * from its steady state on; service takes 1 on average. */
static inline struct arrival queue(struct source *source) {
    double gap = exponential(&source->random) / source->rho;
    if (!source->made++)
        source->level = uniform(&source->random) < source->rho
                            ? exponential(&source->random) / (1 - source->rho)
                            : 0;
    else
        source->level = fmax(0, source->level + exponential(&source->random) - gap);
    return (struct arrival){source->level, 1, gap};
}

/* Once in 100 records the program stands still, for as long as 50 take otherwise. */
static inline struct arrival pauses(struct source *source) {
    double took = exponential(&source->random);
    if (!source->made)
        source->made = random_below(&source->random, 100);
    if (source->made++ % 100 == 99)
        took += 50;
    return (struct arrival){took, 1, took};
}

/* One execution in 10 of a correlated process, chosen by chance; it stands for 10. */
static inline struct arrival drawn(struct source *source) {
    struct arrival arrival = {.weight = 10};
    do {
        source_advance(source, &source->level, source->rho);
        source->made++;
        arrival.value = 1 + 0.2 * source->level;
        arrival.time += arrival.value;
    } while (random_below(&source->random, 10));
    return arrival;
}

/* Likewise, and it stands for those since the one before. */
static inline struct arrival counted(struct source *source) {
    struct arrival arrival = {0};
    do {
        source_advance(source, &source->level, source->rho);
        source->made++;
        arrival.weight++;
        arrival.value = 1 + 0.2 * source->level;
        arrival.time += arrival.value;
    } while (random_below(&source->random, 10));
    return arrival;
}

/* Four threads, each of which goes by a correlated process of its own. */
static inline struct arrival threads(struct source *source) {
    unsigned first = 0;
    for (unsigned t = 0; t < SOURCE_THREADS; t++) {
        if (source->made < SOURCE_THREADS) {
            source->clocks[t] = uniform(&source->random);
            source->levels[t] = normal(&source->random);
        }
        if (source->clocks[t] < source->clocks[first])
            first = t;
    }
    double before = source->now;
    source->now = source->clocks[first];
    source->made += source->made ? 1 : SOURCE_THREADS;
    source_advance(source, &source->levels[first], source->rho);
    double took = 1 + 0.2 * source->levels[first];
    source->clocks[first] += took;
    return (struct arrival){took, 1, source->now - before};
}

#endif
