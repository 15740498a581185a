/* SPDX-License-Identifier: MIT */
/* Kernels of known growth that were measured at sizes each twice the one before (bench/beyond): how
 * well models of the smaller sizes predict the larger ones. */
#ifndef SPEX_TEST_MEASURED_H
#define SPEX_TEST_MEASURED_H

#include <stdbool.h>
#include <stdio.h>

#include "model/fit/fit.h"

enum {
    MEASURED_SIZES_MAX = 12,
    MEASURED_TIMES = 5,
    /* Models are of so many sizes, and predict the next two. */
    MEASURED_TRAINED = 5,
    MEASURED_CASES_MAX = 512
};

struct measured_kernel {
    char name[32];
    struct spex_exponents growth;
    size_t sizes;
    double size[MEASURED_SIZES_MAX];
    double times[MEASURED_SIZES_MAX][MEASURED_TIMES];
};

/* Predictions of twice, or four times, the greatest size trained. */
struct measured_predictions {
    /* The median of the times is in the interval. */
    size_t held;
    /* Half-widths of the intervals relative to these medians; sorted by measured_median_half(). */
    double halves[MEASURED_CASES_MAX];
    /* Sum of the interval scores (Gneiting and Raftery, Journal of the American Statistical
     * Association 102, 2007), relative to the medians. */
    double score;
};

struct measured_account {
    size_t cases;
    /* The verdicts of cases.h. */
    size_t lead;
    size_t class_right;
    struct measured_predictions beyond[2];
};

/* Reads rows "NAME,TWELFTHS,LOG,SIZE,TIME,…" of one kernel. `next`, empty at first, keeps the row
 * that was read too far. False: there is none. */
bool measured_read(FILE *in, struct measured_kernel *kernel, char next[256]);
void measured_write(FILE *out, const struct measured_kernel *kernel);

/* Fits a model to each MEASURED_TRAINED neighbouring sizes that have two more above them. */
void measured_count(struct measured_account *account, const struct measured_kernel *kernel);
double measured_median_half(struct measured_account *account, size_t beyond);

#endif
