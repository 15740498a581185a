/* SPDX-License-Identifier: MIT */
/* What a process that has died leaves in its rings. They are in a file that this command was given
 * a descriptor of, and that nobody else changes any more. Nothing in it is trusted. */
#ifndef SPEX_OBSERVE_REMAINS_REMAINS_H
#define SPEX_OBSERVE_REMAINS_REMAINS_H

#include <stdint.h>

#include <spex/record.h>

#include "wire/stream_records.h"

struct spex_remains;

/* Owns the descriptor. `header` and `rings` are those of the frame. NULL: they are not of rings as
 * this command knows them, or there is no memory. `probes`: what the stream tells of its sites, as
 * long as there are remains. */
struct spex_remains *spex_remains_open(const struct spex_stream_header *header,
                                       const struct spex_stream_rings *rings, int file,
                                       const struct spex_stream_probes *probes);
void spex_remains_free(struct spex_remains *remains);

/* So many records have come over the stream, from one ring; `remains` may be NULL. */
void spex_remains_received(struct spex_remains *remains, const struct spex_stream_packed *from,
                           uint32_t count);

enum { SPEX_REMAINS_BATCH = 512 };

/* Hands over what has not come, up to SPEX_REMAINS_BATCH records of one ring at a time, in the
 * order of the ring. Returns how many records of the process are in neither: they are lost. */
uint64_t spex_remains_take(struct spex_remains *remains,
                           void (*take)(void *user, const struct spex_record *records,
                                        uint32_t count),
                           void *user);

#endif
