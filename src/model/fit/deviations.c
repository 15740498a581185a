/* SPDX-License-Identifier: MIT */
/* Sorts the deviations of the points by the parameter, and compares those of each value with those
 * of others. */
#include "model/fit/deviations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Variance of the means over that at each value. */
#define MEANS_EXCESS 2.0
/* Values from which on neighbours tell. */
enum { NEIGHBOURS_MIN = 20 };

/* A point's value of the parameter, and its deviation relative to the time. */
struct deviation {
    double value, miss;
};

static int by_value(const void *a, const void *b) {
    const struct deviation *one = a, *other = b;
    return (one->value > other->value) - (one->value < other->value);
}

/* Sums over the means at values. */
struct means {
    /* Values; the squares of the means, by points and by values; of the steps from one to the
     * next. */
    double count, squares, each, steps;
};

static void means_add(struct means *means, double mean, double before, double points) {
    means->squares += points * mean * mean;
    means->each += mean * mean;
    means->steps += means->count > 0 ? (mean - before) * (mean - before) / 2 : 0;
    means->count++;
}

static struct means means_of(const struct deviation *deviations, size_t count) {
    struct means means = {.count = 0};
    double before = 0;
    for (size_t begin = 0, end; begin < count; begin = end) {
        double sum = 0;
        for (end = begin; end < count && deviations[end].value == deviations[begin].value; end++)
            sum += deviations[end].miss;
        double points = (double)(end - begin), mean = sum / points;
        means_add(&means, mean, before, points);
        before = mean;
    }
    return means;
}

/* The means at values vary by more than chance makes of what is left at each of them; or, with a
 * point or two at each, neighbours are alike. Of few values nothing is known. */
static bool go_by_values(const struct deviation *deviations, size_t count) {
    struct means means = means_of(deviations, count);
    double squares = 0, points = (double)count;
    for (size_t i = 0; i < count; i++)
        squares += deviations[i].miss * deviations[i].miss;
    if (points >= 2 * means.count)
        return means.squares / means.count >
               MEANS_EXCESS * (squares - means.squares) / (points - means.count);
    return means.count < NEIGHBOURS_MIN ||
           means.steps / (means.count - 1) < means.each / means.count * (1 - 1 / sqrt(means.count));
}

int spex_deviations_go_by(const struct spex_problem *problem, const struct spex_hypothesis *form,
                          const struct spex_least_squares *fit, size_t parameter, bool *may) {
    const struct spex_points *points = problem->points;
    struct spex_model model = {.parameter_count = 0};
    struct deviation *deviations = calloc(points->count + 1, sizeof(*deviations));
    if (!deviations)
        return -ENOMEM;
    spex_hypothesis_make_model(problem, form, fit, &model);
    for (size_t i = 0; i < points->count; i++) {
        const double *at = points->parameters + i * points->parameter_count;
        deviations[i] = (struct deviation){at[parameter],
                                           sqrt(problem->weights[i]) *
                                               (points->times[i] - spex_model_value(&model, at))};
    }
    qsort(deviations, points->count, sizeof(*deviations), by_value);
    *may = go_by_values(deviations, points->count);
    free(deviations);
    return 0;
}
