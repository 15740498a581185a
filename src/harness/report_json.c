/* SPDX-License-Identifier: MIT */
/* JSON as of Google Benchmark 1.7 (src/json_reporter.cc), whose tools read it. It has no NaN: what
 * is not known is left out. */
#define _GNU_SOURCE
#include "harness/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spex/version.h>

#include "harness/complexity.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

/* Members of an object, one after another. */
struct members {
    FILE *out;
    const char *indent;
    bool any;
};

/* Text without control characters; the quotes are its own. */
static void write_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void name_member(struct members *members, const char *name) {
    fprintf(members->out, "%s\n%s", members->any ? "," : "", members->indent);
    members->any = true;
    write_text(members->out, name);
    fputs(": ", members->out);
}

static void text_member(struct members *members, const char *name, const char *text) {
    name_member(members, name);
    write_text(members->out, text);
}

static void number_member(struct members *members, const char *name, double number) {
    if (!isfinite(number))
        return;
    name_member(members, name);
    fprintf(members->out, "%.*g", SPEX_PLAIN_DIGITS, number);
}

static void bool_member(struct members *members, const char *name, bool yes) {
    name_member(members, name);
    fputs(yes ? "true" : "false", members->out);
}

static void write_caches(struct members *context, const struct spex_bench_machine *machine) {
    name_member(context, "caches");
    fputc('[', context->out);
    for (size_t c = 0; c < machine->cache_count; c++) {
        const struct spex_bench_cache *cache = &machine->caches[c];
        fprintf(context->out,
                "%s{\"type\": \"%s\", \"level\": %u, \"size\": %lu, "
                "\"num_sharing\": %u}",
                c ? ", " : "", cache->type, cache->level, cache->bytes, cache->sharing);
    }
    fputc(']', context->out);
}

static void write_context(const struct spex_bench_report *report, FILE *out) {
    const struct spex_bench_machine *machine = report->machine;
    const struct spex_bench_manner *manner = report->manner;
    struct members context = {out, "    ", false};
    char date[64] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S%z", &local);
    text_member(&context, "date", date);
    text_member(&context, "host_name", machine->host);
    text_member(&context, "executable", machine->executable);
    number_member(&context, "num_cpus", machine->cpus);
    number_member(&context, "mhz_per_cpu", machine->mhz);
    bool_member(&context, "cpu_scaling_enabled", machine->scaling);
    write_caches(&context, machine);
    name_member(&context, "load_avg");
    fprintf(out, "[%.2f, %.2f, %.2f]", machine->load[0], machine->load[1], machine->load[2]);
    text_member(&context, "library_version", "spex " SPEX_VERSION);
    text_member(&context, "library_build_type", spex_bench_optimised() ? "release" : "debug");
    number_member(&context, "json_schema_version", 1);
    number_member(&context, "seed", (double)report->settings->seed);
    number_member(&context, "processes", report->settings->processes);
    number_member(&context, "ticks_per_second", manner->ticks_per_second);
    number_member(&context, "clock_ns",
                  (double)manner->clock_ticks / manner->ticks_per_second * 1e9);
    bool_member(&context, "invariant_ticks", machine->invariant_ticks);
    bool_member(&context, "virtual_machine", machine->virtual);
}

/* What all rows of an instance have; `aggregate`: NULL for a repetition. */
static void begin_row(struct members *row, const struct spex_bench_instance *instance,
                      const char *aggregate, bool *any) {
    char name[1024];
    fprintf(row->out, "%s\n    {", *any ? "," : "");
    *any = true;
    snprintf(name, sizeof(name), "%s%s%s", instance->name, aggregate ? "_" : "",
             aggregate ? aggregate : "");
    text_member(row, "name", name);
    number_member(row, "family_index", (double)instance->family_index);
    number_member(row, "per_family_instance_index", (double)instance->index);
    text_member(row, "run_name", instance->name);
    text_member(row, "run_type", aggregate ? "aggregate" : "iteration");
    number_member(row, "repetitions", (double)instance->figures.count);
    number_member(row, "threads", instance->threads);
    if (aggregate) {
        text_member(row, "aggregate_name", aggregate);
        text_member(row, "aggregate_unit", strcmp(aggregate, "cv") == 0 ? "percentage" : "time");
    }
}

static void end_row(const struct members *row) {
    fputs("\n    }", row->out);
}

