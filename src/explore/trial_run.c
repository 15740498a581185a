/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trial_run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/ticks.h>

#include "../measure/measure.h"
#include "../selection.h"
#include "deadline.h"
#include "program_run.h"
#include "trial_metrics.h"

struct run {
    const struct spex_trial_setup *setup;
    const struct spex_plan *plan;
    struct spex_trial *trial;
    const struct spex_space *space;
    struct spex_measure *measure;
    struct spex_measured *measured;    /* so far */
    struct spex_selection *selections; /* of the criteria */
    size_t known;                      /* criteria whose probe has been told */
    struct spex_program_run in;
    struct spex_deadline deadline;
    bool stream_ended; /* and the deadline is for the program to end, too */
};

/* Ends the trial with this status, "ok" or how it failed. Returns 1: the run is over. */
__attribute__((format(printf, 2, 3))) static int end_trial(struct run *run, const char *format,
                                                           ...) {
    va_list args;
    va_start(args, format);
    free(run->trial->status);
    if (vasprintf(&run->trial->status, format, args) < 0)
        run->trial->status = NULL; /* looked at by whoever ends the run */
    va_end(args);
    return 1;
}

/* Finds the one probe that a criterion names among the sites told so far. */
static int find_probe(struct run *run, size_t c) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->in.receiver, &count);
    const struct spex_stream_site *found = NULL;
    for (size_t s = 0; s < count; s++) {
        const struct spex_stream_site *site = &sites[s];
        const struct spex_selection_probe probe = {
            .name = site->name,
            .type = site->probe_type,
            .subsample = 1,
            .id = site->probe_id,
        };
        if (!spex_selection_sampling(&run->selections[c], &probe).period)
            continue;
        if (found && found->probe_id != site->probe_id)
            return end_trial(run, "%s names two probes of the program, with ids %u and %u",
                             run->space->criteria[c].probe, found->probe_id, site->probe_id);
        found = site;
    }
    if (found) {
        spex_measure_probe(run->measure, c, found->probe_id, found->probe_type);
        run->known |= (size_t)1 << c;
    }
    return 0;
}

static bool is_known(const struct run *run, size_t criterion) {
    return run->known >> criterion & 1;
}

static int find_probes(struct run *run) {
    int over = 0;
    for (size_t c = 0; c < run->space->criterion_count && !over; c++)
        if (!is_known(run, c))
            over = find_probe(run, c);
    return over;
}

/* Ends the trial with what has been measured. */
static int succeed(struct run *run) {
    /* The warm-up is over, so that there is nothing left to be used: values become exact. */
    const struct spex_record *used;
    size_t used_count;
    spex_measure_end(run->measure, &used, &used_count);
    spex_measure_values(run->measure, run->trial->measured);
    for (size_t c = 0; c < run->space->criterion_count; c++) {
        const struct spex_criterion *criterion = &run->space->criteria[c];
        if (!is_known(run, c))
            return end_trial(run, "has made no record of %s", criterion->probe);
        if (isnan(run->trial->measured[c].value))
            return end_trial(run, "the records of %s have no %s%s", criterion->probe,
                             criterion->metric, criterion->field ? " of this field" : "");
    }
    run->trial->ok = true;
    return end_trial(run, "ok");
}

/* 1 when the policy has seen enough. */
static int ask_policy(struct run *run) {
    const struct spex_policy_ops *policy = run->setup->policy;
    struct spex_run so_far = spex_measure_run(run->measure);
    if (so_far.records == 0)
        return 0;
    spex_measure_values(run->measure, run->measured);
    so_far.levels = run->plan->levels;
    so_far.measured = run->measured;
    pthread_mutex_lock(run->setup->policy_lock);
    bool enough = spex_policy_stop_run(policy, run->setup->policy_state, run->space, &so_far);
    pthread_mutex_unlock(run->setup->policy_lock);
    return enough ? succeed(run) : 0;
}

static int show_policy(struct run *run, const struct spex_record *used, size_t count) {
    const struct spex_policy_ops *policy = run->setup->policy;
    if (count == 0)
        return 0;
    if (policy->process_records) {
        pthread_mutex_lock(run->setup->policy_lock);
        policy->process_records(run->setup->policy_state, used, count);
        pthread_mutex_unlock(run->setup->policy_lock);
    }
    return ask_policy(run);
}

/* Feeds the records that are complete to the measure and the policy. 1: the run is over; negative:
 * our error. */
