/* SPDX-License-Identifier: MIT */
/* A test by permutation: without drift, all orders of the reference's figures are as likely, however
 * they are distributed. Its statistic is the greatest difference of the mean ranks of some trials in a
 * row and of the others, in standard errors, so that a step, a disturbance for a while and a trend all
 * show (Levin and Kline, The CUSUM Test of Homogeneity, 1985). Which trials are the reference's does
 * not depend on their figures, but for more of them while it may be the best. */
#define _GNU_SOURCE
#include "explore/findings/drift.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ascending.h"
#include "measure/criterion.h"
#include "policies/explore/draw.h"
#include "text/quantity.h"

/* Orders that are drawn; with the one that was, the least probability is 0.001. */
#define ORDERS 999

/* At least so many in a row, and so many others: fewer may be outliers. */
#define ROW_LEAST 3

/* More trials are taken together, so that a test takes some milliseconds. */
#define PLACES_MAX 96

/* In the order of time. */
struct series {
    double *values;
    double *ranks; /* less their mean */
    int64_t *times;
    size_t count;
};

/* Some in a row. */
struct row {
    size_t from, to; /* without `to` */
};

static void series_free(struct series *series) {
    free(series->values);
    free(series->ranks);
    free(series->times);
}

/* The reference's successful trials, from the first that is marked on: that it was chosen for what it
 * had shown before flatters it. */
static int series_take(const struct spex_space *space, const struct spex_trials *trials,
                       struct spex_drift *drift, struct series *series) {
    *series = (struct series){.values = calloc(trials->count + 1, sizeof(double)),
                              .ranks = calloc(trials->count + 1, sizeof(double)),
                              .times = calloc(trials->count + 1, sizeof(int64_t))};
    if (!series->values || !series->ranks || !series->times)
        return -ENOMEM;
    for (size_t t = 0; t < trials->count; t++) {
        const struct spex_trial *trial = &trials->items[t];
        if (!drift->levels && trial->reference)
            drift->levels = trial->levels;
        if (!drift->levels || !trial->ok || !isfinite(trial->measured[0].value) ||
            memcmp(trial->levels, drift->levels, space->parameter_count * sizeof(size_t)) != 0)
            continue;
        series->values[series->count] = trial->measured[0].value;
        series->times[series->count++] = trial->finished;
    }
    drift->trials = series->count;
    return 0;
}

/* Ranks of equals are their mean. */
static void series_rank(struct series *series) {
    for (size_t a = 0; a < series->count; a++) {
        double less = 0, equal = 0;
        for (size_t b = 0; b < series->count; b++) {
            less += series->values[b] < series->values[a];
            equal += series->values[b] == series->values[a];
        }
        series->ranks[a] = less + equal / 2 - (double)series->count / 2;
    }
}

/* Makes means of several in a row of them, where there are many; what is left at the end is left out. */
static void series_shorten(struct series *series) {
    size_t each = (series->count + PLACES_MAX - 1) / PLACES_MAX, count = series->count / each;
    for (size_t p = 0; p < count; p++) {
        double sum = 0;
        for (size_t i = p * each; i < (p + 1) * each; i++)
            sum += series->values[i];
        series->values[p] = sum / (double)each;
        series->times[p] = series->times[p * each + each / 2];
    }
    series->count = count;
}

/* How far, in standard errors but for a factor, the row that differs most is from the others. */
static double most_apart(const double *ranks, size_t count) {
    double sums[PLACES_MAX + 1] = {0}, n = (double)count, most = 0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + ranks[i];
    for (size_t from = 0; from < count; from++)
        for (size_t to = from + ROW_LEAST; to <= count && to - from + ROW_LEAST <= count; to++) {
            double m = (double)(to - from);
            most = fmax(most, fabs(sums[to] - sums[from]) / sqrt(m * (n - m) / n));
        }
    return most;
}

/* How often an order has a row that differs as much. */
static double chance_of(const struct series *series) {
    struct spex_draw draw = {spex_draw_mix(series->count)};
    double order[PLACES_MAX], apart = most_apart(series->ranks, series->count);
    unsigned as_much = 0;
    memcpy(order, series->ranks, series->count * sizeof(*order));
    for (unsigned i = 0; i < ORDERS; i++) {
        for (size_t p = series->count; p > 1; p--) {
            size_t other = spex_draw_below(&draw, p);
            double kept = order[p - 1];
            order[p - 1] = order[other];
            order[other] = kept;
        }
        as_much += most_apart(order, series->count) >= apart * (1 - 1e-9);
    }
    return (1.0 + as_much) / (1.0 + ORDERS);
}

