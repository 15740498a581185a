/* SPDX-License-Identifier: MIT */
/* Hands records to a tracer as a collector does, in batches of one ring: a tracer weighs the losses
 * of a ring by the batch of the records that lie next to them. */
#ifndef SPEX_TRACE_READ_BATCHES_H
#define SPEX_TRACE_READ_BATCHES_H

#include <spex/record.h>

#include "stats/tracer.h"

struct spex_batches;

/* `tracer` outlives it. NULL: no memory. */
struct spex_batches *spex_batches_create(struct spex_tracer *tracer);
void spex_batches_destroy(struct spex_batches *batches);

/* Records of each ring come in the order of their time. 0 or -ENOMEM. */
int spex_batches_add(struct spex_batches *batches, const struct spex_record *record);

/* Hands over what is left. 0 or -ENOMEM. */
int spex_batches_finish(struct spex_batches *batches);

#endif
