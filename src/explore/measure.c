/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../probe_type.h"

struct thread {
    uint32_t id;
    uint64_t records;
};

struct probe {
    uint16_t id;
    uint32_t type; /* 0: not known yet */
};

struct spex_measure {
    const struct spex_space *space;
    double ticks_per_second;
    struct probe *probes; /* of the criteria; the first is the objective's */
    bool started;
    bool open; /* t0 has been */
    uint64_t first_ticks;
    uint64_t t0;
    uint64_t last_ticks;
    uint64_t longest_silence; /* between two records of the objective */
    uint64_t records;         /* of the objective, after t0 */
    struct thread *threads;   /* sorted by id */
    size_t thread_count;
    size_t thread_room;
    struct spex_tracer *tracer;
};

int spex_measure_create(const struct spex_space *space, double ticks_per_second,
                        struct spex_measure **out) {
    struct spex_measure *measure = calloc(1, sizeof(*measure));
    *out = measure;
    if (!measure)
        return -ENOMEM;
    measure->space = space;
    measure->ticks_per_second = ticks_per_second;
    measure->probes = calloc(space->criterion_count, sizeof(*measure->probes));
    if (measure->probes && spex_tracer_create(&measure->tracer) == 0)
        return 0;
    spex_measure_destroy(measure);
    *out = NULL;
    return -ENOMEM;
}

void spex_measure_destroy(struct spex_measure *measure) {
    if (!measure)
        return;
    spex_tracer_destroy(measure->tracer);
    free(measure->threads);
    free(measure->probes);
    free(measure);
}

void spex_measure_probe(struct spex_measure *measure, size_t criterion, uint16_t probe_id,
                        uint32_t probe_type) {
    measure->probes[criterion] = (struct probe){.id = probe_id, .type = probe_type};
}

static bool is_objective(const struct spex_measure *measure, const struct spex_record *record) {
    return record->probe_type == measure->probes->type && record->probe_id == measure->probes->id;
}

static struct thread *thread_of(struct spex_measure *measure, uint32_t id) {
    size_t low = 0, high = measure->thread_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (measure->threads[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < measure->thread_count && measure->threads[low].id == id)
        return &measure->threads[low];
    if (measure->thread_count == measure->thread_room) {
        size_t room = measure->thread_room ? measure->thread_room * 2 : 16;
        struct thread *threads = realloc(measure->threads, room * sizeof(*threads));
        if (!threads)
            return NULL;
        measure->threads = threads;
        measure->thread_room = room;
    }
    memmove(&measure->threads[low + 1], &measure->threads[low],
            (measure->thread_count++ - low) * sizeof(*measure->threads));
    measure->threads[low] = (struct thread){.id = id};
    return &measure->threads[low];
}

static int count_objective(struct spex_measure *measure, const struct spex_record *record) {
    struct thread *thread = thread_of(measure, record->thread_id);
    if (!thread)
        return -ENOMEM;
    thread->records++;
    measure->records++;
    if (record->timestamp > measure->last_ticks) {
        uint64_t silence = record->timestamp - measure->last_ticks;
        if (silence > measure->longest_silence)
            measure->longest_silence = silence;
        measure->last_ticks = record->timestamp;
    }
    return 0;
}

/* Whether the record lies after t0. A record that comes later than younger ones (its writer was
 * descheduled between reading the clock and the ring) may lie before and is not used then. */
static bool is_used(struct spex_measure *measure, const struct spex_record *record) {
    if (measure->open)
        return record->timestamp > measure->t0;
    if (!is_objective(measure, record))
        return false;
    if (!measure->started) {
        measure->started = true;
        measure->first_ticks = record->timestamp;
    }
    double warmup_ticks = fmax(measure->space->rules.warmup_seconds, 0) * measure->ticks_per_second;
    if (record->timestamp >= measure->first_ticks + (uint64_t)warmup_ticks) {
        measure->open = true;
        measure->t0 = measure->last_ticks = record->timestamp;
    }
    return false;
}

int spex_measure_add(struct spex_measure *measure, const struct spex_record *records, size_t count,
                     size_t *used) {
    *used = count;
    for (size_t r = 0; r < count; r++) {
        if (!is_used(measure, &records[r]))
            continue;
        if (*used == count)
            *used = r;
        int err = spex_tracer_add(measure->tracer, &records[r], 1);
        if (!err && is_objective(measure, &records[r]))
            err = count_objective(measure, &records[r]);
        if (err)
            return err;
    }
    return 0;
}

static double seconds(const struct spex_measure *measure) {
    return (double)(measure->last_ticks - measure->t0) / measure->ticks_per_second;
}

struct spex_run spex_measure_run(const struct spex_measure *measure) {
    struct spex_run run = {.size = sizeof(run),
                           .records = measure->records,
                           .threads = measure->thread_count,
                           .seconds = seconds(measure)};
    for (size_t t = 0; t < measure->thread_count; t++)
        run.threads_done += measure->threads[t].records >= measure->space->rules.records_per_thread;
    return run;
}

bool spex_measure_started(const struct spex_measure *measure) {
    return measure->started;
}

double spex_measure_silence(const struct spex_measure *measure, uint64_t ticks) {
    return (double)(ticks - measure->last_ticks) / measure->ticks_per_second;
}

bool spex_measure_silent(const struct spex_measure *measure, uint64_t ticks) {
    if (!measure->open || ticks <= measure->last_ticks)
        return false;
    uint64_t silence = ticks - measure->last_ticks;
    return silence > (ticks - measure->t0) / 4 && silence > 3 * measure->longest_silence;
}

/* Position of a probe in the tracer, with its metrics. */
static bool find(const struct spex_measure *measure, const struct probe *wanted, size_t *probe,
                 struct spex_metrics *metrics) {
    for (*probe = 0; *probe < spex_tracer_probes(measure->tracer); ++*probe) {
        spex_tracer_metrics(measure->tracer, *probe, metrics);
        if (metrics->probe_id == wanted->id && metrics->probe_type == wanted->type)
            return true;
    }
    return false;
}

static double statistic(const struct spex_measure *measure, size_t probe,
                        const struct spex_criterion *criterion) {
    if (criterion->metric[0] == 'p')
        return spex_tracer_quantile(measure->tracer, probe, criterion->field,
                                    strtod(criterion->metric + 1, NULL) / 100);
    struct spex_series series;
    spex_tracer_series(measure->tracer, probe, criterion->field, &series);
    if (strcmp(criterion->metric, "min") == 0)
        return series.min;
    return strcmp(criterion->metric, "max") == 0 ? series.max : series.mean;
}

static double value(const struct spex_measure *measure, const struct spex_criterion *criterion,
                    const struct probe *wanted) {
    struct spex_metrics metrics = {0};
    size_t probe;
    double found = NAN;
    if (!find(measure, wanted, &probe, &metrics))
        return NAN;
    if (strcmp(criterion->metric, "throughput") == 0)
        found = metrics.count / seconds(measure);
    else if (criterion->field < metrics.series)
        found = statistic(measure, probe, criterion) /
                (spex_probe_type_ticks(wanted->type) ? measure->ticks_per_second : 1);
    return isfinite(found) ? found : NAN;
}

void spex_measure_values(const struct spex_measure *measure, struct spex_measured *values) {
    for (size_t c = 0; c < measure->space->criterion_count; c++)
        values[c] = (struct spex_measured){
            .value = value(measure, &measure->space->criteria[c], &measure->probes[c]),
            .error = NAN,
        };
}

struct spex_tracer *spex_measure_tracer(struct spex_measure *measure) {
    return measure->tracer;
}
