/* SPDX-License-Identifier: MIT */
/* Means, rates and quantiles of a series of records, and their errors although neighbouring records
 * are correlated. Neighbours are put together in batches. The means of long batches are nearly
 * independent, so their variance gives the error of the mean of all. Memory is bounded: when all
 * batches are full, neighbouring ones are joined. */
#ifndef SPEX_MEASURE_BATCH_MEANS_H
#define SPEX_MEASURE_BATCH_MEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/policy.h>

#define SPEX_BATCHES 128

/* Sums over a batch's records. */
struct spex_batch {
    double weight;
    /* Sum of the values, each times its weight. */
    double sum;
    /* From the last record of the batch before to the last record of this one. */
    double time;
};

struct spex_batch_means {
    /* Records in a full batch. */
    uint64_t batch_records;
    /* Records in batches[count], which is being filled. */
    uint64_t open_records;
    /* Number of full batches, in the order of time. */
    size_t count;
    struct spex_batch batches[SPEX_BATCHES];
    struct spex_batch total;
    /* Infinite where there are no values. */
    double min;
    double max;
    /* enum spex_value_scale: of the histograms' buckets. */
    unsigned scale;
    /* Weights by batch and bucket of a histogram; NULL: no quantile is wanted. */
    double *weights;
};

/* The first batches have `batch_records` records. 0 or -ENOMEM. */
int spex_batch_means_open(struct spex_batch_means *means, uint64_t batch_records, bool quantiles);
void spex_batch_means_close(struct spex_batch_means *means);

/* Adds the next record, `time` after the one before. */
void spex_batch_means_add(struct spex_batch_means *means, double value, double weight, double time);

/* Values are NaN while there are no records, errors while there are too few. An error e is such
 * that the value ± 1.96 e is a 95 % interval: with few batches e is greater than the standard
 * error, by Student's quantile over the normal one. The rate is weight by time. */
struct spex_measured spex_batch_means_mean(const struct spex_batch_means *means);
struct spex_measured spex_batch_means_rate(const struct spex_batch_means *means);
struct spex_measured spex_batch_means_quantile(const struct spex_batch_means *means, double q);

/* The full batches' means, or their mean times by weight. Returns their number. */
size_t spex_batch_means_values(const struct spex_batch_means *means, double values[SPEX_BATCHES]);
size_t spex_batch_means_gaps(const struct spex_batch_means *means, double gaps[SPEX_BATCHES]);

/* The time of all batches before this one. */
double spex_batch_means_time(const struct spex_batch_means *means, size_t batch);

#endif
