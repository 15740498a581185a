/* SPDX-License-Identifier: MIT */
/* LASSO with non-negative coefficients, by cyclic coordinate descent along a path of decreasing
 * penalties, each step of which starts from the solution of the last (Friedman, Hastie and
 * Tibshirani, "Regularization Paths for Generalized Linear Models via Coordinate Descent",
 * Journal of Statistical Software 33(1), 2010). Functions become candidates in the order in
 * which they enter the path. A sweep takes time in proportion to columns times points, so at
 * most POINTS_MAX points are used. */
#include "model/fit/lasso.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    POINTS_MAX = 256,
    /* Steps of the path, from the penalty at which no column is chosen to PATH_END of it. */
    STEPS = 40,
    SWEEPS_MAX = 60,
    ACTIVE_MAX = 6
};
#define PATH_END  1e-4
#define TOLERANCE 1e-6

/* A column: a function of a parameter, or the product of functions of two. */
struct column {
    size_t parameter[2];
    size_t function[2];
    /* 1, or 2 for a product. */
    size_t factors;
    double coefficient;
};

/* The columns among which LASSO chooses. Each is multiplied by the root of the weights, centred,
 * and scaled to length 1, so that one penalty suits all. */
struct lasso {
    const struct spex_problem *problem;
    /* Points that are used: every `stride`th, at most POINTS_MAX. */
    size_t count;
    size_t stride;
    struct column *columns;
    size_t column_count;
    /* Values, column by column. */
    double *values;
    /* The measured times less what the columns explain so far. */
    double *left;
};

/* Subtracts the weighted mean, so that the model's constant drops out, and multiplies by the
 * root of the weights. Returns the length of the result. */
static double values_centre(const struct lasso *lasso, double *values) {
    const double *weights = lasso->problem->data.weights;
    double sum = 0, all = 0, squares = 0;
    for (size_t i = 0; i < lasso->count; i++) {
        double w = weights[i * lasso->stride];
        sum += w * values[i];
        all += w;
    }
    for (size_t i = 0; i < lasso->count; i++) {
        values[i] = sqrt(weights[i * lasso->stride]) * (values[i] - sum / all);
        squares += values[i] * values[i];
    }
    return sqrt(squares);
}

/* Adds a column, unless one of its functions is not usable or all its values are the same.
 * `column_count` then stays, and the next column overwrites its values. */
static void lasso_add_column(struct lasso *lasso, struct column column) {
    const struct spex_problem *problem = lasso->problem;
    double *values = lasso->values + lasso->column_count * lasso->count;
    for (size_t f = 0; f < column.factors; f++)
        if (!problem->usable[column.parameter[f]][column.function[f]])
            return;
    for (size_t i = 0; i < lasso->count; i++) {
        values[i] = 1;
        for (size_t f = 0; f < column.factors; f++)
            values[i] *= spex_problem_column(problem, column.parameter[f],
                                             column.function[f])[i * lasso->stride];
    }
    double length = values_centre(lasso, values);
    if (!(length > 0) || !isfinite(length))
        return;
    for (size_t i = 0; i < lasso->count; i++)
        values[i] /= length;
    lasso->columns[lasso->column_count++] = column;
}

/* Adds every function of each parameter that varies, and the products of simple functions of
 * each two of them. `f` counts the pairs of simple functions in the inner loop. */
static void lasso_add_columns(struct lasso *lasso) {
    const struct spex_problem *problem = lasso->problem;
    size_t parameters = problem->points->parameter_count;
    for (size_t p = 0; p < parameters; p++) {
        for (size_t f = 0; f < SPEX_FUNCTIONS && problem->varies[p]; f++)
            lasso_add_column(lasso, (struct column){{p, 0}, {f, 0}, 1, 0});
        for (size_t q = 0; q < p && problem->varies[p]; q++)
            for (size_t f = 0;
                 f < (size_t)SPEX_FUNCTIONS_SIMPLE * SPEX_FUNCTIONS_SIMPLE && problem->varies[q];
                 f++)
                lasso_add_column(
                    lasso,
                    (struct column){
                        {p, q}, {f / SPEX_FUNCTIONS_SIMPLE, f % SPEX_FUNCTIONS_SIMPLE}, 2, 0});
    }
}

/* Scalar product of a column and the residuals. */
static double column_residual(const struct lasso *lasso, size_t column) {
    const double *values = lasso->values + column * lasso->count;
    double sum = 0;
    for (size_t i = 0; i < lasso->count; i++)
        sum += values[i] * lasso->left[i];
    return sum;
}

/* One sweep of coordinate descent over all columns. Returns the greatest change of a
 * coefficient. */
