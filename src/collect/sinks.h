/* SPDX-License-Identifier: MIT */
/* Sinks: where the collector's batches go. An RCU list, so that one can leave (a broken connection)
 * while collectors walk it. */
#ifndef SPEX_COLLECT_SINKS_H
#define SPEX_COLLECT_SINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <urcu/list.h>

#include <spex/record.h>

struct spex_sink {
    struct cds_list_head node;

    /* A batch from one ring, oldest first. Any collector thread, several at once. False: the batch
     * was not taken and this sink takes no more. */
    bool (*records)(struct spex_sink *sink, const struct spex_record *records, size_t count);

    /* After each pass of a collector over its rings: every record made before `watermark` (ticks)
     * on those rings has been handed over or is lost, save those whose threads were held up between
     * the timestamp and the ring. Never falls. False as above. Optional. */
    bool (*pass)(struct spex_sink *sink, unsigned collector, uint64_t watermark);

    /* All collectors have ended. The last call; frees the sink. */
    void (*finish)(struct spex_sink *sink);

    /* In the child of a fork, instead of finish: lets go of what is the parent's, writing nothing.
     */
    void (*abandon)(struct spex_sink *sink);

    bool broken;
};

void spex_sinks_add(struct spex_sink *sink);

/* Hands a batch to every sink; what a sink does not take is counted as undelivered. */
void spex_sinks_records(const struct spex_record *records, size_t count);
void spex_sinks_pass(unsigned collector, uint64_t watermark);
void spex_sinks_finish(void);

uint64_t spex_sinks_undelivered(void);

/* Around a fork; in the child the sinks are abandoned. */
void spex_sinks_fork_prepare(void);
void spex_sinks_fork_parent(void);
void spex_sinks_fork_child(void);

#endif
