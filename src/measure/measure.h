/* SPDX-License-Identifier: MIT */
/* Computes the values of a run from its records. Time runs like this:
 *
 *    first record        warm-up over   t0                                   last record
 *        ├───── warm-up ──────┤·········│── records used, after t0 ───────────────│
 *
 * t0 is the first record of the objective (the first criterion's probe) after the warm-up. It opens
 * the interval and is not counted, so a throughput is completions over exactly the time they took.
 *
 * The warm-up lasts as long as the rules say, or until the criteria have settled (figure/warmup.h).
 * That is known only some time later: until then records are kept, and those after t0 are used
 * then. */
#ifndef SPEX_MEASURE_MEASURE_H
#define SPEX_MEASURE_MEASURE_H

#include <spex/policy.h>

#include "stats/tracer.h"

struct spex_measure;

/* `space` must outlive the measure. 0 or -ENOMEM. */
int spex_measure_create(const struct spex_space *space, double ticks_per_second,
                        struct spex_measure **out);
void spex_measure_destroy(struct spex_measure *measure);

/* Sets the probe of a criterion, before the first record. The first criterion's probe is the
 * objective's: its first record begins the run, its records are counted by thread, and its silence
 * tells that a program hangs. */
void spex_measure_probe(struct spex_measure *measure, size_t criterion, uint16_t probe_id,
                        uint32_t probe_type);

/* Takes records in the order of their time. *used: the records that are used now, among them
 * records from earlier calls when the warm-up turns out to be over; valid until the next call. 0 or
 * -ENOMEM. */
int spex_measure_add(struct spex_measure *measure, const struct spex_record *records, size_t count,
                     const struct spex_record **used, size_t *used_count);

/* No more records follow: the values are exact from here on. If the end of the warm-up has not been
 * seen yet, the records from the best point on are used. 0 or -ENOMEM. */
int spex_measure_end(struct spex_measure *measure, const struct spex_record **used,
                     size_t *used_count);

/* The run so far. The caller fills in `levels` and `measured`. */
struct spex_run spex_measure_run(const struct spex_measure *measure);

/* Returns whether the objective's probe has made its first record. */
bool spex_measure_started(const struct spex_measure *measure);

/* Seconds since the objective's last record; and whether that is too long for a program that works:
 * over a quarter of the time since t0, and over three times the longest silence before. */
double spex_measure_silence(const struct spex_measure *measure, uint64_t ticks);
bool spex_measure_silent(const struct spex_measure *measure, uint64_t ticks);

/* The values of all criteria: 1/s for a throughput, seconds for a time, else the plain value; NaN:
 * none yet. Before the end the values may be older by up to a twentieth of the records. */
void spex_measure_values(struct spex_measure *measure, struct spex_measured *values);

/* Returns whether the criteria have settled: the end of the warm-up was seen, if it was looked for,
 * and the values since then have no trend. */
bool spex_measure_steady(const struct spex_measure *measure);

/* Metrics of all probes over the records used. */
struct spex_tracer *spex_measure_tracer(struct spex_measure *measure);

#endif
