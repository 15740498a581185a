/* SPDX-License-Identifier: MIT */
/* Weights points so that relative errors count, and computes all functions of all parameters at all
 * points once, for the search to combine. */
#include "model/fit/problem.h"
#include "base/ascending.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Floor of a deviation as a share of the median time: the clock and the call add to every
 * measurement. */
#define FLOOR_SHARE 0.005

/* Sorts the times into `scratch`, which has room for all points, and returns their median. */
static double median_time(const struct spex_points *points, double *scratch) {
    for (size_t i = 0; i < points->count; i++)
        scratch[i] = points->times[i];
    qsort(scratch, points->count, sizeof(*scratch), spex_ascending);
    return scratch[points->count / 2];
}

/* Sets the weights to 1 / (time² + floor²). Without the floor the smallest points would rule the
 * fit. */
static void problem_set_weights(struct spex_problem *problem) {
    const struct spex_points *points = problem->points;
    double middle = median_time(points, problem->weights);
    problem->floor = middle > 0 ? FLOOR_SHARE * middle : 1;
    /* The weights still hold the sorted times. */
    problem->least = problem->weights[0];
    for (size_t i = 0; i < points->count; i++) {
        double time = points->times[i];
        problem->weights[i] = 1 / (time * time + problem->floor * problem->floor);
    }
}

/* Pools the variances of the points, multiplied by the weights: as these are 1 / time², relative
 * variances. The mean of a point has the variance of one measurement over its number of
 * measurements. */
static void problem_set_noise(struct spex_problem *problem) {
    const struct spex_points *points = problem->points;
    double sum = 0, inverse_rows = 0;
    for (size_t i = 0; i < points->count; i++) {
        sum += (points->rows[i] - 1) * points->variances[i] * problem->weights[i];
        problem->within_freedom += points->rows[i] - 1;
        inverse_rows += 1 / points->rows[i] / (double)points->count;
    }
    problem->within = problem->within_freedom > 0 ? sum / problem->within_freedom : 0;
    problem->noise = problem->within * inverse_rows;
}

/* Points whose values of one parameter differ. A later point with one of these values copies the
 * functions' values: grids have few values, and powers take long to compute. */
enum { SEEN_MAX = 32 };

struct seen {
    size_t count;
    size_t points[SEEN_MAX];
};

/* The value of a function of a parameter at a point. */
static double *column_at(const struct spex_problem *problem, size_t parameter, size_t function,
                         size_t point) {
    return problem->columns + (parameter * SPEX_FUNCTIONS + function) * problem->points->count +
           point;
}

/* Fills in all usable functions of one parameter at one point. */
static void problem_fill_point(struct spex_problem *problem, size_t parameter, size_t point,
                               struct seen *seen) {
    const struct spex_points *points = problem->points;
    const double *x = points->parameters + parameter;
    size_t width = points->parameter_count, like = 0;
    while (like < seen->count && x[seen->points[like] * width] != x[point * width])
        like++;
    bool known = like < seen->count;
    double log2x = known ? 0 : log2(x[point * width]);
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
        if (problem->usable[parameter][f])
            *column_at(problem, parameter, f, point) =
                known
                    ? *column_at(problem, parameter, f, seen->points[like])
                    : spex_exponents_apply(spex_functions()[f].exponents, x[point * width], log2x);
    if (!known && seen->count < SEEN_MAX)
        seen->points[seen->count++] = point;
}

/* Fills in one parameter's functions at all points. Logarithms are not usable where they would be
 * negative, nor negative powers of 0; a parameter that does not vary has no usable function. */
static void problem_fill(struct spex_problem *problem, size_t parameter) {
    const struct spex_points *points = problem->points;
    const struct spex_function *functions = spex_functions();
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < points->count; i++) {
        double x = points->parameters[i * points->parameter_count + parameter];
        least = fmin(least, x);
        most = fmax(most, x);
    }
    problem->varies[parameter] = most > least;
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
        problem->usable[parameter][f] = most > least &&
                                        (least >= 1 || functions[f].exponents.log == 0) &&
                                        (least > 0 || functions[f].exponents.twelfths >= 0);
    struct seen seen = {.count = 0};
    for (size_t i = 0; i < points->count && most > least; i++)
        problem_fill_point(problem, parameter, i, &seen);
}

