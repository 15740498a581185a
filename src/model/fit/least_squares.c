/* SPDX-License-Identifier: MIT */
/* Weighted least squares by the normal equations and their Cholesky decomposition. Columns are
 * scaled to length 1 beforehand, so that PIVOT_MIN is a limit of their dependence whatever their
 * magnitudes are. The normal equations suffice for the few columns of a model, and are formed in
 * one pass for each pair of columns. Leave-one-out errors come from the leverages, without
 * another fit. */
#include "model/fit/least_squares.h"

#include <math.h>

/* Least squared length of the part of a column of length 1 that is independent of the others. */
#define PIVOT_MIN 1e-10

typedef double square[SPEX_MODEL_COLUMNS_MAX][SPEX_MODEL_COLUMNS_MAX];

static double weighted_product(const struct spex_data *data, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < data->count; i++)
        sum += data->weights[i] * a[i] * b[i];
    return sum;
}

/* Replaces the lower triangle of a symmetric matrix by its Cholesky factor. False: a column
 * depends on those before it. */
static bool cholesky_factorise(square matrix, size_t count) {
    for (size_t j = 0; j < count; j++) {
        for (size_t k = 0; k < j; k++)
            matrix[j][j] -= matrix[j][k] * matrix[j][k];
        if (!(matrix[j][j] > PIVOT_MIN))
            return false;
        matrix[j][j] = sqrt(matrix[j][j]);
        for (size_t i = j + 1; i < count; i++) {
            for (size_t k = 0; k < j; k++)
                matrix[i][j] -= matrix[i][k] * matrix[j][k];
            matrix[i][j] /= matrix[j][j];
        }
    }
    return true;
}

/* Inverse of the matrix whose lower Cholesky factor this is, column by column: forward and then
 * backward substitution of a column of the identity. */
static void cholesky_invert(square factor, size_t count, square inverse) {
    for (size_t c = 0; c < count; c++) {
        double x[SPEX_MODEL_COLUMNS_MAX] = {0};
        x[c] = 1;
        for (size_t i = c; i < count; i++) {
            for (size_t k = c; k < i; k++)
                x[i] -= factor[i][k] * x[k];
            x[i] /= factor[i][i];
        }
        for (size_t i = count; i-- > 0;) {
            for (size_t k = i + 1; k < count; k++)
                x[i] -= factor[k][i] * x[k];
            x[i] /= factor[i][i];
        }
        for (size_t i = 0; i < count; i++)
            inverse[i][c] = x[i];
    }
}

/* Weighted sum of the squared residuals, from the residuals themselves: the shorter formula by
 * the normal equations loses all digits where the fit is nearly exact. */
static double residual_squares(const struct spex_data *data, const double *const *columns,
                               const struct spex_least_squares *fit) {
    double sum = 0;
    for (size_t i = 0; i < data->count; i++) {
        double left = data->values[i];
        for (size_t c = 0; c < fit->columns; c++)
            left -= fit->coefficients[c] * columns[c][i];
        sum += data->weights[i] * left * left;
    }
    return sum;
}

/* Solves with columns divided by their lengths (`norms`), and multiplies the inverse and the
 * coefficients back. Columns that are not finite, or 0, are not independent. */
bool spex_least_squares(const struct spex_data *data, const double *const *columns, size_t count,
                        struct spex_least_squares *fit) {
    double norms[SPEX_MODEL_COLUMNS_MAX], right[SPEX_MODEL_COLUMNS_MAX];
    square gram;
    if (count > data->count || count == 0)
        return false;
    for (size_t a = 0; a < count; a++) {
        norms[a] = sqrt(weighted_product(data, columns[a], columns[a]));
        if (!(norms[a] > 0) || !isfinite(norms[a]))
            return false;
        right[a] = weighted_product(data, columns[a], data->values) / norms[a];
        for (size_t b = 0; b < a; b++)
            gram[a][b] = weighted_product(data, columns[a], columns[b]) / (norms[a] * norms[b]);
        gram[a][a] = 1;
    }
    if (!cholesky_factorise(gram, count))
        return false;
    fit->columns = count;
    cholesky_invert(gram, count, fit->inverse);
    for (size_t a = 0; a < count; a++) {
        fit->coefficients[a] = 0;
        for (size_t b = 0; b < count; b++) {
            fit->coefficients[a] += fit->inverse[a][b] * right[b];
            fit->inverse[a][b] /= norms[a] * norms[b];
        }
        fit->coefficients[a] /= norms[a];
    }
    fit->squares = residual_squares(data, columns, fit);
    return true;
}

double spex_leave_one_out_error(const struct spex_data *data, const double *const *columns,
                                const struct spex_least_squares *fit) {
    double sum = 0;
    for (size_t i = 0; i < data->count; i++) {
        double left = data->values[i], leverage = 0;
        for (size_t a = 0; a < fit->columns; a++) {
            left -= fit->coefficients[a] * columns[a][i];
            for (size_t b = 0; b < fit->columns; b++)
                leverage += columns[a][i] * fit->inverse[a][b] * columns[b][i];
        }
        leverage *= data->weights[i];
        if (!(leverage < 1 - 1e-9))
            return INFINITY;
        /* The error of predicting this value by a fit of the others is its residual over
         * 1 - leverage. */
        left /= 1 - leverage;
        sum += data->weights[i] * left * left;
    }
    return sum / (double)data->count;
}
