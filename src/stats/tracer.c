/* SPDX-License-Identifier: MIT */
/* Finds the probe once for each run of records of the same kind, as batches mostly hold long ones,
 * and takes each value of a run in one loop.
 *
 * Where the records of many probes alternate, what is written of each lies in a dozen lines of
 * memory, in no near cache, and where these are is known only from one another. So the lines of
 * records that follow are asked for while others are added: with a thousand probes and cold caches
 * a record took 640 to 780 ns, and takes 330 to 360; with a hundred 195, and 160 (bench/traced). */
#include "stats/tracer.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <spex/compiler.h>

#include "base/memory/memory.h"
#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "ring/record_unpack.h"
#include "stats/traced_probes.h"

/* Records of a run, which is read several times: as many as stay in the nearest cache. */
enum { RUN_MOST = 256 };

#define SLICE_FIRST (UINT32_C(1) << 31)

/* The figures of so many probes fit into the first-level cache. */
enum { NEAR_PROBES = 32 };

/* Cache lines are prefetched for so many records ahead: first the probe's, then those of its values.
 * Fewer would often come too late; more would be evicted before they are used. */
enum { AHEAD = 3, FOUND = 8, LINE = 64 };

_Static_assert(2 * AHEAD < FOUND, "each is found before another takes its place");

/* The probe of a record of the batch that is being added. */
struct found {
    const struct spex_record *record;
    struct spex_traced *probe;
};

struct spex_tracer {
    struct spex_traced_probes probes;
    struct spex_tracer_totals totals[SPEX_PROBE_TYPES];
    /* Number of the last stretch. A stretch is the records between two losses (variance.h). */
    uint32_t stretch;
    /* The number of slices so far, whose numbers as stretches are above all others. */
    uint32_t slices;
    uint64_t window;
    /* By the record's position, modulo FOUND. */
    struct found found[FOUND];
};

/* Records of one probe with the same number of fields of the same kinds, all with values or all
 * without. */
struct run {
    const struct spex_record *records;
    size_t count;
    /* They have the same weight and marks. */
    bool alike;
    /* The greatest of the values that were added last. */
    uint64_t most;
};

/* State of rounding: turns weights into whole ones whose sum stays within 1/2 of `scale` times the
 * sum of the weights. */
struct scaling {
    double scale;
    double sum;     /* the exact sum so far */
    uint64_t given; /* the sum of the whole weights so far */
};

/* The next whole weight. Rounds the running sum, so that rounding errors do not add up. */
static uint64_t scaling_next(struct scaling *scaling, uint32_t weight) {
    scaling->sum += weight * scaling->scale;
    uint64_t share = (uint64_t)(scaling->sum + 0.5) - scaling->given;
    scaling->given += share;
    return share;
}

int spex_tracer_create(struct spex_tracer **tracer) {
    *tracer = spex_calloc(1, sizeof(**tracer));
    return *tracer ? 0 : -ENOMEM;
}

SPEX_COLD void spex_tracer_destroy(struct spex_tracer *tracer) {
    if (!tracer)
        return;
    spex_traced_free(&tracer->probes);
    spex_free(tracer);
}

/* Distances from the mean so far, extremes and weights of values that are added together: new
 * values lie near the mean, so that the sums stay small and exact (West's update, for many values
 * at once). */
struct addition {
    double weight, distances, squares;
    uint64_t whole, min, max;
};

static inline void addition_add(struct addition *sum, struct spex_values *v, uint64_t value,
                                double weight, uint64_t whole, double mean) {
    double distance = (double)value - mean;
    sum->weight += weight;
    sum->distances += weight * distance;
    sum->squares += weight * distance * distance;
    sum->whole += whole;
    sum->min = value < sum->min ? value : sum->min;
    sum->max = value > sum->max ? value : sum->max;
    v->histogram.weights[spex_histogram_bucket(value)] += whole;
}

/* The values lie between `min` and `max`. */
static void addition_end(const struct addition *sum, struct spex_values *v, double min,
                         double max) {
    v->min = min < v->min ? min : v->min;
    v->max = max > v->max ? max : v->max;
    v->histogram.total += sum->whole;
    v->weight += sum->weight;
    spex_variance_in_block(&v->spread, sum->distances + sum->weight * (v->mean - v->spread.origin),
                           sum->weight);
    if (v->weight > 0) {
        v->mean += sum->distances / v->weight;
        v->squares += sum->squares - sum->distances * sum->distances / v->weight;
    }
}

static const struct addition no_addition = {.min = UINT64_MAX};

