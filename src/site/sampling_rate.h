/* SPDX-License-Identifier: MIT */
/* The rates at which the library itself samples a site's executions (sampler.h). A rate is set
 * before the control word that tells of it, and read by the program's threads. */
#ifndef SPEX_SITE_SAMPLING_RATE_H
#define SPEX_SITE_SAMPLING_RATE_H

#include <stdint.h>

#include <spex/probe.h>

#include "site/registry.h"
#include "site/sampling.h"

/* The generations of such control words are even: the next is 2. A multiple of 4, so that two in a
 * row have different slots. */
#define SPEX_COUNTDOWN_GENERATION_MAX 124u

struct spex_sampling_rate {
    /* Kind, burst and period in one word, so that a thread never mixes two rates. */
    uint64_t rate;
    /* For geometric gaps; see spex_sampling_gap_scale. */
    double scale;
};

/* By site, and for its last two generations: a thread that has seen the former generation finds its
 * rate. The last row belongs to calibration. */
extern struct spex_sampling_rate spex_sampling_rates[SPEX_MAX_SITES + 1][2];

/* From one burst of a thread to its next, where the site executes often enough; in coarse ticks. */
extern uint32_t spex_burst_interval;

#define SPEX_RATE(period, burst, kind) ((uint64_t)(kind) << 56 | (uint64_t)(burst) << 28 | (period))
#define SPEX_RATE_PERIOD(rate)         ((uint32_t)(rate)&0xfffffffu)
#define SPEX_RATE_BURST(rate)          ((uint32_t)((rate) >> 28) & 0xfffffffu)
#define SPEX_RATE_KIND(rate)           ((uint32_t)((rate) >> 56))

/* The slot of an even generation, as it stands in a control word. */
static inline struct spex_sampling_rate *spex_sampling_rate_of(uint32_t site, uint32_t control) {
    return &spex_sampling_rates[site][control >> (SPEX_CONTROL_GENERATION_SHIFT + 1) & 1];
}

/* Sets the rate for control words of this generation (1 is the first). One caller at a time. */
void spex_sampling_rate_set(uint32_t site, uint32_t generation,
                            const struct spex_sampling *sampling);

/* What geometric gaps with this mean are scaled by: -1 / ln(1 - 1/period). Period: 2 to
 * SPEX_GAP_PERIOD_MAX. */
double spex_sampling_gap_scale(uint32_t period);

/* Ticks in units of 4096, so that 32 bits hold an hour. */
static inline uint32_t spex_coarse_ticks(uint64_t ticks) {
    return (uint32_t)(ticks >> 12);
}

#endif
