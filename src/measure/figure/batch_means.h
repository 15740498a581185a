/* SPDX-License-Identifier: MIT */
/* Means, rates and quantiles of a series of records, and how far they may be off although each
 * record has to do with those before it. Neighbouring records are put together in batches; means of
 * long batches are as good as independent, and so say by their differences how sure the mean of all
 * is. Memory is bounded: when there is no room for another batch, neighbours are joined. */
#ifndef SPEX_MEASURE_FIGURE_BATCH_MEANS_H
#define SPEX_MEASURE_FIGURE_BATCH_MEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/policy.h>

#define SPEX_BATCHES 128

/* Sums over a batch's records. */
struct spex_batch {
    double weight;
    double sum;  /* of values by their weights */
    double time; /* from the last record of the batch before to the last of this one */
};

struct spex_batch_means {
    uint64_t batch_records; /* that make a batch */
    uint64_t open_records;  /* of the batch that is being filled, batches[count] */
    size_t count;           /* of full ones, in the order of time */
    struct spex_batch batches[SPEX_BATCHES];
    struct spex_batch total;
    uint64_t min; /* UINT64_MAX where there are no values */
    uint64_t max;
    double *weights; /* by batch and bucket of a histogram; NULL where no quantile is wanted */
};

/* 0 or -ENOMEM. Batches begin with `batch_records`. */
int spex_batch_means_open(struct spex_batch_means *means, uint64_t batch_records, bool quantiles);
void spex_batch_means_close(struct spex_batch_means *means);

/* The next record, `time` after the one before. */
void spex_batch_means_add(struct spex_batch_means *means, uint64_t value, double weight,
                          double time);

/* Values are NaN while there are none, errors while there are too few records to tell. An error e
 * is such that the value +- 1.96 e is an interval that holds the truth in 95 % of cases: with few
 * batches, e is larger than the standard error by Student's quantile over the normal one. */
struct spex_measured spex_batch_means_mean(const struct spex_batch_means *means);
struct spex_measured spex_batch_means_rate(
    const struct spex_batch_means *means); /* weight per time */
struct spex_measured spex_batch_means_quantile(const struct spex_batch_means *means, double q);

/* The full batches' means, or mean times per weight. Returns how many there are. */
size_t spex_batch_means_values(const struct spex_batch_means *means, double values[SPEX_BATCHES]);
size_t spex_batch_means_gaps(const struct spex_batch_means *means, double gaps[SPEX_BATCHES]);

/* The time of the batches before this one. */
double spex_batch_means_time(const struct spex_batch_means *means, size_t batch);

#endif
