/* SPDX-License-Identifier: MIT */
/* Values as of records, one after another: what sums of profiles are compared with. */
#ifndef SPEX_TEST_VALUES_TAKE_H
#define SPEX_TEST_VALUES_TAKE_H

#include "stats/values.h"

/* A record that stands for one execution or several. */
static inline void values_take(struct spex_values *values, uint64_t value, uint32_t weight) {
    double distance = (double)value - values->mean;
    values->weight += weight;
    values->mean += distance * weight / values->weight;
    values->squares += weight * distance * ((double)value - values->mean);
    values->min = value < values->min ? value : values->min;
    values->max = value > values->max ? value : values->max;
    spex_histogram_add(&values->histogram, value, weight);
    if (values->spread.origin <= 0)
        values->spread.origin = (double)value;
    spex_variance_single(&values->spread, value, weight, 1);
}

#endif
