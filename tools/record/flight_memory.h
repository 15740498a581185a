/* SPDX-License-Identifier: MIT */
/* The memory of a flight recorder: records of the last seconds, of all processes, in the order in
 * which they came. Bounded in time and in bytes. */
#ifndef SPEX_TOOLS_RECORD_FLIGHT_MEMORY_H
#define SPEX_TOOLS_RECORD_FLIGHT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* Less than this would be a handful of chunks. */
#define SPEX_FLIGHT_MEMORY_LEAST (UINT64_C(1) << 22)

struct spex_flight_chunk;

struct spex_flight_memory {
    /* What is older goes, and the oldest when there are so many bytes. Times are of
     * CLOCK_MONOTONIC. */
    uint64_t window_ns;
    uint64_t most;
    uint64_t bytes;
    struct spex_flight_chunk *oldest, *newest;
    /* When the newest entry came that had to go before its time; 0: none had. */
    uint64_t cut_ns;
};

/* What came in one frame: records of one ring, or, without any, how far the collectors are. */
struct spex_flight_entry {
    uint32_t owner;
    uint32_t count;
    uint32_t bytes; /* of the records behind it, a multiple of 8 */
    uint32_t reserved;
    uint64_t watermark; /* ticks */
    uint64_t lost;      /* records of the process, so far */
};

void spex_flight_memory_free(struct spex_flight_memory *memory);

/* Keeps a copy. 0 or -ENOMEM. */
int spex_flight_memory_add(struct spex_flight_memory *memory, const struct spex_flight_entry *entry,
                           const struct spex_record *records, uint64_t now_ns);

/* Calls `take` with each entry of an owner, the oldest first, and its records. */
void spex_flight_memory_replay(const struct spex_flight_memory *memory, uint32_t owner,
                               void (*take)(void *user, const struct spex_flight_entry *entry,
                                            const struct spex_record *records),
                               void *user);

#endif
