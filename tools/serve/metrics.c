/* SPDX-License-Identifier: MIT */
/* The families, and what of programs and probes they have. Labels are names alone, and numbers of process, thread and CPU with an exemplar: no argument, path or
 * value of a program gets out. */
#define _GNU_SOURCE
#include "tools/serve/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profile/table.h"
#include "ring/probe_type.h"
#include "tools/serve/metrics_writer.h"

static const char open_type[] = "application/openmetrics-text";

/* The weight that a media range of `Accept` has: its parameter q, 1 without one. */
static double range_weight(const char *range, size_t length) {
    for (size_t at = 0; at + 2 < length; at++)
        if (range[at] == ';') {
            size_t name = at + 1 + strspn(range + at + 1, " \t");
            if (name + 2 <= length && strncasecmp(range + name, "q=", 2) == 0)
                return strtod(range + name + 2, NULL);
        }
    return 1;
}

/* The first range that begins with a type, and its length; NULL: there is none. */
static const char *range_of(const char *accept, const char *type, size_t *length) {
    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        *length = strcspn(accept, ",");
        if (strncasecmp(accept, type, strlen(type)) == 0)
            return accept;
        accept += *length;
    }
    return NULL;
}

static double type_weight(const char *accept, const char *type) {
    size_t length;
    const char *range = range_of(accept, type, &length);
    return range ? range_weight(range, length) : 0;
}

/* Of messages one behind the other, each after its length. */
static double protobuf_weight(const char *accept) {
    static const char delimited[] = "encoding=delimited";
    size_t length;
    const char *range = range_of(accept, "application/vnd.google.protobuf", &length);
    return range && memmem(range, length, delimited, strlen(delimited))
               ? range_weight(range, length)
               : 0;
}

enum spex_metrics_format spex_metrics_format_for(const char *accept) {
    double protobuf = protobuf_weight(accept), open = type_weight(accept, open_type);
    double text = type_weight(accept, "text/plain");
    if (protobuf > 0 && protobuf >= open && protobuf >= text)
        return SPEX_METRICS_PROTOBUF;
    return open > 0 && open >= text ? SPEX_METRICS_OPEN : SPEX_METRICS_TEXT;
}

