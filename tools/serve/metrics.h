/* SPDX-License-Identifier: MIT */
/* The text of /metrics: OpenMetrics 1.0, or Prometheus' text format 0.0.4. */
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

/* Whether a request with this header `Accept`, which may be NULL, gets OpenMetrics. */
bool spex_metrics_wants_open(const char *accept);

/* The header `Content-Type` of the text. */
const char *spex_metrics_content_type(bool open);

/* Writes all metrics. `open`: as OpenMetrics. Errors of writing stay in the stream. */
void spex_metrics_write(FILE *out, bool open, const struct spex_metrics_program *programs,
                        size_t count, const struct spex_metrics_server *server);

#endif
