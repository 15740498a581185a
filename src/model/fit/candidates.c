/* SPDX-License-Identifier: MIT */
/* Chooses candidates by slices of the points. Points of a slice differ in one parameter alone,
 * so each function of that parameter is judged without the others: in every slice it gets a
 * constant and a slope of its own, as it has in a sum or in a product with the other parameters.
 * Parameters without slices get candidates from lasso.c. */
#define _GNU_SOURCE
#include "model/fit/candidates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/fit/hypothesis.h"
#include "model/fit/lasso.h"

/* Least number of points in a slice. */
enum { SLICE_MIN = 3 };

struct slicing {
    const struct spex_problem *problem;
    size_t parameter;
    /* Numbers of the points, slice by slice. */
    size_t *order;
    /* Begin and end, in `order`, of each slice that is long enough. */
    size_t *ends;
    size_t *begins;
    size_t count;
    /* Points in these slices. */
    size_t points;
};

/* Order of points by all other parameters and then by the one of the slicing, for qsort_r:
 * slices become neighbours. */
static int compare_by_others(const void *a, const void *b, void *user) {
    const struct slicing *slicing = user;
    const struct spex_points *points = slicing->problem->points;
    size_t one = *(const size_t *)a, other = *(const size_t *)b, width = points->parameter_count;
    for (size_t p = 0; p < width; p++) {
        double x = points->parameters[one * width + p], y = points->parameters[other * width + p];
        if (p != slicing->parameter && x != y)
            return x < y ? -1 : 1;
    }
    double x = points->parameters[one * width + slicing->parameter],
           y = points->parameters[other * width + slicing->parameter];
    return x < y ? -1 : x > y;
}

/* Whether two points differ in the parameter of the slicing alone. */
static bool same_slice(const struct slicing *slicing, size_t a, size_t b) {
    const struct spex_points *points = slicing->problem->points;
    size_t width = points->parameter_count;
    for (size_t p = 0; p < width; p++)
        if (p != slicing->parameter &&
            points->parameters[a * width + p] != points->parameters[b * width + p])
            return false;
    return true;
}

/* Sorts the points by the other parameters and divides them into slices of at least SLICE_MIN
 * points. 0 or -ENOMEM; to be freed in any case. */
static int slicing_make(struct slicing *slicing) {
    size_t count = slicing->problem->points->count;
    slicing->order = calloc(count + 1, sizeof(size_t));
    slicing->begins = calloc(count + 1, sizeof(size_t));
    slicing->ends = calloc(count + 1, sizeof(size_t));
    if (!slicing->order || !slicing->begins || !slicing->ends)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        slicing->order[i] = i;
    qsort_r(slicing->order, count, sizeof(size_t), compare_by_others, slicing);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1;
             end < count && same_slice(slicing, slicing->order[begin], slicing->order[end]); end++)
            ;
        if (end - begin < SLICE_MIN)
            continue;
        slicing->begins[slicing->count] = begin;
        slicing->ends[slicing->count++] = end;
        slicing->points += end - begin;
    }
    return 0;
}

static void slicing_free(struct slicing *slicing) {
    free(slicing->order);
    free(slicing->begins);
    free(slicing->ends);
}

/* Weighted sum of squares that remains in slice `s` after fitting a constant and a slope to a
 * function (`column`, by point), or a constant alone where `column` is NULL. A negative slope
 * does not count as an improvement, since coefficients of models are positive. */
static double slice_residual(const struct slicing *slicing, size_t s, const double *column) {
    const struct spex_data *data = &slicing->problem->data;
    double weights = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t o = slicing->begins[s]; o < slicing->ends[s]; o++) {
        size_t i = slicing->order[o];
        double w = data->weights[i];
        weights += w;
        x += column ? w * column[i] : 0;
        y += w * data->values[i];
    }
    x /= weights;
    y /= weights;
    for (size_t o = slicing->begins[s]; o < slicing->ends[s]; o++) {
        size_t i = slicing->order[o];
        double w = data->weights[i], dx = column ? column[i] - x : 0, dy = data->values[i] - y;
        xx += w * dx * dx;
        xy += w * dx * dy;
        yy += w * dy * dy;
    }
    return xx > 0 && xy > 0 ? fmax(yy - xy * xy / xx, 0) : yy;
}

/* The sum of what remains in all slices. */
static double slices_residual(const struct slicing *slicing, const double *column) {
    double sum = 0;
    for (size_t s = 0; s < slicing->count; s++)
        sum += slice_residual(slicing, s, column);
    return sum;
}

/* Inserts a function if it is among the SPEX_CANDIDATES_MAX best. Both arrays are sorted by
 * ascending score; a low score is good. */
static void candidates_insert(struct spex_candidates *candidates, double *scores, size_t function,
                              double score) {
    size_t at = candidates->count;
    while (at > 0 && scores[at - 1] > score)
        at--;
    if (at == SPEX_CANDIDATES_MAX)
        return;
    if (candidates->count < SPEX_CANDIDATES_MAX)
        candidates->count++;
    for (size_t c = candidates->count - 1; c > at; c--) {
        scores[c] = scores[c - 1];
        candidates->functions[c] = candidates->functions[c - 1];
    }
    scores[at] = score;
    candidates->functions[at] = (uint8_t)function;
}

/* Chooses the best functions by what remains of the variance in all slices and by their
 * complexity. */
static void candidates_choose(const struct slicing *slicing, struct spex_candidates *candidates) {
    const struct spex_problem *problem = slicing->problem;
    double scores[SPEX_CANDIDATES_MAX], count = (double)slicing->points;
    double all = slices_residual(slicing, NULL), least = all;
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++) {
        if (!problem->usable[slicing->parameter][f])
            continue;
        double left = slices_residual(slicing, spex_problem_column(problem, slicing->parameter, f));
        /* All functions have one term, so terms have no price here. */
        double score =
            spex_score(count, left / count, problem->noise, spex_functions()[f].complexity, 0);
        candidates_insert(candidates, scores, f, score);
        least = fmin(least, left);
    }
    candidates->gain = (all - least) / count;
}

/* A parameter that does not vary has no candidates. */
int spex_candidates_find(const struct spex_problem *problem, struct spex_candidates *candidates) {
    size_t parameters = problem->points->parameter_count;
    bool without = false;
    int err = 0;
    for (size_t p = 0; p < parameters && !err; p++) {
        struct slicing slicing = {.problem = problem, .parameter = p};
        candidates[p] = (struct spex_candidates){.count = 0};
        if (!problem->varies[p])
            continue;
        err = slicing_make(&slicing);
        if (!err && slicing.count)
            candidates_choose(&slicing, &candidates[p]);
        else
            without = true;
        slicing_free(&slicing);
    }
    return err || !without ? err : spex_lasso_candidates(problem, candidates);
}
