/* SPDX-License-Identifier: MIT */
/* A family is written as a whole, with its samples of all programs, as both formats demand. Labels
 * are names alone, and numbers of process, thread and CPU with an exemplar: no argument, path or
 * value of a program gets out. */
#define _GNU_SOURCE
#include "tools/serve/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "profile/table.h"
#include "ring/probe_type.h"
#include "site/provider.h"

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

/* The weight of the first range that begins with a type; 0: there is none. */
static double type_weight(const char *accept, const char *type) {
    while (accept && *accept) {
        accept += strspn(accept, ", \t");
        size_t length = strcspn(accept, ",");
        if (strncasecmp(accept, type, strlen(type)) == 0)
            return range_weight(accept, length);
        accept += length;
    }
    return 0;
}

bool spex_metrics_wants_open(const char *accept) {
    double weight = type_weight(accept, open_type);
    return weight > 0 && weight >= type_weight(accept, "text/plain");
}

const char *spex_metrics_content_type(bool open) {
    return open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                : "text/plain; version=0.0.4; charset=utf-8";
}

struct text {
    FILE *out;
    bool open;
    const struct spex_metrics_program *programs;
    size_t count;
    unsigned buckets;
    /* Of the bounds that are written; others are empty. */
    char bounds[SPEX_SUMS_BUCKETS][16];
};

/* As OpenMetrics writes numbers: with a point or an exponent. */
static void make_bounds(struct text *text) {
    for (size_t b = 0; b < SPEX_SUMS_BOUNDS; b++) {
        char *bound = text->bounds[b];
        if (!spex_sums_bound_is_of(b, text->buckets))
            continue;
        size_t length =
            (size_t)snprintf(bound, sizeof(text->bounds[b]), "%.9g", spex_sums_bounds[b]);
        if (!strpbrk(bound, ".e"))
            snprintf(bound + length, sizeof(text->bounds[b]) - length, ".0");
    }
    strcpy(text->bounds[SPEX_SUMS_BOUNDS], "+Inf");
}

enum kind { COUNTER, GAUGE, HISTOGRAM, SUMMARY };

struct family {
    /* Without "_total". */
    const char *name;
    enum kind kind;
    /* Ends the name; NULL: none. */
    const char *unit;
    const char *help;
};

/* Prometheus' format has the whole name of a counter here, OpenMetrics the name without
 * "_total". */
static void write_head(const struct text *text, const struct family *family) {
    static const char *const kinds[] = {"counter", "gauge", "histogram", "summary"};
    const char *end = family->kind == COUNTER && !text->open ? "_total" : "";
    fprintf(text->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, end, family->help,
            family->name, end, kinds[family->kind]);
    if (text->open && family->unit)
        fprintf(text->out, "# UNIT %s %s\n", family->name, family->unit);
}

/* Room for the labels of a series: four, of which each character may be escaped. */
enum { LABEL_BYTES = 2 * SPEX_PROBE_TEXT_BYTES + 32, LABELS_BYTES = 4 * LABEL_BYTES };

/* Appends a label. Names are printable, so that three characters are escaped at most. */
static char *add_label(char *at, const char *name, const char *value) {
    at = stpcpy(stpcpy(at, name), "=\"");
    for (; *value; value++) {
        if (*value == '\n' || *value == '"' || *value == '\\')
            *at++ = '\\';
        *at++ = *value == '\n' ? 'n' : *value;
    }
    return stpcpy(at, "\"");
}

/* A counter's whole numbers are written as such, up to where doubles hold each: they are most of
 * the text, and are written several times as fast. */
static void write_number(FILE *out, double value) {
    if (isinf(value))
        fputs(value > 0 ? "+Inf" : "-Inf", out);
    else if (value >= 0 && value < 1e15 && value == (double)(uint64_t)value)
        fprintf(out, "%llu", (unsigned long long)value);
    else
        fprintf(out, "%.15g", value);
}

/* `{program="…",probe="…",type="…"`: the caller goes on with labels of its own, or "}". The
 * provider is told where it is not the program itself. */
static void make_labels(char labels[LABELS_BYTES], const struct spex_metrics_program *program,
                        const struct spex_sums_probe *probe) {
    char called[SPEX_PROBE_TEXT_BYTES];
    char *at = add_label(stpcpy(labels, "{"), "program", program->name);
    if (!probe)
        return;
    spex_probe_called(NULL, probe->name, probe->id, called, sizeof(called));
    at = add_label(stpcpy(at, ","), "probe", called);
    at = add_label(stpcpy(at, ","), "type", spex_probe_type_name(probe->type));
    if (probe->provider[0] && strcmp(probe->provider, program->name) != 0)
        add_label(stpcpy(at, ","), "provider", probe->provider);
}

