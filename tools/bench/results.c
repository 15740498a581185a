/* SPDX-License-Identifier: MIT */
/* Outputs come from programs that others have written: each member is looked at before it is
 * used, and texts are made printable. */
#define _GNU_SOURCE
#include "tools/bench/results.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "model/fit/points.h"
#include "text/printable.h"

void spex_bench_results_free(struct spex_bench_results *results) {
    for (size_t i = 0; i < results->count; i++) {
        struct spex_bench_series *series = &results->items[i];
        free(series->name);
        free(series->error);
        free(series->sides[0].values);
        free(series->sides[1].values);
    }
    free(results->items);
    json_decref(results->contexts[0]);
    json_decref(results->contexts[1]);
    *results = (struct spex_bench_results){.items = NULL};
}

json_t *spex_bench_output_read(const char *text, size_t length, const char *origin,
                               struct spex_error *error) {
    json_error_t why;
    json_t *output = json_loadb(text, length, 0, &why);
    if (output && json_is_array(json_object_get(output, "benchmarks")))
        return output;
    if (output)
        spex_error_set(error, "%s: an object with an array \"benchmarks\" was expected", origin);
    else
        spex_error_set(error, "%s: JSON of benchmarks was expected: line %d: %s", origin, why.line,
                       why.text);
    json_decref(output);
    return NULL;
}

/* To be freed; NULL: out of memory. */
static char *printable_copy(const char *text) {
    char *copy = strdup(text);
    if (copy)
        spex_make_printable(copy);
    return copy;
}

/* The series of a benchmark, which is added when there is none. NULL: out of memory. */
static struct spex_bench_series *series_of(struct spex_bench_results *results, const char *name) {
    char *copy = printable_copy(name);
    size_t i = 0;
    while (copy && i < results->count && strcmp(results->items[i].name, copy) != 0)
        i++;
    if (copy && i < results->count) {
        free(copy);
        return &results->items[i];
    }
    if (copy && results->count == results->room) {
        size_t room = results->room ? 2 * results->room : 16;
        struct spex_bench_series *more = realloc(results->items, room * sizeof(*more));
        if (!more) {
            free(copy);
            return NULL;
        }
        results->items = more;
        results->room = room;
    }
    if (!copy)
        return NULL;
    results->items[results->count] = (struct spex_bench_series){.name = copy};
    return &results->items[results->count++];
}

static int values_add(struct spex_bench_values *values, double value) {
    if (values->count == values->room) {
        size_t room = values->room ? 2 * values->room : 32;
        double *more = realloc(values->values, room * sizeof(*more));
        if (!more)
            return -ENOMEM;
        values->values = more;
        values->room = room;
    }
    values->values[values->count++] = value;
    return 0;
}

static const char *text_of(const json_t *row, const char *name) {
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

/* Seconds of a time's unit; 0: there is no such unit. */
static double unit_seconds(const char *unit) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    for (size_t u = 0; u < sizeof(units) / sizeof(units[0]); u++)
        if (strcmp(unit, units[u].name) == 0)
            return units[u].seconds;
    return 0;
}

/* Of single iterations: "p50", "p99.9", "max". */
static bool is_percentile(const char *figure) {
    return strcmp(figure, "max") == 0 || (*figure == 'p' && strspn(figure + 1, "0123456789.") > 0 &&
                                          !figure[1 + strspn(figure + 1, "0123456789.")]);
}

bool spex_bench_figure_is_time(const char *figure) {
    static const char *const times[] = {"real_time", "cpu_time", "mean_real_time", "mean_cpu_time"};
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        if (strcmp(figure, times[t]) == 0)
            return true;
    return is_percentile(figure);
}

/* NAN: the row does not have it, or a time below 0. */
static double figure_of(const json_t *row, const char *figure) {
    const json_t *number = json_object_get(row, figure);
    double factor = spex_bench_figure_is_time(figure) ? unit_seconds(text_of(row, "time_unit")) : 1;
    double value = json_number_value(number);
    bool sound = json_is_number(number) && factor > 0;
    return sound && (value >= 0 || !spex_bench_figure_is_time(figure)) ? value * factor : NAN;
}

/* Replaces what was added from `first` on by its median. */
static void values_join(struct spex_bench_values *values, size_t first) {
    size_t count = values->count - first;
    if (count < 2)
        return;
    double *added = values->values + first;
    qsort(added, count, sizeof(*added), spex_ascending);
    *added = (added[(count - 1) / 2] + added[count / 2]) / 2;
    values->count = first + 1;
}

/* Adds the row of a repetition, or of the estimate, which has the percentiles. 0 or -ENOMEM. */
static int row_add(struct spex_bench_results *results, unsigned side, const json_t *row,
                   const char *figure) {
    const char *name = text_of(row, "run_name");
    bool estimate = strcmp(text_of(row, "aggregate_name"), "estimate") == 0;
    if (strcmp(text_of(row, "run_type"), "iteration") != 0 && !estimate)
        return 0;
    struct spex_bench_series *series = series_of(results, *name ? name : text_of(row, "name"));
    if (!series)
        return -ENOMEM;
    if (json_is_true(json_object_get(row, "error_occurred"))) {
        if (!series->error)
            series->error = printable_copy(text_of(row, "error_message"));
        return series->error ? 0 : -ENOMEM;
    }
    double value = estimate == is_percentile(figure) ? figure_of(row, figure) : NAN;
    return isnan(value) ? 0 : values_add(&series->sides[side], value);
}

int spex_bench_results_add(struct spex_bench_results *results, unsigned side, json_t *output,
                           const char *figure, bool each, const char *origin,
                           struct spex_error *error) {
    size_t known = results->count, index, added = 0;
    size_t *before = calloc(known + 1, sizeof(*before));
    json_t *row;
    int err = before ? 0 : -ENOMEM;
    for (size_t i = 0; i < known && before; i++)
        before[i] = results->items[i].sides[side].count;
    json_array_foreach(json_object_get(output, "benchmarks"), index, row) err =
        err ? err : row_add(results, side, row, figure);
    for (size_t i = 0; i < results->count && !err; i++) {
        struct spex_bench_values *values = &results->items[i].sides[side];
        size_t first = i < known ? before[i] : 0;
        added += values->count - first;
        if (!each)
            values_join(values, first);
    }
    free(before);
    if (err)
        return spex_fail(error, err, "out of memory");
    if (!added)
        return spex_fail(error, -ENOENT, "%s: no benchmark has a figure \"%s\"", origin, figure);
    if (!results->contexts[side])
        results->contexts[side] = json_incref(json_object_get(output, "context"));
    return 0;
}
