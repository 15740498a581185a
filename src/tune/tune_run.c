/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tune_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/ticks.h>

#include "../clock.h"
#include "../measure/criterion.h"
#include "../measure/measure.h"
#include "../rings.h"
#include "../selection.h"
#include "../service_thread.h"
#include "../sites.h"

struct run {
    const struct spex_tune_setup *setup;
    const struct spex_plan *plan;
    const struct spex_space *space;
    struct spex_trial *trial;
    struct spex_measure *measure;
    struct spex_measured measured[SPEX_CRITERIA_MAX];    /* so far */
    struct spex_selection selections[SPEX_CRITERIA_MAX]; /* of the criteria */
    bool known[SPEX_CRITERIA_MAX];                       /* the criterion's probe is */
    uint32_t sites;                                      /* that have been looked at */
    struct spex_selection probes;                        /* of the plan */
    uint64_t deadline_ns;
    uint64_t lost; /* when it began */
};

int spex_tune_status(struct spex_trial *trial, const char *format, ...) {
    va_list args;
    va_start(args, format);
    free(trial->status);
    int length = vasprintf(&trial->status, format, args);
    va_end(args);
    if (length >= 0)
        return 0;
    trial->status = NULL;
    return -ENOMEM;
}

/* 1: the run is over; negative: our error. */
#define END_TRIAL(run, ...) (spex_tune_status((run)->trial, __VA_ARGS__) ? -ENOMEM : 1)

static uint64_t in_seconds(double seconds) {
    return spex_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
}

/* Finds the one probe that a criterion names. */
static int find_probe(struct run *run, size_t c) {
    const struct spex_site_info *found = NULL;
    for (uint32_t i = 0; i < run->sites; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        const struct spex_selection_probe by = spex_site_selected_by(info);
        if (spex_site_is_region(info) || !spex_selection_sampling(&run->selections[c], &by).period)
            continue;
        if (found && found->probe_id != info->probe_id)
            return END_TRIAL(run, "%s names two probes of the program, with ids %u and %u",
                             run->space->criteria[c].probe, found->probe_id, info->probe_id);
        found = info;
    }
    if (found)
        spex_measure_probe(run->measure, c, found->probe_id, found->probe_type);
    run->known[c] = found != NULL;
    return 0;
}

/* When libraries have been loaded, probes have come with them. */
static int find_probes(struct run *run) {
    int over = 0;
    uint32_t sites = spex_sites_count();
    if (sites == run->sites)
        return 0;
    run->sites = sites;
    spex_feed_select(run->setup->feed, &run->probes);
    for (size_t c = 0; c < run->space->criterion_count && !over; c++)
        if (!run->known[c])
            over = find_probe(run, c);
    return over;
}

/* Ends the trial with what has been measured. */
static int succeed(struct run *run) {
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_end(run->measure, &used, &used_count))
        return -ENOMEM;
    spex_measure_values(run->measure, run->trial->measured);
    for (size_t c = 0; c < run->space->criterion_count; c++) {
        const struct spex_criterion *criterion = &run->space->criteria[c];
        if (!isnan(run->trial->measured[c].value))
            continue;
        if (!run->known[c])
            return END_TRIAL(run, "has no probe %s", criterion->probe);
        return END_TRIAL(run, "no record of %s has a %s%s", criterion->probe, criterion->metric,
                         criterion->field ? " of this field" : "");
    }
    run->trial->ok = true;
    return END_TRIAL(run, "ok");
}

static int show_policy(struct run *run, const struct spex_record *used, size_t count) {
    const struct spex_policy_ops *policy = run->setup->policy;
    if (count == 0)
        return 0;
    if (policy->process_records)
        policy->process_records(run->setup->policy_state, used, count);
    struct spex_run so_far = spex_measure_run(run->measure);
    spex_measure_values(run->measure, run->measured);
    so_far.levels = run->plan->levels;
    so_far.measured = run->measured;
    if (so_far.records == 0 ||
        !spex_policy_stop_run(policy, run->setup->policy_state, run->setup->space, &so_far))
        return 0;
    return succeed(run);
}

/* *until: all that was made before has been taken. */
static int take_records(struct run *run, uint64_t *until) {
    const struct spex_record *records, *used;
    size_t count, used_count;
    int over = find_probes(run);
    over = over ? over : spex_feed_take(run->setup->feed, &records, &count, until);
    if (over || count == 0)
        return over;
    bool started = spex_measure_started(run->measure);
    if (spex_measure_add(run->measure, records, count, &used, &used_count))
        return -ENOMEM;
    if (!started && spex_measure_started(run->measure))
        run->deadline_ns = in_seconds(run->plan->duration_seconds);
    return show_policy(run, used, used_count);
}

