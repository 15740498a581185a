/* SPDX-License-Identifier: MIT */
/* The formats of metrics: metrics.c goes through families and what they have, and each format writes
 * them. A family is written as a whole, with its samples of all programs, as all formats demand. */
#ifndef SPEX_TOOLS_SERVE_METRICS_WRITER_H
#define SPEX_TOOLS_SERVE_METRICS_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "site/provider.h"
#include "tools/serve/metrics.h"
#include "tools/serve/protobuf.h"

enum spex_metrics_kind {
    SPEX_METRICS_COUNTER,
    SPEX_METRICS_GAUGE,
    SPEX_METRICS_HISTOGRAM,
    SPEX_METRICS_SUMMARY,
    /* A summary of quantiles alone. */
    SPEX_METRICS_QUANTILES
};

struct spex_metrics_family {
    /* Without "_total". */
    const char *name;
    enum spex_metrics_kind kind;
    /* Ends the name; NULL: none. */
    const char *unit;
    const char *help;
};

/* What a sample is of: of the server where there is no program, of the program where there is no
 * probe. */
struct spex_metrics_of {
    const struct spex_metrics_program *program;
    const struct spex_sums_probe *probe;
};

struct spex_metrics_writer;

struct spex_metrics_out {
    FILE *out;
    enum spex_metrics_format format;
    const struct spex_metrics_writer *writer;
    const struct spex_metrics_program *programs;
    size_t count;
    unsigned buckets;
    /* Of texts: the bounds that are written; others are empty. */
    char bounds[SPEX_SUMS_BUCKETS][16];
    /* Of protobuf: the family that is being written. */
    struct spex_protobuf family;
};

struct spex_metrics_writer {
    void (*begin)(struct spex_metrics_out *out, const struct spex_metrics_family *family);
    void (*end)(struct spex_metrics_out *out);
    /* Of a counter or a gauge. */
    void (*sample)(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                   const struct spex_metrics_of *of, double value);
    void (*times)(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of);
    /* Value s of the probe, which has a name. */
    void (*value)(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                  const struct spex_metrics_of *of, unsigned s, const char *name);
    /* The values of quantiles, of which those below 0 are not told. */
    void (*quantiles)(struct spex_metrics_out *out, const struct spex_metrics_family *family,
                      const struct spex_metrics_of *of, const double values[SPEX_SUMS_QUANTILES]);
};

extern const struct spex_metrics_writer spex_metrics_text_writer, spex_metrics_protobuf_writer;

/* Calls take(user, name, value) for each label. The provider is told where it is not the program
 * itself. */
void spex_metrics_labels(const struct spex_metrics_of *of,
                         void (*take)(void *user, const char *name, const char *value), void *user);

/* Estimated executions are told as whole ones, which OpenMetrics demands of buckets. Rounding keeps
 * their order. */
static inline uint64_t spex_metrics_whole(double executions) {
    return (uint64_t)(executions + 0.5);
}

/* The bucket that the slowest recent execution falls in, of those of so many a decade;
 * SPEX_SUMS_BUCKETS: there is none. */
size_t spex_metrics_slowest_bucket(const struct spex_metrics_out *out,
                                   const struct spex_sums_probe *probe);

#endif
