/* SPDX-License-Identifier: MIT */
/* The warm-up of a run, until its criteria have settled. Whether they have is told from the batch
 * means of all records since the first; of the records themselves the latest are kept, to be used
 * when the warm-up turns out to be over, and to have been so for some time. */
#ifndef SPEX_MEASURE_FIGURE_WARMUP_H
#define SPEX_MEASURE_FIGURE_WARMUP_H

#include <spex/policy.h>
#include <spex/record.h>

/* As many records are kept; when there are more, the older half goes. */
#define SPEX_WARMUP_RECORDS 65536

struct spex_warmup;

/* 0 or -ENOMEM. `space` must outlive it. */
int spex_warmup_create(const struct spex_space *space, double ticks_per_second,
                       struct spex_warmup **out);
void spex_warmup_destroy(struct spex_warmup *warmup);

/* The probe of a criterion. */
void spex_warmup_probe(struct spex_warmup *warmup, size_t criterion, uint16_t probe_id,
                       uint32_t probe_type);

/* The next records, in the order of their time, from the first of the first criterion's probe on. 0
 * or -ENOMEM. */
int spex_warmup_add(struct spex_warmup *warmup, const struct spex_record *records, size_t count);

/* Whether it is over; looks at it when there are a tenth more records than the last time.
 * *from_ticks gets when it was over, or what is best taken for it as far as is known. */
bool spex_warmup_over(struct spex_warmup *warmup, uint64_t *from_ticks);
uint64_t spex_warmup_best(const struct spex_warmup *warmup);

/* Those that are kept, until the next call. */
const struct spex_record *spex_warmup_records(const struct spex_warmup *warmup, size_t *count);

/* A change of a criterion by less than this share does not matter. */
double spex_warmup_tolerance(const struct spex_rules *rules);

#endif
