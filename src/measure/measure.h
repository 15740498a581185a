/* SPDX-License-Identifier: MIT */
/* What a run's records amount to. Time runs like this:
 *
 *    first record        warm-up over   t0                                   last record
 *        ├───── warm-up ──────┤·········│── records used, after t0 ───────────────│
 *
 * t0 is the first criterion's probe's first record after the warm-up. It opens the interval and is
 * not counted in it, so that a throughput is completions over exactly the time they took.
 *
 * The warm-up takes as long as the rules say, or until the criteria have settled (warmup.h), which
 * is known only some time after it was over: until then records are kept, and those after t0 used
 * then. */
#ifndef SPEX_MEASURE_MEASURE_H
#define SPEX_MEASURE_MEASURE_H

#include <spex/policy.h>

#include "stats/tracer.h"

struct spex_measure;

/* 0 or -ENOMEM. `space` must outlive the measure. */
int spex_measure_create(const struct spex_space *space, double ticks_per_second,
                        struct spex_measure **out);
void spex_measure_destroy(struct spex_measure *measure);

/* The probe of a criterion; before the first record. That of the first is the one that begins the
 * run, that its threads have to make records of, and by whose silence a program that hangs is
 * known. */
void spex_measure_probe(struct spex_measure *measure, size_t criterion, uint16_t probe_id,
                        uint32_t probe_type);

/* Takes records in the order of their time. *used gets those that are used now, from the first that
 * comes after the warm-up on, which may have been taken before; they stay until the next call. 0 or
 * -ENOMEM. */
int spex_measure_add(struct spex_measure *measure, const struct spex_record *records, size_t count,
                     const struct spex_record **used, size_t *used_count);

/* No more records will come: from here on values are exact, and when it is not known yet that the
 * warm-up was over, what there is is used from the best point on. 0 or -ENOMEM. */
int spex_measure_end(struct spex_measure *measure, const struct spex_record **used,
                     size_t *used_count);

/* The run so far, with `levels` and `measured` to be filled in by the caller. */
struct spex_run spex_measure_run(const struct spex_measure *measure);

/* Whether the objective's probe has made its first record. */
bool spex_measure_started(const struct spex_measure *measure);

/* Whether, at `ticks`, the objective has been silent too long for a program that works: over a
 * quarter of the time since t0, and over three times the longest silence before. */
double spex_measure_silence(const struct spex_measure *measure, uint64_t ticks); /* seconds */
bool spex_measure_silent(const struct spex_measure *measure, uint64_t ticks);

/* All criteria: 1/s for a throughput, seconds for a time, else the value itself; NaN while there is
 * none. Before the end they are those of some records ago, one in twenty at most. */
void spex_measure_values(struct spex_measure *measure, struct spex_measured *values);

/* Whether the criteria have settled: the warm-up was seen to be over, if it was looked for, and
 * there is no trend in what has been measured since. */
bool spex_measure_steady(const struct spex_measure *measure);

/* Metrics of all probes over the records used. */
struct spex_tracer *spex_measure_tracer(struct spex_measure *measure);

#endif
