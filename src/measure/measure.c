/* SPDX-License-Identifier: MIT */
/* A run goes through three states: before the objective's first record (`started`), the warm-up
 * (until `over`), and the measured part, which `open` begins at t0. Each record of the measured
 * part goes to the figures of its criteria, to the counts of threads, and to the tracer, which has
 * the metrics of all probes. One thread at a time. */
#include "measure/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "measure/figure.h"
#include "measure/warmup.h"

/* A thread of the program, by the id in its records. */
struct thread {
    uint32_t id;
    uint64_t records;
};

/* The state of a run. Ticks are those of spex_ticks(). */
struct spex_measure {
    const struct spex_space *space;
    double ticks_per_second;
    /* By criterion; the first is the objective's. */
    struct spex_figure *figures;
    /* NULL: the rules give the length of the warm-up. */
    struct spex_warmup *warmup;
    bool started;
    /* The warm-up is over, since over_ticks. */
    bool over;
    /* t0 has passed. */
    bool open;
    bool ended;
    /* The end of the warm-up has not been seen. */
    bool unsettled;
    uint64_t over_ticks;
    uint64_t t0;
    uint64_t last_ticks;
    /* Longest time between two records of the objective. */
    uint64_t longest_silence;
    /* Records of the objective after t0. */
    uint64_t records;
    /* Sorted by id. */
    struct thread *threads;
    size_t thread_count;
    size_t thread_room;
    struct spex_tracer *tracer;
};

/* A negative warmup_seconds asks for the end of the warm-up to be found. Figures begin with batches
 * of one record and join them as they fill. */
int spex_measure_create(const struct spex_space *space, double ticks_per_second,
                        struct spex_measure **out) {
    struct spex_measure *measure = spex_calloc(1, sizeof(*measure));
    *out = measure;
    if (!measure)
        return -ENOMEM;
    measure->space = space;
    measure->ticks_per_second = ticks_per_second;
    measure->figures = spex_calloc(space->criterion_count, sizeof(*measure->figures));
    int err = measure->figures ? spex_tracer_create(&measure->tracer) : -ENOMEM;
    for (size_t c = 0; c < space->criterion_count && !err; c++)
        err = spex_figure_open(&measure->figures[c], &space->criteria[c], 1, true);
    if (!err && space->rules.warmup_seconds < 0)
        err = spex_warmup_create(space, ticks_per_second, &measure->warmup);
    if (!err)
        return 0;
    spex_measure_destroy(measure);
    *out = NULL;
    return err;
}

void spex_measure_destroy(struct spex_measure *measure) {
    if (!measure)
        return;
    for (size_t c = 0; measure->figures && c < measure->space->criterion_count; c++)
        spex_figure_close(&measure->figures[c]);
    spex_warmup_destroy(measure->warmup);
    spex_tracer_destroy(measure->tracer);
    spex_free(measure->threads);
    spex_free(measure->figures);
    spex_free(measure);
}

void spex_measure_probe(struct spex_measure *measure, size_t criterion, uint16_t probe_id,
                        uint32_t probe_type) {
    measure->figures[criterion].probe_id = probe_id;
    measure->figures[criterion].probe_type = probe_type;
    if (measure->warmup)
        spex_warmup_probe(measure->warmup, criterion, probe_id, probe_type);
}

/* The objective's figure is the first. */
static bool record_is_objective(const struct spex_measure *measure,
                                const struct spex_record *record) {
    return spex_figure_is_of(measure->figures, record);
}

