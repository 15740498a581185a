/* SPDX-License-Identifier: MIT */
/* Stores the rates that the library's countdowns (sampler.c) draw their gaps by. The release of the
 * control word publishes a rate to the program's threads. */
#include "site/sampling_rate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/memory/memory.h"

/* Seconds from one burst of a thread to its next. */
#define BURST_SECONDS 0.1

/* Used until two bursty rates have been set far enough apart to measure the tick rate. */
#define TICKS_PER_SECOND_GUESSED 2.5e9

struct spex_sampling_rate (*spex_sampling_rates[SPEX_SITE_BLOCKS])[2];
static struct spex_sampling_rate first_rates[SPEX_SITE_BLOCK][2];
uint32_t spex_burst_interval;

bool spex_sampling_rates_make(uint32_t site) {
    uint32_t block = site / SPEX_SITE_BLOCK;
    if (!spex_sampling_rates[block])
        spex_sampling_rates[block] =
            block ? spex_calloc(SPEX_SITE_BLOCK, sizeof(*first_rates)) : first_rates;
    return spex_sampling_rates[block];
}

SPEX_COLD void spex_sampling_rates_end(void) {
    for (uint32_t block = 1; block < SPEX_SITE_BLOCKS; block++)
        spex_free(spex_sampling_rates[block]);
    memset(spex_sampling_rates, 0, sizeof(spex_sampling_rates));
}

double spex_sampling_gap_scale(uint32_t period) {
    return -1 / log1p(-1 / (double)period);
}

/* Measures the tick rate between the first call and this one, and sets spex_burst_interval by it. A
 * fixed instant is the base, so the measurement becomes better with time and never waits; it is made
 * again when that is twice as long ago. */
static void burst_interval_update(void) {
    static struct spex_instant first;
    static uint64_t measured;
    if (first.ticks && spex_ticks() - first.ticks < 2 * measured)
        return;
    struct spex_instant now = spex_instant_now();
    if (!first.ticks)
        first = now;
    measured = now.ticks - first.ticks;
    double rate = spex_tick_rate(first, now);
    if (rate <= 0 && spex_burst_interval)
        return;
    rate = rate > 0 ? rate : TICKS_PER_SECOND_GUESSED;
    spex_store_relaxed(&spex_burst_interval, spex_coarse_ticks((uint64_t)(rate * BURST_SECONDS)));
}

void spex_sampling_rate_set(uint32_t site, uint32_t generation,
                            const struct spex_sampling *sampling) {
    double scale = 1;
    if (sampling->kind == SPEX_SAMPLING_GEOMETRIC && sampling->period > 1)
        scale = spex_sampling_gap_scale(sampling->period);
    if (sampling->kind == SPEX_SAMPLING_BURSTY)
        burst_interval_update();
    struct spex_sampling_rate *slot =
        spex_sampling_rate_of(site, generation << SPEX_CONTROL_GENERATION_SHIFT);
    /* Relaxed: P2 in control_word.c publishes both. */
    __atomic_store(&slot->scale, &scale, __ATOMIC_RELAXED);
    spex_store_relaxed(&slot->rate, SPEX_RATE(sampling->period, sampling->burst, sampling->kind));
}
