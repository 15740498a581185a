/* SPDX-License-Identifier: MIT */
/* Sinks: consumers of the collectors' batches, in a list that collectors walk without a lock. */
#ifndef SPEX_COLLECT_SINKS_H
#define SPEX_COLLECT_SINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <urcu/list.h>

#include <spex/record.h>

#include "wire/stream_format.h"

/* Records from one ring, oldest first. */
struct spex_batch {
    const struct spex_record *records;
    size_t count;
    /* The same as they lie in the ring (ring/record_layout.h), each of so many words, and the CPU
     * of the ring; SPEX_STREAM_NO_CPU: the shared ring. */
    const uint64_t *words;
    uint32_t record_words;
    uint32_t cpu;
};

struct spex_sink {
    struct cds_list_head node;

    /* Any collector thread, several at once. False: the batch was not taken, and the sink gets no
     * more: it is marked as broken. */
    bool (*records)(struct spex_sink *sink, const struct spex_batch *batch);

    /* After a pass of a collector, the last one before it sleeps included: every record on its
     * rings made before `watermark` (ticks) has been handed over or is lost, except for those whose
     * threads were suspended between the timestamp and the ring. The watermark of a collector never
     * falls. False as above. Optional. */
    bool (*pass)(struct spex_sink *sink, unsigned collector, uint64_t watermark);

    /* The program has called spex_dump. The first collector's thread. Optional. */
    void (*dump)(struct spex_sink *sink, const struct spex_stream_dump *dump);
    /* All collectors have ended. The last call; frees the sink. */
    void (*finish)(struct spex_sink *sink);

    /* In the child of a fork, instead of finish: closes the parent's resources and writes
     * nothing. */
    void (*abandon)(struct spex_sink *sink);

    /* Somebody waits for records, so that collectors sleep shorter (sleep.h). Any thread may change
     * it. */
    bool prompt;

    bool broken;
};

/* Adds a sink; collectors may be running. Any thread. */
void spex_sinks_add(struct spex_sink *sink);

/* Hands a batch to every sink. Records that a sink does not take count as undelivered.
 * Collectors. */
void spex_sinks_records(const struct spex_batch *batch);

/* Reports a collector's watermark to every sink. */
void spex_sinks_pass(unsigned collector, uint64_t watermark);

/* Hands a request for a dump to every sink. The first collector. */
void spex_sinks_dump(const struct spex_stream_dump *dump);

/* Returns whether somebody waits for records at a sink that is not broken. */
bool spex_sinks_prompt(void);

bool spex_sinks_any(void);

/* Removes and finishes all sinks. No collector runs any more. */
void spex_sinks_finish(void);

/* Records that a sink did not take, once for each such sink, since the process began. */
uint64_t spex_sinks_undelivered(void);

/* The lock of the list, which is held around a fork, so that the child's list is whole. */
struct spex_lock *spex_sinks_lock(void);

/* In the child of a fork: the sinks are abandoned. */
void spex_sinks_fork_child(void);

#endif