static void write_sample(FILE *out, const struct family *family, const char *end,
                         const char *labels, double value) {
    fputs(family->name, out);
    fputs(end, out);
    fputs(labels, out);
    fputs("} ", out);
    write_number(out, value);
    fputc('\n', out);
}

/* A figure of a program. */
struct program_family {
    struct family family;
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
    {{"spex_program_processes", GAUGE, NULL, "Processes of the program that answer."},
     answering_of,
     NULL},
    {{"spex_program_processes_silent", GAUGE, NULL, "Processes that do not answer in time."},
     silent_of,
     NULL},
    {{"spex_program_probe_sites", GAUGE, NULL, "Places of probes in all processes."},
     sites_of,
     NULL},
    {{"spex_program_probe_sites_on", GAUGE, NULL, "Places of probes that are on."},
     sites_on_of,
     NULL},
    {{"spex_program_probes_left_out", GAUGE, NULL,
      "Probes that have no series, as the server's limit is reached."},
     left_out_of,
     NULL},
    {{"spex_program_cpu_seconds", COUNTER, "seconds",
      "CPU time of the program while records are collected, without spex's own threads."},
     cpu_of,
     NULL},
    {{"spex_program_collector_cpu_seconds", COUNTER, "seconds", "CPU time of spex's own threads."},
     collector_cpu_of,
     NULL},
    {{"spex_program_records", COUNTER, NULL, "Records that probes have made, unread ones too."},
     produced_of,
     NULL},
    {{"spex_program_records_lost", COUNTER, NULL, "Records that were overwritten unread."},
     records_lost_of,
     NULL},
    {{"spex_program_records_undelivered", COUNTER, NULL, "Records that no output has taken."},
     undelivered_of,
     NULL},
    {{"spex_program_budget_ratio", GAUGE, NULL,
      "The budget: the share of the program's CPU time that probes may take."},
     budget_of,
     has_budget},
    {{"spex_program_budget_used_ratio", GAUGE, NULL,
      "The part of the budget that probes and spex's own threads are believed to have taken."},
     budget_used_of,
     has_budget},
    {{"spex_program_budget_time_seconds", COUNTER, "seconds",
      "CPU time of the program that the budget is a share of."},
     budget_time_of,
     has_budget},
    {{"spex_program_budget_spent_seconds", COUNTER, "seconds",
      "Time that probes and spex's own threads are believed to have taken of the budget."},
     budget_spent_of,
     has_budget},
};

static void write_program_family(const struct text *text, const struct program_family *family) {
    const char *end = family->family.kind == COUNTER ? "_total" : "";
    char labels[LABELS_BYTES];
    bool any = false;
    for (size_t p = 0; p < text->count; p++) {
        const struct spex_metrics_program *program = &text->programs[p];
        if (family->has && !family->has(program))
            continue;
        if (!any)
            write_head(text, &family->family);
        any = true;
        make_labels(labels, program, NULL);
        write_sample(text->out, &family->family, end, labels, family->value(program));
    }
}

/* Calls `write` for each probe of each program for which `has` holds, after the head of the family
 * where there is any. */
static void each_probe(const struct text *text, const struct family *family,
                       bool (*has)(const struct spex_sums_probe *probe),
                       void (*write)(const struct text *text, const struct family *family,
                                     const char *labels, const struct spex_sums_probe *probe)) {
    char labels[LABELS_BYTES];
    bool any = false;
    for (size_t p = 0; p < text->count; p++) {
        const struct spex_sums *sums = text->programs[p].sums;
        for (size_t n = 0; n < sums->count; n++) {
            if (!has(&sums->probes[n]))
                continue;
            if (!any)
                write_head(text, family);
            any = true;
            make_labels(labels, &text->programs[p], &sums->probes[n]);
            write(text, family, labels, &sums->probes[n]);
        }
    }
}

static bool any_probe(const struct spex_sums_probe *probe) {
    (void)probe;
    return true;
}

