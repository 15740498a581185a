/* SPDX-License-Identifier: MIT */
/* Finds the probe once for each run of records of the same kind, as batches mostly hold long ones,
 * and takes each value of a run in one loop. Probes are found by binary search. A probe's structure
 * moves when another appears before it, but its values stay where they were allocated. */
#include "stats/tracer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/service_thread.h"
#include "ring/probe_type.h"

/* Records of a run, which is read several times: as many as stay in the nearest cache. */
enum { RUN_MOST = 256 };

struct probe {
    struct spex_metrics metrics;
    struct spex_values *values[SPEX_MAX_FIELDS];
    struct spex_values *losses[SPEX_MAX_FIELDS]; /* spex_tracer_losses; NULL: none */
    /* The slowest execution of a window, and of the one before it. */
    struct spex_slowest slowest, slowest_before;
    uint64_t window;
};

struct spex_tracer {
    struct probe *probes; /* sorted by id, then type */
    size_t count;
    size_t room;
    struct spex_tracer_totals totals[SPEX_PROBE_TYPES];
    /* Number of the last stretch. A stretch is the records between two losses (variance.h). */
    uint32_t stretch;
    uint64_t window;
};

/* What all records of one spex_tracer_add() have in common. */
struct batch {
    /* Factor by which each weight is scaled up for lost records; 1: none were lost. */
    double scale;
    /* Number of the stretch that the records belong to; 0: none were lost. */
    uint32_t stretch;
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
    *tracer = calloc(1, sizeof(**tracer));
    return *tracer ? 0 : -ENOMEM;
}

void spex_tracer_destroy(struct spex_tracer *tracer) {
    if (!tracer)
        return;
    for (size_t p = 0; p < tracer->count; p++)
        for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
            spex_pages_give_back(tracer->probes[p].values[s], sizeof(struct spex_values));
            spex_pages_give_back(tracer->probes[p].losses[s], sizeof(struct spex_values));
        }
    spex_pages_give_back(tracer->probes, tracer->room * sizeof(*tracer->probes));
    free(tracer);
}

/* The order of probes: by id and then type. */
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

/* Doubles the room for probes. False: no memory. */
static bool room_grow(struct spex_tracer *tracer) {
    size_t room = tracer->room ? tracer->room * 2 : 16;
    struct probe *probes = spex_pages_take(room * sizeof(*probes));
    if (!probes)
        return false;
    if (tracer->count > 0)
        memcpy(probes, tracer->probes, tracer->count * sizeof(*probes));
    spex_pages_give_back(tracer->probes, tracer->room * sizeof(*probes));
    tracer->probes = probes;
    tracer->room = room;
    return true;
}

/* Inserts the record's probe at a position, so that the array stays sorted. NULL: no memory. */
static struct probe *probe_insert(struct spex_tracer *tracer, size_t at,
                                  const struct spex_record *record) {
    if (tracer->count == tracer->room && !room_grow(tracer))
        return NULL;
    for (size_t i = tracer->count++; i > at; i--)
        tracer->probes[i] = tracer->probes[i - 1];
    tracer->probes[at] = (struct probe){
        .metrics = {.probe_id = record->probe_id,
                    .probe_type = record->probe_type,
                    .first_ticks = record->timestamp},
    };
    return &tracer->probes[at];
}

/* Whether the probe at this position, if there is one, is the wanted one. */
static bool stands_at(const struct spex_tracer *tracer, size_t at, uint16_t id, uint32_t type) {
    return at < tracer->count && tracer->probes[at].metrics.probe_id == id &&
           tracer->probes[at].metrics.probe_type == type;
}

/* The probe of a record, inserted if it is new. NULL: no memory. */
static struct probe *probe_of(struct spex_tracer *tracer, const struct spex_record *record) {
    size_t at = position_of(tracer, key_of(record->probe_id, record->probe_type));
    if (stands_at(tracer, at, record->probe_id, record->probe_type))
        return &tracer->probes[at];
    return probe_insert(tracer, at, record);
}

/* Adds one field of a run of records, each with `scale` times its weight. The sums are over
 * distances from the mean so far: new values lie near it, so that the sums stay small and exact
 * (West's update, for many values at once). */
static void values_add(struct spex_values *v, const struct spex_record *records, size_t count,
                       unsigned field, double scale) {
    const double mean = v->mean;
    double weight = 0, distances = 0, squares = 0;
    uint64_t min = v->min, max = v->max;
    struct scaling scaling = {.scale = scale};
    /* Unscaled weights have 32 bits, which convert to double in fewer instructions. */
    const bool plain = scale == 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = records[i].fields[field];
        uint64_t whole = plain ? records[i].weight : scaling_next(&scaling, records[i].weight);
        double w = plain ? (double)records[i].weight : (double)whole;
        double distance = (double)value - mean;
        weight += w;
        distances += w * distance;
        squares += w * distance * distance;
        min = value < min ? value : min;
        max = value > max ? value : max;
        spex_histogram_add(&v->histogram, value, whole);
    }
    v->min = min;
    v->max = max;
    v->weight += weight;
    if (v->weight > 0) {
        v->mean += distances / v->weight;
        v->squares += squares - distances * distances / v->weight;
    }
}

