/* SPDX-License-Identifier: MIT */
/* The table that people read. */
#include "harness/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/complexity.h"
#include "profile/columns.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

const char *const spex_bench_quantile_names[SPEX_BENCH_QUANTILES] = {"p50", "p90", "p99", "p99.9",
                                                                     "max"};

bool spex_bench_quantiles(const struct spex_bench_report *report,
                          const struct spex_bench_figures *figures,
                          double ns[SPEX_BENCH_QUANTILES]) {
    static const double at[SPEX_BENCH_QUANTILES] = {0.5, 0.9, 0.99, 0.999, 1};
    if (!figures->singles || !figures->singles->total)
        return false;
    for (int q = 0; q < SPEX_BENCH_QUANTILES; q++)
        ns[q] = spex_histogram_quantile(figures->singles, at[q]) /
                report->manner->ticks_per_second * 1e9;
    return true;
}

static void add_seconds(struct spex_columns *columns, double ns, double margin_ns) {
    char text[48];
    spex_columns_add(columns, "%s",
                     spex_quantity_text(ns / 1e9, margin_ns / 1e9, "s", text, sizeof(text)));
}

static void add_rate(struct spex_columns *columns, double amount, double threads, double ns,
                     const char *unit) {
    char text[48];
    if (amount > 0)
        spex_quantity_text(amount * threads / ns * 1e9, NAN, unit, text, sizeof(text));
    spex_columns_add(columns, "%s%s", amount > 0 ? text : "",
                     amount > 0 && *unit == 'B' ? "/s" : "");
}

/* The ± of the time, or that there is none. */
static void add_error(struct spex_columns *columns, const struct spex_bench_figures *figures) {
    double error = spex_bench_figures_error(figures);
    char text[32];
    if (isfinite(error))
        spex_columns_add(columns, "±%s", spex_percent_text(error, 2, text, sizeof(text)));
    else
        spex_columns_add(columns, "±?");
}

/* The mean of an event, or of the benchmark's own figure, over all repetitions. */
static double mean_event(const struct spex_bench_figures *figures, size_t event) {
    double sum = 0;
    for (size_t r = 0; r < figures->count; r++)
        sum += figures->repetitions[r].events[event];
    return sum / (double)figures->count;
}

static void add_notes(struct spex_columns *columns, const struct spex_bench_report *report,
                      const struct spex_bench_figures *figures) {
    const struct spex_bench_repetition *first = figures->repetitions;
    char text[1024] = "";
    size_t length = 0;
    const struct spex_bench_events *events = report->manner->events;
    for (size_t e = 0; e < events->count && length < sizeof(text); e++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s=%.4g", length ? " " : "",
                             events->items[e].name, mean_event(figures, e));
    for (size_t c = 0; c < first->own_count && length < sizeof(text); c++)
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s%s=%.4g", length ? " " : "",
                             first->own[c].name, first->own[c].sum / first->own[c].count);
    spex_columns_add(columns, "%s", text);
}

static void add_row(struct spex_columns *columns, const struct spex_bench_report *report,
                    const struct spex_bench_instance *instance) {
    const struct spex_bench_figures *figures = &instance->figures;
    double ns[SPEX_BENCH_QUANTILES], time = figures->estimate.value;
    spex_columns_add(columns, "%s", instance->name);
    double margin = spex_bench_figures_error(figures) * time;
    add_seconds(columns, time, isfinite(margin) ? margin : NAN);
    add_error(columns, figures);
    add_seconds(columns, figures->cpu_ns, NAN);
    add_seconds(columns, figures->mean.cpu_ns, NAN);
    spex_columns_add(columns, "%zu", figures->count);
    bool known = spex_bench_quantiles(report, figures, ns);
    for (int q = 0; q < SPEX_BENCH_QUANTILES; q++)
        if (known)
            add_seconds(columns, ns[q], NAN);
        else
            spex_columns_add(columns, "%s", "");
    add_rate(columns, figures->repetitions->bytes, instance->threads, time, "B");
    add_rate(columns, figures->repetitions->items, instance->threads, time, "/s");
    add_notes(columns, report, figures);
    spex_columns_end_row(columns);
}

