/* SPDX-License-Identifier: MIT */
#include "trace/read/part.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "observe/profile_sum.h"
#include "profile/confidence.h"
#include "stats/tracer.h"
#include "trace/read/batches.h"
#include "trace/read/edge.h"

/* Slices of the time in which a budget had the probe of a class on. */
struct slices {
    /* As spex_tracer_slice takes it: what the profiles tell of the whole time; 1: it is not in
     * slices. */
    double scale;
    uint64_t last; /* record, in ticks */
};

struct one {
    struct slices *slices; /* of each class */
    struct spex_edge begin, end;
    struct spex_tracer *tracer;
    struct spex_batches *batches;
    struct spex_profile profile;
};

struct spex_part {
    const struct spex_recording *trace;
    uint64_t from, to;
    struct one *of;
};

/* A probe in slices is off for this share of the time at least, and one in experiments for less. */
#define SLICES_OFF 0.2

/* Between two slices are so many seconds at least. */
#define SLICES_APART 0.002

/* The last profile at hand tells of which probes records are in slices. */
static void slices_of(struct one *one) {
    const struct spex_journal *journal = &one->end.process->journal;
    const struct spex_profile *profile = one->end.have_last ? &one->end.last : &one->end.first;
    for (size_t c = 0; c < journal->class_count; c++) {
        const struct spex_recording_class *class = &journal->classes[c];
        const struct spex_profile_row *row =
            class->known ? spex_profile_row_of(profile, class->probe_id, class->probe_type) : NULL;
        double off = row ? spex_profile_off(&row->probe) : 0;
        one->slices[c].scale = off >= SLICES_OFF && off < 1 ? 1 / (1 - off) : 1;
    }
}

/* Begins a slice where a record of a probe in slices comes long after the one before it. What a
 * slice stands for is not in the trace, so all stand for equally much. */
static int slice_begin(struct one *one, const struct spex_part *part,
                       const struct spex_recording_event *event) {
    struct slices *slices = &one->slices[event->class - event->process->journal.classes];
    uint64_t now = event->record.timestamp, since = now - slices->last;
    bool begins = slices->scale > 1 && now > slices->last &&
                  (double)since >= SLICES_APART * part->trace->ticks_per_second;
    slices->last = now;
    if (!begins)
        return 0;
    int err = spex_batches_finish(one->batches);
    size_t at = spex_tracer_find(one->tracer, event->record.probe_id, event->record.probe_type);
    if (at < spex_tracer_probes(one->tracer))
        spex_tracer_slice(one->tracer, at, slices->scale);
    return err;
}

static int one_open(struct one *one, const struct spex_part *part, size_t process,
                    struct spex_error *error) {
    int err = spex_tracer_create(&one->tracer);
    if (!err && !(one->batches = spex_batches_create(one->tracer)))
        err = -ENOMEM;
    size_t classes = part->trace->processes[process].journal.class_count;
    if (!err && !(one->slices = calloc(classes + 1, sizeof(*one->slices))))
        err = -ENOMEM;
    if (err)
        return spex_fail(error, err, "out of memory");
    err = spex_edge_open(&one->begin, part->trace, process, part->from, error);
    if (!err)
        err = spex_edge_open(&one->end, part->trace, process, part->to, error);
    if (!err)
        slices_of(one);
    return err;
}

int spex_part_open(struct spex_part **opened, const struct spex_recording *trace, uint64_t from,
                   uint64_t to, struct spex_error *error) {
    struct spex_part *part = calloc(1, sizeof(*part));
    int err = part ? 0 : -ENOMEM;
    if (part) {
        *part = (struct spex_part){.trace = trace, .from = from, .to = to};
        part->of = calloc(trace->process_count + 1, sizeof(*part->of));
        err = part->of ? 0 : -ENOMEM;
    }
    if (err)
        spex_error_set(error, "out of memory");
    for (size_t p = 0; !err && p < trace->process_count; p++)
        err = one_open(&part->of[p], part, p, error);
    if (err && part)
        spex_part_close(part);
    *opened = err ? NULL : part;
    return err;
}

