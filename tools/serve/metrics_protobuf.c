/* SPDX-License-Identifier: MIT */
/* Messages of io.prometheus.client (metrics.proto of Prometheus' client_model), each after its length.
 * They alone have native histograms. */
#include <math.h>

#include "tools/serve/metrics_writer.h"

/* The numbers of the fields that are written, by their messages. */
enum { FAMILY_NAME = 1, FAMILY_HELP, FAMILY_TYPE, FAMILY_METRIC };
enum { METRIC_LABEL = 1, METRIC_GAUGE, METRIC_COUNTER, METRIC_SUMMARY, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { VALUE = 1 };
enum { SAMPLE_COUNT = 1, SAMPLE_SUM };
enum { HISTOGRAM_BUCKET = 3, HISTOGRAM_SCHEMA = 5, HISTOGRAM_ZERO_THRESHOLD, HISTOGRAM_ZERO_COUNT };
enum { HISTOGRAM_POSITIVE_SPAN = 12, HISTOGRAM_POSITIVE_DELTA };
enum { BUCKET_COUNT = 1, BUCKET_BOUND, BUCKET_EXEMPLAR };
enum { SPAN_OFFSET = 1, SPAN_LENGTH };
enum { EXEMPLAR_LABEL = 1, EXEMPLAR_VALUE, EXEMPLAR_TIMESTAMP };
enum { TIMESTAMP_SECONDS = 1, TIMESTAMP_NANOS };

enum { COUNTER = 0, GAUGE = 1, SUMMARY = 2, HISTOGRAM = 4 };

static unsigned type_of(const struct spex_metrics_family *family) {
    static const unsigned types[] = {[SPEX_METRICS_COUNTER] = COUNTER,
                                     [SPEX_METRICS_GAUGE] = GAUGE,
                                     [SPEX_METRICS_HISTOGRAM] = HISTOGRAM,
                                     [SPEX_METRICS_QUANTILES] = GAUGE,
                                     [SPEX_METRICS_SUMMARY] = SUMMARY};
    return types[family->kind];
}

static void begin(struct spex_metrics_out *out, const struct spex_metrics_family *family) {
    char name[128];
    snprintf(name, sizeof(name), "%s%s", family->name,
             family->kind == SPEX_METRICS_COUNTER ? "_total" : "");
    out->family.size = 0;
    spex_protobuf_text(&out->family, FAMILY_NAME, name);
    spex_protobuf_text(&out->family, FAMILY_HELP, family->help);
    spex_protobuf_number(&out->family, FAMILY_TYPE, type_of(family));
}

static void end(struct spex_metrics_out *out) {
    struct spex_protobuf length = {.bytes = NULL};
    spex_protobuf_varint(&length, out->family.size);
    if (!length.failed && !out->family.failed) {
        fwrite(length.bytes, 1, length.size, out->out);
        fwrite(out->family.bytes, 1, out->family.size, out->out);
    }
    spex_protobuf_free(&length);
    out->family.failed = false;
}

static void add_label_as(struct spex_protobuf *to, unsigned field, const char *name,
                         const char *value) {
    size_t label = spex_protobuf_begin(to, field);
    spex_protobuf_text(to, LABEL_NAME, name);
    spex_protobuf_text(to, LABEL_VALUE, value);
    spex_protobuf_end(to, label);
}

static void add_label(void *user, const char *name, const char *value) {
    add_label_as(user, METRIC_LABEL, name, value);
}

static size_t metric_begin(struct spex_metrics_out *out, const struct spex_metrics_of *of) {
    size_t metric = spex_protobuf_begin(&out->family, FAMILY_METRIC);
    spex_metrics_labels(of, add_label, &out->family);
    return metric;
}

static void add_value(struct spex_protobuf *to, unsigned field, double value) {
    size_t begun = spex_protobuf_begin(to, field);
    spex_protobuf_double(to, VALUE, value);
    spex_protobuf_end(to, begun);
}

static void sample(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                   const struct spex_metrics_of *of, double value) {
    size_t metric = metric_begin(out, of);
    add_value(&out->family, family->kind == SPEX_METRICS_COUNTER ? METRIC_COUNTER : METRIC_GAUGE,
              value);
    spex_protobuf_end(&out->family, metric);
}

static void add_exemplar(struct spex_protobuf *to, const struct spex_sums_slowest *slowest) {
    const uint32_t numbers[] = {slowest->process_id, slowest->thread_id, slowest->cpu_id};
    static const char *const names[] = {"pid", "thread", "cpu"};
    size_t exemplar = spex_protobuf_begin(to, BUCKET_EXEMPLAR);
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        char text[16];
        snprintf(text, sizeof(text), "%u", numbers[n]);
        add_label_as(to, EXEMPLAR_LABEL, names[n], text);
    }
    spex_protobuf_double(to, EXEMPLAR_VALUE, slowest->seconds);
    size_t at = spex_protobuf_begin(to, EXEMPLAR_TIMESTAMP);
    spex_protobuf_number(to, TIMESTAMP_SECONDS, (uint64_t)slowest->at);
    spex_protobuf_number(to, TIMESTAMP_NANOS, (uint64_t)(fmod(slowest->at, 1) * 1e9));
    spex_protobuf_end(to, at);
    spex_protobuf_end(to, exemplar);
}