const char *spex_metrics_content_type(enum spex_metrics_format format) {
    static const char protobuf[] = "application/vnd.google.protobuf; "
                                   "proto=io.prometheus.client.MetricFamily; encoding=delimited";
    static const char *const types[] = {
        [SPEX_METRICS_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
        [SPEX_METRICS_OPEN] = "application/openmetrics-text; version=1.0.0; charset=utf-8",
        [SPEX_METRICS_PROTOBUF] = protobuf};
    return types[format];
}

/* As OpenMetrics writes numbers: with a point or an exponent. */
static void make_bounds(struct spex_metrics_out *out) {
    for (size_t b = 0; b < SPEX_SUMS_BOUNDS; b++) {
        char *bound = out->bounds[b];
        if (!spex_sums_bound_is_of(b, out->buckets))
            continue;
        size_t length =
            (size_t)snprintf(bound, sizeof(out->bounds[b]), "%.9g", spex_sums_bounds[b]);
        if (!strpbrk(bound, ".e"))
            snprintf(bound + length, sizeof(out->bounds[b]) - length, ".0");
    }
    strcpy(out->bounds[SPEX_SUMS_BOUNDS], "+Inf");
}

/* A figure of a program. */
struct program_family {
    struct spex_metrics_family family;
    double (*value)(const struct spex_metrics_program *program);
    /* NULL: of every program. */
    bool (*has)(const struct spex_metrics_program *program);
};

#define PROGRAM_TOTAL(name, number)                                                                \
    static double name(const struct spex_metrics_program *program) {                               \
        return program->sums->totals[number];                                                      \
    }

PROGRAM_TOTAL(cpu_of, SPEX_SUMS_CPU)
PROGRAM_TOTAL(collector_cpu_of, SPEX_SUMS_COLLECTOR_CPU)
PROGRAM_TOTAL(budget_time_of, SPEX_SUMS_BUDGET_TIME)
PROGRAM_TOTAL(budget_spent_of, SPEX_SUMS_BUDGET_SPENT)
PROGRAM_TOTAL(produced_of, SPEX_SUMS_PRODUCED)
PROGRAM_TOTAL(records_lost_of, SPEX_SUMS_RECORDS_LOST)
PROGRAM_TOTAL(undelivered_of, SPEX_SUMS_UNDELIVERED)

static double answering_of(const struct spex_metrics_program *program) {
    return (double)program->answering;
}

static double silent_of(const struct spex_metrics_program *program) {
    return (double)program->silent;
}

static double sites_of(const struct spex_metrics_program *program) {
    return (double)program->sums->sites;
}

static double sites_on_of(const struct spex_metrics_program *program) {
    return (double)program->sums->sites_on;
}

static double left_out_of(const struct spex_metrics_program *program) {
    return (double)program->sums->left_out;
}

static double budget_of(const struct spex_metrics_program *program) {
    return program->sums->budget;
}

static bool has_budget(const struct spex_metrics_program *program) {
    return program->sums->budget > 0 && program->sums->totals[SPEX_SUMS_BUDGET_ALLOWED] > 0;
}

static double budget_used_of(const struct spex_metrics_program *program) {
    return program->sums->totals[SPEX_SUMS_BUDGET_SPENT] /
           program->sums->totals[SPEX_SUMS_BUDGET_ALLOWED];
}

static const struct program_family program_families[] = {
    {{"spex_program_processes", SPEX_METRICS_GAUGE, NULL, "Processes of the program that answer."},
     answering_of,
     NULL},
    {{"spex_program_processes_silent", SPEX_METRICS_GAUGE, NULL,
      "Processes that do not answer in time."},
     silent_of,
     NULL},
    {{"spex_program_probe_sites", SPEX_METRICS_GAUGE, NULL, "Places of probes in all processes."},
     sites_of,
     NULL},
    {{"spex_program_probe_sites_on", SPEX_METRICS_GAUGE, NULL, "Places of probes that are on."},
     sites_on_of,
     NULL},
    {{"spex_program_probes_left_out", SPEX_METRICS_GAUGE, NULL,
      "Probes that have no series, as the server's limit is reached."},
     left_out_of,
     NULL},
    {{"spex_program_cpu_seconds", SPEX_METRICS_COUNTER, "seconds",
      "CPU time of the program while records are collected, without spex's own threads."},
     cpu_of,
     NULL},
    {{"spex_program_collector_cpu_seconds", SPEX_METRICS_COUNTER, "seconds",
      "CPU time of spex's own threads."},
     collector_cpu_of,
     NULL},
    {{"spex_program_records", SPEX_METRICS_COUNTER, NULL,
      "Records that probes have made, unread ones too."},
     produced_of,
     NULL},
    {{"spex_program_records_lost", SPEX_METRICS_COUNTER, NULL,
      "Records that were overwritten unread."},
     records_lost_of,
     NULL},
    {{"spex_program_records_undelivered", SPEX_METRICS_COUNTER, NULL,
      "Records that no output has taken."},
     undelivered_of,
     NULL},
    {{"spex_program_budget_ratio", SPEX_METRICS_GAUGE, NULL,
      "The budget: the share of the program's CPU time that probes may take."},
     budget_of,
     has_budget},
    {{"spex_program_budget_used_ratio", SPEX_METRICS_GAUGE, NULL,
      "The part of the budget that probes and spex's own threads are believed to have taken."},
     budget_used_of,
     has_budget},
    {{"spex_program_budget_time_seconds", SPEX_METRICS_COUNTER, "seconds",
      "CPU time of the program that the budget is a share of."},
     budget_time_of,
     has_budget},
    {{"spex_program_budget_spent_seconds", SPEX_METRICS_COUNTER, "seconds",
      "Time that probes and spex's own threads are believed to have taken of the budget."},
     budget_spent_of,
     has_budget},
};

static void write_program_family(struct spex_metrics_out *out,
                                 const struct program_family *family) {
    bool any = false;
    for (size_t p = 0; p < out->count; p++) {
        const struct spex_metrics_program *program = &out->programs[p];
        if (family->has && !family->has(program))
            continue;
        if (!any)
            out->writer->begin(out, &family->family);
        any = true;
        out->writer->sample(out, &family->family, &(struct spex_metrics_of){program, NULL},
                            family->value(program));
    }
    if (any)
        out->writer->end(out);
}

/* Calls `write` for each probe of each program for which `has` holds, within the family where there
 * is any. */
static void each_probe(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                       bool (*has)(const struct spex_sums_probe *probe),
                       void (*write)(struct spex_metrics_out *out,
                                     const struct spex_metrics_family *family,
                                     const struct spex_metrics_of *of)) {
    bool any = false;
    for (size_t p = 0; p < out->count; p++) {
        const struct spex_sums *sums = out->programs[p].sums;
        for (size_t n = 0; n < sums->count; n++) {
            if (!has(&sums->probes[n]))
                continue;
            if (!any)
                out->writer->begin(out, family);
            any = true;
            write(out, family, &(struct spex_metrics_of){&out->programs[p], &sums->probes[n]});
        }
    }
    if (any)
        out->writer->end(out);
}

static bool any_probe(const struct spex_sums_probe *probe) {
    (void)probe;
    return true;
}

/* Counters of probes, in the order of enum spex_sums_count. */
static const struct spex_metrics_family probe_counters[SPEX_SUMS_COUNTS] = {
    {"spex_probe_executions", SPEX_METRICS_COUNTER, NULL,
     "Executions while the probe was on; an estimate where not each one makes a record."},
    {"spex_probe_records", SPEX_METRICS_COUNTER, NULL, "Records of the probe in its figures."},
    {"spex_probe_lost_records", SPEX_METRICS_COUNTER, NULL,
     "Records of the probe that were lost; where probes share a ring, its share of the losses."},
    {"spex_probe_overhead_seconds", SPEX_METRICS_COUNTER, "seconds",
     "Time that the probe is believed to have taken from the program."},
    {"spex_probe_on_seconds", SPEX_METRICS_COUNTER, "seconds", "Time for which the probe was on."},
    {"spex_probe_held_seconds", SPEX_METRICS_COUNTER, "seconds",
     "Time for which the budget kept the probe off."},
};

static void write_counter(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                          const struct spex_metrics_of *of) {
    out->writer->sample(out, family, of, of->probe->counts[family - probe_counters]);
}

static const struct spex_metrics_family margin_family = {
    "spex_probe_executions_margin", SPEX_METRICS_GAUGE, NULL,
    "How far the executions may be off, in 95 % of cases; "
    "more than they are: they are a lower bound."};

static void write_margin(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                         const struct spex_metrics_of *of) {
    out->writer->sample(out, family, of, of->probe->margin);
}

static const struct spex_metrics_family period_family = {
    "spex_probe_period", SPEX_METRICS_GAUGE, NULL,
    "One execution in so many makes a record; the shortest of the processes, 0 where it is off."};

static void write_period(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                         const struct spex_metrics_of *of) {
    out->writer->sample(out, family, of, (double)of->probe->period);
}

static const struct spex_metrics_family times_family = {
    "spex_probe_duration_seconds", SPEX_METRICS_HISTOGRAM, "seconds",
    "Times of executions, each record counting for the executions that it stands for. Quantiles of "
    "buckets are interpolated: they may be off by as much as a bucket is wide."};

static bool has_times(const struct spex_sums_probe *probe) {
    return spex_probe_type_ticks(probe->type) && probe->series > 0;
}

static void write_times(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                        const struct spex_metrics_of *of) {
    out->writer->times(out, family, of);
}

/* What is told of each quantile, as summaries: the only metrics that may have a label `quantile`. */
static const struct spex_metrics_family quantile_families[] = {
    {"spex_probe_recent_duration_seconds", SPEX_METRICS_QUANTILES, "seconds",
     "Quantiles of the times of the last 10 s or more, by spex's own histograms."},
    {"spex_probe_recent_duration_low_seconds", SPEX_METRICS_QUANTILES, "seconds",
     "The lower ends of their 95 % intervals."},
    {"spex_probe_recent_duration_high_seconds", SPEX_METRICS_QUANTILES, "seconds",
     "The upper ends of their 95 % intervals."}};

static bool has_quantiles(const struct spex_sums_probe *probe) {
    return probe->recent;
}

static bool has_intervals(const struct spex_sums_probe *probe) {
    bool any = false;
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++)
        any |= probe->recent && probe->quantiles[q].told;
    return any;
}