/* The tracer owns the values of the rows. */
static void profile_forget(struct spex_profile *profile) {
    for (size_t r = 0; r < profile->row_count; r++) {
        memset(profile->rows[r].values, 0, sizeof(profile->rows[r].values));
        memset(profile->rows[r].losses, 0, sizeof(profile->rows[r].losses));
    }
    spex_profile_free(profile);
}

void spex_part_close(struct spex_part *part) {
    for (size_t p = 0; part->of && p < part->trace->process_count; p++) {
        struct one *one = &part->of[p];
        free(one->slices);
        spex_edge_close(&one->begin);
        spex_edge_close(&one->end);
        profile_forget(&one->profile);
        spex_batches_destroy(one->batches);
        spex_tracer_destroy(one->tracer);
    }
    free(part->of);
    free(part);
}

void spex_part_limits(const struct spex_part *part, uint64_t *from, uint64_t *to) {
    *from = part->from;
    *to = part->to;
    for (size_t p = 0; p < part->trace->process_count; p++) {
        const struct one *one = &part->of[p];
        *from = one->begin.from < *from ? one->begin.from : *from;
        *to = one->end.to > *to ? one->end.to : *to;
    }
}

int spex_part_add(struct spex_part *part, const struct spex_recording_event *event) {
    struct one *one = &part->of[event->process - part->trace->processes];
    uint64_t ticks = event->record.timestamp;
    spex_edge_add(&one->begin, event);
    spex_edge_add(&one->end, event);
    if (ticks < part->from || ticks >= part->to)
        return 0;
    spex_tracer_block(one->tracer, (uint64_t)((double)ticks / part->trace->ticks_per_second *
                                              SPEX_TRACER_BLOCKS_A_SECOND));
    int err = slice_begin(one, part, event);
    return err ? err : spex_batches_add(one->batches, &event->record);
}

/* The class of a row's probe that is wanted, or else any; NULL: the trace has no record of it. */
static const struct spex_recording_class *class_of(const struct spex_journal *journal,
                                                   uint16_t probe_id, uint32_t probe_type) {
    const struct spex_recording_class *found = NULL;
    for (size_t c = 0; c < journal->class_count; c++) {
        const struct spex_recording_class *class = &journal->classes[c];
        bool is = class->known && class->probe_id == probe_id && class->probe_type == probe_type;
        if (is && (!found || class->wanted))
            found = class;
    }
    return found;
}

/* Leaves out rows of probes whose records are not wanted. */
static void rows_filter(struct spex_profile *profile, const struct spex_journal *journal) {
    size_t kept = 0;
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        const struct spex_recording_class *class =
            class_of(journal, probe->probe_id, probe->probe_type);
        if (!class || class->wanted)
            profile->rows[kept++] = profile->rows[r];
    }
    profile->row_count = kept;
}

/* A row of which no profile tells, with what its records do. */
static struct spex_profile_row row_make(const struct spex_journal *journal,
                                        const struct spex_metrics *metrics, double seconds) {
    const struct spex_recording_class *class =
        class_of(journal, metrics->probe_id, metrics->probe_type);
    struct spex_profile_row row = {.probe = {.probe_id = metrics->probe_id,
                                             .probe_type = metrics->probe_type,
                                             .count = metrics->count,
                                             .on_seconds = seconds,
                                             .sites = 1,
                                             .period_last = 1}};
    if (class && class->site) {
        snprintf(row.probe.name, sizeof(row.probe.name), "%.*s", (int)sizeof(row.probe.name) - 1,
                 class->site->name);
        snprintf(row.probe.provider, sizeof(row.probe.provider), "%.*s",
                 (int)sizeof(row.probe.provider) - 1, class->site->provider);
        row.probe.declared = class->site->declared;
    }
    return row;
}

/* Where no profile tells the places that name values of snapshots, as a program that was killed early
 * wrote none, the journal's sites do. */
