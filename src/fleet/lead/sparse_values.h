/* SPDX-License-Identifier: MIT */
/* Values of which only what is not empty is kept: a few KB where struct spex_values takes 50. They
 * are added to sums, exactly. */
#ifndef SPEX_FLEET_LEAD_SPARSE_VALUES_H
#define SPEX_FLEET_LEAD_SPARSE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "stats/values.h"

struct spex_sparse_values {
    double weight, mean, squares;
    double min, max;
    uint64_t left_out;
    uint32_t scale;
    double origin;
    struct spex_variance_sums sums;
    /* Buckets of the histogram and rows of the variance that are not empty, growing. */
    uint16_t bucket_count, row_count;
    uint64_t *weights;
    uint16_t *buckets, *rows;
    float (*ways)[SPEX_VARIANCE_WAYS];
};

/* The values, each times `factor`, by which another clock counts. With 1 they stay as they are;
 * else those of a bucket go where its middle goes. NULL: no memory. To be freed by free. */
struct spex_sparse_values *spex_sparse_values_of(const struct spex_values *values, double factor);

/* Bytes that they take. */
size_t spex_sparse_values_bytes(const struct spex_sparse_values *values);

void spex_sparse_values_add(struct spex_values *sum, const struct spex_sparse_values *more);

/* Adds the variance alone. */
void spex_sparse_values_add_spread(struct spex_variance *sum,
                                   const struct spex_sparse_values *more);

#endif