/* Whether a field of a run holds nothing but integers from 0 on, and the values so far, too. */
static bool is_natural(const struct spex_values *v, const struct run *run, unsigned field) {
    unsigned kind = spex_kind_at(run->records->kinds, field);
    if (kind == SPEX_KIND_FLOATING || v->spread.scale != SPEX_SCALE_NATURAL)
        return false;
    uint64_t all = 0;
    for (size_t i = 0; kind == SPEX_KIND_SIGNED && i < run->count; i++)
        all |= run->records[i].fields[field];
    return !(all >> 63);
}

/* Has the values' scale hold those of a run. */
static void scale_for(struct spex_values *v, const struct run *run, unsigned field) {
    unsigned scale = v->spread.scale;
    for (size_t i = 0; i < run->count && scale < SPEX_SCALE_REAL; i++) {
        double value = spex_field_number(&run->records[i], field);
        unsigned of = isfinite(value) ? spex_value_scale_of(value) : scale;
        scale = of > scale ? of : scale;
    }
    spex_values_widen(v, scale);
}

/* Adds one field of a run, whatever its numbers are. Those that are not finite are left out. */
static void numbers_add(struct spex_values *v, const struct run *run, unsigned field,
                        double scale) {
    const double mean = v->mean;
    struct addition sum = no_addition;
    struct scaling scaling = {.scale = scale};
    double min = INFINITY, max = -INFINITY;
    scale_for(v, run, field);
    for (size_t i = 0; i < run->count; i++) {
        double value = spex_field_number(&run->records[i], field), distance = value - mean;
        uint64_t whole = scaling_next(&scaling, run->records[i].weight);
        if (!isfinite(value)) {
            v->left_out++;
            continue;
        }
        sum.weight += (double)whole;
        sum.distances += (double)whole * distance;
        sum.squares += (double)whole * distance * distance;
        sum.whole += whole;
        min = value < min ? value : min;
        max = value > max ? value : max;
        v->histogram.weights[spex_value_scale_bucket(v->spread.scale, value)] += whole;
    }
    addition_end(&sum, v, min, max);
}

/* Adds one field of a run. Weights have 32 bits, which convert to double in fewer instructions than
 * 64. */
static void values_add(struct spex_values *v, struct run *run, unsigned field) {
    const struct spex_record *records = run->records;
    const double mean = v->mean;
    struct addition sum = no_addition;
    if (!is_natural(v, run, field)) {
        numbers_add(v, run, field, 1);
        return;
    }
    if (run->alike) {
        const uint32_t weight = records[0].weight;
        for (size_t i = 0; i < run->count; i++)
            addition_add(&sum, v, records[i].fields[field], 1, weight, mean);
        sum.weight *= weight;
        sum.distances *= weight;
        sum.squares *= weight;
    } else {
        for (size_t i = 0; i < run->count; i++)
            addition_add(&sum, v, records[i].fields[field], records[i].weight, records[i].weight,
                         mean);
    }
    run->most = sum.max;
    addition_end(&sum, v, (double)sum.min, (double)sum.max);
}

/* The same with `scale` times each weight. */
static void scaled_values_add(struct spex_values *v, const struct run *run, unsigned field,
                              double scale) {
    const double mean = v->mean;
    struct addition sum = no_addition;
    struct scaling scaling = {.scale = scale};
    if (!is_natural(v, run, field)) {
        numbers_add(v, run, field, scale);
        return;
    }
    for (size_t i = 0; i < run->count; i++) {
        uint64_t whole = scaling_next(&scaling, run->records[i].weight);
        addition_add(&sum, v, run->records[i].fields[field], (double)whole, whole, mean);
    }
    addition_end(&sum, v, (double)sum.min, (double)sum.max);
}

/* Counts marks, and adds executions in regions. An execution recorded with probability 1/w counts
 * as w; the variance of the count is estimated by the sum of w (w - 1) (Horvitz and Thompson, for a
 * Poisson sample). */
static void marks_add(struct spex_metrics *metrics, const struct run *run, double scale) {
    const struct spex_record *records = run->records;
    for (size_t i = 0; i < run->count; i++) {
        double weight = records[i].weight * scale;
        for (unsigned m = 0; m < SPEX_MARKS; m++)
            metrics->marked[m] += records[i].marks >> m & 1;
        if (records[i].marks & SPEX_MARK_REGION) {
            metrics->region_count += weight;
            metrics->region_variance += weight * (weight - 1);
        }
    }
}

/* Adds one field of a run to the sums for margins. `all`: every execution was recorded, so that
 * without a loss nothing was left to chance and there is nothing to add. */
