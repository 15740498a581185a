/* SPDX-License-Identifier: MIT */
#include "site/sampling_rate.h"

#include <math.h>

#include <spex/atomic.h>

#include "base/clock.h"

/* From one burst of a thread to its next, where the site executes often enough. */
#define BURST_SECONDS 0.1

/* Until the ticks' rate is known. */
#define TICKS_PER_SECOND_GUESSED 2.5e9

struct spex_sampling_rate spex_sampling_rates[SPEX_MAX_SITES + 1][2];
uint32_t spex_burst_interval;

double spex_sampling_gap_scale(uint32_t period) {
    return -1 / log1p(-1 / (double)period);
}

static void note_tick_rate(void) {
    static struct spex_instant first;
    struct spex_instant now = spex_instant_now();
    if (!first.ticks)
        first = now;
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
        note_tick_rate();
    struct spex_sampling_rate *slot =
        spex_sampling_rate_of(site, generation << SPEX_CONTROL_GENERATION_SHIFT);
    __atomic_store(&slot->scale, &scale,
                   __ATOMIC_RELAXED); /* P2 in control_word.c publishes both */
    spex_store_relaxed(&slot->rate, SPEX_RATE(sampling->period, sampling->burst, sampling->kind));
}