static int take_records(struct run *run, bool all, struct spex_why *why) {
    int over = find_probes(run);
    if (over)
        return over;
    size_t count, used_count;
    bool started = spex_measure_started(run->measure);
    const struct spex_record *used, *records = spex_receiver_records(run->in.receiver, all, &count);
    if (spex_measure_add(run->measure, records, count, &used, &used_count))
        return spex_fail(why, -ENOMEM, "out of memory");
    if (!started && spex_measure_started(run->measure))
        run->deadline = spex_deadline_in(run->plan->duration_seconds);
    return show_policy(run, used, used_count);
}

/* No more records will be taken: a warm-up that was not seen to be over ends with this. */
static int end_records(struct run *run, struct spex_why *why) {
    const struct spex_record *used;
    size_t used_count;
    if (spex_measure_end(run->measure, &used, &used_count))
        return spex_fail(why, -ENOMEM, "out of memory");
    return show_policy(run, used, used_count);
}

/* *more: whether another call would find something without waiting. */
static int take_stream(struct run *run, bool *more, struct spex_why *why) {
    struct spex_why reason;
    int got = spex_receiver_take(run->in.receiver, &reason);
    *more = got > 0;
    if (got == -ENOMEM)
        return spex_fail(why, got, "%s", reason.text);
    if (got < 0)
        return end_trial(run, "%s", reason.text);
    return take_records(run, false, why);
}

/* What has come so far; of a program that keeps sending, as much as it can have sent meanwhile. */
static int take_all(struct run *run, struct spex_why *why) {
    bool more = true;
    int over = 0;
    for (int rounds = 0; !over && more && rounds < 64; rounds++)
        over = take_stream(run, &more, why);
    return over;
}

/* The program is gone: what it had sent may still be enough. Its end of the stream need not be
 * closed: a child of it may hold it. */
static int take_the_rest(struct run *run, struct spex_why *why) {
    spex_program_output(&run->in.program);
    int over = take_all(run, why);
    over = over ? over : take_records(run, true, why);
    over = over ? over : end_records(run, why);
    if (over)
        return over;
    char how[384];
    spex_program_describe(&run->in.program, how, sizeof(how));
    return end_trial(run, "%s", how);
}

/* Too long for a first record. */
static int fail_startup(struct run *run, const char *words) {
    const char *objective = run->space->criteria[0].probe;
    double limit = run->space->rules.startup_seconds;
    char probes[256];
    if (!spex_receiver_connected(run->in.receiver))
        return end_trial(run, "did not call spex_start in %g s%s", limit, words);
    if (is_known(run, 0))
        return end_trial(run, "hung: no record of %s in %g s%s", objective, limit, words);
    spex_receiver_list_probes(run->in.receiver, probes, sizeof(probes));
    return end_trial(run, "has no probe %s; it has: %s", objective, probes);
}

/* The longest a run may take is over: a slow configuration has been measured with fewer records
 * than the policy wanted, a program that hangs has failed. */
static int end_by_duration(struct run *run, const char *words) {
    const char *objective = run->space->criteria[0].probe;
    double limit = run->plan->duration_seconds;
    uint64_t now = spex_ticks();
    if (spex_measure_run(run->measure).records == 0)
        return end_trial(run, "hung: no record of %s after the warm-up in %g s%s", objective, limit,
                         words);
    if (spex_measure_silent(run->measure, now))
        return end_trial(run, "hung: the records of %s ended %.3g s before the run did%s",
                         objective, spex_measure_silence(run->measure, now), words);
    return succeed(run);
}

/* We may have been late ourselves: what has come meanwhile is looked at first. */
static int deadline_over(struct run *run, struct spex_why *why) {
    char words[256];
    int64_t before = run->deadline.monotonic_ns;
    int over = take_all(run, why);
    if (over || run->deadline.monotonic_ns != before)
        return over;
    over = end_records(run, why);
    if (over)
        return over;
    spex_program_output(&run->in.program);
    spex_program_last_output(&run->in.program, words, sizeof(words));
    if (run->stream_ended)
        return end_trial(run, "ended its records before the run was over%s", words);
    if (spex_measure_started(run->measure))
        return end_by_duration(run, words);
    return fail_startup(run, words);
}

/* No more records will come. A program that ends has a moment to show how. */
static void expect_end(struct run *run) {
    struct spex_deadline soon = spex_deadline_in(1);
    run->stream_ended = true;
    if (soon.monotonic_ns < run->deadline.monotonic_ns)
        run->deadline = soon;
}

