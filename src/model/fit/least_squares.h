/* SPDX-License-Identifier: MIT */
/* Weighted linear least squares of few columns. */
#ifndef SPEX_MODEL_FIT_LEAST_SQUARES_H
#define SPEX_MODEL_FIT_LEAST_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/model.h"

struct spex_data {
    size_t count;
    const double *values;
    const double *weights;
};

struct spex_least_squares {
    size_t columns;
    double coefficients[SPEX_MODEL_COLUMNS_MAX];
    /* Inverse of X'WX. */
    double inverse[SPEX_MODEL_COLUMNS_MAX][SPEX_MODEL_COLUMNS_MAX];
    /* Weighted sum of the squared residuals. */
    double squares;
};

/* False: the columns are not independent, or are more than the values. */
bool spex_least_squares(const struct spex_data *data, const double *const *columns, size_t count,
                        struct spex_least_squares *fit);

/* Weighted mean square of the errors of predicting each value from the others (leave-one-out);
 * INFINITY: one value alone decides a coefficient. */
double spex_leave_one_out_error(const struct spex_data *data, const double *const *columns,
                                const struct spex_least_squares *fit);

#endif
