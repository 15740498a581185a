/* SPDX-License-Identifier: MIT */
#include "tools/record/slices.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "stats/values.h"

/* Fewer slices with records tell no error; nor do so few records, of which those that stand for
 * more executions than others count for less (Kish's effective sample size): the spread of a few
 * holds the truth in 60 to 80 % of cases. */
#define SLICES_MIN  5
#define RECORDS_MIN 20

struct slice {
    double executions;
    /* Of records with values: their weights, and weighted values. */
    double weight, sum;
    uint64_t records;
    struct spex_values *values;
};

struct probe {
    size_t process;
    uint16_t id;
    uint32_t type;
    /* Sums of all records' weights and of their squares. */
    double weight, squares;
    struct slice slices[SPEX_SLICES];
};

struct spex_slices {
    const struct spex_recording *trace;
    uint64_t from, to;
    struct probe **probes;
    size_t count;
    /* The probe of the last record. */
    struct probe *last;
};

struct spex_slices *spex_slices_create(const struct spex_recording *trace, uint64_t from,
                                       uint64_t to) {
    struct spex_slices *slices = calloc(1, sizeof(*slices));
    if (slices)
        *slices = (struct spex_slices){.trace = trace, .from = from, .to = to};
    return slices;
}

void spex_slices_destroy(struct spex_slices *slices) {
    for (size_t p = 0; slices && p < slices->count; p++) {
        for (unsigned s = 0; s < SPEX_SLICES; s++)
            free(slices->probes[p]->slices[s].values);
        free(slices->probes[p]);
    }
    if (slices)
        free(slices->probes);
    free(slices);
}

static struct probe *probe_find(const struct spex_slices *slices, size_t process, uint16_t id,
                                uint32_t type) {
    for (size_t p = 0; p < slices->count; p++) {
        struct probe *probe = slices->probes[p];
        if (probe->process == process && probe->id == id && probe->type == type)
            return probe;
    }
    return NULL;
}

/* NULL: no memory. */
static struct probe *probe_of(struct spex_slices *slices, size_t process,
                              const struct spex_record *record) {
    struct probe *probe = slices->last;
    if (probe && probe->process == process && probe->id == record->probe_id &&
        probe->type == record->probe_type)
        return probe;
    probe = probe_find(slices, process, record->probe_id, record->probe_type);
    if (!probe) {
        void *grown = realloc(slices->probes, (slices->count + 1) * sizeof(struct probe *));
        if (!grown)
            return NULL;
        slices->probes = grown;
        probe = calloc(1, sizeof(*probe));
        if (!probe)
            return NULL;
        probe->process = process;
        probe->id = record->probe_id;
        probe->type = record->probe_type;
        slices->probes[slices->count++] = probe;
    }
    return slices->last = probe;
}

/* The number of a record's first value; -1: it has none that tells of the program. */
static int value_of(const struct spex_record *record) {
    unsigned first = spex_probe_type_first_value(record->probe_type);
    bool ticks = spex_probe_type_ticks(record->probe_type);
    if (record->field_count <= first || record->marks & SPEX_MARK_UNAVAILABLE ||
        (ticks && record->marks & SPEX_MARK_OPENING))
        return -1;
    return (int)first;
}

static struct spex_values *values_new(void) {
    struct spex_values *values = malloc(sizeof(*values));
    if (values)
        spex_values_clear(values);
    return values;
}

int spex_slices_add(struct spex_slices *slices, const struct spex_recording_event *event) {
    const struct spex_record *record = &event->record;
    struct probe *probe =
        probe_of(slices, (size_t)(event->process - slices->trace->processes), record);
    if (!probe)
        return -ENOMEM;
    double at = (double)(record->timestamp - slices->from) / (double)(slices->to - slices->from);
    struct slice *slice = &probe->slices[at < 1 ? (unsigned)(at * SPEX_SLICES) : SPEX_SLICES - 1];
    int value = value_of(record);
    if (!record->weight)
        return 0;
    slice->records++;
    slice->executions += record->weight;
    probe->weight += record->weight;
    probe->squares += (double)record->weight * record->weight;
    if (value < 0)
        return 0;
    double number = spex_field_number(record, (unsigned)value);
    if (!isfinite(number))
        return 0;
    if (!slice->values && !(slice->values = values_new()))
        return -ENOMEM;
    slice->weight += record->weight;
    slice->sum += (double)record->weight * number;
    spex_values_count(slice->values, number, record->weight);
    return 0;
}

/* From values of slices that weigh the same. */
static double error_of(const double *values, unsigned count, double about) {
    double squares = 0;
    if (count < SLICES_MIN)
        return NAN;
    for (unsigned v = 0; v < count; v++)
        squares += (values[v] - about) * (values[v] - about);
    return sqrt(squares / (count - 1) / count);
}

