/* SPDX-License-Identifier: MIT */
#include "tools/bench/bench_output.h"

#include <math.h>
#include <string.h>

#include "explore/report/json_parts.h"
#include "profile/columns.h"
#include "text/quantity.h"
#include "tools/common/json.h"

static void add_estimate(struct spex_columns *columns, const char *figure,
                         const struct spex_estimate *estimate) {
    double margin = (estimate->high - estimate->low) / 2;
    char text[48];
    spex_columns_add(columns, "%s",
                     spex_quantity_text(estimate->value, isfinite(margin) ? margin : NAN,
                                        spex_bench_figure_is_time(figure) ? "s" : "", text,
                                        sizeof(text)));
}

/* A chance is at least what is worth telling. */
static void add_chance(struct spex_columns *columns, double chance) {
    if (chance < 1e-4)
        spex_columns_add(columns, "<0.01 %%");
    else
        spex_columns_add(columns, "%.*f %%",
                         chance < 0.01  ? 2
                         : chance < 0.1 ? 1
                                        : 0,
                         100 * chance);
}

static void add_interval(struct spex_columns *columns, const struct spex_estimate *estimate) {
    if (isfinite(estimate->low) && isfinite(estimate->high))
        spex_columns_add(columns, "%.4f to %.4f", estimate->low, estimate->high);
    else
        spex_columns_add(columns, "-");
}

static const char *verdict_text(const struct spex_bench_verdict *verdict) {
    return verdict->worse ? "WORSE" : verdict->differs ? "differs" : "";
}

static void print_verdicts(const struct spex_bench_findings *findings, FILE *out) {
    const char *const headings[] = {"benchmark",       "A",      "B", "B/A", "95 %",
                                    "chance if equal", "verdict"};
    static const uint8_t order[] = {5, 4};
    struct spex_columns columns;
    fprintf(out, "A: %s\nB: %s\n", findings->names[0], findings->names[1]);
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 1 | 1 << 6);
    for (size_t v = 0; v < findings->verdict_count; v++) {
        const struct spex_bench_verdict *verdict = &findings->verdicts[v];
        spex_columns_add(&columns, "%s", verdict->series->name);
        add_estimate(&columns, findings->figure, &verdict->sides[0]);
        add_estimate(&columns, findings->figure, &verdict->sides[1]);
        spex_columns_add(&columns, "%.4f", verdict->ratio.value);
        add_interval(&columns, &verdict->ratio);
        add_chance(&columns, verdict->chance);
        spex_columns_add(&columns, "%s", verdict_text(verdict));
        spex_columns_end_row(&columns);
    }
    spex_columns_print_within(
        &columns, out,
        &(struct spex_columns_room){.texts = 1, .order = order, .count = sizeof(order)});
}

static void print_estimates(const struct spex_bench_findings *findings, FILE *out) {
    const char *const headings[] = {"benchmark", findings->figure, "95 %"};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 1);
    for (size_t i = 0; i < findings->results->count; i++) {
        const struct spex_bench_series *series = &findings->results->items[i];
        const struct spex_bench_values *values = &series->sides[0];
        if (!values->count)
            continue;
        struct spex_estimate estimate = spex_centre(values->values, values->count);
        char text[32];
        double error = (estimate.high - estimate.low) / 2 / estimate.value;
        spex_columns_add(&columns, "%s", series->name);
        add_estimate(&columns, findings->figure, &estimate);
        if (isfinite(error) && error <= 1)
            spex_columns_add(&columns, "±%s", spex_percent_text(error, 2, text, sizeof(text)));
        else if (isfinite(error))
            spex_columns_add(&columns, "?");
        spex_columns_end_row(&columns);
    }
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 1});
}

