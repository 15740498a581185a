/* SPDX-License-Identifier: MIT */
/* Scans the power, then halves the steps around the best one. */
#include "model/fit/power.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The powers that are tried, as those of the dictionary from -2 to 3; and halvings of the step. */
#define POWER_LEAST (-2.0)
#define POWER_STEP  0.125
enum { POWERS = 41, HALVINGS = 6 };
/* A power that may be any is worth a further coefficient, instead of the complexity of the function
 * that it replaces. */
#define POWER_PRICE 4.0

struct powers {
    const struct spex_problem *problem;
    const struct spex_hypothesis *form;
    size_t parameter;
    /* The columns of all terms, and that of the term whose function is exchanged without it. */
    double *columns;
    double *rest;
    size_t term;
    double price;
};

/* The product of a term's functions at a point, without that of the parameter `left_out`. */
static double term_value(const struct powers *powers, size_t term, size_t point, size_t left_out) {
    double value = 1;
    for (size_t p = 0; p < powers->problem->points->parameter_count; p++) {
        size_t function = p != left_out ? powers->form->functions[term][p] : 0;
        if (function)
            value *= spex_problem_column(powers->problem, p, function - 1)[point];
    }
    return value;
}

static double *column_of(const struct powers *powers, size_t term) {
    return powers->columns + term * powers->problem->data.count;
}

static void columns_fill(struct powers *powers, size_t term) {
    size_t none = SPEX_MODEL_PARAMETERS_MAX;
    powers->term = term;
    for (size_t i = 0; i < powers->problem->data.count; i++) {
        for (size_t t = 0; t < powers->form->terms; t++)
            column_of(powers, t)[i] = term_value(powers, t, i, none);
        powers->rest[i] = term_value(powers, term, i, powers->parameter);
    }
}

static bool all_positive(const struct spex_least_squares *fit, size_t first) {
    for (size_t c = first; c < fit->columns; c++)
        if (!(fit->coefficients[c] > 0))
            return false;
    return true;
}

/* The score with this power; INFINITY where it is impossible. */
static double power_score(const struct powers *powers, double power) {
    const struct spex_problem *problem = powers->problem;
    const struct spex_points *points = problem->points;
    const double *all[SPEX_MODEL_COLUMNS_MAX] = {problem->ones}, *const *columns = all;
    size_t count = powers->form->terms + 1;
    struct spex_least_squares fit;
    for (size_t t = 0; t < powers->form->terms; t++)
        all[t + 1] = column_of(powers, t);
    for (size_t i = 0; i < points->count; i++)
        column_of(powers, powers->term)[i] =
            powers->rest[i] *
            pow(points->parameters[i * points->parameter_count + powers->parameter], power);
    bool solved = spex_least_squares(&problem->data, columns, count, &fit);
    if (!solved || fit.coefficients[0] < 0) {
        columns++;
        solved = spex_least_squares(&problem->data, columns, count - 1, &fit);
    }
    if (!solved || !all_positive(&fit, columns == all))
        return INFINITY;
    return spex_score((double)points->count,
                      spex_leave_one_out_error(&problem->data, columns, &fit), problem->noise, 0,
                      0) +
           powers->price;
}

/* The least score over all powers. */
static double powers_scan(const struct powers *powers) {
    double best = NAN, score = INFINITY, step = POWER_STEP;
    for (int p = 0; p < POWERS; p++) {
        double power = POWER_LEAST + p * step, found = power_score(powers, power);
        if (!(found < score))
            continue;
        score = found;
        best = power;
    }
    for (int halved = 0; halved < HALVINGS && isfinite(score); halved++) {
        double middle = best;
        step /= 2;
        for (int side = -1; side <= 1; side += 2) {
            double found = power_score(powers, middle + side * step);
            if (!(found < score))
                continue;
            score = found;
            best = middle + side * step;
        }
    }
    return score;
}

/* The form without all terms of the parameter but one. */
static struct spex_hypothesis form_with_one(const struct spex_hypothesis *form, size_t parameter,
                                            size_t term) {
    struct spex_hypothesis one = *form;
    one.terms = 0;
    for (size_t t = 0; t < form->terms; t++)
        if (t == term || !form->functions[t][parameter]) {
            for (size_t p = 0; p < SPEX_MODEL_PARAMETERS_MAX; p++)
                one.functions[one.terms][p] = form->functions[t][p];
            one.terms++;
        }
    return one;
}

static void powers_try(struct powers *powers, const struct spex_hypothesis *form, size_t term,
                       double *score, double *price) {
    struct spex_hypothesis simple = *form;
    simple.functions[term][powers->parameter] = 1; /* without complexity */
    powers->form = form;
    powers->price =
        spex_hypothesis_price(&simple, powers->problem->points->parameter_count) + POWER_PRICE;
    columns_fill(powers, term);
    double found = powers_scan(powers);
    if (!(found < *score))
        return;
    *score = found;
    *price = powers->price;
}

int spex_power_score(const struct spex_fit_workspace *workspace, const struct spex_hypothesis *form,
                     size_t parameter, double *score, double *price) {
    size_t count = workspace->problem->data.count;
    struct powers powers = {
        .problem = workspace->problem,
        .parameter = parameter,
        .columns = calloc(count * SPEX_MODEL_TERMS_MAX + 1, sizeof(double)),
        .rest = calloc(count + 1, sizeof(double)),
    };
    int err = powers.columns && powers.rest ? 0 : -ENOMEM;
    *score = form->score;
    *price = spex_hypothesis_price(form, workspace->problem->points->parameter_count);
    for (size_t t = 0; t < form->terms && !err; t++) {
        if (!form->functions[t][parameter])
            continue;
        struct spex_hypothesis one = form_with_one(form, parameter, t);
        size_t at = 0;
        for (size_t before = 0; before < t; before++)
            at += !form->functions[before][parameter];
        powers_try(&powers, &one, at, score, price);
        if (one.terms < form->terms)
            powers_try(&powers, form, t, score, price);
    }
    free(powers.columns);
    free(powers.rest);
    return err;
}