static void write_quantiles(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                            const struct spex_metrics_of *of) {
    size_t which = (size_t)(family - quantile_families);
    double told[SPEX_SUMS_QUANTILES];
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++) {
        const struct spex_sums_quantile *quantile = &of->probe->quantiles[q];
        const double values[] = {quantile->value, quantile->low, quantile->high};
        told[q] = which && !quantile->told ? -1 : values[which];
    }
    out->writer->quantiles(out, family, of, told);
}

static const struct spex_metrics_family values_family = {
    "spex_probe_value", SPEX_METRICS_SUMMARY, NULL,
    "Values of probes that are no times: events, or values of the developer's choice."};

static bool has_values(const struct spex_sums_probe *probe) {
    return !spex_probe_type_ticks(probe->type) && probe->series > 0;
}

static void write_values(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                         const struct spex_metrics_of *of) {
    const struct spex_sums_probe *probe = of->probe;
    for (unsigned s = 0; s < probe->series; s++) {
        const char *names = *probe->names ? probe->names : NULL;
        char name[SPEX_PROFILE_FILE_BYTES];
        out->writer->value(out, family, of, s,
                           spex_profile_value_name(names, probe->type, s, name));
    }
}

/* A figure of the server, which has no labels. */
static void write_own(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                      double value) {
    out->writer->begin(out, family);
    out->writer->sample(out, family, &(struct spex_metrics_of){NULL, NULL}, value);
    out->writer->end(out);
}

