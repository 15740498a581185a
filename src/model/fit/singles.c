/* SPDX-License-Identifier: MIT */
/* A program whose sizes are many has one measurement of each. One that was interrupted takes thousands of times as long as the
 * others, and no formula follows. What the time would be is told by a curve through all points, a parabola in the logarithms
 * of the parameters, with least absolute deviations of the logarithm of the time: outliers do not bend it. A power is a line
 * there, and what is no parabola makes deviations of all points, beyond which an outlier must be. */
#include "model/fit/singles.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "model/fit/least_squares.h"

/* Steps of the iteration, by weights of 1/deviation: the curve need not be exact. */
enum { STEPS = 12 };

/* Two points are alike in one parameter when no other lies between; so many that are most alike are a point's neighbours. */
enum { NEIGHBOURS = 4 };

struct singles {
    struct spex_points *points;
    /* Logarithms of times; and of the parameters that vary, and their squares, by column. */
    double *times, *columns, *weights, *misses, *scratch;
    const double *of[SPEX_MODEL_COLUMNS_MAX];
    size_t count;
    bool *beyond;
};

static double parameter_of(const struct spex_points *points, size_t point, size_t parameter) {
    return points->parameters[point * points->parameter_count + parameter];
}

/* The logarithm of each value; of 0 that of half of the least other one. `step`: from one value to the next. */
static void logarithms_of(const double *values, size_t step, size_t count, double *to) {
    double least = INFINITY;
    for (size_t v = 0; v < count; v++)
        if (values[v * step] > 0)
            least = fmin(least, values[v * step]);
    for (size_t v = 0; v < count; v++)
        to[v] = isfinite(least) ? log2(fmax(values[v * step], least / 2)) : 0;
}

static bool varies(const struct spex_points *points, size_t parameter) {
    for (size_t p = 1; p < points->count; p++)
        if (parameter_of(points, p, parameter) != parameter_of(points, 0, parameter))
            return true;
    return false;
}

/* As many columns as there is room for: a constant, then each parameter, then their squares. */
static void columns_make(struct singles *singles) {
    const struct spex_points *points = singles->points;
    size_t n = points->count, linear;
    double *column = singles->columns;
    for (size_t p = 0; p < n; p++)
        column[p] = 1;
    singles->of[singles->count++] = column;
    for (size_t k = 0; k < points->parameter_count && singles->count < SPEX_MODEL_COLUMNS_MAX; k++)
        if (varies(points, k)) {
            column += n;
            logarithms_of(points->parameters + k, points->parameter_count, n, column);
            singles->of[singles->count++] = column;
        }
    linear = singles->count;
    for (size_t c = 1; c < linear && singles->count < SPEX_MODEL_COLUMNS_MAX; c++) {
        column += n;
        for (size_t p = 0; p < n; p++)
            column[p] = singles->of[c][p] * singles->of[c][p];
        singles->of[singles->count++] = column;
    }
}

/* By how much the logarithm of each time is above the curve. False: there is no curve. */
static bool misses_find(struct singles *singles) {
    size_t n = singles->points->count;
    const struct spex_data data = {n, singles->times, singles->weights};
    struct spex_least_squares fit;
    for (size_t p = 0; p < n; p++)
        singles->weights[p] = 1;
    for (int step = 0; step < STEPS; step++) {
        while (!spex_least_squares(&data, singles->of, singles->count, &fit))
            if (--singles->count == 0)
                return false;
        for (size_t p = 0; p < n; p++) {
            double value = 0;
            for (size_t c = 0; c < singles->count; c++)
                value += fit.coefficients[c] * singles->of[c][p];
            singles->misses[p] = singles->times[p] - value;
            singles->weights[p] = 1 / fmax(fabs(singles->misses[p]), 1e-6);
        }
    }
    return true;
}