/* Finds the thread by binary search, or adds it. NULL: out of memory. */
static struct thread *measure_thread(struct spex_measure *measure, uint32_t id) {
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
        struct thread *threads = spex_realloc(measure->threads, room * sizeof(*threads));
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

/* Records of several threads may overtake each other by a little; `last_ticks` does not go back
 * then. */
static int measure_count_objective(struct spex_measure *measure, const struct spex_record *record) {
    struct thread *thread = measure_thread(measure, record->thread_id);
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

/* Begins the measured part at a record of the objective, which is not counted itself: a rate is
 * completions over the time that they took. */
static void measure_open_interval(struct spex_measure *measure, uint64_t ticks) {
    measure->open = true;
    measure->t0 = measure->last_ticks = ticks;
    for (size_t c = 0; c < measure->space->criterion_count; c++)
        spex_figure_begin(&measure->figures[c], ticks);
}

/* Returns whether the record lies after t0. A record may be older than one before it if its writer
 * was descheduled between reading the clock and writing to the ring; if it lies before t0, it is
 * not used. The first record of the objective after the warm-up sets t0. */
static bool record_is_used(struct spex_measure *measure, const struct spex_record *record) {
    if (measure->open)
        return record->timestamp > measure->t0;
    if (record_is_objective(measure, record) && record->timestamp >= measure->over_ticks)
        measure_open_interval(measure, record->timestamp);
    return false;
}

/* The tracer takes records of all probes; a figure takes those of its own. */
static int record_use(struct spex_measure *measure, const struct spex_record *record) {
    int err = spex_tracer_add(measure->tracer, record, 1);
    if (!err && record_is_objective(measure, record))
        err = measure_count_objective(measure, record);
    for (size_t c = 0; c < measure->space->criterion_count && !err; c++)
        if (spex_figure_is_of(&measure->figures[c], record))
            spex_figure_add(&measure->figures[c], record);
    return err;
}

/* Uses the records after t0. *used: from the first of them on, of this or an earlier call's
 * list. */
static int records_use(struct spex_measure *measure, const struct spex_record *records,
                       size_t count, const struct spex_record **used, size_t *used_count) {
    for (size_t r = 0; r < count; r++) {
        if (!record_is_used(measure, &records[r]))
            continue;
        if (!*used_count) {
            *used = &records[r];
            *used_count = count - r;
        }
        int err = record_use(measure, &records[r]);
        if (err)
            return err;
    }
    return 0;
}

/* The warm-up is over: uses the records that were kept. */
static int records_use_kept(struct spex_measure *measure, const struct spex_record **used,
                            size_t *used_count) {
    size_t count;
    const struct spex_record *records = spex_warmup_records(measure->warmup, &count);
    measure->over = true;
    return records_use(measure, records, count, used, used_count);
}

/* Position of the objective's first record, with which the warm-up begins; `count`: there is
 * none. */
static size_t records_find_start(struct spex_measure *measure, const struct spex_record *records,
                                 size_t count) {
    size_t first = 0;
    while (!measure->started && first < count) {
        measure->started = record_is_objective(measure, &records[first]);
        first += !measure->started;
    }
    return first;
}

/* A warm-up of a given length is over at once in this sense: the time from which records are used
 * is known. */
static void measure_begin_warmup(struct spex_measure *measure, uint64_t ticks) {
    double warmup_ticks = measure->space->rules.warmup_seconds * measure->ticks_per_second;
    measure->over = !measure->warmup;
    if (measure->over) /* NaN ticks a second are those of a clock that is not known */
        measure->over_ticks = ticks + (warmup_ticks > 0 ? (uint64_t)warmup_ticks : 0);
}

/* Records before the objective's first one are ignored. During a warm-up that is looked for they
 * are kept; afterwards they are used at once. */
int spex_measure_add(struct spex_measure *measure, const struct spex_record *records, size_t count,
                     const struct spex_record **used, size_t *used_count) {
    *used_count = 0;
    if (!measure->started) {
        size_t first = records_find_start(measure, records, count);
        if (!measure->started)
            return 0;
        records += first;
        count -= first;
        measure_begin_warmup(measure, records->timestamp);
    }
    if (measure->over)
        return records_use(measure, records, count, used, used_count);
    int err = spex_warmup_add(measure->warmup, records, count);
    if (err || !spex_warmup_over(measure->warmup, &measure->over_ticks))
        return err;
    return records_use_kept(measure, used, used_count);
}

/* A run that ended within its warm-up has values all the same, from the best guess of where the
 * warm-up ended. It is not called steady. */
int spex_measure_end(struct spex_measure *measure, const struct spex_record **used,
                     size_t *used_count) {
    *used_count = 0;
    measure->ended = true;
    if (!measure->started || measure->over)
        return 0;
    measure->unsettled = true;
    measure->over_ticks = spex_warmup_best(measure->warmup);
    return records_use_kept(measure, used, used_count);
}

static double measured_seconds(const struct spex_measure *measure) {
    return (double)(measure->last_ticks - measure->t0) / measure->ticks_per_second;
}

/* O(number of threads). */
struct spex_run spex_measure_run(const struct spex_measure *measure) {
    struct spex_run run = {.size = sizeof(run),
                           .records = measure->records,
                           .threads = measure->thread_count,
                           .seconds = measured_seconds(measure)};
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

/* Two conditions, since a program may pause often and for long: only a silence that is long for
 * this program and for this run counts. */
bool spex_measure_silent(const struct spex_measure *measure, uint64_t ticks) {
    if (!measure->open || ticks <= measure->last_ticks)
        return false;
    uint64_t silence = ticks - measure->last_ticks;
    return silence > (ticks - measure->t0) / 4 && silence > 3 * measure->longest_silence;
}

void spex_measure_values(struct spex_measure *measure, struct spex_measured *values) {
    for (size_t c = 0; c < measure->space->criterion_count; c++)
        values[c] =
            spex_figure_measured(&measure->figures[c], measure->ticks_per_second, measure->ended);
}

/* A criterion with too few records to tell does not count against the run. */
bool spex_measure_steady(const struct spex_measure *measure) {
    double tolerance = spex_warmup_tolerance(&measure->space->rules);
    bool steady = measure->over && !measure->unsettled;
    for (size_t c = 0; c < measure->space->criterion_count; c++) {
        struct spex_figure_steady found = spex_figure_steady(&measure->figures[c], tolerance);
        steady = steady && (!found.known || found.steady);
    }
    return steady;
}

struct spex_tracer *spex_measure_tracer(struct spex_measure *measure) {
    return measure->tracer;
}