/* Why a benchmark has no verdict; NULL: it has one. */
static const char *missing_reason(const struct spex_bench_findings *findings,
                                  const struct spex_bench_series *series) {
    if (series->error)
        return *series->error ? series->error : "not measured";
    if (findings->sides == 1)
        return series->sides[0].count ? NULL : "it has no such figure";
    for (size_t v = 0; v < findings->verdict_count; v++)
        if (findings->verdicts[v].series == series)
            return NULL;
    return !series->sides[0].count   ? "A does not have it"
           : !series->sides[1].count ? "B does not have it"
                                     : "it has values of 0 or less, or not one of each round";
}

void spex_bench_findings_print(const struct spex_bench_findings *findings, FILE *out) {
    if (findings->sides == 2)
        print_verdicts(findings, out);
    else
        print_estimates(findings, out);
    for (size_t i = 0; i < findings->results->count; i++) {
        const struct spex_bench_series *series = &findings->results->items[i];
        const char *reason = missing_reason(findings, series);
        if (reason)
            fprintf(out, "%s: not judged: %s\n", series->name, reason);
    }
}

static json_t *estimate_json(const struct spex_estimate *estimate) {
    return json_pack("{s:o, s:o, s:o}", "value", spex_json_number(estimate->value), "low",
                     spex_json_number(estimate->low), "high", spex_json_number(estimate->high));
}

static json_t *values_json(const struct spex_bench_values *values) {
    json_t *list = json_array();
    int err = list ? 0 : -1;
    for (size_t v = 0; v < values->count; v++)
        err |= json_array_append_new(list, spex_json_number(values->values[v]));
    return spex_json_unless(err, list);
}

static json_t *verdict_json(const struct spex_bench_verdict *verdict) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "name",
                     spex_text_json(verdict->series->name), "a", estimate_json(&verdict->sides[0]),
                     "b", estimate_json(&verdict->sides[1]), "values_a",
                     values_json(&verdict->series->sides[0]), "values_b",
                     values_json(&verdict->series->sides[1]), "ratio",
                     estimate_json(&verdict->ratio), "chance", json_real(verdict->chance),
                     "worse_chance", json_real(verdict->worse_chance), "differs",
                     (int)verdict->differs, "worse", (int)verdict->worse);
}

static json_t *series_json(const struct spex_bench_series *series) {
    const struct spex_bench_values *values = &series->sides[0];
    struct spex_estimate estimate = spex_centre(values->values, values->count);
    return json_pack("{s:o, s:o, s:o}", "name", spex_text_json(series->name), "a",
                     estimate_json(&estimate), "values_a", values_json(values));
}

json_t *spex_bench_findings_json(const struct spex_bench_findings *findings) {
    const struct spex_bench_results *results = findings->results;
    json_t *judged = json_array(), *left_out = json_object(), *doubts = json_array();
    int err = judged && left_out && doubts ? 0 : -1;
    for (size_t v = 0; v < findings->verdict_count; v++)
        err |= json_array_append_new(judged, verdict_json(&findings->verdicts[v]));
    for (size_t i = 0; i < results->count; i++) {
        const char *reason = missing_reason(findings, &results->items[i]);
        if (reason)
            err |= json_object_set_new(left_out, results->items[i].name, spex_text_json(reason));
        else if (findings->sides == 1)
            err |= json_array_append_new(judged, series_json(&results->items[i]));
    }
    for (size_t d = 0; d < findings->doubt_count; d++)
        err |= json_array_append_new(doubts, spex_text_json(findings->doubts[d]));
    json_t *all = json_pack(
        "{s:o*, s:s, s:f, s:I, s:I, s:f, s:o, s:o, s:o}", "programs",
        json_pack("[o, o*]", spex_text_json(findings->names[0]),
                  findings->sides == 2 ? spex_text_json(findings->names[1]) : NULL),
        "figure", findings->figure, "allowed", findings->allowed, "rounds",
        (json_int_t)findings->rounds, "seed", (json_int_t)findings->seed, "others",
        findings->others, "warnings", doubts, "benchmarks", judged, "not_judged", left_out);
    return spex_json_unless(err, all);
}