static void write_server(struct spex_metrics_out *out, const struct spex_metrics_server *server) {
    static const struct spex_metrics_family programs = {"spex_serve_programs", SPEX_METRICS_GAUGE,
                                                        NULL, "Programs that the server follows."};
    static const struct spex_metrics_family programs_left_out = {
        "spex_serve_programs_left_out", SPEX_METRICS_GAUGE, NULL,
        "Programs that have no series, as the server's limit is reached."};
    static const struct spex_metrics_family processes_left_out = {
        "spex_serve_processes_left_out", SPEX_METRICS_GAUGE, NULL,
        "Processes that are not followed, as the server's limit is reached."};
    static const struct spex_metrics_family reports = {
        "spex_serve_refused_reports", SPEX_METRICS_COUNTER, NULL,
        "Reports of processes that were refused: too large for the memory of their user, or "
        "malformed."};
    static const struct spex_metrics_family cpu = {"spex_serve_cpu_seconds", SPEX_METRICS_COUNTER,
                                                   "seconds", "CPU time of the server itself."};
    static const struct spex_metrics_family refused = {"spex_serve_refused_requests",
                                                       SPEX_METRICS_COUNTER, NULL,
                                                       "HTTP requests that were refused."};
    write_own(out, &programs, (double)out->count);
    write_own(out, &programs_left_out, (double)server->programs_left_out);
    write_own(out, &processes_left_out, (double)server->processes_left_out);
    write_own(out, &reports, server->reports_refused);
    write_own(out, &cpu, server->cpu_seconds);
    write_own(out, &refused, server->refused);
}

void spex_metrics_write(FILE *file, enum spex_metrics_format format,
                        const struct spex_metrics_program *programs, size_t count,
                        const struct spex_metrics_server *server) {
    struct spex_metrics_out all = {.out = file,
                                   .format = format,
                                   .writer = format == SPEX_METRICS_PROTOBUF
                                                 ? &spex_metrics_protobuf_writer
                                                 : &spex_metrics_text_writer,
                                   .programs = programs,
                                   .count = count,
                                   .buckets = server->buckets};
    struct spex_metrics_out *out = &all;
    make_bounds(out);
    for (size_t f = 0; f < sizeof(program_families) / sizeof(program_families[0]); f++)
        write_program_family(out, &program_families[f]);
    for (size_t f = 0; f < SPEX_SUMS_COUNTS; f++)
        each_probe(out, &probe_counters[f], any_probe, write_counter);
    each_probe(out, &margin_family, any_probe, write_margin);
    each_probe(out, &period_family, any_probe, write_period);
    each_probe(out, &times_family, has_times, write_times);
    for (size_t f = 0; f < sizeof(quantile_families) / sizeof(quantile_families[0]); f++)
        each_probe(out, &quantile_families[f], f ? has_intervals : has_quantiles, write_quantiles);
    each_probe(out, &values_family, has_values, write_values);
    write_server(out, server);
    spex_protobuf_free(&all.family);
    if (format == SPEX_METRICS_OPEN)
        fputs("# EOF\n", file);
}
