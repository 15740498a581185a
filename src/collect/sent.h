/* SPDX-License-Identifier: MIT */
/* Which of the process's sites, contexts and threads a reader of records has been sent. */
#ifndef SPEX_COLLECT_SENT_H
#define SPEX_COLLECT_SENT_H

#include <stdint.h>

#include "collect/sinks.h"
#include "ring/record_layout.h"
#include "wire/stream_format.h"

/* All zero: none. */
struct spex_sent {
    /* Sites with indices below this. */
    uint32_t sites;
    /* A bit for each context, by its number. */
    uint64_t contexts[SPEX_CONTEXTS_MAX / 64 + 1];
};

/* The ids of threads that a reader of packed records has got, by their numbers. All zero:
 * none. */
struct spex_sent_threads {
    uint32_t ids[SPEX_THREAD_NUMBERS];
};

/* Copies sites that have not been sent, `most` at most; returns how many. Regions are left out. */
uint32_t spex_sent_sites(struct spex_sent *sent, struct spex_stream_site *sites, uint32_t most);

/* Appends the contexts from `number` towards the root that have not been sent, behind the first
 * `count`, while there are fewer than `most`. Returns how many there are then. */
uint32_t spex_sent_contexts(struct spex_sent *sent, uint64_t number,
                            struct spex_stream_context *contexts, uint32_t count, uint32_t most);

/* The contexts have not been sent after all. */
void spex_sent_take_back(struct spex_sent *sent, const struct spex_stream_context *contexts,
                         uint32_t count);

/* Copies threads of a batch's records from *record on that have not been sent, `most` at most, and
 * moves *record behind the last one that it has looked at. Returns how many. */
uint32_t spex_sent_threads(struct spex_sent_threads *sent, const struct spex_batch *batch,
                           size_t *record, struct spex_stream_thread *threads, uint32_t most);

/* The threads have not been sent after all. */
void spex_sent_take_back_threads(struct spex_sent_threads *sent,
                                 const struct spex_stream_thread *threads, uint32_t count);

#endif
