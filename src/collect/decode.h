/* SPDX-License-Identifier: MIT */
/* Decodes the words of rings into records, and shares out losses among records. For collectors. */
#ifndef SPEX_COLLECT_DECODE_H
#define SPEX_COLLECT_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* Reserves memory for the accounts of losses, once in a process, after the rings exist. 0 or
 * -ENOMEM. */
int spex_decode_prepare(void);

/* Reads up to `max` records of a ring; returns how many. One thread at a time for each ring.
 * `scratch` has room for max × SPEX_RECORD_WORDS_MAX words. */
size_t spex_decode_ring(unsigned ring, struct spex_record *records, size_t max, uint64_t *scratch);

/* Frees the accounts of losses in the child of a fork, whose rings are empty. */
void spex_decode_fork_child(void);

#endif