static double median_of(double *values, size_t count) {
    qsort(values, count, sizeof(*values), spex_ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The median of the row's values, or of the others'. */
static double median_in(const struct series *series, struct row row, bool in) {
    double values[PLACES_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < series->count; i++)
        if ((i >= row.from && i < row.to) == in)
            values[count++] = series->values[i];
    return median_of(values, count);
}

/* What two levels leave of the absolute distances. */
static double left_by_row(const struct series *series, struct row row) {
    double inside = median_in(series, row, true), others = median_in(series, row, false), left = 0;
    for (size_t i = 0; i < series->count; i++)
        left += fabs(series->values[i] - (i >= row.from && i < row.to ? inside : others));
    return left;
}

/* The row whose level and that of the others leave least: ranks tell that there is a change, and not
 * exactly when. */
static struct row best_row(const struct series *series) {
    struct row best = {0, 0};
    double least = INFINITY;
    for (size_t from = 0; from < series->count; from++)
        for (size_t to = from + ROW_LEAST;
             to <= series->count && to - from + ROW_LEAST <= series->count; to++) {
            double left = left_by_row(series, (struct row){from, to});
            if (left < least) {
                least = left;
                best = (struct row){from, to};
            }
        }
    return best;
}

/* A line: the median of the slopes of all pairs (Sen, Estimates of the Regression Coefficient Based on
 * Kendall's Tau, 1968), and where it begins. */
struct line {
    double begin, slope;
};

static struct line line_of(const struct series *series) {
    double slopes[PLACES_MAX * (PLACES_MAX - 1) / 2] = {0}, begins[PLACES_MAX] = {0};
    size_t count = 0;
    for (size_t a = 0; a < series->count; a++)
        for (size_t b = a + 1; b < series->count; b++)
            slopes[count++] = (series->values[b] - series->values[a]) / (double)(b - a);
    double slope = median_of(slopes, count);
    for (size_t i = 0; i < series->count; i++)
        begins[i] = series->values[i] - slope * (double)i;
    return (struct line){median_of(begins, series->count), slope};
}

static double left_by_line(const struct series *series, struct line line) {
    double left = 0;
    for (size_t i = 0; i < series->count; i++)
        left += fabs(series->values[i] - line.begin - line.slope * (double)i);
    return left;
}

/* Infinite where it was 0. */
static double share_of(double change, double before) {
    return before == 0 ? copysign(INFINITY, change) : change / fabs(before);
}

static void tell_line(const struct series *series, struct line line, struct spex_drift *drift) {
    drift->kind = SPEX_DRIFT_GRADUAL;
    drift->change = share_of(line.slope * (double)(series->count - 1), line.begin);
    drift->from = series->times[0];
    drift->to = series->times[series->count - 1];
}

static void tell_row(const struct series *series, struct row row, struct spex_drift *drift) {
    double inside = median_in(series, row, true), others = median_in(series, row, false);
    bool to_the_end = row.to == series->count, from_the_start = row.from == 0;
    size_t at = from_the_start ? row.to : row.from;
    double before = from_the_start ? inside : others;
    drift->change = share_of(from_the_start ? others - inside : inside - others, before);
    if (from_the_start || to_the_end) {
        drift->kind = SPEX_DRIFT_STEP;
        drift->from = series->times[at - 1];
        drift->to = series->times[at];
        return;
    }
    drift->kind = SPEX_DRIFT_WHILE;
    drift->from = series->times[row.from];
    drift->to = series->times[row.to - 1];
}

static void tell(const struct series *series, struct spex_drift *drift) {
    struct row row = best_row(series);
    struct line line = line_of(series);
    if (left_by_line(series, line) < left_by_row(series, row))
        tell_line(series, line, drift);
    else
        tell_row(series, row, drift);
}

int spex_drift_find(const struct spex_space *space, const struct spex_trials *trials,
                    struct spex_drift *drift) {
    struct series series;
    *drift = (struct spex_drift){.chance = 1};
    int err = series_take(space, trials, drift, &series);
    if (!err && series.count >= SPEX_DRIFT_LEAST) {
        series_shorten(&series);
        series_rank(&series);
        drift->chance = chance_of(&series);
        if (drift->chance <= SPEX_DRIFT_LEVEL)
            tell(&series, drift);
    }
    series_free(&series);
    return err;
}

/* "14:02", with seconds where times are near to each other, and with the day where they are not. */
static void time_text(int64_t at, int64_t apart, char *text, size_t size) {
    time_t seconds = (time_t)at;
    struct tm local = {0};
    localtime_r(&seconds, &local);
    const char *format = apart < 300 ? "%H:%M:%S" : apart < 43200 ? "%H:%M" : "%-d %B %H:%M";
    text[strftime(text, size, format, &local)] = '\0';
}

/* "12 % slower" of a time or a throughput, "12 % better" of what means neither. */
static void change_text(const struct spex_drift *drift, const struct spex_criterion *criterion,
                        char *text, size_t size) {
    const char *unit = spex_criterion_unit(criterion);
    bool rate = strcmp(unit, "/s") == 0, time = strcmp(unit, "s") == 0;
    bool more = drift->change > 0, good = more == (criterion->goal == SPEX_MAXIMISE);
    char share[32] = "";
    if (isfinite(drift->change))
        spex_percent_text(fabs(drift->change), 2, share, sizeof(share));
    snprintf(text, size, "%s%s%s", share, *share ? " " : "",
             rate || time ? (more == rate ? "faster" : "slower") : (good ? "better" : "worse"));
}

const char *spex_drift_text(const struct spex_drift *drift, const struct spex_space *space,
                            char *text, size_t size) {
    char change[64], from[64], to[64];
    bool step = drift->kind == SPEX_DRIFT_STEP;
    change_text(drift, space->criteria, change, sizeof(change));
    time_text(drift->from, drift->to - drift->from, from, sizeof(from));
    time_text(drift->to, drift->to - drift->from, to, sizeof(to));
    snprintf(text, size, "the machine %s %s%s %s %s %s %s",
             drift->kind == SPEX_DRIFT_WHILE ? "was" : "became", change,
             drift->kind == SPEX_DRIFT_GRADUAL ? ", little by little," : "",
             step ? "between" : "from", from, step ? "and" : "to", to);
    return text;
}