/* What other programs and interrupts take is in these, as in Google Benchmark's times. */
static void means_members(struct members *row, const struct spex_bench_time *mean) {
    number_member(row, "mean_real_time", mean->real_ns);
    number_member(row, "mean_cpu_time", mean->cpu_ns);
}

static void write_repetition(const struct spex_bench_report *report,
                             const struct spex_bench_instance *instance, size_t index,
                             struct members row) {
    const struct spex_bench_repetition *repetition = &instance->figures.repetitions[index];
    double seconds = repetition->time.real_ns / 1e9 / instance->threads;
    number_member(&row, "repetition_index", (double)index);
    number_member(&row, "iterations", repetition->iterations);
    number_member(&row, "real_time", repetition->time.real_ns);
    number_member(&row, "cpu_time", repetition->time.cpu_ns);
    text_member(&row, "time_unit", "ns");
    number_member(&row, "ticks", repetition->time.ticks);
    means_members(&row, &repetition->mean);
    number_member(&row, "process", (double)repetition->process);
    if (repetition->bytes > 0)
        number_member(&row, "bytes_per_second", repetition->bytes / seconds);
    if (repetition->items > 0)
        number_member(&row, "items_per_second", repetition->items / seconds);
    for (size_t e = 0; e < report->manner->events->count; e++)
        number_member(&row, report->manner->events->items[e].name, repetition->events[e]);
    for (size_t c = 0; c < repetition->own_count; c++)
        number_member(&row, repetition->own[c].name,
                      repetition->own[c].sum / repetition->own[c].count);
    end_row(&row);
}

/* A row of statistics of the repetitions. */
static void write_aggregate(const struct spex_bench_instance *instance, const char *name,
                            double real, double cpu, bool *any, FILE *out) {
    struct members row = {out, "      ", false};
    begin_row(&row, instance, name, any);
    number_member(&row, "iterations", (double)instance->figures.count);
    number_member(&row, "real_time", real);
    number_member(&row, "cpu_time", cpu);
    text_member(&row, "time_unit", "ns");
    end_row(&row);
}

/* Mean, median and standard deviation of the times at this offset. */
struct statistics {
    double mean, median, deviation;
};

static struct statistics statistics_of(const struct spex_bench_figures *figures, size_t offset,
                                       double *scratch) {
    struct statistics of = {0, 0, 0};
    double count = (double)figures->count;
    for (size_t r = 0; r < figures->count; r++) {
        memcpy(&scratch[r], (const char *)&figures->repetitions[r].time + offset, sizeof(*scratch));
        of.mean += scratch[r] / count;
    }
    for (size_t r = 0; r < figures->count; r++)
        of.deviation += (scratch[r] - of.mean) * (scratch[r] - of.mean) / (count - 1);
    of.deviation = sqrt(of.deviation);
    of.median = spex_bench_median(scratch, figures->count);
    return of;
}

/* As Google Benchmark does from two repetitions on. */
static void write_aggregates(const struct spex_bench_instance *instance, bool *any, FILE *out) {
    const struct spex_bench_figures *figures = &instance->figures;
    double *scratch = malloc(figures->count * sizeof(*scratch));
    if (scratch && figures->count > 1) {
        struct statistics real =
            statistics_of(figures, offsetof(struct spex_bench_time, real_ns), scratch);
        struct statistics cpu =
            statistics_of(figures, offsetof(struct spex_bench_time, cpu_ns), scratch);
        write_aggregate(instance, "mean", real.mean, cpu.mean, any, out);
        write_aggregate(instance, "median", real.median, cpu.median, any, out);
        write_aggregate(instance, "stddev", real.deviation, cpu.deviation, any, out);
        write_aggregate(instance, "cv", real.deviation / real.mean, cpu.deviation / cpu.mean, any,
                        out);
    }
    free(scratch);
}

/* The estimate with its interval, and the percentiles. */
static void write_estimate(const struct spex_bench_report *report,
                           const struct spex_bench_instance *instance, bool *any, FILE *out) {
    const struct spex_bench_figures *figures = &instance->figures;
    struct members row = {out, "      ", false};
    double ns[SPEX_BENCH_QUANTILES];
    begin_row(&row, instance, "estimate", any);
    number_member(&row, "iterations", (double)figures->count);
    number_member(&row, "real_time", figures->estimate.value);
    number_member(&row, "cpu_time", figures->cpu_ns);
    text_member(&row, "time_unit", "ns");
    number_member(&row, "real_time_low", figures->estimate.low);
    number_member(&row, "real_time_high", figures->estimate.high);
    means_members(&row, &figures->mean);
    bool_member(&row, "precise", spex_bench_figures_precise(figures, report->settings->precision));
    if (spex_bench_quantiles(report, figures, ns)) {
        for (int q = 0; q < SPEX_BENCH_QUANTILES; q++)
            number_member(&row, spex_bench_quantile_names[q], ns[q]);
        number_member(&row, "singles", (double)figures->singles->total);
    }
    end_row(&row);
}