static void spread_add(struct spex_variance *spread, const struct run *run, unsigned field,
                       const struct spex_traced_batch *batch, bool all) {
    spex_variance_stretch(spread, batch->stretch, batch->scale);
    if (all && !batch->stretch)
        return;
    for (size_t i = 0; i < run->count; i++) {
        const struct spex_record *record = &run->records[i];
        double value = spex_field_number(record, field);
        if (!isfinite(value))
            continue;
        if (record->marks & SPEX_MARK_BURST)
            spex_variance_in_burst(spread, value, record->weight, batch->scale,
                                   record->marks & SPEX_MARK_DRAWN);
        else if (record->weight > 1 || batch->stretch)
            spex_variance_single(spread, value, record->weight, batch->scale);
    }
}

/* Adds one field of a run to the probe's values, and what the records stand for beside themselves
 * to its losses, whose spread is that of both. False: no memory. */
static bool field_add(struct spex_traced_probes *probes, struct spex_traced *probe, struct run *run,
                      unsigned field, unsigned series, const struct spex_traced_batch *batch,
                      bool all) {
    static const struct spex_traced_batch lossless = {.scale = 1};
    struct spex_values **values = &probe->values[series], **losses = &probe->losses[series];
    double first = spex_field_number(run->records, field), origin = isfinite(first) ? first : 0;
    if (!*values && !(*values = spex_traced_values(probes, origin)))
        return false;
    if (batch->stretch && !*losses) {
        if (!(*losses = spex_traced_values(probes, origin)))
            return false;
        spex_variance_copy(&(*losses)->spread, &(*values)->spread);
    }
    spex_variance_block(&(*values)->spread, probes->time_block);
    values_add(*values, run, field);
    if (*losses)
        spex_values_widen(*losses, (*values)->spread.scale);
    spread_add(&(*values)->spread, run, field, &lossless, all);
    if (*losses)
        spread_add(&(*losses)->spread, run, field, batch, all);
    if (batch->stretch)
        scaled_values_add(*losses, run, field, batch->scale - 1);
    return true;
}

/* Takes the slowest of a run, whose times have been added, into the probe's present window. */
static void slowest_add(struct spex_traced *probe, uint64_t window, const struct run *run,
                        unsigned field) {
    if (probe->window != window) {
        probe->slowest_before =
            probe->window + 1 == window ? probe->slowest : (struct spex_slowest){0};
        probe->slowest = (struct spex_slowest){0};
        probe->window = window;
    }
    if (run->most <= probe->slowest.ticks)
        return;
    const struct spex_record *slowest = run->records;
    while (slowest->fields[field] != run->most)
        slowest++;
    probe->slowest = (struct spex_slowest){.ticks = run->most,
                                           .timestamp = slowest->timestamp,
                                           .thread_id = slowest->thread_id,
                                           .cpu_id = slowest->cpu_id};
}

/* Whether the record only counts: its fields hold no values, or not all of them, or a time that
 * contains the making ready of a counter, which is no time of the program. */
static bool has_no_values(const struct spex_record *record) {
    bool ready = spex_probe_type_ticks(record->probe_type) && record->marks & SPEX_MARK_OPENING;
    return ready || record->marks & SPEX_MARK_UNAVAILABLE || !record->weight;
}

/* Weights of a run and their squares, of which one has 48 bits, so that the sum of a run does not
 * overflow; and all marks. */
struct run_sums {
    uint64_t weight, squares;
    uint32_t marks;
};

static struct run_sums run_sum(const struct run *run) {
    struct run_sums sums = {0, 0, 0};
    size_t read = run->alike ? 1 : run->count, times = run->alike ? run->count : 1;
    for (size_t i = 0; i < read; i++) {
        sums.weight += run->records[i].weight;
        sums.squares += (uint64_t)run->records[i].weight * run->records[i].weight;
        sums.marks |= run->records[i].marks;
    }
    return (struct run_sums){sums.weight * times, sums.squares * times, sums.marks};
}

/* Adds the values of a run. */
static int fields_add(struct spex_tracer *tracer, struct spex_traced *probe, struct run *run,
                      const struct spex_traced_batch *batch, bool all) {
    const struct spex_record *record = run->records;
    /* A first field that holds the weight is counted elsewhere. */
    unsigned skip = spex_probe_type_first_value(record->probe_type);
    unsigned fields = spex_probe_type_measured(record->probe_type, record->field_count);
    for (unsigned f = skip; f < fields; f++) {
        if (!field_add(&tracer->probes, probe, run, f, f - skip, batch, all))
            return -ENOMEM;
        if (f == skip && spex_probe_type_ticks(record->probe_type))
            slowest_add(probe, tracer->window, run, f);
        if (probe->metrics.series < f - skip + 1)
            probe->metrics.series = f - skip + 1;
    }
    return 0;
}

