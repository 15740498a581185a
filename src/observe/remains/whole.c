/* SPDX-License-Identifier: MIT */
#include "observe/remains/whole.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/site.h>

#include "observe/remains/remains.h"
#include "stats/tracer.h"

/* Figures of the records. */
struct making {
    struct spex_tracer *tracer;
    uint64_t records;
    int64_t since; /* made after the profile; -1: not known */
    int err;
};

static void records_take(void *user, const struct spex_record *records, uint32_t count) {
    struct making *making = user;
    int err = spex_tracer_add(making->tracer, records, count);
    making->records += count;
    making->err = making->err ? making->err : err;
}

/* Values of a record beside its weight. */
static uint32_t site_values(const struct spex_profile_site *site) {
    if (site->probe_type == SPEX_SNAPSHOT)
        return site->detail;
    if (site->probe_type == SPEX_KERNEL)
        return SPEX_KERNEL_VALUES + site->detail;
    return spex_probe_type_values(site->probe_type);
}

static void sites_note(const struct spex_profile *profile, struct spex_stream_probes *probes) {
    for (size_t s = 0; s < profile->site_count; s++) {
        const struct spex_profile_site *from = &profile->sites[s];
        const struct spex_stream_site site = {.index = from->index,
                                              .probe_id = from->probe_id,
                                              .probe_type = from->probe_type,
                                              .values = site_values(from),
                                              .kinds = from->kinds};
        spex_stream_probes_note(probes, &site);
    }
}

/* Gives all records of the rings to the tracer, and counts those since the profile. -ENODATA: some
 * are missing. */
static int rings_trace(const struct spex_profile *profile, int file, struct making *making) {
    const struct spex_profile_process *process = &profile->process;
    const struct spex_stream_header header = {.kind = SPEX_STREAM_RINGS};
    const struct spex_stream_rings rings = {.bytes = process->ring_bytes,
                                            .records = process->ring_records,
                                            .cpus = process->ring_cpus,
                                            .commit = process->commit,
                                            .types = SPEX_PROBE_TYPES};
    struct spex_stream_probes *probes = calloc(1, sizeof(*probes));
    struct spex_remains *remains =
        probes ? spex_remains_open(&header, &rings, file, probes) : (close(file), NULL);
    uint64_t lost = 1;
    if (remains) {
        sites_note(profile, probes);
        lost = spex_remains_take(remains, records_take, making);
        spex_remains_free(remains);
        uint64_t produced = making->records + lost;
        making->since = produced < process->produced ? -1 : (int64_t)(produced - process->produced);
    }
    free(probes);
    bool all = !lost && making->records >= process->consumed + process->lost;
    return making->err ? making->err : all ? 0 : -ENODATA;
}

static struct spex_profile_row row_of_site(const struct spex_profile *profile,
                                           const struct spex_metrics *metrics) {
    struct spex_profile_row row = {.probe = {.probe_id = metrics->probe_id,
                                             .probe_type = metrics->probe_type,
                                             .on_seconds = profile->process.seconds}};
    for (size_t s = 0; s < profile->site_count; s++) {
        const struct spex_profile_site *site = &profile->sites[s];
        if (site->probe_id != metrics->probe_id || site->probe_type != metrics->probe_type)
            continue;
        row.probe.sites++;
        row.probe.sites_on += site->period > 0;
        row.probe.period = row.probe.period_last = site->period;
        row.probe.kind = site->kind;
        row.probe.declared = site->declared;
        memcpy(row.probe.name, site->name, sizeof(row.probe.name));
        memcpy(row.probe.provider, site->provider, sizeof(row.probe.provider));
    }
    return row;
}

static struct spex_values *values_copy(const struct spex_values *from) {
    struct spex_values *copy = from ? malloc(sizeof(*copy)) : NULL;
    if (copy)
        *copy = *from;
    return copy;
}

/* The values of the records in place of those that were told. False: no memory, and the row is as
 * it was. */
static bool values_replace(struct spex_profile_row *row, const struct spex_tracer *tracer,
                           size_t at, unsigned series) {
    struct spex_values *values[SPEX_MAX_FIELDS] = {NULL};
    for (unsigned s = 0; s < series; s++)
        if (!(values[s] = values_copy(spex_tracer_values(tracer, at, s)))) {
            while (s)
                free(values[--s]);
            return false;
        }
    for (unsigned s = 0; s < SPEX_MAX_FIELDS; s++) {
        free((void *)(uintptr_t)row->values[s]);
        free((void *)(uintptr_t)row->losses[s]);
        row->values[s] = values[s];
        row->losses[s] = NULL;
    }
    return true;
}

/* Executions are counted by the process. Of those since its last profile the records tell. */
static int row_replace(struct spex_profile_row *row, const struct spex_tracer *tracer, size_t at,
                       const struct spex_metrics *metrics) {
    struct spex_profile_probe *probe = &row->probe;
    if (!values_replace(row, tracer, at, metrics->series))
        return -ENOMEM;
    probe->series = (uint16_t)metrics->series;
    probe->records = metrics->records;
    probe->weight = metrics->weight;
    probe->weight_squares = metrics->weight_squares;
    probe->count_variance = metrics->region_variance;
    probe->count = fmax(probe->count, metrics->count);
    probe->lost = 0;
    probe->lost_shared = 0;
    memcpy(probe->marked, metrics->marked, sizeof(probe->marked));
    return 0;
}

/* Replaces what is told of each probe that has records, and adds rows for those that had none. */
static int rows_replace(struct spex_profile *profile, const struct spex_tracer *tracer) {
    size_t traced = spex_tracer_probes(tracer), known = profile->row_count;
    struct spex_profile_row *rows =
        realloc(profile->rows, (known + traced + 1) * sizeof(*profile->rows));
    if (!rows)
        return -ENOMEM;
    profile->rows = rows;
    int err = 0;
    for (size_t t = 0; t < traced && !err; t++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, t, &metrics);
        struct spex_profile_row made = row_of_site(profile, &metrics);
        struct spex_profile_row *row =
            known ? bsearch(&made, rows, known, sizeof(made), spex_profile_row_order) : NULL;
        if (!row) {
            row = &rows[profile->row_count++];
            *row = made;
        }
        err = row_replace(row, tracer, t, &metrics);
    }
    qsort(rows, profile->row_count, sizeof(*rows), spex_profile_row_order);
    return err;
}

/* The CPU time since the last profile is not known, nor what was taken of it. */
static void process_replace(struct spex_profile *profile, uint64_t records, double seconds,
                            double ticks_per_second) {
    struct spex_profile_process *process = &profile->process;
    process->produced = process->consumed = records;
    process->lost = process->undelivered = 0;
    process->seconds += seconds;
    process->program_seconds = process->collector_seconds = 0;
    if (process->ticks_per_second <= 0)
        process->ticks_per_second = ticks_per_second;
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.period)
            profile->rows[r].probe.on_seconds += seconds;
}

int spex_profile_make_whole(struct spex_profile *profile, int file, double seconds,
                            double ticks_per_second, int64_t *since) {
    struct making making = {.since = -1};
    int err = file < 0 ? -ENODATA : spex_tracer_create(&making.tracer);
    if (!err)
        err = rings_trace(profile, file, &making);
    else if (file >= 0)
        close(file);
    if (!err && profile->process.budget > 0)
        err = -ENODATA;
    if (!err)
        err = rows_replace(profile, making.tracer);
    if (!err)
        process_replace(profile, making.records, seconds, ticks_per_second);
    if (making.tracer)
        spex_tracer_destroy(making.tracer);
    *since = making.since;
    return err;
}
