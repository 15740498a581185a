/* SPDX-License-Identifier: MIT */
/* The process's rings, one per CPU and probe type, and the packing of records into their slots. */
#ifndef SPEX_RINGS_H
#define SPEX_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "../queues/ring.h"

/* Maps rings of `capacity` records each for every CPU this machine can have. They stay for the life
 * of the process: a later call keeps them and their size. 0 or -ENOMEM. */
int spex_rings_init(size_t capacity);

/* Rings there are: ring r belongs to CPU r / SPEX_PROBE_TYPES and type r % SPEX_PROBE_TYPES. */
unsigned spex_rings_count(void);
struct spex_ring *spex_rings_at(unsigned ring);
size_t spex_rings_bytes(void);

/* In the child of a fork: what is in the rings is the parent's, and so are the accounts. */
void spex_rings_fork_child(void);

/* Sums over all rings. */
struct spex_ring_counts spex_rings_totals(void);

/* Puts a record into the ring of the CPU it was made on. Any thread, signal handlers. `values` are
 * the type's fields without the weight. True when it is time to wake the collector. */
bool spex_rings_push(uint32_t site_index, uint32_t probe_type, uint32_t weight, uint32_t thread_id,
                     uint64_t timestamp, const uint64_t *values, size_t count);

/* Up to `max` records of a ring, unpacked. `scratch` holds max × SPEX_SLOT_WORDS_MAX words. */
size_t spex_rings_read(unsigned ring, struct spex_record *records, size_t max, uint64_t *scratch);

#endif