static int sites_complete(struct spex_profile *profile, const struct spex_journal *journal) {
    struct spex_profile_site *sites =
        profile->site_count ? profile->sites
                            : realloc(profile->sites, (journal->site_count + 1) * sizeof(*sites));
    if (!sites)
        return -ENOMEM;
    profile->sites = sites;
    for (size_t s = 0; !profile->site_count && s < journal->site_count; s++) {
        const struct spex_stream_site *from = &journal->sites[s];
        sites[s] = (struct spex_profile_site){
            .index = from->index, .probe_id = from->probe_id, .probe_type = from->probe_type};
        snprintf(sites[s].parameters, sizeof(sites[s].parameters), "%.*s",
                 (int)sizeof(from->parameters), from->parameters);
    }
    profile->site_count = profile->site_count ? profile->site_count : journal->site_count;
    return 0;
}

/* Adds rows for probes that have records and no row. */
static int rows_complete(struct one *one, const struct spex_journal *journal, double seconds) {
    struct spex_profile *profile = &one->profile;
    size_t traced = spex_tracer_probes(one->tracer), known = profile->row_count;
    struct spex_profile_row *rows =
        realloc(profile->rows, (known + traced + 1) * sizeof(*profile->rows));
    if (!rows)
        return -ENOMEM;
    profile->rows = rows;
    for (size_t t = 0; t < traced; t++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(one->tracer, t, &metrics);
        struct spex_profile_row row = row_make(journal, &metrics, seconds);
        if (!known || !bsearch(&row, rows, known, sizeof(row), spex_profile_row_order))
            rows[profile->row_count++] = row;
    }
    qsort(rows, profile->row_count, sizeof(*rows), spex_profile_row_order);
    return 0;
}

/* Fills in what comes from the records. Of a probe whose executions each make a record, those
 * without one are lost, also where the recorder has lost them. */
static void row_fill(const struct one *one, struct spex_profile_row *row) {
    struct spex_profile_probe *probe = &row->probe;
    size_t at = spex_tracer_find(one->tracer, probe->probe_id, probe->probe_type);
    struct spex_metrics metrics = {0};
    if (at < spex_tracer_probes(one->tracer))
        spex_tracer_metrics(one->tracer, at, &metrics);
    probe->series = (uint16_t)metrics.series;
    probe->weight = metrics.weight;
    probe->weight_squares = metrics.weight_squares;
    probe->count_variance += metrics.region_variance;
    probe->records = metrics.records;
    memcpy(probe->marked, metrics.marked, sizeof(probe->marked));
    for (unsigned s = 0; s < metrics.series; s++) {
        row->values[s] = spex_tracer_values(one->tracer, at, s);
        row->losses[s] = spex_tracer_losses(one->tracer, at, s);
    }
    /* Where profiles do not tell when it was executed, its records do at least. */
    if (!spex_count_known(probe))
        probe->count = fmin(probe->count, probe->weight);
    double missing = fmax(probe->count - (double)probe->records, 0);
    if (probe->records && spex_profile_in_full(probe))
        probe->lost = fmin(missing, (double)one->profile.process.lost);
    probe->lost = fmin(probe->lost, missing);
}

/* Losses up to a moment, as the journal tells: none before its first word. */
static uint64_t lost_until(const struct spex_journal *journal, uint64_t ticks) {
    uint64_t lost = 0;
    for (size_t l = 0; l < journal->loss_count && journal->losses[l].ticks <= ticks; l++)
        lost = journal->losses[l].lost;
    return lost;
}

/* Records that were lost after an error had ended the recording, of which no profile tells: there
 * was no room for one. They may be of any probe. */
static double lost_at_the_end(const struct spex_journal *journal, uint64_t from, uint64_t to) {
    uint64_t last =
        journal->profile_count ? journal->profiles[journal->profile_count - 1].ticks : 0;
    const struct spex_recording_mark *ended = spex_journal_ended(journal, NULL);
    if (!ended || ended->ticks <= last || to <= last)
        return 0;
    return (double)(lost_until(journal, to) - lost_until(journal, from > last ? from : last));
}

