/* SPDX-License-Identifier: MIT */
/* The rates at which the library samples a site by countdowns (sampler.h). A rate is stored before
 * the control word of its generation. The program's threads read it without a lock, after they have
 * seen that control word. */
#ifndef SPEX_SITE_SAMPLING_RATE_H
#define SPEX_SITE_SAMPLING_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/probe.h>

#include "site/registry.h"
#include "site/sampling.h"

/* Countdowns have every fourth generation, from 2 on (spex/site.h). Behind this one comes 2 again,
 * so that two successive ones have different slots. */
#define SPEX_COUNTDOWN_GENERATION_MAX 118u

struct spex_sampling_rate {
    /* Kind, burst and period in one word, so that a thread never mixes two rates. */
    uint64_t rate;
    /* The scale of geometric gaps (spex_sampling_gap_scale). */
    double scale;
};

/* The rates, by site: one slot for each of its last two generations, so that a thread that still
 * has the former control word finds the former rate. The last row belongs to calibration. */
extern struct spex_sampling_rate (*spex_sampling_rates[SPEX_SITE_BLOCKS])[2];

/* Makes memory for the rates of a site and of others near it. False: there is none. One caller at a
 * time, before rates are set or looked up. */
bool spex_sampling_rates_make(uint32_t site);

/* Frees it: the library is unloaded. */
void spex_sampling_rates_end(void);

/* Coarse ticks from one burst of a thread to its next. */
extern uint32_t spex_burst_interval;

/* Puts a rate into one word: period 28 bits, burst 28, kind 8. */
#define SPEX_RATE(period, burst, kind) ((uint64_t)(kind) << 56 | (uint64_t)(burst) << 28 | (period))
#define SPEX_RATE_PERIOD(rate)         ((uint32_t)(rate)&0xfffffffu)
#define SPEX_RATE_BURST(rate)          ((uint32_t)((rate) >> 28) & 0xfffffffu)
#define SPEX_RATE_KIND(rate)           ((uint32_t)((rate) >> 56))

/* Returns the slot for the generation in a control word, which must be even. */
static inline struct spex_sampling_rate *spex_sampling_rate_of(uint32_t site, uint32_t control) {
    return &spex_sampling_rates[site / SPEX_SITE_BLOCK][site % SPEX_SITE_BLOCK]
                               [control >> (SPEX_CONTROL_GENERATION_SHIFT + 2) & 1];
}

/* Sets the rate for control words of this generation, which must be even. One caller at a time. */
void spex_sampling_rate_set(uint32_t site, uint32_t generation,
                            const struct spex_sampling *sampling);

/* Returns the scale of geometric gaps with this mean, -1 / ln(1 - 1/period), by which
 * spex_gap_geometric multiplies an exponential variable. `period` is 2 to SPEX_GAP_PERIOD_MAX. */
double spex_sampling_gap_scale(uint32_t period);

/* Converts ticks to coarse ticks of 4096 each, of which 32 bits hold more than an hour. */
static inline uint32_t spex_coarse_ticks(uint64_t ticks) {
    return (uint32_t)(ticks >> 12);
}

#endif
