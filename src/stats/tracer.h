/* SPDX-License-Identifier: MIT */
/* Tracer: turns records into metrics per probe. The same code runs inside the program and in the
 * process that receives its stream. Not thread-safe: callers lock. */
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
    /* Values that are infinite or no numbers, which are in none of these. */
    uint64_t left_out;
};

struct spex_metrics {
    uint16_t probe_id;
    uint32_t probe_type;
    uint64_t records;
    /* Executions: the sum of the records' weights, scaled up for lost records. */
    double count;
    /* The sums of the records' weights and of their squares, without what was lost. */
    double weight;
    double weight_squares;
    /* The part of `count` that lies in regions, where weights are averages, and its variance. */
    double region_count;
    double region_variance;
    /* Number of values: 0 for CNT, 1 for LAT, TPT and SPAN (ticks), FLT, CTXSW and PERFCNTR, 2 for
     * LLC, as given for SNAPSHOT. */
    unsigned series;
    /* Records with each mark of enum spex_mark, by its bit. */
    uint64_t marked[SPEX_MARKS];
};

/* An execution of a probe of times. */
struct spex_slowest {
    uint64_t ticks; /* 0: there is none */
    uint64_t timestamp;
    uint32_t thread_id;
    uint16_t cpu_id;
};

/* 0 or -ENOMEM. */
int spex_tracer_create(struct spex_tracer **tracer);
void spex_tracer_destroy(struct spex_tracer *tracer);

/* Adds a batch: records of one ring that were read together. The first record holds the number of
 * records that were lost before them. All records of the batch stand for them in equal parts, as
 * far as nothing more is known of a probe than its records: see spex_tracer_losses. 0, or -ENOMEM;
 * then the rest of the batch is missing from the metrics. */
int spex_tracer_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count);

/* Records of the probe, by its index, are of a new slice of the time from now on, and each stands
 * for `scale` executions besides those of its weight: the probe was off before. They are one unit
 * of the variance. What is lost within a slice is not weighed. 1: the probe is in slices no more.
 * */
void spex_tracer_slice(struct spex_tracer *tracer, size_t probe, double scale);

/* Numbers the window of time that records belong to from now on; 0 at first. It does not fall. */
void spex_tracer_window(struct spex_tracer *tracer, uint64_t window);

/* A block of records (variance.h) lasts about as long as the times in which a budget has none made. */
#define SPEX_TRACER_BLOCKS_A_SECOND 10

/* Records are of this block from now on. */
void spex_tracer_block(struct spex_tracer *tracer, uint64_t number);

/* The slowest execution of this window and the last one, of a probe of times. */
struct spex_slowest spex_tracer_slowest(const struct spex_tracer *tracer, size_t probe);

/* Totals of all probes of one type. */
struct spex_tracer_totals {
    uint64_t records;
    double executions;
};

struct spex_tracer_totals spex_tracer_totals(const struct spex_tracer *tracer, unsigned type_ring);

/* The number of probes seen so far. They have the indices from 0 on, in the order of id and type;
 * an index changes when a probe before it appears. */
size_t spex_tracer_probes(const struct spex_tracer *tracer);

/* The index of a probe, in logarithmic time; spex_tracer_probes() where it has no records. */
size_t spex_tracer_find(const struct spex_tracer *tracer, uint16_t probe_id, uint32_t probe_type);
void spex_tracer_metrics(const struct spex_tracer *tracer, size_t probe,
                         struct spex_metrics *metrics);

/* The values, without what was lost. */
const struct spex_values *spex_tracer_values(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series);

/* The values of records that were read next to a loss, or made in slices of the time, with the
 * weights of the executions without a record that they stand for (`losses` of spex_values_weigh);
 * NULL: there are none. Who knows how often the probe was executed knows how much of that there
 * was. */
const struct spex_values *spex_tracer_losses(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series);

/* Statistics of the values with all lost executions that their records stand for. */
void spex_tracer_series(const struct spex_tracer *tracer, size_t probe, unsigned series,
                        struct spex_series *out);
double spex_tracer_quantile(const struct spex_tracer *tracer, size_t probe, unsigned series,
                            double q);

#endif