/* Counters of probes, in the order of enum spex_sums_count. */
static const struct family probe_counters[SPEX_SUMS_COUNTS] = {
    {"spex_probe_executions", COUNTER, NULL,
     "Executions while the probe was on; an estimate where not each one makes a record."},
    {"spex_probe_records", COUNTER, NULL, "Records of the probe in its figures."},
    {"spex_probe_lost_records", COUNTER, NULL,
     "Records of the probe that were lost; where probes share a ring, its share of the losses."},
    {"spex_probe_overhead_seconds", COUNTER, "seconds",
     "Time that the probe is believed to have taken from the program."},
    {"spex_probe_on_seconds", COUNTER, "seconds", "Time for which the probe was on."},
    {"spex_probe_held_seconds", COUNTER, "seconds",
     "Time for which the budget kept the probe off."},
};

static void write_counter(const struct text *text, const struct family *family, const char *labels,
                          const struct spex_sums_probe *probe) {
    write_sample(text->out, family, "_total", labels, probe->counts[family - probe_counters]);
}

static const struct family margin_family = {"spex_probe_executions_margin", GAUGE, NULL,
                                            "How far the executions may be off, in 95 % of cases; "
                                            "more than they are: they are a lower bound."};

static void write_margin(const struct text *text, const struct family *family, const char *labels,
                         const struct spex_sums_probe *probe) {
    write_sample(text->out, family, "", labels, probe->margin);
}

static const struct family period_family = {
    "spex_probe_period", GAUGE, NULL,
    "One execution in so many makes a record; the shortest of the processes, 0 where it is off."};

static void write_period(const struct text *text, const struct family *family, const char *labels,
                         const struct spex_sums_probe *probe) {
    write_sample(text->out, family, "", labels, (double)probe->period);
}

/* Estimated executions are told as whole ones, which OpenMetrics demands of buckets. Rounding keeps
 * their order. */
static double whole(double executions) {
    return (double)(uint64_t)(executions + 0.5);
}

static const struct family times_family = {
    "spex_probe_duration_seconds", HISTOGRAM, "seconds",
    "Times of executions, each record counting for the executions that it stands for. Quantiles of "
    "buckets are interpolated: they may be off by as much as a bucket is wide."};

static bool has_times(const struct spex_sums_probe *probe) {
    return spex_probe_type_ticks(probe->type) && probe->series > 0;
}

/* The bucket that the slowest recent execution falls in, of those that are written;
 * SPEX_SUMS_BUCKETS: there is none. */
static size_t slowest_bucket(const struct text *text, const struct spex_sums_probe *probe) {
    size_t b = probe->slowest.seconds > 0 ? 0 : SPEX_SUMS_BUCKETS;
    while (b < SPEX_SUMS_BOUNDS &&
           (probe->slowest.seconds > spex_sums_bounds[b] || !*text->bounds[b]))
        b++;
    return b;
}

/* Its labels have 49 characters at most, of the 128 that OpenMetrics allows. Values of the program,
 * as a SPAN's key or a KERNEL's parameters, are left out. */
static void write_exemplar(FILE *out, const struct spex_sums_slowest *slowest) {
    fprintf(out, " # {pid=\"%u\",thread=\"%u\",cpu=\"%u\"} %.9g %.3f", slowest->process_id,
            slowest->thread_id, slowest->cpu_id, slowest->seconds, slowest->at);
}

static void write_times(const struct text *text, const struct family *family, const char *labels,
                        const struct spex_sums_probe *probe) {
    size_t with = slowest_bucket(text, probe);
    for (size_t b = 0; b < SPEX_SUMS_BUCKETS; b++) {
        if (!*text->bounds[b])
            continue;
        fputs(family->name, text->out);
        fputs("_bucket", text->out);
        fputs(labels, text->out);
        fputs(",le=\"", text->out);
        fputs(text->bounds[b], text->out);
        fputs("\"} ", text->out);
        write_number(text->out, whole(probe->buckets[b]));
        if (text->open && b == with)
            write_exemplar(text->out, &probe->slowest);
        fputc('\n', text->out);
    }
    write_sample(text->out, family, "_sum", labels, probe->sum[0]);
    write_sample(text->out, family, "_count", labels, whole(probe->buckets[SPEX_SUMS_BOUNDS]));
}

