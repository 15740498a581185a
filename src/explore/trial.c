/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/probe.h>

#include "../selection.h"
#include "config_file.h"
#include "deadline.h"
#include "program.h"
#include "receiver.h"

struct run {
    const struct spex_trial_setup *setup;
    const struct spex_plan *plan;
    struct spex_trial *trial;
    struct spex_selection objective;
    bool objective_known;
    struct spex_program program;
    struct spex_receiver *receiver;
    char *config;
    char *socket;
    struct spex_deadline deadline;
    bool stream_ended; /* and the deadline is for the program to end, too */
};

/* Ends the trial as failed. Returns 1: the run is over. */
__attribute__((format(printf, 2, 3))) static int fail_trial(struct run *run, const char *format,
                                                            ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(run->trial->status, sizeof(run->trial->status), format, args);
    va_end(args);
    return 1;
}

/* Finds the one probe that the objective names among the sites told so far. */
static int find_objective(struct run *run) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->receiver, &count);
    const struct spex_stream_site *found = NULL;
    for (size_t s = 0; s < count; s++) {
        const struct spex_stream_site *site = &sites[s];
        const struct spex_selection_probe probe = {
            .name = site->name,
            .type = site->probe_type,
            .subsample = 1,
            .id = site->probe_id,
        };
        if (!spex_selection_sampling(&run->objective, &probe).period)
            continue;
        if (found && found->probe_id != site->probe_id)
            return fail_trial(run, "%s names two probes of the program, with ids %u and %u",
                              run->setup->space->objective.probe, found->probe_id, site->probe_id);
        found = site;
    }
    if (found) {
        spex_measure_objective(run->trial->measure, found->probe_id, found->probe_type);
        run->objective_known = true;
    }
    return 0;
}

/* Ends the trial with what has been measured. */
static int succeed(struct run *run) {
    const struct spex_objective *objective = &run->setup->space->objective;
    if (!spex_measure_value(run->trial->measure, &run->trial->objective))
        return fail_trial(run, "the records of %s have no %s", objective->probe, objective->metric);
    run->trial->ok = true;
    snprintf(run->trial->status, sizeof(run->trial->status), "ok");
    return 1;
}

/* 1 when the policy has seen enough. */
static int ask_policy(struct run *run) {
    const struct spex_policy_ops *policy = run->setup->policy;
    struct spex_run so_far = spex_measure_run(run->trial->measure);
    so_far.levels = run->plan->levels;
    if (so_far.records == 0 || !policy->stop_run(run->setup->policy_state, &so_far))
        return 0;
    return succeed(run);
}

/* Feeds the records that are complete to the measure and the policy. 1: the run is over; negative:
 * our error. */
static int take_records(struct run *run, bool all, struct spex_why *why) {
    const struct spex_policy_ops *policy = run->setup->policy;
    int over = run->objective_known ? 0 : find_objective(run);
    if (over)
        return over;
    size_t count, used;
    bool started = spex_measure_started(run->trial->measure);
    const struct spex_record *records = spex_receiver_records(run->receiver, all, &count);
    if (spex_measure_add(run->trial->measure, records, count, &used))
        return spex_fail(why, -ENOMEM, "out of memory");
    if (!started && spex_measure_started(run->trial->measure))
        run->deadline = spex_deadline_in(run->setup->space->rules.duration_seconds);
    if (used == count)
        return 0;
    if (policy->process_records)
        policy->process_records(run->setup->policy_state, records + used, count - used);
    return ask_policy(run);
}

/* *more: whether another call would find something without waiting. */
static int take_stream(struct run *run, bool *more, struct spex_why *why) {
    struct spex_why reason;
    int got = spex_receiver_take(run->receiver, &reason);
    *more = got > 0;
    if (got == -ENOMEM)
        return spex_fail(why, got, "%s", reason.text);
    if (got < 0)
        return fail_trial(run, "%s", reason.text);
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
    spex_program_output(&run->program);
    int over = take_all(run, why);
    over = over ? over : take_records(run, true, why);
    if (over)
        return over;
    char how[384];
    spex_program_describe(&run->program, how, sizeof(how));
    return fail_trial(run, "%s", how);
}

/* Too long for a first record. */
static int fail_startup(struct run *run, const char *words) {
    const char *objective = run->setup->space->objective.probe;
    double limit = run->setup->space->rules.startup_seconds;
    char probes[256];
    if (!spex_receiver_connected(run->receiver))
        return fail_trial(run, "did not call spex_start in %g s%s", limit, words);
    if (run->objective_known)
        return fail_trial(run, "hung: no record of %s in %g s%s", objective, limit, words);
    spex_receiver_list_probes(run->receiver, probes, sizeof(probes));
    return fail_trial(run, "has no probe %s; it has: %s", objective, probes);
}

/* The longest a run may take is over: a slow configuration has been measured with fewer records
 * than the policy wanted, a program that hangs has failed. */
static int end_by_duration(struct run *run, const char *words) {
    const char *objective = run->setup->space->objective.probe;
    double limit = run->setup->space->rules.duration_seconds;
    uint64_t now = spex_ticks();
    if (spex_measure_run(run->trial->measure).records == 0)
        return fail_trial(run, "hung: no record of %s after the warm-up in %g s%s", objective,
                          limit, words);
    if (spex_measure_silent(run->trial->measure, now))
        return fail_trial(run, "hung: the records of %s ended %.3g s before the run did%s",
                          objective, spex_measure_silence(run->trial->measure, now), words);
    return succeed(run);
}