/* The buckets that texts have, for who keeps no native histograms. */
static void add_buckets(struct spex_metrics_out *out, const struct spex_sums_probe *probe) {
    struct spex_protobuf *to = &out->family;
    size_t with = spex_metrics_slowest_bucket(out, probe);
    for (size_t b = 0; b < SPEX_SUMS_BUCKETS; b++) {
        if (!*out->bounds[b])
            continue;
        size_t bucket = spex_protobuf_begin(to, HISTOGRAM_BUCKET);
        spex_protobuf_number(to, BUCKET_COUNT, spex_metrics_whole(probe->buckets[b]));
        spex_protobuf_double(to, BUCKET_BOUND,
                             b < SPEX_SUMS_BOUNDS ? spex_sums_bounds[b] : INFINITY);
        if (b == with)
            add_exemplar(to, &probe->slowest);
        spex_protobuf_end(to, bucket);
    }
}

/* One span from the first bucket that is not empty to the last one; of none, an empty one. A bucket's
 * count is told by its difference to the one before. */
static void add_native(struct spex_protobuf *to, const uint64_t counts[SPEX_SUMS_NATIVES]) {
    size_t first = 1, last = SPEX_SUMS_NATIVES - 1;
    while (first < SPEX_SUMS_NATIVES && !counts[first])
        first++;
    while (last >= first && !counts[last])
        last--;
    size_t span = spex_protobuf_begin(to, HISTOGRAM_POSITIVE_SPAN);
    spex_protobuf_number(to, SPAN_OFFSET,
                         spex_protobuf_zigzag(SPEX_SUMS_NATIVE_FIRST + (int64_t)first - 1));
    spex_protobuf_number(to, SPAN_LENGTH, last + 1 - first);
    spex_protobuf_end(to, span);
    size_t deltas = spex_protobuf_begin(to, HISTOGRAM_POSITIVE_DELTA);
    uint64_t before = 0;
    for (size_t b = first; b <= last; before = counts[b++])
        spex_protobuf_varint(to, spex_protobuf_zigzag((int64_t)(counts[b] - before)));
    spex_protobuf_end(to, deltas);
}

/* The count is that of the native buckets, of which none falls: an execution that has moved to another one,
 * as the correction of times is estimated anew, counts in both. */
static void times(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of) {
    struct spex_protobuf *to = &out->family;
    uint64_t counts[SPEX_SUMS_NATIVES], all = 0;
    (void)family;
    for (size_t b = 0; b < SPEX_SUMS_NATIVES; b++)
        all += counts[b] = spex_metrics_whole(of->probe->natives[b]);
    size_t metric = metric_begin(out, of);
    size_t histogram = spex_protobuf_begin(to, METRIC_HISTOGRAM);
    spex_protobuf_number(to, SAMPLE_COUNT, all);
    spex_protobuf_double(to, SAMPLE_SUM, of->probe->sum[0]);
    add_buckets(out, of->probe);
    spex_protobuf_number(to, HISTOGRAM_SCHEMA, spex_protobuf_zigzag(SPEX_SUMS_SCHEMA));
    spex_protobuf_double(to, HISTOGRAM_ZERO_THRESHOLD, SPEX_SUMS_ZERO);
    spex_protobuf_number(to, HISTOGRAM_ZERO_COUNT, counts[0]);
    add_native(to, counts);
    spex_protobuf_end(to, histogram);
    spex_protobuf_end(to, metric);
}

static void value(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of, unsigned s, const char *name) {
    struct spex_protobuf *to = &out->family;
    size_t metric = metric_begin(out, of);
    (void)family;
    add_label(to, "value", name);
    size_t summary = spex_protobuf_begin(to, METRIC_SUMMARY);
    spex_protobuf_number(to, SAMPLE_COUNT, spex_metrics_whole(of->probe->weight[s]));
    spex_protobuf_double(to, SAMPLE_SUM, of->probe->sum[s]);
    spex_protobuf_end(to, summary);
    spex_protobuf_end(to, metric);
}

/* As gauges with the label that a summary's quantiles have: of a summary Prometheus would keep a sum and a
 * count, too. */
static void quantiles(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                      const struct spex_metrics_of *of, const double values[SPEX_SUMS_QUANTILES]) {
    (void)family;
    for (size_t q = 0; q < SPEX_SUMS_QUANTILES; q++) {
        char text[16];
        if (values[q] < 0)
            continue;
        snprintf(text, sizeof(text), "%g", spex_figures_quantiles[q]);
        size_t metric = metric_begin(out, of);
        add_label(&out->family, "quantile", text);
        add_value(&out->family, METRIC_GAUGE, values[q]);
        spex_protobuf_end(&out->family, metric);
    }
}

const struct spex_metrics_writer spex_metrics_protobuf_writer = {.begin = begin,
                                                                 .end = end,
                                                                 .sample = sample,
                                                                 .times = times,
                                                                 .value = value,
                                                                 .quantiles = quantiles};
