/* SPDX-License-Identifier: MIT */
/* Kinds of sampling: they decide which executions of a probe make a record.
 *
 *   periodic   "@100"      every 100th
 *   geometric  "@~100"     each with probability 1/100, independent of the others
 *   bursty     "@100x64"   64 in a row, then none for a while: on average one in 100 of a site that
 *                          executes often, and all of a site that executes seldom
 *   polling    "@poll"     none; a collector polls at regular times whether a thread is executing
 *                          the site */
#ifndef SPEX_SITE_SAMPLING_H
#define SPEX_SITE_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spex_sampling_kind {
    SPEX_SAMPLING_PERIODIC,
    SPEX_SAMPLING_GEOMETRIC,
    SPEX_SAMPLING_BURSTY,
    SPEX_SAMPLING_POLLING,
    /* Executions are counted and make no record, but every few call the library, so that they cost
     * more. Only the controller asks for that; what the site had before is shown. */
    SPEX_SAMPLING_CALLED,
    /* The same without the calls: executions are counted and make no record. */
    SPEX_SAMPLING_COUNTED
};

/* Whether executions make no record, since the controller wants to know what they cost. */
static inline bool spex_sampling_asked(uint32_t kind) {
    return kind == SPEX_SAMPLING_CALLED || kind == SPEX_SAMPLING_COUNTED;
}

struct spex_sampling {
    /* Executions per record: on average, for bursty sampling at most. 0: off; in a selection, the
     * site's own period. */
    uint32_t period;
    /* SPEX_SAMPLING_BURSTY: executions in a row. */
    uint32_t burst;
    /* enum spex_sampling_kind */
    uint32_t kind;
};

/* Bytes that hold the text of any sampling. */
enum { SPEX_SAMPLING_TEXT = 32 };

/* The longest period of geometric sampling: with a longer one SPEX_GAP_MAX (gap.h) would cut off
 * more than e^-16 of the gaps. */
#define SPEX_GAP_PERIOD_MAX (1u << 20)

/* Most executions from the start of one burst to the next. A countdown has 24 bits, and this leaves
 * room for the gaps that are drawn longer than the mean. */
#define SPEX_BURST_CYCLE_MAX (1u << 23)

/* Writes the sampling as it stands behind the "@" of a selection, such as "~100". Returns the
 * length, as snprintf. */
int spex_sampling_text(const struct spex_sampling *sampling, char *text, size_t size);

/* Returns the longest period that sampling of this kind and burst can have. */
uint32_t spex_sampling_longest(uint32_t kind, uint32_t burst);

/* Returns "periodic", "geometric", "bursty" or "probing", as in JSON, where "probing" stands for
 * polling. */
const char *spex_sampling_kind_name(uint32_t kind);

static inline bool spex_sampling_same(const struct spex_sampling *a,
                                      const struct spex_sampling *b) {
    return a->period == b->period && a->burst == b->burst && a->kind == b->kind;
}

#endif