static uint64_t key_of(const struct spex_record *record) {
    return spex_traced_key(record->probe_id, record->probe_type);
}

/* The probe of a record, inserted if it is new. NULL: no memory. */
static struct spex_traced *probe_of(struct spex_traced_probes *probes,
                                    const struct spex_record *record) {
    size_t at = spex_traced_position(probes, key_of(record));
    struct spex_traced *probe = spex_traced_at(probes, at, key_of(record));
    return probe ? probe : spex_traced_insert(probes, at, record->probe_id, record->probe_type);
}

/* Inlined: gcc 12 leaves out calls of functions that do nothing else. */
SPEX_INLINE void lines_ask_for(const void *from, const void *to) {
    for (const char *line = from; line < (const char *)to; line += LINE)
        __builtin_prefetch(line, 1);
}

/* Finds the probe of a record that comes later, unless it is new. */
static void probe_ask_for(struct spex_tracer *tracer, const struct spex_record *record,
                          struct found *found) {
    size_t at = spex_traced_position(&tracer->probes, key_of(record));
    *found = (struct found){record, spex_traced_at(&tracer->probes, at, key_of(record))};
    if (found->probe)
        lines_ask_for(found->probe, found->probe + 1);
}

/* Asks for what the first value of a record is added to. */
SPEX_INLINE void values_ask_for(const struct spex_record *record, const struct found *found) {
    const struct spex_values *values =
        found->record == record && found->probe ? found->probe->values[0] : NULL;
    if (!values)
        return;
    unsigned bucket =
        spex_histogram_bucket(record->fields[spex_probe_type_first_value(record->probe_type)]);
    lines_ask_for(&values->spread.origin, values->histogram.weights);
    __builtin_prefetch(&values->histogram.weights[bucket], 1);
    if (record->weight > 1)
        __builtin_prefetch(values->spread.rows[spex_variance_row(bucket)], 1);
}

/* A run of one record: those that follow are of other probes, too. Returns the record's probe, if
 * it has been found before. */
static struct spex_traced *found_ahead(struct spex_tracer *tracer,
                                       const struct spex_record *records, size_t at, size_t count) {
    if (at + 2 * AHEAD < count)
        probe_ask_for(tracer, &records[at + 2 * AHEAD], &tracer->found[(at + 2 * AHEAD) % FOUND]);
    if (at + AHEAD < count)
        values_ask_for(&records[at + AHEAD], &tracer->found[(at + AHEAD) % FOUND]);
    const struct found *found = &tracer->found[at % FOUND];
    return found->record == &records[at] ? found->probe : NULL;
}

static int run_add(struct spex_tracer *tracer, struct spex_traced *probe, struct run *run,
                   const struct spex_traced_batch *batch) {
    struct spex_metrics *metrics = &probe->metrics;
    const struct run_sums sums = run_sum(run);
    metrics->records += run->records[0].weight ? run->count : 0;
    metrics->count += (double)sums.weight * batch->scale;
    metrics->weight += (double)sums.weight;
    metrics->weight_squares += (double)sums.squares;
    struct spex_tracer_totals *totals =
        &tracer->totals[spex_probe_type_ring(run->records[0].probe_type)];
    totals->records += run->count;
    totals->executions += (double)sums.weight;
    if (sums.marks)
        marks_add(metrics, run, batch->scale);
    if (has_no_values(run->records))
        return 0;
    bool all = sums.weight == run->count && !(sums.marks & SPEX_MARK_BURST);
    return fields_add(tracer, probe, run, probe->slice.stretch ? &probe->slice : batch, all);
}

/* Whether two records may be in one run: of one probe, with the same fields, both with or both
 * without values, and both with a weight or both of weight 0, which are looks of the kernel
 * sampler. */
static bool is_same_run(const struct spex_record *one, const struct spex_record *other) {
    return one->probe_id == other->probe_id && one->probe_type == other->probe_type &&
           one->field_count == other->field_count && one->kinds == other->kinds &&
           !one->weight == !other->weight && has_no_values(one) == has_no_values(other);
}

/* The first records, of which there is one at least. */
static struct run run_first(const struct spex_record *records, size_t count) {
    size_t r = 1;
    bool alike = true;
    for (; r < count && r < RUN_MOST; r++) {
        const struct spex_record *record = &records[r];
        if (!spex_record_is_like(record, record - 1)) {
            if (!is_same_run(record, records))
                break;
            alike &= record->weight == records->weight && record->marks == records->marks;
        }
    }
    return (struct run){records, r, alike, 0};
}