/* A trial whose load has ended is none. */
static int look_around(struct run *run) {
    struct spex_why reason;
    return spex_trial_agent_step(&run->in.around, &reason) ? end_trial(run, "%s", reason.text) : 0;
}

/* One wait, and what came of it. 0: go on; 1: the trial is over; negative: our error. */
static int step(struct run *run, struct spex_why *why) {
    struct pollfd fds[SPEX_RUN_FDS];
    int ready = spex_program_run_wait(&run->in, fds, spex_deadline_left_ms(run->deadline), why);
    if (ready < 0)
        return ready;
    if (fds[SPEX_RUN_STOP].revents && ready)
        return spex_fail(why, -EINTR, "interrupted");
    if (ready && fds[SPEX_RUN_OUTPUT].revents)
        spex_program_output(&run->in.program);
    if (ready && look_around(run))
        return 1;
    if (ready && fds[SPEX_RUN_PROGRAM].revents && spex_program_ended(&run->in.program))
        return take_the_rest(run, why);
    if (spex_deadline_left_ms(run->deadline) == 0)
        return deadline_over(run, why);
    bool more;
    int over = ready ? take_stream(run, &more, why) : 0;
    if (!over && !run->stream_ended && spex_receiver_ended(run->in.receiver))
        expect_end(run);
    return over;
}

static int run_watch(struct run *run, struct spex_why *why) {
    int over = 0;
    run->deadline = spex_deadline_in(run->space->rules.startup_seconds);
    while (!over)
        over = step(run, why);
    return over < 0 ? over : 0;
}

/* What the trial has besides the criteria's values. */
static int run_account(struct run *run, struct spex_why *why) {
    struct spex_run all = spex_measure_run(run->measure);
    size_t site_count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->in.receiver, &site_count);
    run->trial->records_used = all.records;
    run->trial->records_lost = spex_receiver_lost(run->in.receiver);
    run->trial->seconds = all.seconds;
    run->trial->steady = spex_measure_steady(run->measure);
    if (!run->trial->status ||
        spex_trial_metrics(run->trial, spex_measure_tracer(run->measure),
                           run->setup->ticks_per_second, all.seconds, sites, site_count))
        return spex_fail(why, -ENOMEM, "out of memory");
    return 0;
}

/* 0; 1: the trial has failed; or negative. */
static int run_begin(struct run *run, struct spex_why *why) {
    const struct spex_trial_setup *setup = run->setup;
    struct spex_why reason;
    int over = spex_program_run_begin(&run->in, setup->file, setup->argv, run->plan->levels,
                                      run->plan->probes, setup->cpus, &reason);
    if (over < 0)
        return spex_fail(why, over, "%s", reason.text);
    return over ? end_trial(run, "%s", reason.text) : 0;
}

static int run_trial(struct run *run, struct spex_why *why) {
    int over = run_begin(run, why);
    if (over)
        return over < 0 ? over : run_account(run, why);
    int err = run_watch(run, why);
    if (!err && !run->trial->ok && spex_receiver_late(run->in.receiver))
        err = spex_fail(why, -EAGAIN, "spex was held up for over a second");
    return err ? err : run_account(run, why);
}

static int run_prepare(struct run *run, struct spex_why *why) {
    const struct spex_trial_setup *setup = run->setup;
    size_t criteria = run->space->criterion_count;
    run->selections = calloc(criteria, sizeof(*run->selections));
    run->measured = calloc(criteria, sizeof(*run->measured));
    if (!run->selections || !run->measured ||
        spex_measure_create(run->space, setup->ticks_per_second, &run->measure))
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = 0;
    for (size_t c = 0; c < criteria && !err; c++)
        err = spex_selection_parse(run->space->criteria[c].probe, &run->selections[c], why->text,
                                   sizeof(why->text));
    return err ? err : spex_program_run_prepare(&run->in, run->space, run->plan->levels, why);
}

static void run_release(struct run *run) {
    for (size_t c = 0; run->selections && c < run->space->criterion_count; c++)
        spex_selection_free(&run->selections[c]);
    spex_measure_destroy(run->measure);
    free(run->selections);
    free(run->measured);
    spex_program_run_release(&run->in);
}

int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_why *why) {
    struct run run = {.setup = setup, .space = &setup->file->space, .plan = plan, .trial = trial};
    spex_program_run_init(&run.in, setup->directory, setup->stop_fd);
    int err = run_prepare(&run, why);
    err = err ? err : run_trial(&run, why);
    err = spex_program_run_end(&run.in, err, trial, why);
    run_release(&run);
    return err;
}
