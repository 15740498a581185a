/* SPDX-License-Identifier: MIT */
/* Copies the tracer's figures into the trial: an entry for each value of each probe, in seconds
 * where the value is a time. They are stored for queries and `spex explain`; the criteria's own
 * values come from measure/measure.h. */
#include "explore/trial/trial_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"

static int text_copy(const char *text, char **copy) {
    return !text[0] || (*copy = strdup(text)) ? 0 : -ENOMEM;
}

/* Sets name, provider and id, which the probe's first site has. 0 or -ENOMEM. */
static int metric_identify(struct spex_trial_metric *metric, const struct spex_stream_site *sites,
                           size_t site_count) {
    size_t s = 0;
    while (s < site_count &&
           (sites[s].probe_id != metric->probe_id || sites[s].probe_type != metric->probe_type))
        s++;
    if (s == site_count)
        return 0;
    metric->id = spex_stream_site_id(&sites[s]);
    int err = text_copy(sites[s].name, &metric->name);
    return err ? err : text_copy(sites[s].provider, &metric->provider);
}

/* `scale`: seconds per tick, or 1. */
static void metric_set_values(struct spex_trial_metric *metric, struct spex_tracer *tracer,
                              size_t probe, double scale) {
    struct spex_series series;
    spex_tracer_series(tracer, probe, metric->field, &series);
    metric->mean = series.mean * scale;
    metric->deviation = series.deviation * scale;
    metric->min = series.min * scale;
    metric->p50 = spex_tracer_quantile(tracer, probe, metric->field, 0.5) * scale;
    metric->p90 = spex_tracer_quantile(tracer, probe, metric->field, 0.9) * scale;
    metric->p99 = spex_tracer_quantile(tracer, probe, metric->field, 0.99) * scale;
    metric->max = series.max * scale;
}

/* Adds an entry without values. NULL: out of memory. */
static struct spex_trial_metric *trial_append_metric(struct spex_trial *trial,
                                                     const struct spex_metrics *metrics,
                                                     unsigned field) {
    size_t bytes = (trial->metric_count + 1) * sizeof(*trial->metrics);
    struct spex_trial_metric *all = realloc(trial->metrics, bytes);
    if (!all)
        return NULL;
    trial->metrics = all;
    struct spex_trial_metric *metric = &all[trial->metric_count++];
    *metric = (struct spex_trial_metric){
        .probe_id = metrics->probe_id,
        .id = metrics->probe_id,
        .probe_type = metrics->probe_type,
        .field = field,
        .records = metrics->records,
        .count = metrics->count,
        .rate = NAN,
        .mean = NAN,
        .deviation = NAN,
        .min = NAN,
        .p50 = NAN,
        .p90 = NAN,
        .p99 = NAN,
        .max = NAN,
    };
    return metric;
}

/* A probe without values has one entry, for its count and rate. */
int spex_trial_metrics(struct spex_trial *trial, struct spex_tracer *tracer,
                       double ticks_per_second, double seconds,
                       const struct spex_stream_site *sites, size_t site_count) {
    for (size_t p = 0; p < spex_tracer_probes(tracer); p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        double scale = spex_probe_type_ticks(metrics.probe_type) ? 1 / ticks_per_second : 1;
        for (unsigned f = 0; f < (metrics.series ? metrics.series : 1); f++) {
            struct spex_trial_metric *metric = trial_append_metric(trial, &metrics, f);
            if (!metric || metric_identify(metric, sites, site_count))
                return -ENOMEM;
            if (seconds > 0)
                metric->rate = metrics.count / seconds;
            if (f < metrics.series)
                metric_set_values(metric, tracer, p, scale);
        }
    }
    return 0;
}
