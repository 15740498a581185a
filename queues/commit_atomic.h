/* SPDX-License-Identifier: MIT */
/* Commits with atomic instructions. Works on every processor, with any number of writers. */
#ifndef SPEX_QUEUES_COMMIT_ATOMIC_H
#define SPEX_QUEUES_COMMIT_ATOMIC_H

#include "queues/ring.h"

/* Writes one record of ring->record_words words. Any number of threads and signal handlers at once,
 * on any CPU; lock-free: some writer always makes progress. Returns true once for each quarter of
 * the ring: the caller then checks whether the reader has to be woken. */
bool spex_atomic_push(const struct spex_ring *ring, const uint64_t *words);

/* spex_ring_read for this way. Stops at a record that is still being written. When the previous
 * call stopped at the same record, gives its index up and continues; its writer then uses a later
 * index. */
size_t spex_atomic_read(const struct spex_ring *ring, uint64_t *out, size_t max);

#endif
