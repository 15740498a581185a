/* SPDX-License-Identifier: MIT */
#include "fleet/lead/sparse_values.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile_sum.h"

static bool row_empty(const float *row) {
    for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
        if (row[way] != 0)
            return false;
    return true;
}

/* Only values of the natural scale are times, which another clock counts. */
static uint16_t bucket_to(unsigned bucket, double factor) {
    return (uint16_t)(factor == 1
                          ? bucket
                          : spex_value_scale_bucket(SPEX_SCALE_NATURAL,
                                                    spex_histogram_value(bucket) * factor + 0.5));
}

/* By the value in the middle of the row. */
static uint16_t row_to(unsigned row, double factor) {
    unsigned middle = spex_variance_bucket(row);
    if (row >= SPEX_HISTOGRAM_SUB)
        middle += SPEX_VARIANCE_BUCKETS / 2;
    return (uint16_t)(factor == 1 ? row : spex_variance_row(bucket_to(middle, factor)));
}

/* Several buckets may go into one, which follow each other then. */
static void take_buckets(struct spex_sparse_values *sparse, const struct spex_histogram *histogram,
                         double factor) {
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
        if (!histogram->weights[b])
            continue;
        uint16_t to = bucket_to(b, factor);
        bool known = sparse->bucket_count && sparse->buckets[sparse->bucket_count - 1] == to;
        size_t at = known ? sparse->bucket_count - 1u : sparse->bucket_count++;
        sparse->buckets[at] = to;
        sparse->weights[at] = (known ? sparse->weights[at] : 0) + histogram->weights[b];
    }
}

static void take_rows(struct spex_sparse_values *sparse, const struct spex_variance *spread,
                      double factor) {
    for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++) {
        if (row_empty(spread->rows[r]))
            continue;
        uint16_t to = row_to(r, factor);
        bool known = sparse->row_count && sparse->rows[sparse->row_count - 1] == to;
        size_t at = known ? sparse->row_count - 1u : sparse->row_count++;
        sparse->rows[at] = to;
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            sparse->ways[at][way] = (known ? sparse->ways[at][way] : 0) + spread->rows[r][way];
    }
}

/* Weights have no unit of time, distances have. */
static void take_moments(struct spex_sparse_values *sparse, const struct spex_values *values,
                         double factor) {
    sparse->weight = values->weight;
    sparse->mean = values->mean * factor;
    sparse->squares = values->squares * factor * factor;
    sparse->min = values->min * factor;
    sparse->max = values->max * factor;
    sparse->left_out = values->left_out;
    sparse->scale = values->spread.scale;
    sparse->origin = values->spread.origin * factor;
    sparse->sums = spex_variance_sums(&values->spread);
    sparse->sums.distances *= factor * factor;
    sparse->sums.products *= factor;
    sparse->sums.local *= factor * factor;
    sparse->sums.blocks.distances *= factor * factor;
    sparse->sums.blocks.products *= factor;
}

static size_t bytes_for(size_t buckets, size_t rows) {
    return sizeof(struct spex_sparse_values) + buckets * (sizeof(uint64_t) + sizeof(uint16_t)) +
           rows * (SPEX_VARIANCE_WAYS * sizeof(float) + sizeof(uint16_t));
}

struct spex_sparse_values *spex_sparse_values_of(const struct spex_values *values, double factor) {
    size_t buckets = 0, rows = 0;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        buckets += values->histogram.weights[b] != 0;
    for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++)
        rows += !row_empty(values->spread.rows[r]);
    struct spex_sparse_values *sparse = malloc(bytes_for(buckets, rows));
    if (!sparse)
        return NULL;
    *sparse = (struct spex_sparse_values){.weights = (uint64_t *)(sparse + 1)};
    sparse->ways = (float(*)[SPEX_VARIANCE_WAYS])(sparse->weights + buckets);
    sparse->buckets = (uint16_t *)(void *)(sparse->ways + rows);
    sparse->rows = sparse->buckets + buckets;
    take_moments(sparse, values, factor);
    take_buckets(sparse, &values->histogram, factor);
    take_rows(sparse, &values->spread, factor);
    return sparse;
}

size_t spex_sparse_values_bytes(const struct spex_sparse_values *values) {
    return values ? bytes_for(values->bucket_count, values->row_count) : 0;
}

void spex_sparse_values_add_spread(struct spex_variance *sum,
                                   const struct spex_sparse_values *more) {
    spex_variance_widen(sum, more->scale);
    spex_variance_join(sum, more->origin, more->sums);
    for (unsigned r = 0; r < more->row_count; r++) {
        float *row = sum->rows[spex_variance_row_from(sum->scale, more->scale, more->rows[r])];
        for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
            row[way] += more->ways[r][way];
    }
}

/* The first values give the origin of all. */
void spex_sparse_values_add(struct spex_values *sum, const struct spex_sparse_values *more) {
    if (sum->weight <= 0)
        sum->spread.origin = more->origin;
    spex_values_widen(sum, more->scale);
    spex_values_join(sum, more->weight, more->mean, more->squares);
    sum->min = fmin(sum->min, more->min);
    sum->max = fmax(sum->max, more->max);
    sum->left_out += more->left_out;
    for (unsigned b = 0; b < more->bucket_count; b++) {
        unsigned bucket =
            spex_value_scale_bucket_from(sum->spread.scale, more->scale, more->buckets[b]);
        sum->histogram.weights[bucket] += more->weights[b];
        sum->histogram.total += more->weights[b];
    }
    spex_sparse_values_add_spread(&sum->spread, more);
}
