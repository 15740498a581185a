/* SPDX-License-Identifier: MIT */
/* Which of a probe's executions make a record.
 *
 *   periodic   "@100"      every 100th
 *   geometric  "@~100"     each with a probability of 1/100, whatever the others did
 *   bursty     "@100x64"   64 in a row, then none for a while: one in 100 of what executes often, all
 *                          of what executes seldom
 *   polling    "@poll"     none; the first collector looks from time to time whether the site is
 *                          being executed */
#ifndef SPEX_SITE_SAMPLING_H
#define SPEX_SITE_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spex_sampling_kind {
    SPEX_SAMPLING_PERIODIC,
    SPEX_SAMPLING_GEOMETRIC,
    SPEX_SAMPLING_BURSTY,
    SPEX_SAMPLING_POLLING
};

struct spex_sampling {
    /* Executions per record, on average (bursty: at most); 0: off, or, in a selection, the site's
     * own. */
    uint32_t period;
    /* SPEX_SAMPLING_BURSTY: executions in a row. */
    uint32_t burst;
    /* enum spex_sampling_kind */
    uint32_t kind;
};

enum { SPEX_SAMPLING_TEXT = 32 };

/* The longest period of geometric sampling: with a longer one SPEX_GAP_MAX (gap.h) would cut off
 * more than e^-16 of the gaps. */
#define SPEX_GAP_PERIOD_MAX (1u << 20)

/* Most executions from burst to burst, so that one is never longer than a countdown. */
#define SPEX_BURST_CYCLE_MAX (1u << 23)

/* As in a selection behind the "@", such as "~100"; its length, as snprintf. */
int spex_sampling_text(const struct spex_sampling *sampling, char *text, size_t size);

/* Of such a kind. */
uint32_t spex_sampling_longest(uint32_t kind, uint32_t burst);

/* "periodic", "geometric", "bursty" or "probing", as in JSON, where "probing" stands for polling. */
const char *spex_sampling_kind_name(uint32_t kind);

static inline bool spex_sampling_same(const struct spex_sampling *a,
                                      const struct spex_sampling *b) {
    return a->period == b->period && a->burst == b->burst && a->kind == b->kind;
}

#endif