/* We may have been late ourselves: what has come meanwhile is looked at first. */
static int deadline_over(struct run *run, struct spex_why *why) {
    char words[256];
    int64_t before = run->deadline.monotonic_ns;
    int over = take_all(run, why);
    if (over || run->deadline.monotonic_ns != before)
        return over;
    spex_program_output(&run->program);
    spex_program_last_output(&run->program, words, sizeof(words));
    if (run->stream_ended)
        return fail_trial(run, "ended its records before the run was over%s", words);
    if (spex_measure_started(run->trial->measure))
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

enum { STOP, OUTPUT, PROGRAM, STREAM, FDS = STREAM + SPEX_RECEIVER_FDS };

static int wait_for_something(struct run *run, struct pollfd *fds, struct spex_why *why) {
    const int wanted[] = {[STOP] = run->setup->stop_fd,
                          [OUTPUT] = run->program.output,
                          [PROGRAM] = run->program.pidfd};
    int streams[SPEX_RECEIVER_FDS];
    spex_receiver_fds(run->receiver, streams);
    for (int f = 0; f < FDS; f++)
        fds[f] =
            (struct pollfd){.fd = f < STREAM ? wanted[f] : streams[f - STREAM], .events = POLLIN};
    int ready = poll(fds, FDS, spex_deadline_left_ms(run->deadline));
    if (ready < 0 && errno != EINTR)
        return spex_fail(why, -errno, "cannot wait for the program: %s", strerror(errno));
    return ready < 0 ? 0 : ready;
}

/* One wait, and what came of it. 0: go on; 1: the trial is over; negative: our error. */
static int step(struct run *run, struct spex_why *why) {
    struct pollfd fds[FDS];
    int ready = wait_for_something(run, fds, why);
    if (ready < 0)
        return ready;
    if (fds[STOP].revents && ready)
        return spex_fail(why, -EINTR, "interrupted");
    if (ready && fds[OUTPUT].revents)
        spex_program_output(&run->program);
    if (ready && fds[PROGRAM].revents && spex_program_ended(&run->program))
        return take_the_rest(run, why);
    if (spex_deadline_left_ms(run->deadline) == 0)
        return deadline_over(run, why);
    bool more;
    int over = ready ? take_stream(run, &more, why) : 0;
    if (!over && !run->stream_ended && spex_receiver_ended(run->receiver))
        expect_end(run);
    return over;
}

static int run_watch(struct run *run, struct spex_why *why) {
    int over = 0;
    run->deadline = spex_deadline_in(run->setup->space->rules.startup_seconds);
    while (!over)
        over = step(run, why);
    return over < 0 ? over : 0;
}

static int run_launch(struct run *run, struct spex_why *why) {
    struct spex_launch launch = {
        .argv = run->setup->argv,
        .config = run->config,
        .probes = run->plan->probes,
        .socket = run->socket,
    };
    struct spex_why reason;
    if (spex_program_launch(&run->program, &launch, &reason)) {
        fail_trial(run, "%s", reason.text);
        return 0;
    }
    int err = run_watch(run, why);
    if (!err && !run->trial->ok && spex_receiver_late(run->receiver))
        err = spex_fail(why, -EAGAIN, "spex was held up for over a second");
    struct spex_run all = spex_measure_run(run->trial->measure);
    run->trial->records_used = all.records;
    run->trial->records_lost = spex_receiver_lost(run->receiver);
    run->trial->seconds = all.seconds;
    return err;
}

static int run_prepare(struct run *run, struct spex_why *why) {
    const struct spex_trial_setup *setup = run->setup;
    if (asprintf(&run->config, "%s/configuration.xml", setup->directory) < 0)
        run->config = NULL;
    if (asprintf(&run->socket, "%s/records", setup->directory) < 0)
        run->socket = NULL;
    if (!run->config || !run->socket ||
        spex_measure_create(setup->space, setup->ticks_per_second, &run->trial->measure))
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = spex_selection_parse(setup->space->objective.probe, &run->objective, why->text,
                                   sizeof(why->text));
    err = err ? err : spex_config_write(run->config, setup->space, run->plan->levels, why);
    return err ? err : spex_receiver_open(run->socket, &run->receiver, why);
}

int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_why *why) {
    struct run run = {.setup = setup, .plan = plan, .trial = trial};
    run.program.pid = run.program.pidfd = run.program.output = -1;
    *trial = (struct spex_trial){.ok = false};
    int err = run_prepare(&run, why);
    err = err ? err : run_launch(&run, why);
    /* First the stream: the program's collector must not wait for us while it ends. */
    spex_receiver_close(run.receiver);
    struct spex_why left;
    if (spex_program_teardown(&run.program, &left))
        err = spex_fail(why, -EPERM, "%s", left.text);
    if (run.socket)
        unlink(run.socket);
    if (run.config)
        unlink(run.config);
    spex_selection_free(&run.objective);
    free(run.socket);
    free(run.config);
    if (err)
        spex_trial_release(trial);
    return err;
}

void spex_trial_release(struct spex_trial *trial) {
    spex_measure_destroy(trial->measure);
    trial->measure = NULL;
}