static void write_error(const struct spex_bench_instance *instance, bool *any, FILE *out) {
    struct members row = {out, "      ", false};
    begin_row(&row, instance, NULL, any);
    bool_member(&row, "error_occurred", true);
    text_member(&row, "error_message", instance->figures.error);
    /* compare.py takes the mean of all rows. */
    number_member(&row, "iterations", 0);
    number_member(&row, "real_time", 0);
    number_member(&row, "cpu_time", 0);
    text_member(&row, "time_unit", "ns");
    end_row(&row);
}

/* [low, high] of a coefficient, in ns; left out where it is not known. */
static void interval_member(struct members *members, const struct spex_model *model,
                            const char *name, double value, double error) {
    double margin = spex_bench_complexity_margin(model, error);
    if (!isfinite(margin))
        return;
    name_member(members, name);
    fprintf(members->out, "[%.*g, %.*g]", SPEX_PLAIN_DIGITS, (value - margin) * 1e9,
            SPEX_PLAIN_DIGITS, (value + margin) * 1e9);
}

/* A row as Google Benchmark's of BigO, without times, which its tools pass over. */
static void write_model(const struct spex_benchmark *family, const struct spex_fit *fit, bool *any,
                        FILE *out) {
    const struct spex_model *model = &fit->model;
    const char *names[SPEX_BENCH_PARAMETERS_MAX];
    struct members row = {out, "      ", false};
    char text[1024];
    fprintf(out, "%s\n    {", *any ? "," : "");
    *any = true;
    snprintf(text, sizeof(text), "%s_BigO", family->name);
    text_member(&row, "name", text);
    text_member(&row, "run_name", family->name);
    text_member(&row, "run_type", "aggregate");
    text_member(&row, "aggregate_name", "BigO");
    text_member(&row, "time_unit", "ns");
    text_member(&row, "big_o", spex_model_class_name(model->class));
    spex_bench_complexity_names(family, names);
    spex_model_text(model, names, text, sizeof(text));
    text_member(&row, "model_seconds", text);
    number_member(&row, "adjusted_r2", model->adjusted_r2);
    number_member(&row, "constant", model->constant * 1e9);
    if (model->constant > 0)
        interval_member(&row, model, "constant_interval", model->constant, model->constant_error);
    for (size_t t = 0; t < model->term_count; t++) {
        snprintf(text, sizeof(text), "term%zu", t + 1);
        number_member(&row, text, model->terms[t].coefficient * 1e9);
        snprintf(text, sizeof(text), "term%zu_interval", t + 1);
        interval_member(&row, model, text, model->terms[t].coefficient, model->terms[t].error);
    }
    end_row(&row);
}

void spex_bench_report_json(const struct spex_bench_report *report, FILE *out) {
    SPEX_PLAIN_NUMBERS;
    const struct spex_bench_instances *instances = report->instances;
    bool any = false;
    fputs("{\n  \"context\": {", out);
    write_context(report, out);
    fputs("\n  },\n  \"benchmarks\": [", out);
    for (size_t i = 0; i < instances->count; i++) {
        const struct spex_bench_instance *instance = &instances->items[i];
        for (size_t r = 0; r < instance->figures.count && !report->aggregates_only; r++) {
            struct members row = {out, "      ", false};
            begin_row(&row, instance, NULL, &any);
            write_repetition(report, instance, r, row);
        }
        if (instance->figures.count) {
            write_aggregates(instance, &any, out);
            write_estimate(report, instance, &any, out);
        }
        if (*instance->figures.error)
            write_error(instance, &any, out);
    }
    for (size_t i = 0, next; i < instances->count; i = next) {
        struct spex_fit fit;
        if (spex_bench_complexity(instances, i, &next, &fit) == 0)
            write_model(instances->items[i].family, &fit, &any, out);
    }
    fputs("\n  ]\n}\n", out);
}
