/* SPDX-License-Identifier: MIT */
/* Address space for what the program's threads write to: rings, and states of threads. */
#ifndef SPEX_RING_RESERVE_H
#define SPEX_RING_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether the kernel gives memory to new mappings at once, as it does after mlockall with
 * MCL_FUTURE. */
bool spex_mappings_are_locked(void);

/* Reserves address space. Pages take memory when they are first written, and are zero then. Where
 * the process locks its memory, all pages would take memory at once, those of CPUs and types that
 * nobody uses included; so the lock is taken off while the pages cannot be accessed. */
void *spex_memory_reserve(size_t bytes, bool locked);

#endif