/* All arrays have room for one more, so that calloc never gets 0. */
static int problem_allocate(struct spex_problem *problem, const struct spex_points *points) {
    size_t count = points->count;
    *problem = (struct spex_problem){
        .points = points,
        .weights = calloc(count + 1, sizeof(double)),
        .columns = calloc(count * points->parameter_count * SPEX_FUNCTIONS + 1, sizeof(double)),
        .ones = calloc(count + 1, sizeof(double)),
    };
    if (!problem->weights || !problem->columns || !problem->ones)
        return -ENOMEM;
    problem->data = (struct spex_data){count, points->times, problem->weights};
    for (size_t i = 0; i < count; i++)
        problem->ones[i] = 1;
    return 0;
}

int spex_problem_make(struct spex_problem *problem, const struct spex_points *points) {
    int err = problem_allocate(problem, points);
    if (err)
        return err;
    problem_set_weights(problem);
    problem_set_noise(problem);
    for (size_t p = 0; p < points->parameter_count; p++)
        problem_fill(problem, p);
    return 0;
}

/* Copies point `from` of the whole, with its weight and functions, to point `to` of the part. */
static void part_copy(struct spex_problem *part, struct spex_points *points, size_t to,
                      const struct spex_problem *whole, size_t from) {
    const struct spex_points *all = whole->points;
    size_t width = all->parameter_count;
    for (size_t p = 0; p < width; p++)
        points->parameters[to * width + p] = all->parameters[from * width + p];
    points->times[to] = all->times[from];
    points->rows[to] = all->rows[from];
    points->variances[to] = all->variances[from];
    part->weights[to] = whole->weights[from];
    for (size_t p = 0; p < width; p++)
        for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
            if (whole->usable[p][f])
                *column_at(part, p, f, to) = *column_at(whole, p, f, from);
}

/* Sets what follows from the points that were copied. */
static void part_complete(struct spex_problem *part, const struct spex_problem *whole) {
    const struct spex_points *points = part->points;
    double inverse_rows = 0;
    part->floor = whole->floor;
    part->within = whole->within;
    part->within_freedom = whole->within_freedom;
    part->least = points->times[0];
    for (size_t i = 0; i < points->count; i++) {
        part->least = fmin(part->least, points->times[i]);
        inverse_rows += 1 / points->rows[i] / (double)points->count;
        for (size_t p = 0; p < points->parameter_count; p++)
            part->varies[p] |=
                points->parameters[i * points->parameter_count + p] != points->parameters[p];
    }
    part->noise = part->within * inverse_rows;
    for (size_t p = 0; p < points->parameter_count; p++)
        for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
            part->usable[p][f] = part->varies[p] && whole->usable[p][f];
}

int spex_problem_make_part(struct spex_problem *part, struct spex_points *points,
                           const struct spex_problem *whole, const bool *marked) {
    const struct spex_points *all = whole->points;
    size_t count = 0, to = 0;
    *part = (struct spex_problem){.points = NULL};
    *points = (struct spex_points){.parameter_count = all->parameter_count};
    for (size_t i = 0; i < all->count; i++)
        count += marked[i];
    int err = spex_points_allocate(points, count);
    points->count = count;
    err = err ? err : problem_allocate(part, points);
    if (err)
        return err;
    for (size_t i = 0; i < all->count; i++)
        if (marked[i])
            part_copy(part, points, to++, whole, i);
    part_complete(part, whole);
    return 0;
}

void spex_problem_free(struct spex_problem *problem) {
    free(problem->weights);
    free(problem->columns);
    free(problem->ones);
    *problem = (struct spex_problem){.points = NULL};
}

const double *spex_problem_column(const struct spex_problem *problem, size_t parameter,
                                  size_t function) {
    return column_at(problem, parameter, function, 0);
}
