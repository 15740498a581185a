/* SPDX-License-Identifier: MIT */
/* Tracer: turns records into metrics per probe. The same code runs inside the program (SPEX_OUT)
 * and in the process that receives its stream. Not thread-safe: callers lock. */
#ifndef SPEX_STATS_TRACER_H
#define SPEX_STATS_TRACER_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "stats/values.h"

struct spex_tracer;

/* Statistics of one value over the recorded executions, each counting by its weight. */
struct spex_series {
    double mean;
    double deviation; /* standard deviation */
    double min;
    double max;
};

struct spex_metrics {
    uint16_t probe_id;
    uint32_t probe_type;
    uint64_t records;
    double count;           /* executions: the sum of the weights, as they were scaled for losses */
    double weight_squares;  /* the sum of their squares */
    double region_count;    /* of `count`, what stands in regions, where weights are averages; */
    double region_variance; /* and of which this is the variance */
    uint64_t first_ticks;   /* timestamps of the first and last record */
    uint64_t last_ticks;
    unsigned series; /* values: 0 for CNT, 1 for LAT and TPT (ticks), FLT, CTXSW and PERFCNTR, 2 for
                        LLC, as given for SNAPSHOT */
    uint64_t marked[SPEX_MARKS]; /* records with each mark of enum spex_mark, by its bit */
};

/* 0 or -ENOMEM. */
int spex_tracer_create(struct spex_tracer **tracer);
void spex_tracer_destroy(struct spex_tracer *tracer);

/* Records of one ring that were read together: of what was lost before them, as the first one tells, each takes over
 * its share, so that what was measured meanwhile counts for more.
 * 0, or -ENOMEM after which the records from there on are not in the metrics. */
int spex_tracer_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count);

/* Of all probes of a type together. */
struct spex_tracer_totals {
    uint64_t records;
    double executions;
};

struct spex_tracer_totals spex_tracer_totals(const struct spex_tracer *tracer, unsigned type_ring);

/* Probes seen so far, in the order of id and type. */
size_t spex_tracer_probes(const struct spex_tracer *tracer);

/* Where this one is among them; their number when it is not. */
size_t spex_tracer_find(const struct spex_tracer *tracer, uint16_t probe_id, uint32_t probe_type);
void spex_tracer_metrics(const struct spex_tracer *tracer, size_t probe,
                         struct spex_metrics *metrics);
const struct spex_values *spex_tracer_values(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series);
void spex_tracer_series(const struct spex_tracer *tracer, size_t probe, unsigned series,
                        struct spex_series *out);
double spex_tracer_quantile(const struct spex_tracer *tracer, size_t probe, unsigned series,
                            double q);

#endif