static double median_of(double *values, size_t count) {
    qsort(values, count, sizeof(*values), spex_ascending);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Finds the points that are much above the curve. Returns how many. */
static size_t beyond_find(struct singles *singles) {
    size_t n = singles->points->count, found = 0;
    memcpy(singles->scratch, singles->misses, n * sizeof(double));
    double middle = median_of(singles->scratch, n);
    for (size_t p = 0; p < n; p++)
        singles->scratch[p] = fabs(singles->misses[p] - middle);
    double distance =
        fmax(SPEX_OUTLIER_DEVIATIONS * SPEX_NORMAL_PER_MAD * median_of(singles->scratch, n),
             log2(1 + SPEX_OUTLIER_SHARE));
    for (size_t p = 0; p < n; p++) {
        singles->beyond[p] = singles->misses[p] - middle > distance &&
                             singles->points->rows[p] < SPEX_OUTLIER_ROWS_MIN;
        found += singles->beyond[p];
    }
    return found;
}

/* Squared distance of two points by the curve's columns. */
static double distance_of(const struct singles *singles, size_t one, size_t other) {
    double sum = 0;
    for (size_t c = 1; c < singles->count; c++)
        sum += pow(singles->of[c][one] - singles->of[c][other], 2);
    return sum;
}

/* Whether most of its nearest points are beyond, too: then the time is longer there. */
static bool is_among_others(const struct singles *singles, size_t point) {
    double nearest[NEIGHBOURS];
    unsigned beyond = 0;
    bool of_nearest[NEIGHBOURS] = {false};
    for (int i = 0; i < NEIGHBOURS; i++)
        nearest[i] = INFINITY;
    for (size_t p = 0; p < singles->points->count; p++) {
        double distance = p == point ? INFINITY : distance_of(singles, point, p);
        int at = NEIGHBOURS;
        while (at > 0 && distance < nearest[at - 1])
            at--;
        if (at == NEIGHBOURS)
            continue;
        memmove(&nearest[at + 1], &nearest[at], (size_t)(NEIGHBOURS - 1 - at) * sizeof(*nearest));
        memmove(&of_nearest[at + 1], &of_nearest[at], (size_t)(NEIGHBOURS - 1 - at));
        nearest[at] = distance;
        of_nearest[at] = singles->beyond[p];
    }
    for (int i = 0; i < NEIGHBOURS; i++)
        beyond += of_nearest[i];
    return 2 * beyond >= NEIGHBOURS;
}

/* Whether no two points that are not beyond have as great a value of a parameter, or as small a one: what comes behind may be as
 * long. */
static bool is_at_an_end(const struct singles *singles, size_t point) {
    for (size_t c = 1; c < singles->count; c++) {
        size_t above = 0, below = 0;
        for (size_t p = 0; p < singles->points->count; p++) {
            above += !singles->beyond[p] && singles->of[c][p] >= singles->of[c][point];
            below += !singles->beyond[p] && singles->of[c][p] <= singles->of[c][point];
        }
        if (above < 2 || below < 2)
            return true;
    }
    return false;
}

static void points_move(struct spex_points *points, size_t to, size_t from) {
    size_t width = points->parameter_count;
    memmove(points->parameters + to * width, points->parameters + from * width,
            width * sizeof(double));
    points->times[to] = points->times[from];
    points->rows[to] = points->rows[from];
    points->variances[to] = points->variances[from];
    points->few[to] = points->few[from];
}

static void leave_out(struct singles *singles) {
    struct spex_points *points = singles->points;
    size_t kept = 0;
    for (size_t p = 0; p < points->count; p++)
        singles->scratch[p] =
            singles->beyond[p] && !is_among_others(singles, p) && !is_at_an_end(singles, p);
    for (size_t p = 0; p < points->count; p++) {
        if (singles->scratch[p] > 0)
            points->outliers += (size_t)points->rows[p];
        else
            points_move(points, kept++, p);
    }
    points->count = kept;
}

/* Whether so many points cannot tell by themselves that it matters. */
static bool has_singles(const struct spex_points *points) {
    size_t singles = 0;
    for (size_t p = 0; p < points->count; p++)
        singles += points->few[p];
    return singles >= SPEX_MODES_ROWS_MIN;
}

int spex_points_leave_out_singles(struct spex_points *points) {
    size_t n = points->count;
    struct singles singles = {.points = points};
    if (!has_singles(points))
        return 0;
    double *memory = calloc((SPEX_MODEL_COLUMNS_MAX + 4) * n, sizeof(*memory));
    singles.beyond = calloc(n, sizeof(*singles.beyond));
    int err = memory && singles.beyond ? 0 : -ENOMEM;
    if (!err) {
        singles.columns = memory;
        singles.times = memory + SPEX_MODEL_COLUMNS_MAX * n;
        singles.weights = singles.times + n;
        singles.misses = singles.weights + n;
        singles.scratch = singles.misses + n;
        logarithms_of(points->times, 1, n, singles.times);
        columns_make(&singles);
        if (misses_find(&singles) &&
            (double)beyond_find(&singles) <= SPEX_OUTLIERS_MOST * (double)n)
            leave_out(&singles);
    }
    free(memory);
    free(singles.beyond);
    return err;
}
