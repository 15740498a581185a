/* SPDX-License-Identifier: MIT */
#include "tracer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "histogram.h"

/* Running moments by West's weighted update (D. H. D. West, CACM 22(9), 1979). */
struct values {
    double weight;
    double mean;
    double squares; /* weighted sum of squared distances from the mean */
    uint64_t min;
    uint64_t max;
    struct spex_histogram histogram;
};

struct probe {
    struct spex_metrics metrics;
    struct values *values[SPEX_MAX_FIELDS];
};

struct spex_tracer {
    struct probe *probes; /* sorted by id, then type */
    size_t count;
    size_t room;
};

int spex_tracer_create(struct spex_tracer **tracer) {
    *tracer = calloc(1, sizeof(**tracer));
    return *tracer ? 0 : -ENOMEM;
}

void spex_tracer_destroy(struct spex_tracer *tracer) {
    if (!tracer)
        return;
    for (size_t p = 0; p < tracer->count; p++)
        for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++)
            free(tracer->probes[p].values[s]);
    free(tracer->probes);
    free(tracer);
}

static uint64_t key_of(uint16_t id, uint32_t type) {
    return (uint64_t)id << 32 | type;
}

/* Position of the first probe whose key is not below `key`. */
static size_t position_of(const struct spex_tracer *tracer, uint64_t key) {
    size_t low = 0, high = tracer->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct spex_metrics *metrics = &tracer->probes[middle].metrics;
        if (key_of(metrics->probe_id, metrics->probe_type) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct probe *probe_insert(struct spex_tracer *tracer, size_t at,
                                  const struct spex_record *record) {
    if (tracer->count == tracer->room) {
        size_t room = tracer->room ? tracer->room * 2 : 16;
        struct probe *probes = realloc(tracer->probes, room * sizeof(*probes));
        if (!probes)
            return NULL;
        tracer->probes = probes;
        tracer->room = room;
    }
    for (size_t i = tracer->count++; i > at; i--)
        tracer->probes[i] = tracer->probes[i - 1];
    tracer->probes[at] = (struct probe){
        .metrics = {.probe_id = record->probe_id,
                    .probe_type = record->probe_type,
                    .first_ticks = record->timestamp},
    };
    return &tracer->probes[at];
}

static struct probe *probe_of(struct spex_tracer *tracer, const struct spex_record *record) {
    size_t at = position_of(tracer, key_of(record->probe_id, record->probe_type));
    if (at < tracer->count && tracer->probes[at].metrics.probe_id == record->probe_id &&
        tracer->probes[at].metrics.probe_type == record->probe_type)
        return &tracer->probes[at];
    return probe_insert(tracer, at, record);
}

static bool values_add(struct values **values, uint64_t value, uint32_t weight) {
    if (!*values) {
        *values = calloc(1, sizeof(**values));
        if (!*values)
            return false;
        (*values)->min = UINT64_MAX;
    }
    struct values *v = *values;
    double distance = (double)value - v->mean;
    v->weight += weight;
    v->mean += distance * weight / v->weight;
    v->squares += weight * distance * ((double)value - v->mean);
    v->min = value < v->min ? value : v->min;
    v->max = value > v->max ? value : v->max;
    spex_histogram_add(&v->histogram, value, weight);
    return true;
}

static int record_add(struct spex_tracer *tracer, const struct spex_record *record) {
    struct probe *probe = probe_of(tracer, record);
    if (!probe)
        return -ENOMEM;
    struct spex_metrics *metrics = &probe->metrics;
    metrics->records++;
    metrics->count += record->weight;
    if (record->timestamp < metrics->first_ticks)
        metrics->first_ticks = record->timestamp;
    if (record->timestamp > metrics->last_ticks)
        metrics->last_ticks = record->timestamp;
    /* Where the first field is the weight, it is counted above already. */
    unsigned skip = record->probe_type == SPEX_CNT || record->probe_type == SPEX_TPT ? 1 : 0;
    for (unsigned f = skip; f < record->field_count; f++) {
        if (!values_add(&probe->values[f - skip], record->fields[f], record->weight))
            return -ENOMEM;
        if (metrics->series < f - skip + 1)
            metrics->series = f - skip + 1;
    }
    return 0;
}

int spex_tracer_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int err = record_add(tracer, &records[i]);
        if (err)
            return err;
    }
    return 0;
}

size_t spex_tracer_probes(struct spex_tracer *tracer) {
    return tracer->count;
}

void spex_tracer_metrics(const struct spex_tracer *tracer, size_t probe,
                         struct spex_metrics *metrics) {
    *metrics = tracer->probes[probe].metrics;
}

void spex_tracer_series(const struct spex_tracer *tracer, size_t probe, unsigned series,
                        struct spex_series *out) {
    const struct values *v = tracer->probes[probe].values[series];
    *out = (struct spex_series){
        .mean = v->mean,
        .deviation = v->weight > 0 ? sqrt(v->squares / v->weight) : 0,
        .min = (double)v->min,
        .max = (double)v->max,
    };
}

double spex_tracer_quantile(const struct spex_tracer *tracer, size_t probe, unsigned series,
                            double q) {
    const struct values *v = tracer->probes[probe].values[series];
    double value = spex_histogram_quantile(&v->histogram, q);
    if (value < (double)v->min)
        return (double)v->min;
    return value > (double)v->max ? (double)v->max : value;
}