static struct spex_slices_estimate rate_of(const struct probe *probe, double seconds) {
    double rates[SPEX_SLICES], sum = 0;
    for (unsigned s = 0; s < SPEX_SLICES; s++)
        sum += rates[s] = probe->slices[s].executions / (seconds / SPEX_SLICES);
    double mean = sum / SPEX_SLICES;
    return (struct spex_slices_estimate){mean, error_of(rates, SPEX_SLICES, mean), SPEX_SLICES - 1};
}

/* A ratio of sums over slices (Cochran, Sampling Techniques, 3rd ed., 6.4). */
static struct spex_slices_estimate mean_of(const struct probe *probe, double scale) {
    double weight = 0, sum = 0, residuals[SPEX_SLICES];
    unsigned used = 0;
    for (unsigned s = 0; s < SPEX_SLICES; s++) {
        weight += probe->slices[s].weight;
        sum += probe->slices[s].sum;
    }
    if (!(weight > 0))
        return (struct spex_slices_estimate){NAN, NAN, 1};
    for (unsigned s = 0; s < SPEX_SLICES; s++)
        if (probe->slices[s].weight > 0)
            residuals[used++] = probe->slices[s].sum - sum / weight * probe->slices[s].weight;
    return (struct spex_slices_estimate){
        sum / weight * scale, used ? error_of(residuals, used, 0) * used / weight * scale : NAN,
        used - 1.0};
}

/* The error of a value that may be anywhere within its bucket, and a time within its tick. Whole numbers are exact. */
static double resolution_of(const struct spex_values *values, double value, bool ticks) {
    double low, high;
    unsigned scale = values->spread.scale;
    spex_value_scale_bounds(scale, spex_value_scale_bucket(scale, value), &low, &high);
    bool whole = scale == SPEX_SCALE_NATURAL && high <= low;
    double width = scale == SPEX_SCALE_NATURAL ? high - low + 1 : high - low;
    return whole && !ticks ? 0 : width / sqrt(12);
}

/* The median of all; its error is that of the mean of slices' medians, and what no slice can tell: several have the same
 * median since there is none between two buckets. */
static struct spex_slices_estimate median_of(const struct probe *probe, double scale) {
    bool ticks = spex_probe_type_ticks(probe->type);
    double medians[SPEX_SLICES], sum = 0;
    unsigned used = 0;
    struct spex_slices_estimate estimate = {NAN, NAN, 1};
    struct spex_values *all = values_new();
    for (unsigned s = 0; all && s < SPEX_SLICES; s++) {
        const struct spex_values *values = probe->slices[s].values;
        if (!values)
            continue;
        spex_values_merge(all, values);
        sum += medians[used++] = spex_values_quantile(values, 0.5);
    }
    if (all && used) {
        double median = spex_values_quantile(all, 0.5);
        double error =
            hypot(error_of(medians, used, sum / used), resolution_of(all, median, ticks));
        estimate = (struct spex_slices_estimate){median * scale, error * scale, used - 1.0};
    }
    free(all);
    return estimate;
}

/* To which a moment of the trace is known, in seconds (docs/traces.md). */
#define MOMENT_ERROR 1e-6

/* The relative error of the length of a tick: by the moments at both ends of the journal. */
static double clock_error(const struct spex_slices *slices, size_t process) {
    const struct spex_journal *journal = &slices->trace->processes[process].journal;
    const struct spex_recording_anchor *anchors = journal->anchors;
    size_t count = journal->anchor_count;
    return count > 1 ? MOMENT_ERROR * 1e9 /
                           (double)(anchors[count - 1].monotonic_ns - anchors[0].monotonic_ns)
                     : 0;
}

static void error_add(struct spex_slices_estimate *time, double relative) {
    time->error = hypot(time->error, time->value * relative);
}

double spex_slices_seconds(const struct spex_slices *slices) {
    return (double)(slices->to - slices->from) / slices->trace->ticks_per_second;
}

static bool errors_are_known(const struct probe *probe) {
    return probe->weight * probe->weight >= RECORDS_MIN * probe->squares;
}

bool spex_slices_figures(const struct spex_slices *slices, size_t process, uint16_t probe_id,
                         uint32_t probe_type, struct spex_slices_figures *figures) {
    const struct probe *probe = probe_find(slices, process, probe_id, probe_type);
    double scale = spex_probe_type_ticks(probe_type) ? 1 / slices->trace->ticks_per_second : 1;
    if (!probe)
        return false;
    *figures = (struct spex_slices_figures){.rate = rate_of(probe, spex_slices_seconds(slices)),
                                            .mean = mean_of(probe, scale),
                                            .median = median_of(probe, scale)};
    if (spex_probe_type_ticks(probe_type)) {
        error_add(&figures->mean, clock_error(slices, process));
        error_add(&figures->median, clock_error(slices, process));
    }
    for (unsigned s = 0; s < SPEX_SLICES; s++)
        figures->records += probe->slices[s].records;
    if (!errors_are_known(probe))
        figures->rate.error = figures->mean.error = figures->median.error = NAN;
    return true;
}
