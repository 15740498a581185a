/* SPDX-License-Identifier: MIT */
#include "trace/read/edge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grown.h"
#include "base/student.h"
#include "observe/profile_sum.h"
#include "profile/held.h"

/* A collection that began at most so many seconds before the trace began with it. */
#define SAME_BEGINNING 0.1

static double seconds_of(const struct spex_edge *edge, uint64_t ticks) {
    return (double)ticks / edge->trace->ticks_per_second;
}

/* Whether nothing had been counted when the trace began, as its first profile tells, or its
 * first words: the recorder may have been held up before it received a profile. */
static bool began_with_trace(const struct spex_edge *edge, const struct spex_profile *profile,
                             uint64_t ticks) {
    const struct spex_journal *journal = &edge->process->journal;
    if (journal->anchor_count && journal->anchors[0].whole)
        return true;
    return ticks >= edge->trace->begin &&
           profile->process.seconds <=
               seconds_of(edge, ticks - edge->trace->begin) + SAME_BEGINNING;
}

/* Reads the profiles around the moment: number `next` is the first behind it. */
static int profiles_read(struct spex_edge *edge, size_t next, struct spex_error *error) {
    const struct spex_journal *journal = &edge->process->journal;
    int err = 0;
    if (next > 0) {
        err = spex_journal_profile(journal, next - 1, &edge->first, error);
        edge->have_first = !err;
        edge->from = journal->profiles[next - 1].ticks;
    }
    if (!err && next < journal->profile_count) {
        err = spex_journal_profile(journal, next, &edge->last, error);
        edge->have_last = !err;
        edge->to = journal->profiles[next].ticks;
    }
    if (!err && next == 0 && edge->have_last && began_with_trace(edge, &edge->last, edge->to)) {
        edge->have_first = true;
        edge->from = edge->trace->begin;
    }
    return err;
}

int spex_edge_open(struct spex_edge *edge, const struct spex_recording *trace, size_t process,
                   uint64_t at, struct spex_error *error) {
    const struct spex_journal *journal = &trace->processes[process].journal;
    size_t next = 0;
    *edge = (struct spex_edge){
        .trace = trace, .process = &trace->processes[process], .at = at, .from = at, .to = at};
    edge->before = calloc(journal->class_count + 1, sizeof(*edge->before));
    edge->after = calloc(journal->class_count + 1, sizeof(*edge->after));
    if (!edge->before || !edge->after)
        return spex_fail(error, -ENOMEM, "out of memory");
    while (next < journal->profile_count && journal->profiles[next].ticks < at)
        next++;
    return profiles_read(edge, next, error);
}

void spex_edge_close(struct spex_edge *edge) {
    spex_profile_free(&edge->first);
    spex_profile_free(&edge->last);
    free(edge->before);
    free(edge->after);
}

/* The sums of all classes of a probe. */
static struct spex_edge_sums sums_of(const struct spex_edge *edge,
                                     const struct spex_edge_sums *by_class,
                                     const struct spex_profile_probe *probe) {
    const struct spex_journal *journal = &edge->process->journal;
    struct spex_edge_sums sums = {0};
    for (size_t c = 0; c < journal->class_count; c++) {
        const struct spex_recording_class *class = &journal->classes[c];
        if (!class->known || class->probe_id != probe->probe_id ||
            class->probe_type != probe->probe_type)
            continue;
        sums.weight += by_class[c].weight;
        sums.records += by_class[c].records;
    }
    return sums;
}

/* Executions between the profiles whose records may be lost, of `without` that no record stands
 * for: they may have been at any time. */
static double executions_lost(const struct spex_edge *edge, const struct spex_profile_probe *probe,
                              double without) {
    const struct spex_recording_mark *ended = spex_journal_ended(&edge->process->journal, NULL);
    double lost = (double)spex_grown(edge->first.process.lost, edge->last.process.lost);
    return ended && ended->ticks < edge->to ? without
                                            : fmin(without, lost * fmax(probe->period_last, 1));
}

/* Executions from the first profile to the moment, of `all` up to the last one. Where the records
 * stand for all of them, their weights are the count; else these divide it, as chance has drawn the
 * records. What no record tells of may have been at any time. */
static double executions_before(const struct spex_edge *edge,
                                const struct spex_profile_probe *probe, double all,
                                double *variance) {
    struct spex_edge_sums before = sums_of(edge, edge->before, probe),
                          after = sums_of(edge, edge->after, probe);
    double weight = before.weight + after.weight, records = before.records + after.records;
    *variance = 0;
    if (edge->at == edge->from || edge->at == edge->to)
        return edge->at == edge->from ? 0 : all;
    if (fabs(all - weight) < 0.5)
        return before.weight;
    double part = (double)(edge->at - edge->from) / (double)(edge->to - edge->from);
    double chance = 0, anywhere = all;
    if (weight > 0) {
        part = before.weight / weight;
        chance = all * all * part * (1 - part) / records;
        anywhere = executions_lost(edge, probe, fmax(all - weight, 0));
    }
    *variance = chance + pow(anywhere * fmax(part, 1 - part) / SPEX_NORMAL_95, 2);
    return all * part;
}

static double between(double first, double last, double part) {
    return first + (last - first) * part;
}