static double lasso_sweep(struct lasso *lasso, double penalty) {
    double most = 0;
    for (size_t c = 0; c < lasso->column_count; c++) {
        struct column *column = &lasso->columns[c];
        const double *values = lasso->values + c * lasso->count;
        /* As the column has length 1, this is the coefficient that least squares would give it,
         * lowered by the penalty (soft threshold) and never negative. */
        double next = fmax(column_residual(lasso, c) + column->coefficient - penalty, 0);
        double change = next - column->coefficient;
        if (change == 0)
            continue;
        for (size_t i = 0; i < lasso->count; i++)
            lasso->left[i] -= change * values[i];
        column->coefficient = next;
        most = fmax(most, fabs(change));
    }
    return most;
}

/* Adds a function if it is new and there is room: the first ones of the path stay. */
static void candidates_add(struct spex_candidates *candidates, size_t function) {
    for (size_t c = 0; c < candidates->count; c++)
        if (candidates->functions[c] == function)
            return;
    if (candidates->count < SPEX_CANDIDATES_MAX)
        candidates->functions[candidates->count++] = (uint8_t)function;
}

/* Adds the functions of the columns that the path has chosen to the candidates of the parameters
 * in `wanted`, with the variance that the column explains as their gain. Returns the number of
 * chosen columns. */
static size_t candidates_add_active(const struct lasso *lasso, struct spex_candidates *candidates,
                                    const bool *wanted) {
    size_t active = 0;
    for (size_t c = 0; c < lasso->column_count; c++) {
        const struct column *column = &lasso->columns[c];
        if (column->coefficient == 0)
            continue;
        active++;
        for (size_t f = 0; f < column->factors; f++)
            if (wanted[column->parameter[f]]) {
                candidates_add(&candidates[column->parameter[f]], column->function[f]);
                candidates[column->parameter[f]].gain =
                    fmax(candidates[column->parameter[f]].gain,
                         column->coefficient * column->coefficient / (double)lasso->count);
            }
    }
    return active;
}

/* Follows the path until ACTIVE_MAX columns are chosen. It begins at the penalty at which the
 * first column is about to be chosen, the greatest product with the residuals. */
static void lasso_follow_path(struct lasso *lasso, struct spex_candidates *candidates,
                              const bool *wanted) {
    double most = 0;
    size_t active = 0;
    for (size_t c = 0; c < lasso->column_count; c++)
        most = fmax(most, column_residual(lasso, c));
    for (int step = 1; step <= STEPS && active < ACTIVE_MAX && most > 0; step++) {
        double penalty = most * pow(PATH_END, (double)step / STEPS);
        for (int sweeps = 0; sweeps < SWEEPS_MAX && lasso_sweep(lasso, penalty) > TOLERANCE * most;
             sweeps++)
            ;
        active = candidates_add_active(lasso, candidates, wanted);
    }
}

int spex_lasso_candidates(const struct spex_problem *problem, struct spex_candidates *candidates) {
    size_t parameters = problem->points->parameter_count, count = problem->data.count;
    size_t stride = (count + POINTS_MAX - 1) / POINTS_MAX;
    size_t columns = parameters * SPEX_FUNCTIONS +
                     parameters * parameters * SPEX_FUNCTIONS_SIMPLE * SPEX_FUNCTIONS_SIMPLE / 2;
    struct lasso lasso = {
        .problem = problem, .stride = stride, .count = (count + stride - 1) / stride};
    bool wanted[SPEX_MODEL_PARAMETERS_MAX];
    lasso.columns = calloc(columns + 1, sizeof(*lasso.columns));
    lasso.values = calloc((columns + 1) * lasso.count, sizeof(double));
    lasso.left = calloc(lasso.count + 1, sizeof(double));
    int err = lasso.columns && lasso.values && lasso.left ? 0 : -ENOMEM;
    for (size_t p = 0; p < parameters; p++)
        wanted[p] = problem->varies[p] && !candidates[p].count;
    if (!err) {
        lasso_add_columns(&lasso);
        for (size_t i = 0; i < lasso.count; i++)
            lasso.left[i] = problem->data.values[i * stride];
        values_centre(&lasso, lasso.left);
        lasso_follow_path(&lasso, candidates, wanted);
    }
    /* Places that the path left free get the simple functions. */
    for (size_t p = 0; p < parameters; p++)
        for (size_t f = 0; f < SPEX_FUNCTIONS_SIMPLE && wanted[p] && !err; f++)
            if (problem->usable[p][f])
                candidates_add(&candidates[p], f);
    free(lasso.columns);
    free(lasso.values);
    free(lasso.left);
    return err;
}
