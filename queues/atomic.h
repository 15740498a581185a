/* SPDX-License-Identifier: MIT */
/* Committing with atomic instructions: works on every processor and with any number of writers. */
#ifndef SPEX_ATOMIC_RING_H
#define SPEX_ATOMIC_RING_H

#include "ring.h"

/* Writes one record of ring->record_words words. Any number of threads and signal handlers at once,
 * on any CPU; lock-free: some writer always gets on. True once every quarter of the ring: the moment
 * to see whether somebody reads. */
bool spex_atomic_push(const struct spex_ring *ring, const uint64_t *words);

/* spex_ring_read for this way. Stops early at a record that is still being written; when the visit
 * before stopped at the same one, it is passed over, and its writer puts it under a later index. */
size_t spex_atomic_read(const struct spex_ring *ring, uint64_t *out, size_t max);

#endif