static uint64_t number_between(uint64_t first, uint64_t last, double part) {
    return last > first && part < 1 ? first + (uint64_t)((double)(last - first) * part) : last;
}

/* Sets a row that stands at the last profile to the moment between the two. */
static void row_between(const struct spex_edge *edge, struct spex_profile_probe *row,
                        const struct spex_profile_probe *first, double part, double *variance) {
    row->count =
        first->count + executions_before(edge, row, fmax(row->count - first->count, 0), variance);
    spex_held_between(row, first, part);
    row->on_seconds = between(first->on_seconds, row->on_seconds, part);
    row->polled_seconds = between(first->polled_seconds, row->polled_seconds, part);
    row->held_seconds = between(first->held_seconds, row->held_seconds, part);
    row->lost = between(first->lost, row->lost, part);
    row->spans_abandoned = number_between(first->spans_abandoned, row->spans_abandoned, part);
    row->spans_refused = number_between(first->spans_refused, row->spans_refused, part);
    row->spans_unmatched = number_between(first->spans_unmatched, row->spans_unmatched, part);
}

static void process_between(struct spex_profile_process *process,
                            const struct spex_profile_process *first, double part) {
    process->seconds = between(first->seconds, process->seconds, part);
    process->program_seconds = between(first->program_seconds, process->program_seconds, part);
    process->collector_seconds =
        between(first->collector_seconds, process->collector_seconds, part);
    process->budget_seconds = between(first->budget_seconds, process->budget_seconds, part);
    process->budget_spent = between(first->budget_spent, process->budget_spent, part);
    process->produced = number_between(first->produced, process->produced, part);
    process->consumed = number_between(first->consumed, process->consumed, part);
    process->lost = number_between(first->lost, process->lost, part);
    process->undelivered = number_between(first->undelivered, process->undelivered, part);
    process->unrecorded = number_between(first->unrecorded, process->unrecorded, part);
    process->unfollowed = number_between(first->unfollowed, process->unfollowed, part);
}

/* A profile that is empty, since the collection began there, has no types. */
static void types_between(struct spex_profile *profile, const struct spex_profile *first,
                          double part) {
    static const struct spex_profile_type none;
    for (size_t t = 0; t < profile->type_count; t++) {
        const struct spex_profile_type *before = t < first->type_count ? &first->types[t] : &none;
        struct spex_profile_type *type = &profile->types[t];
        type->produced = number_between(before->produced, type->produced, part);
        type->lost = number_between(before->lost, type->lost, part);
    }
}

/* The same row of another profile; one of zeros where there is none. */
static const struct spex_profile_probe *same_row(const struct spex_profile *profile,
                                                 const struct spex_profile_row *row) {
    static const struct spex_profile_probe none;
    const struct spex_profile_row *found =
        spex_profile_row_of(profile, row->probe.probe_id, row->probe.probe_type);
    return found ? &found->probe : &none;
}

/* Beyond the first or last profile: records tell executions, and what is on stays on. */
static void row_beyond(const struct spex_edge *edge, struct spex_profile_probe *row, bool behind) {
    double seconds =
        behind ? seconds_of(edge, edge->at - edge->from) : -seconds_of(edge, edge->to - edge->at);
    double weight =
        behind ? sums_of(edge, edge->before, row).weight : -sums_of(edge, edge->after, row).weight;
    row->count = fmax(row->count + weight, 0);
    if (row->period)
        row->on_seconds = fmax(row->on_seconds + seconds, 0);
}

/* A copy of what a profile owns, without values. */
static int profile_copy(struct spex_profile *to, const struct spex_profile *from) {
    static const struct spex_profile nothing;
    return spex_profile_since(from, &nothing, to);
}

static void profile_between(const struct spex_edge *edge, struct spex_profile *profile,
                            double *variances) {
    double part = edge->to > edge->from
                      ? (double)(edge->at - edge->from) / (double)(edge->to - edge->from)
                      : 0;
    for (size_t r = 0; r < profile->row_count; r++)
        row_between(edge, &profile->rows[r].probe, same_row(&edge->first, &profile->rows[r]), part,
                    &variances[r]);
    process_between(&profile->process, &edge->first.process, part);
    types_between(profile, &edge->first, part);
}

static void profile_beyond(const struct spex_edge *edge, struct spex_profile *profile) {
    bool behind = edge->have_first;
    double seconds =
        behind ? seconds_of(edge, edge->at - edge->from) : -seconds_of(edge, edge->to - edge->at);
    profile->process.seconds = fmax(profile->process.seconds + seconds, 0);
    for (size_t r = 0; r < profile->row_count; r++)
        row_beyond(edge, &profile->rows[r].probe, behind);
}

int spex_edge_profile(const struct spex_edge *edge, struct spex_profile *profile,
                      double **variances) {
    const struct spex_profile *from = edge->have_last ? &edge->last : &edge->first;
    *profile = (struct spex_profile){0};
    *variances = calloc(from->row_count + 1, sizeof(**variances));
    int err = *variances ? profile_copy(profile, from) : -ENOMEM;
    if (err || (!edge->have_first && !edge->have_last))
        return err;
    if (edge->have_first && edge->have_last)
        profile_between(edge, profile, *variances);
    else
        profile_beyond(edge, profile);
    return 0;
}