/* The variance of each row's count, that of the profile at the end of the part and that at its
 * beginning together. */
static void variances_add(struct spex_profile *profile, const struct spex_profile *begin,
                          const double *of_begin, const double *of_end) {
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_row *row = &profile->rows[r];
        const struct spex_profile_row *before =
            spex_profile_row_of(begin, row->probe.probe_id, row->probe.probe_type);
        profile->rows[r].probe.count_variance +=
            of_end[r] + (before ? of_begin[before - begin->rows] : 0);
    }
}

/* The difference of the profiles at both ends. */
static int difference_make(struct one *one) {
    struct spex_profile begin = {0}, end = {0};
    double *of_begin = NULL, *of_end = NULL;
    int err = spex_edge_profile(&one->begin, &begin, &of_begin);
    if (!err)
        err = spex_edge_profile(&one->end, &end, &of_end);
    if (!err)
        err = spex_profile_since(&end, &begin, &one->profile);
    if (!err)
        variances_add(&one->profile, &begin, of_begin, of_end);
    spex_profile_free(&begin);
    spex_profile_free(&end);
    free(of_begin);
    free(of_end);
    return err;
}

/* The records that the tracer has been given. */
static uint64_t records_of(const struct one *one) {
    uint64_t records = 0;
    for (unsigned ring = 0; ring < SPEX_PROBE_TYPES; ring++)
        records += spex_tracer_totals(one->tracer, ring).records;
    return records;
}

/* The journal counts what the process has lost and not recorded, which its figures tell as well, and
 * what the recorder has lost, as on a full disk: the process takes that for consumed, or
 * undelivered. */
static void losses_take(struct spex_profile_process *whole, uint64_t noted) {
    uint64_t lost = spex_grown(whole->unrecorded, noted), later = spex_grown(whole->lost, lost);
    whole->consumed = spex_grown(later, whole->consumed);
    whole->undelivered = spex_grown(later, whole->undelivered);
    whole->lost += later;
}

static int one_finish(struct spex_part *part, size_t process) {
    struct one *one = &part->of[process];
    const struct spex_recording_process *of = &part->trace->processes[process];
    struct spex_profile_process *whole = &one->profile.process;
    uint64_t end = part->to < part->trace->end ? part->to : part->trace->end;
    double seconds =
        end > part->from ? (double)(end - part->from) / part->trace->ticks_per_second : 0;
    int err = spex_batches_finish(one->batches);
    if (!err)
        err = difference_make(one);
    if (err)
        return err;
    losses_take(whole, lost_until(&of->journal, part->to) - lost_until(&of->journal, part->from));
    if (!(whole->ticks_per_second > 0))
        whole->ticks_per_second = part->trace->ticks_per_second;
    if (!(whole->seconds > 0))
        whole->seconds = seconds;
    /* Profiles may be older than the records, and a flight recorder's dump has none of their
     * end. */
    uint64_t records = records_of(one);
    if (records > whole->consumed) {
        whole->consumed = records;
        records += whole->lost;
        whole->produced = records > whole->produced ? records : whole->produced;
    }
    rows_filter(&one->profile, &of->journal);
    err = sites_complete(&one->profile, &of->journal);
    err = err ? err : rows_complete(one, &of->journal, seconds);
    double more = lost_at_the_end(&of->journal, part->from, part->to);
    for (size_t r = 0; !err && r < one->profile.row_count; r++) {
        row_fill(one, &one->profile.rows[r]);
        one->profile.rows[r].probe.uncounted +=
            more * fmax((double)one->profile.rows[r].probe.period_last, 1);
    }
    return err;
}

int spex_part_finish(struct spex_part *part) {
    int err = 0;
    for (size_t p = 0; !err && p < part->trace->process_count; p++)
        err = one_finish(part, p);
    return err;
}

const struct spex_profile *spex_part_profile(const struct spex_part *part, size_t process) {
    return &part->of[process].profile;
}