/* What is told of each quantile, as summaries: the only metrics that may have a label `quantile`. */
static const struct family quantile_families[] = {
    {"spex_probe_recent_duration_seconds", SUMMARY, "seconds",
     "Quantiles of the times of the last 10 s or more, by spex's own histograms."},
    {"spex_probe_recent_duration_low_seconds", SUMMARY, "seconds",
     "The lower ends of their 95 % intervals."},
    {"spex_probe_recent_duration_high_seconds", SUMMARY, "seconds",
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

static void write_quantiles(const struct text *text, const struct family *family,
                            const char *labels, const struct spex_sums_probe *probe) {
    size_t which = (size_t)(family - quantile_families);
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++) {
        const struct spex_sums_quantile *quantile = &probe->quantiles[q];
        const double values[] = {quantile->value, quantile->low, quantile->high};
        if (which && !quantile->told)
            continue;
        fprintf(text->out, "%s%s,quantile=\"%g\"} ", family->name, labels,
                spex_figures_quantiles[q]);
        write_number(text->out, values[which]);
        fputc('\n', text->out);
    }
}

static const struct family values_family = {
    "spex_probe_value", SUMMARY, NULL,
    "Values of probes that are no times: events, or values of the developer's choice."};

static bool has_values(const struct spex_sums_probe *probe) {
    return !spex_probe_type_ticks(probe->type) && probe->series > 0;
}

static void write_value(const struct text *text, const char *labels, const char *value,
                        const char *end, double number) {
    fprintf(text->out, "%s%s%s,%s} ", values_family.name, end, labels, value);
    write_number(text->out, number);
    fputc('\n', text->out);
}

static void write_values(const struct text *text, const struct family *family, const char *labels,
                         const struct spex_sums_probe *probe) {
    (void)family;
    for (unsigned s = 0; s < probe->series; s++) {
        const char *names = *probe->names ? probe->names : NULL;
        char name[SPEX_PROFILE_FILE_BYTES], value[LABEL_BYTES];
        add_label(value, "value", spex_profile_value_name(names, probe->type, s, name));
        write_value(text, labels, value, "_sum", probe->sum[s]);
        write_value(text, labels, value, "_count", whole(probe->weight[s]));
    }
}

/* A figure of the server, which has no labels. */
static void write_own(const struct text *text, const struct family *family, double value) {
    write_head(text, family);
    fprintf(text->out, "%s%s ", family->name, family->kind == COUNTER ? "_total" : "");
    write_number(text->out, value);
    fputc('\n', text->out);
}

static void write_server(const struct text *text, const struct spex_metrics_server *server) {
    static const struct family programs = {"spex_serve_programs", GAUGE, NULL,
                                           "Programs that the server follows."};
    static const struct family programs_left_out = {
        "spex_serve_programs_left_out", GAUGE, NULL,
        "Programs that have no series, as the server's limit is reached."};
    static const struct family processes_left_out = {
        "spex_serve_processes_left_out", GAUGE, NULL,
        "Processes that are not followed, as the server's limit is reached."};
    static const struct family reports = {
        "spex_serve_refused_reports", COUNTER, NULL,
        "Reports of processes that were refused: too large for the memory of their user, or "
        "malformed."};
    static const struct family cpu = {"spex_serve_cpu_seconds", COUNTER, "seconds",
                                      "CPU time of the server itself."};
    static const struct family refused = {"spex_serve_refused_requests", COUNTER, NULL,
                                          "HTTP requests that were refused."};
    write_own(text, &programs, (double)text->count);
    write_own(text, &programs_left_out, (double)server->programs_left_out);
    write_own(text, &processes_left_out, (double)server->processes_left_out);
    write_own(text, &reports, server->reports_refused);
    write_own(text, &cpu, server->cpu_seconds);
    write_own(text, &refused, server->refused);
}

void spex_metrics_write(FILE *out, bool open, const struct spex_metrics_program *programs,
                        size_t count, const struct spex_metrics_server *server) {
    struct text text = {
        .out = out, .open = open, .programs = programs, .count = count, .buckets = server->buckets};
    make_bounds(&text);
    for (size_t f = 0; f < sizeof(program_families) / sizeof(program_families[0]); f++)
        write_program_family(&text, &program_families[f]);
    for (size_t f = 0; f < SPEX_SUMS_COUNTS; f++)
        each_probe(&text, &probe_counters[f], any_probe, write_counter);
    each_probe(&text, &margin_family, any_probe, write_margin);
    each_probe(&text, &period_family, any_probe, write_period);
    each_probe(&text, &times_family, has_times, write_times);
    for (size_t f = 0; f < sizeof(quantile_families) / sizeof(quantile_families[0]); f++)
        each_probe(&text, &quantile_families[f], f ? has_intervals : has_quantiles,
                   write_quantiles);
    each_probe(&text, &values_family, has_values, write_values);
    write_server(&text, server);
    if (open)
        fputs("# EOF\n", out);
}
