/* SPDX-License-Identifier: MIT */
/* Stores of two parameters and two objectives whose truth is known, and their reports as JSON. */
#ifndef SPEX_TEST_REPORT_STORES_H
#define SPEX_TEST_REPORT_STORES_H

#include <math.h>

#include <jansson.h>

#include "report_bench.h"

/* a: 1 2 4; mode: x "y,z". */
#define PARAMETERS                                                                                 \
    "<parameter name='a' type='integer' unit='MB' values='1 2 4'/>"                                \
    "<parameter name='mode' type='categorical' values='x &lt;y,z&gt;&quot;'/>"
#define OBJECTIVE "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"

static const char two[] = "<space name='s'>" PARAMETERS OBJECTIVE
                          "<objective probe='q:lat' metric='p99' goal='minimise'/></space>";

/* A metric of probe 7, a throughput as well as a latency. */
static inline struct spex_trial_metric metric_of(double rate, double p99) {
    return (struct spex_trial_metric){.probe_id = 7,
                                      .probe_type = SPEX_LAT,
                                      .records = 5,
                                      .count = 5,
                                      .rate = rate,
                                      .mean = 0.25,
                                      .deviation = NAN,
                                      .min = NAN,
                                      .p50 = NAN,
                                      .p90 = NAN,
                                      .p99 = p99,
                                      .max = NAN};
}

static bool with_usage;

/* Failed when there is a reason. */
static inline void put(struct making *making, size_t a, size_t mode, double value, double second,
                       const char *reason) {
    struct spex_trial_metric metric = metric_of(value, second);
    struct spex_trial trial;
    struct spex_error why = {""};
    assert_int_equal(spex_trial_init(&trial, &making->file->space, (size_t[]){a, mode}), 0);
    trial.ok = !reason;
    trial.status = (char *)(uintptr_t)(reason ? reason : "ok");
    trial.measured[0] = (struct spex_measured){.value = value, .error = value / 100};
    if (making->file->space.criterion_count > 1)
        trial.measured[1] = (struct spex_measured){.value = second, .error = NAN};
    trial.records_used = 5;
    trial.records_lost = 0;
    trial.seconds = 1.5;
    trial.steady = true;
    metric.name = (char *)(uintptr_t) "q";
    trial.usage.known = with_usage;
    trial.usage.max_rss_bytes = with_usage && value > 0 ? (uint64_t)(value * 1000) : 0;
    trial.metrics = &metric;
    trial.metric_count = 1;
    must(spex_store_put(making->store, ++making->number, &making->file->space, &trial, NULL, 0,
                        &why),
         &why);
    trial.status = NULL;
    trial.metrics = NULL;
    trial.metric_count = 0;
    spex_trial_free(&trial);
}

/* Every configuration four times: a * 100, times `by` with the second mode; p99 stays 0.5. */
static inline void make_whole(const char *path, const char *xml, double by) {
    struct making making;
    begin(&making, path, xml);
    for (int t = 0; t < 4; t++)
        for (size_t a = 0; a < 3; a++)
            for (size_t mode = 0; mode < 2; mode++)
                put(&making, a, mode, 100 * (1 << a) * (mode ? by : 1) * (t % 2 ? 1.01 : 0.99),
                    t % 2 ? 0.51 : 0.49, NULL);
    put(&making, 0, 0, NAN, NAN, "no \"luck\", today\nor ever");
    end(&making);
}

static inline json_t *json_of(struct spex_report_options *options) {
    char *text = written(options, &options->json);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    free(text);
    return json;
}

static inline double number_at(const json_t *object, const char *name) {
    return json_number_value(json_object_get(object, name));
}

#endif
