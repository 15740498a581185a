/* SPDX-License-Identifier: MIT */
/* Which of the process's sites, contexts and threads a reader of records has been told of. */
#ifndef SPEX_COLLECT_TOLD_H
#define SPEX_COLLECT_TOLD_H

#include <stdint.h>

#include "collect/sinks.h"
#include "ring/record_layout.h"
#include "wire/stream_format.h"

/* All zero: none. */
struct spex_told {
    /* Sites with indices below this. */
    uint32_t sites;
    /* A bit for each context, by its number. */
    uint64_t contexts[SPEX_CONTEXTS_MAX / 64 + 1];
};

/* The ids of threads that a reader of packed records has been told, by their numbers. All zero:
 * none. */
struct spex_told_threads {
    uint32_t ids[SPEX_THREAD_NUMBERS];
};

/* Copies sites that have not been told, `most` at most; returns how many. Regions are left out. */
uint32_t spex_told_sites(struct spex_told *told, struct spex_stream_site *sites, uint32_t most);

/* Appends the contexts from `number` towards the root that have not been told, behind the first
 * `count`, while there are fewer than `most`. Returns how many there are then. */
uint32_t spex_told_contexts(struct spex_told *told, uint64_t number,
                            struct spex_stream_context *contexts, uint32_t count, uint32_t most);

/* The contexts have not been told after all. */
void spex_told_take_back(struct spex_told *told, const struct spex_stream_context *contexts,
                         uint32_t count);

/* Copies threads of a batch's records from *record on that have not been told, `most` at most, and
 * moves *record behind the last one that it has looked at. Returns how many. */
uint32_t spex_told_threads(struct spex_told_threads *told, const struct spex_batch *batch,
                           size_t *record, struct spex_stream_thread *threads, uint32_t most);

/* The threads have not been told after all. */
void spex_told_take_back_threads(struct spex_told_threads *told,
                                 const struct spex_stream_thread *threads, uint32_t count);

#endif
