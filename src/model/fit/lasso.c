/* SPDX-License-Identifier: MIT */
#include "model/fit/lasso.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    POINTS_MAX = 256,
    STEPS = 40, /* of the path, from the penalty at which nothing is chosen to 1e-4 of it */
    SWEEPS_MAX = 60,
    ACTIVE_MAX = 6
};
#define PATH_END  1e-4
#define TOLERANCE 1e-6

/* One column: a function of a parameter, or a product with one of another. */
struct column {
    size_t parameter[2];
    size_t function[2];
    size_t factors; /* 1, or 2 of a product */
    double coefficient;
};

/* Columns are weighted, centred and of length 1. */
struct lasso {
    const struct spex_problem *problem;
    size_t count;  /* points */
    size_t stride; /* between those that are looked at */
    struct column *columns;
    size_t column_count;
    double *values; /* column by column */
    double *left;   /* residuals */
};

/* Weighted and centred, so that the constant costs nothing; its length. */
static double centre(const struct lasso *lasso, double *values) {
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

static void add_column(struct lasso *lasso, struct column column) {
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
    double length = centre(lasso, values);
    if (!(length > 0) || !isfinite(length))
        return;
    for (size_t i = 0; i < lasso->count; i++)
        values[i] /= length;
    lasso->columns[lasso->column_count++] = column;
}

static void add_columns(struct lasso *lasso) {
    const struct spex_problem *problem = lasso->problem;
    size_t parameters = problem->points->parameter_count;
    for (size_t p = 0; p < parameters; p++) {
        for (size_t f = 0; f < SPEX_FUNCTIONS && problem->varies[p]; f++)
            add_column(lasso, (struct column){{p, 0}, {f, 0}, 1, 0});
        for (size_t q = 0; q < p && problem->varies[p]; q++)
            for (size_t f = 0;
                 f < (size_t)SPEX_FUNCTIONS_SIMPLE * SPEX_FUNCTIONS_SIMPLE && problem->varies[q];
                 f++)
                add_column(
                    lasso,
                    (struct column){
                        {p, q}, {f / SPEX_FUNCTIONS_SIMPLE, f % SPEX_FUNCTIONS_SIMPLE}, 2, 0});
    }
}

static double along(const struct lasso *lasso, size_t column) {
    const double *values = lasso->values + column * lasso->count;
    double sum = 0;
    for (size_t i = 0; i < lasso->count; i++)
        sum += values[i] * lasso->left[i];
    return sum;
}

/* One sweep of coordinate descent, over coefficients that are not negative; the largest change. */
static double sweep(struct lasso *lasso, double penalty) {
    double most = 0;
    for (size_t c = 0; c < lasso->column_count; c++) {
        struct column *column = &lasso->columns[c];
        const double *values = lasso->values + c * lasso->count;
        double next = fmax(along(lasso, c) + column->coefficient - penalty, 0);
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

static void propose(struct spex_candidates *candidates, size_t function) {
    for (size_t c = 0; c < candidates->count; c++)
        if (candidates->functions[c] == function)
            return;
    if (candidates->count < SPEX_CANDIDATES_MAX)
        candidates->functions[candidates->count++] = (uint8_t)function;
}

/* Whoever enters first comes first. How many are active. */
static size_t take_active(const struct lasso *lasso, struct spex_candidates *candidates,
                          const bool *wanted) {
    size_t active = 0;
    for (size_t c = 0; c < lasso->column_count; c++) {
        const struct column *column = &lasso->columns[c];
        if (column->coefficient == 0)
            continue;
        active++;
        for (size_t f = 0; f < column->factors; f++)
            if (wanted[column->parameter[f]]) {
                propose(&candidates[column->parameter[f]], column->function[f]);
                candidates[column->parameter[f]].gain =
                    fmax(candidates[column->parameter[f]].gain,
                         column->coefficient * column->coefficient / (double)lasso->count);
            }
    }
    return active;
}

static void follow_path(struct lasso *lasso, struct spex_candidates *candidates,
                        const bool *wanted) {
    double most = 0;
    size_t active = 0;
    for (size_t c = 0; c < lasso->column_count; c++)
        most = fmax(most, along(lasso, c));
    for (int step = 1; step <= STEPS && active < ACTIVE_MAX && most > 0; step++) {
        double penalty = most * pow(PATH_END, (double)step / STEPS);
        for (int sweeps = 0; sweeps < SWEEPS_MAX && sweep(lasso, penalty) > TOLERANCE * most;
             sweeps++)
            ;
        active = take_active(lasso, candidates, wanted);
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
        add_columns(&lasso);
        for (size_t i = 0; i < lasso.count; i++)
            lasso.left[i] = problem->data.values[i * stride];
        centre(&lasso, lasso.left);
        follow_path(&lasso, candidates, wanted);
    }
    for (size_t p = 0; p < parameters; p++)
        for (size_t f = 0; f < SPEX_FUNCTIONS_SIMPLE && wanted[p] && !err; f++)
            if (problem->usable[p][f])
                propose(&candidates[p], f);
    free(lasso.columns);
    free(lasso.values);
    free(lasso.left);
    return err;
}