/* Divides the batch into runs. All of it is scaled by the same factor for lost records. */
int spex_tracer_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count) {
    struct spex_traced_batch batch = {.scale = 1};
    if (count && records[0].lost) {
        /* A batch next to a loss begins a stretch if the records were lost right before it; else it
         * continues the stretch, whose loss it shares. */
        batch.scale = ((double)records[0].lost + (double)count) / (double)count;
        tracer->stretch += records[0].gap || !tracer->stretch;
        batch.stretch = tracer->stretch;
    }
    bool ahead = tracer->probes.count > NEAR_PROBES;
    if (ahead)
        memset(tracer->found, 0, sizeof(tracer->found));
    for (size_t at = 0; at < count;) {
        struct run run = run_first(records + at, count - at);
        struct spex_traced *probe =
            ahead && run.count == 1 ? found_ahead(tracer, records, at, count) : NULL;
        if (!probe && !(probe = probe_of(&tracer->probes, run.records)))
            return -ENOMEM;
        int err = run_add(tracer, probe, &run, &batch);
        if (err)
            return err;
        at += run.count;
    }
    return 0;
}

void spex_tracer_slice(struct spex_tracer *tracer, size_t probe, double scale) {
    uint32_t number = SLICE_FIRST + (++tracer->slices & (SLICE_FIRST - 1));
    tracer->probes.places[probe].probe->slice = scale > 1
                                                    ? (struct spex_traced_batch){scale, number}
                                                    : (struct spex_traced_batch){.stretch = 0};
}

void spex_tracer_block(struct spex_tracer *tracer, uint64_t number) {
    tracer->probes.time_block = number;
}

void spex_tracer_window(struct spex_tracer *tracer, uint64_t window) {
    tracer->window = window;
}

SPEX_COLD struct spex_slowest spex_tracer_slowest(const struct spex_tracer *tracer, size_t probe) {
    const struct spex_traced *of = tracer->probes.places[probe].probe;
    uint64_t passed = tracer->window - of->window;
    if (passed > 1)
        return (struct spex_slowest){0};
    if (passed == 1 || of->slowest.ticks >= of->slowest_before.ticks)
        return of->slowest;
    return of->slowest_before;
}

struct spex_tracer_totals spex_tracer_totals(const struct spex_tracer *tracer, unsigned type_ring) {
    return tracer->totals[type_ring];
}

size_t spex_tracer_probes(const struct spex_tracer *tracer) {
    return tracer->probes.count;
}

SPEX_COLD size_t spex_tracer_find(const struct spex_tracer *tracer, uint16_t probe_id,
                                  uint32_t probe_type) {
    uint64_t key = spex_traced_key(probe_id, probe_type);
    size_t at = spex_traced_position(&tracer->probes, key);
    return spex_traced_at(&tracer->probes, at, key) ? at : tracer->probes.count;
}

void spex_tracer_metrics(const struct spex_tracer *tracer, size_t probe,
                         struct spex_metrics *metrics) {
    *metrics = tracer->probes.places[probe].probe->metrics;
}

const struct spex_values *spex_tracer_values(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series) {
    return tracer->probes.places[probe].probe->values[series];
}

const struct spex_values *spex_tracer_losses(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series) {
    return tracer->probes.places[probe].probe->losses[series];
}

/* The values with their losses: in `room` where there are losses and memory, which the caller
 * frees. */
static const struct spex_values *values_with_losses(const struct spex_traced *probe,
                                                    unsigned series, struct spex_values **room) {
    const struct spex_values *values = probe->values[series], *losses = probe->losses[series];
    *room = losses ? spex_malloc(sizeof(**room)) : NULL;
    if (!*room)
        return values;
    spex_values_weigh(*room, values, losses, 1);
    return *room;
}

SPEX_COLD void spex_tracer_series(const struct spex_tracer *tracer, size_t probe, unsigned series,
                                  struct spex_series *out) {
    struct spex_values *room;
    const struct spex_values *v =
        values_with_losses(tracer->probes.places[probe].probe, series, &room);
    *out = (struct spex_series){
        .mean = v->mean,
        .deviation = spex_values_deviation(v),
        .min = v->min,
        .max = v->max,
        .left_out = v->left_out,
    };
    spex_free(room);
}

SPEX_COLD double spex_tracer_quantile(const struct spex_tracer *tracer, size_t probe,
                                      unsigned series, double q) {
    struct spex_values *room;
    double value = spex_values_quantile(
        values_with_losses(tracer->probes.places[probe].probe, series, &room), q);
    spex_free(room);
    return value;
}