static bool is_off(const struct run *run, size_t c) {
    for (uint32_t i = 0; i < run->sites; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        const struct spex_selection_probe by = spex_site_selected_by(info);
        bool loaded;
        if (!spex_site_is_region(info) &&
            spex_selection_sampling(&run->selections[c], &by).period &&
            spex_site_sampling(i, &loaded).period)
            return false;
    }
    return true;
}

/* Too long for a first record. */
static int fail_startup(struct run *run) {
    const char *objective = run->space->criteria[0].probe;
    if (!run->known[0])
        return END_TRIAL(run, "has no probe %s", objective);
    return END_TRIAL(run, "no record of %s in %g s%s", objective, run->space->rules.startup_seconds,
                     is_off(run, 0) ? ": it is off" : "");
}

/* The longest a run may take is over: a slow configuration has been measured with fewer records than the policy wanted,
 * one with which the program hangs has failed. */
static int end_by_duration(struct run *run, uint64_t until) {
    const char *objective = run->space->criteria[0].probe;
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_end(run->measure, &used, &used_count))
        return -ENOMEM;
    int over = show_policy(run, used, used_count);
    if (over)
        return over;
    if (spex_measure_run(run->measure).records == 0)
        return END_TRIAL(run, "no record of %s after the warm-up in %g s", objective,
                         run->plan->duration_seconds);
    if (spex_measure_silent(run->measure, until))
        return END_TRIAL(run, "the records of %s ended %.3g s before the run did", objective,
                         spex_measure_silence(run->measure, until));
    return succeed(run);
}

static int step(struct run *run) {
    uint64_t until = 0, deadline_ns = run->deadline_ns;
    spex_feed_wait(run->setup->feed, deadline_ns);
    if (spex_feed_stopped(run->setup->feed))
        return -ECANCELED;
    bool late = spex_clock_ns(CLOCK_MONOTONIC) >= deadline_ns;
    int over = take_records(run, &until);
    if (over || !late || run->deadline_ns != deadline_ns)
        return over;
    return spex_measure_started(run->measure) ? end_by_duration(run, until) : fail_startup(run);
}

static int watch(struct run *run) {
    int over = 0;
    run->lost = spex_rings_totals().lost;
    run->deadline_ns = in_seconds(run->space->rules.startup_seconds);
    spex_feed_begin(run->setup->feed, &run->probes, spex_ticks());
    while (!over) {
        over = step(run);
        spex_service_cpu_note(run->setup->cpu_ns);
    }
    uint64_t lost = spex_rings_totals().lost;
    struct spex_run all = spex_measure_run(run->measure);
    run->trial->records_used = all.records;
    run->trial->records_lost = spex_feed_dropped(run->setup->feed) + lost - run->lost;
    run->trial->seconds = all.seconds;
    spex_feed_end(run->setup->feed);
    return over < 0 ? over : 0;
}

static int prepare(struct run *run, struct spex_why *why) {
    int err = spex_selection_parse(run->plan->probes, &run->probes, why->text, sizeof(why->text));
    for (size_t c = 0; c < run->space->criterion_count && !err; c++)
        err = spex_selection_parse(run->space->criteria[c].probe, &run->selections[c], why->text,
                                   sizeof(why->text));
    if (err)
        return err;
    if (spex_measure_create(run->space, run->setup->ticks_per_second, &run->measure))
        return spex_fail(why, -ENOMEM, "out of memory");
    return 0;
}

int spex_tune_run(const struct spex_tune_setup *setup, const struct spex_plan *plan,
                  struct spex_trial *trial, struct spex_why *why) {
    struct run run = {.setup = setup, .plan = plan, .space = setup->space, .trial = trial};
    int err = prepare(&run, why);
    if (!err) {
        err = watch(&run);
        if (err)
            spex_why_set(why, "%s", err == -ENOMEM ? "out of memory" : "stopped");
    }
    spex_measure_destroy(run.measure);
    for (size_t c = 0; c < run.space->criterion_count; c++)
        spex_selection_free(&run.selections[c]);
    spex_selection_free(&run.probes);
    return err;
}
