/* SPDX-License-Identifier: MIT */
/* The heap of spex's own threads (memory.h). */
#ifndef SPEX_BASE_HEAP_H
#define SPEX_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"

/* A block; NULL without memory. */
void *spex_heap_take(size_t bytes);
void spex_heap_give(void *memory);

/* Whether a block, of any heap, is of this one. */
bool spex_heap_has(const void *memory);

/* Bytes of a block of this heap, at least as many as were asked for. */
size_t spex_heap_room(void *memory);

/* Gives everything back to the system, as nobody will look at a block of this heap any more. */
void spex_heap_unmap(void);

/* Held across a fork. */
struct spex_lock *spex_heap_lock(void);

/* In the child of a fork for which the lock was not taken: the heap may be half changed, so nothing
 * is taken or given back any more. */
void spex_heap_abandon(void);
bool spex_heap_is_abandoned(void);

#endif