static void print_coefficient(FILE *out, const struct spex_model *model, const char *name,
                              double value, double error) {
    char number[48], half[48];
    double margin = spex_bench_complexity_margin(model, error);
    bool known = isfinite(margin);
    spex_quantity_text(value, known ? margin : NAN, "s", number, sizeof(number));
    spex_quantity_text(margin, margin, "s", half, sizeof(half));
    fprintf(out, ", %s %s%s%s", name, number, known ? " ± " : "", known ? half : "");
}

/* The models of the families that ask for one. */
static void print_models(const struct spex_bench_report *report, FILE *out) {
    const struct spex_bench_instances *instances = report->instances;
    for (size_t i = 0, next; i < instances->count; i = next) {
        const char *names[SPEX_BENCH_PARAMETERS_MAX];
        const struct spex_benchmark *family = instances->items[i].family;
        struct spex_fit fit;
        char text[1024];
        if (spex_bench_complexity(instances, i, &next, &fit) != 0)
            continue;
        const struct spex_model *model = &fit.model;
        spex_bench_complexity_names(family, names);
        spex_model_shown(model, names, text, sizeof(text));
        bool found = model->class != SPEX_MODEL_UNKNOWN, whole = found && !model->change_count;
        fprintf(out, "%s: %s%s%s", family->name,
                whole   ? "time = "
                : found ? "time in seconds = "
                        : "",
                text, whole ? " s" : "");
        if (found) {
            fprintf(out, "; %s, adjusted R² %.4f", spex_model_class_name(model->class),
                    model->adjusted_r2);
            if (model->constant > 0)
                print_coefficient(out, model, "constant", model->constant, model->constant_error);
            for (size_t t = 0; t < model->term_count; t++)
                print_coefficient(out, model, "term", model->terms[t].coefficient,
                                  model->terms[t].error);
        }
        fputc('\n', out);
    }
}

/* Which intervals are wider than was asked for. */
static void print_errors(const struct spex_bench_report *report, FILE *out) {
    const struct spex_bench_settings *settings = report->settings;
    size_t wide = 0;
    for (size_t i = 0; i < report->instances->count; i++) {
        const struct spex_bench_instance *instance = &report->instances->items[i];
        if (*instance->figures.error)
            fprintf(out, "%s: not measured: %s\n", instance->name, instance->figures.error);
        else if (!spex_bench_figures_precise(&instance->figures, settings->precision))
            wide++;
    }
    if (wide)
        fprintf(out,
                "%zu of %zu estimates are less precise than ±%.3g %%: more time "
                "(--benchmark_max_time) or a machine with less to do would be needed\n",
                wide, report->instances->count, 100 * settings->precision);
}

void spex_bench_report_console(const struct spex_bench_report *report, FILE *out) {
    SPEX_PLAIN_NUMBERS;
    static const char *const headings[] = {
        "benchmark", "time", "95 %",  "CPU", "mean CPU", "repeated", "p50",
        "p90",       "p99",  "p99.9", "max", "bytes",    "items",    "per iteration"};
    static const uint8_t order[] = {5, 4, 9, 7, 13};
    enum { COLUMNS = sizeof(headings) / sizeof(headings[0]) };
    struct spex_columns columns;
    char text[160];
    const char *doubt;
    for (size_t i = 0; (doubt = spex_bench_machine_doubt(report->machine, i, text, sizeof(text)));
         i++)
        fprintf(out, "warning: %s\n", doubt);
    if (!spex_bench_optimised())
        fputs("warning: the benchmarks are compiled without optimisation\n", out);
    spex_columns_init(&columns, headings, COLUMNS, 1u | 1u << (COLUMNS - 1));
    for (size_t i = 0; i < report->instances->count; i++)
        if (report->instances->items[i].figures.count)
            add_row(&columns, report, &report->instances->items[i]);
    columns.folded = true;
    spex_columns_print_within(
        &columns, out,
        &(struct spex_columns_room){.texts = 1, .order = order, .count = sizeof(order)});
    if (report->settings->singles)
        fprintf(out, "p50 to max are of single iterations, without the clock's own %.1f ns\n",
                (double)report->manner->clock_ticks / report->manner->ticks_per_second * 1e9);
    print_models(report, out);
    print_errors(report, out);
}