/* Counts marks, and adds executions in regions. An execution recorded with probability 1/w counts
 * as w; the variance of the count is estimated by the sum of w (w - 1) (Horvitz and Thompson, for a
 * Poisson sample). */
static void marks_add(struct spex_metrics *metrics, const struct spex_record *records, size_t count,
                      double scale) {
    for (size_t i = 0; i < count; i++) {
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
static void spread_add(struct spex_variance *spread, const struct spex_record *records,
                       size_t count, unsigned field, const struct batch *batch, bool all) {
    spex_variance_stretch(spread, batch->stretch, batch->scale);
    if (all && !batch->stretch)
        return;
    for (size_t i = 0; i < count; i++) {
        const struct spex_record *record = &records[i];
        if (record->marks & SPEX_MARK_BURST)
            spex_variance_in_burst(spread, record->fields[field], record->weight, batch->scale,
                                   record->marks & SPEX_MARK_DRAWN);
        else if (record->weight > 1 || batch->stretch)
            spex_variance_single(spread, record->fields[field], record->weight, batch->scale);
    }
}

/* A new set of values; NULL: no memory. */
static struct spex_values *values_create(double origin) {
    struct spex_values *values = spex_pages_take(sizeof(*values));
    if (!values)
        return NULL;
    spex_values_clear(values);
    values->mean = values->spread.origin = origin;
    return values;
}

/* Adds one field of a run to the probe's values, and what the records stand for beside themselves
 * to its losses, whose spread is that of both. False: no memory. */
static bool field_add(struct probe *probe, const struct spex_record *records, size_t count,
                      unsigned field, unsigned series, const struct batch *batch, bool all) {
    static const struct batch lossless = {.scale = 1};
    struct spex_values **values = &probe->values[series], **losses = &probe->losses[series];
    double origin = (double)records[0].fields[field];
    if (!*values && !(*values = values_create(origin)))
        return false;
    if (batch->stretch && !*losses) {
        if (!(*losses = values_create(origin)))
            return false;
        (*losses)->spread = (*values)->spread;
    }
    values_add(*values, records, count, field, 1);
    spread_add(&(*values)->spread, records, count, field, &lossless, all);
    if (*losses)
        spread_add(&(*losses)->spread, records, count, field, batch, all);
    if (batch->stretch)
        values_add(*losses, records, count, field, batch->scale - 1);
    return true;
}

/* Takes the slowest of a run into the probe's present window. */
static void slowest_add(struct probe *probe, uint64_t window, const struct spex_record *records,
                        size_t count, unsigned field) {
    if (probe->window != window) {
        probe->slowest_before =
            probe->window + 1 == window ? probe->slowest : (struct spex_slowest){0};
        probe->slowest = (struct spex_slowest){0};
        probe->window = window;
    }
    const struct spex_record *slowest = NULL;
    uint64_t most = probe->slowest.ticks;
    for (size_t i = 0; i < count; i++)
        if (records[i].fields[field] > most) {
            slowest = &records[i];
            most = slowest->fields[field];
        }
    if (slowest)
        probe->slowest = (struct spex_slowest){.ticks = most,
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

/* Adds a run: records of one probe with the same number of fields, all with values or all
 * without. */
static int run_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count,
                   const struct batch *batch) {
    struct probe *probe = probe_of(tracer, &records[0]);
    if (!probe)
        return -ENOMEM;
    struct spex_metrics *metrics = &probe->metrics;
    uint64_t weight = 0, squares = 0, first = metrics->first_ticks, last = metrics->last_ticks;
    uint32_t marks = 0;
    for (size_t i = 0; i < count; i++) {
        const struct spex_record *record = &records[i];
        weight += record->weight;
        /* A square has 48 bits, and batches are small: the sum does not overflow. */
        squares += (uint64_t)record->weight * record->weight;
        marks |= record->marks;
        first = record->timestamp < first ? record->timestamp : first;
        last = record->timestamp > last ? record->timestamp : last;
    }
    metrics->first_ticks = first;
    metrics->last_ticks = last;
    metrics->records += records[0].weight ? count : 0;
    metrics->count += (double)weight * batch->scale;
    metrics->weight += (double)weight;
    metrics->weight_squares += (double)squares;
    struct spex_tracer_totals *totals =
        &tracer->totals[spex_probe_type_ring(records[0].probe_type)];
    totals->records += count;
    totals->executions += (double)weight;
    if (marks)
        marks_add(metrics, records, count, batch->scale);
    if (has_no_values(&records[0]))
        return 0;
    /* A first field that holds the weight is counted above. */
    unsigned skip = spex_probe_type_first_value(records[0].probe_type);
    bool all = weight == count && !(marks & SPEX_MARK_BURST);
    unsigned fields = spex_probe_type_measured(records[0].probe_type, records[0].field_count);
    if (fields > skip && spex_probe_type_ticks(records[0].probe_type))
        slowest_add(probe, tracer->window, records, count, skip);
    for (unsigned f = skip; f < fields; f++) {
        if (!field_add(probe, records, count, f, f - skip, batch, all))
            return -ENOMEM;
        if (metrics->series < f - skip + 1)
            metrics->series = f - skip + 1;
    }
    return 0;
}

/* Whether two records may be in one run: of one probe, with the same fields, both with or both
 * without values, and both with a weight or both of weight 0, which are looks of the kernel
 * sampler. */
static bool is_same_run(const struct spex_record *one, const struct spex_record *other) {
    return one->probe_id == other->probe_id && one->probe_type == other->probe_type &&
           one->field_count == other->field_count && !one->weight == !other->weight &&
           has_no_values(one) == has_no_values(other);
}

/* Whether nothing that divides runs differs: mostly so, and quickly seen. */
static bool is_like(const struct spex_record *one, const struct spex_record *other) {
    return ((one->probe_type ^ other->probe_type) | (one->weight ^ other->weight) |
            (uint32_t)(one->probe_id ^ other->probe_id) |
            (uint32_t)(one->field_count ^ other->field_count) |
            (uint32_t)(one->marks ^ other->marks)) == 0;
}

/* Divides the batch into runs. All of it is scaled by the same factor for lost records. */
int spex_tracer_add(struct spex_tracer *tracer, const struct spex_record *records, size_t count) {
    size_t begin = 0;
    struct batch batch = {.scale = 1};
    if (count && records[0].lost) {
        /* A batch next to a loss begins a stretch if the records were lost right before it; else it
         * continues the stretch, whose loss it shares. */
        batch.scale = ((double)records[0].lost + (double)count) / (double)count;
        tracer->stretch += records[0].gap || !tracer->stretch;
        batch.stretch = tracer->stretch;
    }
    for (size_t end = 1; end <= count; end++) {
        if (end < count && end - begin < RUN_MOST &&
            (is_like(&records[end], &records[begin]) ||
             is_same_run(&records[end], &records[begin])))
            continue;
        int err = run_add(tracer, records + begin, end - begin, &batch);
        if (err)
            return err;
        begin = end;
    }
    return 0;
}

void spex_tracer_window(struct spex_tracer *tracer, uint64_t window) {
    tracer->window = window;
}

struct spex_slowest spex_tracer_slowest(const struct spex_tracer *tracer, size_t probe) {
    const struct probe *of = &tracer->probes[probe];
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
    return tracer->count;
}

size_t spex_tracer_find(const struct spex_tracer *tracer, uint16_t probe_id, uint32_t probe_type) {
    size_t at = position_of(tracer, key_of(probe_id, probe_type));
    return stands_at(tracer, at, probe_id, probe_type) ? at : tracer->count;
}

void spex_tracer_metrics(const struct spex_tracer *tracer, size_t probe,
                         struct spex_metrics *metrics) {
    *metrics = tracer->probes[probe].metrics;
}

const struct spex_values *spex_tracer_values(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series) {
    return tracer->probes[probe].values[series];
}

const struct spex_values *spex_tracer_losses(const struct spex_tracer *tracer, size_t probe,
                                             unsigned series) {
    return tracer->probes[probe].losses[series];
}

/* The values with their losses: in `room` where there are losses and memory, which the caller
 * frees. */
static const struct spex_values *values_with_losses(const struct probe *probe, unsigned series,
                                                    struct spex_values **room) {
    const struct spex_values *values = probe->values[series], *losses = probe->losses[series];
    *room = losses ? malloc(sizeof(**room)) : NULL;
    if (!*room)
        return values;
    spex_values_weigh(*room, values, losses, 1);
    return *room;
}

void spex_tracer_series(const struct spex_tracer *tracer, size_t probe, unsigned series,
                        struct spex_series *out) {
    struct spex_values *room;
    const struct spex_values *v = values_with_losses(&tracer->probes[probe], series, &room);
    *out = (struct spex_series){
        .mean = v->mean,
        .deviation = spex_values_deviation(v),
        .min = (double)v->min,
        .max = (double)v->max,
    };
    free(room);
}

double spex_tracer_quantile(const struct spex_tracer *tracer, size_t probe, unsigned series,
                            double q) {
    struct spex_values *room;
    double value =
        spex_values_quantile(values_with_losses(&tracer->probes[probe], series, &room), q);
    free(room);
    return value;
}
