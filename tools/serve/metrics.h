/* SPDX-License-Identifier: MIT */
/* /metrics: OpenMetrics 1.0, Prometheus' text format 0.0.4, or, with native histograms, its messages of
 * Protocol Buffers. */
#ifndef SPEX_TOOLS_SERVE_METRICS_H
#define SPEX_TOOLS_SERVE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "tools/serve/sums.h"

struct spex_metrics_program {
    const char *name;
    const struct spex_sums *sums;
    /* Processes that answer, and those that do not. */
    size_t answering, silent;
};

/* What there was no room for, and what the server itself takes. */
struct spex_metrics_server {
    size_t programs_left_out;
    size_t processes_left_out;
    /* Reports of processes that were refused. */
    double reports_refused;
    double cpu_seconds;
    /* Requests that were refused. */
    double refused;
    /* Of times: SPEX_SUMS_COARSE or SPEX_SUMS_FINE a decade. */
    unsigned buckets;
};

enum spex_metrics_format { SPEX_METRICS_TEXT, SPEX_METRICS_OPEN, SPEX_METRICS_PROTOBUF };

/* What a request with this header `Accept`, which may be NULL, gets. */
enum spex_metrics_format spex_metrics_format_for(const char *accept);

/* The header `Content-Type` of the format. */
const char *spex_metrics_content_type(enum spex_metrics_format format);

/* Writes all metrics. Errors of writing stay in the stream; of protobuf, a family for which there is no
 * memory is left out. */
void spex_metrics_write(FILE *file, enum spex_metrics_format format,
                        const struct spex_metrics_program *programs, size_t count,
                        const struct spex_metrics_server *server);

#endif
