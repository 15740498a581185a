/* SPDX-License-Identifier: MIT */
/* Finds the end of a run's warm-up: when its criteria have settled. That is told from the batch
 * means of all records since the first. The latest records themselves are kept, since the end is
 * seen only some time later, and the records after it are then used. */
#ifndef SPEX_MEASURE_WARMUP_H
#define SPEX_MEASURE_WARMUP_H

#include <spex/policy.h>
#include <spex/record.h>

/* Number of records that are kept; when there are more, the older half is dropped. */
#define SPEX_WARMUP_RECORDS 65536

struct spex_warmup;

/* `space` must outlive the warm-up. 0 or -ENOMEM. */
int spex_warmup_create(const struct spex_space *space, double ticks_per_second,
                       struct spex_warmup **out);
void spex_warmup_destroy(struct spex_warmup *warmup);

/* Sets the probe of a criterion. */
void spex_warmup_probe(struct spex_warmup *warmup, size_t criterion, uint16_t probe_id,
                       uint32_t probe_type);

/* Adds the next records in the order of time, from the first of the first criterion's probe on. 0
 * or -ENOMEM. */
int spex_warmup_add(struct spex_warmup *warmup, const struct spex_record *records, size_t count);

/* Returns whether the warm-up is over; computed again when there are a tenth more records than the
 * last time. *from_ticks, and spex_warmup_best: when it was over, or the best guess so far. */
bool spex_warmup_over(struct spex_warmup *warmup, uint64_t *from_ticks);
uint64_t spex_warmup_best(const struct spex_warmup *warmup);

/* The records that are kept; valid until the next call. */
const struct spex_record *spex_warmup_records(const struct spex_warmup *warmup, size_t *count);

/* A change of a criterion by less than this share does not count. */
double spex_warmup_tolerance(const struct spex_rules *rules);

#endif
