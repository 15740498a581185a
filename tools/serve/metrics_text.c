/* SPDX-License-Identifier: MIT */
/* OpenMetrics 1.0, and Prometheus' text format 0.0.4. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>

#include "tools/serve/metrics_writer.h"

/* Room for the labels of a series: four, of which each character may be escaped. */
enum { LABEL_BYTES = 2 * SPEX_PROBE_TEXT_BYTES + 32, LABELS_BYTES = 4 * LABEL_BYTES };

/* Where the next label goes. */
struct labels {
    char text[LABELS_BYTES];
    char *end;
};

/* Names are printable, so that three characters are escaped at most. */
static void add_label(void *user, const char *name, const char *value) {
    struct labels *labels = user;
    char *at = stpcpy(labels->end, labels->end == labels->text ? "{" : ",");
    at = stpcpy(stpcpy(at, name), "=\"");
    for (; *value; value++) {
        if (*value == '\n' || *value == '"' || *value == '\\')
            *at++ = '\\';
        *at++ = *value == '\n' ? 'n' : *value;
    }
    labels->end = stpcpy(at, "\"");
}

/* `{program="…",probe="…",type="…"`: the caller goes on with labels of its own, or "}". */
static void make_labels(struct labels *labels, const struct spex_metrics_of *of) {
    labels->end = labels->text;
    *labels->text = '\0';
    spex_metrics_labels(of, add_label, labels);
}

/* Prometheus' format has the whole name of a counter here, OpenMetrics the name without
 * "_total". */
static void begin(struct spex_metrics_out *out, const struct spex_metrics_family *family) {
    static const char *const kinds[] = {"counter", "gauge", "histogram", "summary", "summary"};
    bool open = out->format == SPEX_METRICS_OPEN;
    const char *total = family->kind == SPEX_METRICS_COUNTER && !open ? "_total" : "";
    fprintf(out->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", family->name, total, family->help,
            family->name, total, kinds[family->kind]);
    if (open && family->unit)
        fprintf(out->out, "# UNIT %s %s\n", family->name, family->unit);
}

static void end(struct spex_metrics_out *out) {
    (void)out;
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

static void write_sample(FILE *out, const struct spex_metrics_family *family,
                         const char *end_of_name, const struct labels *labels, double value) {
    fputs(family->name, out);
    fputs(end_of_name, out);
    fputs(labels->text, out);
    fputs(*labels->text ? "} " : " ", out);
    write_number(out, value);
    fputc('\n', out);
}

static void sample(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                   const struct spex_metrics_of *of, double value) {
    struct labels labels;
    make_labels(&labels, of);
    write_sample(out->out, family, family->kind == SPEX_METRICS_COUNTER ? "_total" : "", &labels,
                 value);
}

/* Its labels have 49 characters at most, of the 128 that OpenMetrics allows. Values of the program,
 * as a SPAN's key or a KERNEL's parameters, are left out. */
static void write_exemplar(FILE *out, const struct spex_sums_slowest *slowest) {
    fprintf(out, " # {pid=\"%u\",thread=\"%u\",cpu=\"%u\"} %.9g %.3f", slowest->process_id,
            slowest->thread_id, slowest->cpu_id, slowest->seconds, slowest->at);
}

static void times(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of) {
    const struct spex_sums_probe *probe = of->probe;
    size_t with = spex_metrics_slowest_bucket(out, probe);
    struct labels labels;
    make_labels(&labels, of);
    for (size_t b = 0; b < SPEX_SUMS_BUCKETS; b++) {
        if (!*out->bounds[b])
            continue;
        fputs(family->name, out->out);
        fputs("_bucket", out->out);
        fputs(labels.text, out->out);
        fputs(",le=\"", out->out);
        fputs(out->bounds[b], out->out);
        fputs("\"} ", out->out);
        write_number(out->out, (double)spex_metrics_whole(probe->buckets[b]));
        if (out->format == SPEX_METRICS_OPEN && b == with)
            write_exemplar(out->out, &probe->slowest);
        fputc('\n', out->out);
    }
    write_sample(out->out, family, "_sum", &labels, probe->sum[0]);
    write_sample(out->out, family, "_count", &labels,
                 (double)spex_metrics_whole(probe->buckets[SPEX_SUMS_BOUNDS]));
}

static void value(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of, unsigned s, const char *name) {
    struct labels labels;
    make_labels(&labels, of);
    add_label(&labels, "value", name);
    write_sample(out->out, family, "_sum", &labels, of->probe->sum[s]);
    write_sample(out->out, family, "_count", &labels,
                 (double)spex_metrics_whole(of->probe->weight[s]));
}

static void quantiles(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                      const struct spex_metrics_of *of, const double values[SPEX_SUMS_QUANTILES]) {
    struct labels labels;
    make_labels(&labels, of);
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++) {
        if (values[q] < 0)
            continue;
        fprintf(out->out, "%s%s,quantile=\"%g\"} ", family->name, labels.text,
                spex_figures_quantiles[q]);
        write_number(out->out, values[q]);
        fputc('\n', out->out);
    }
}

const struct spex_metrics_writer spex_metrics_text_writer = {.begin = begin,
                                                             .end = end,
                                                             .sample = sample,
                                                             .times = times,
                                                             .value = value,
                                                             .quantiles = quantiles};
