/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "trial.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>

#include "../probe_type.h"
#include "../selection.h"
#include "config_file.h"
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
    struct timespec deadline;
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

static void set_deadline(struct run *run, double seconds) {
    clock_gettime(CLOCK_MONOTONIC, &run->deadline);
    run->deadline.tv_sec += (time_t)seconds;
    run->deadline.tv_nsec += (long)(fmod(seconds, 1) * 1e9);
}

/* Finds the one probe that the objective names among the sites told so far. */
static int find_objective(struct run *run) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->receiver, &count);
    const struct spex_stream_site *found = NULL;
    for (size_t s = 0; s < count; s++) {
        const struct spex_stream_site *site = &sites[s];
        if (!spex_selection_control(&run->objective, site->probe_id, site->name, site->probe_type,
                                    1))
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
        set_deadline(run, run->setup->space->rules.duration_seconds);
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

/* The program is gone: what it had sent may still be enough. Its end of the stream need not be closed:
 * a child of it may hold it. */
static int take_the_rest(struct run *run, struct spex_why *why) {
    int over = 0;
    bool more = true;
    spex_program_output(&run->program);
    while (!over && more)
        over = take_stream(run, &more, why);
    over = over ? over : take_records(run, true, why);
    if (over)
        return over;
    char how[384];
    spex_program_describe(&run->program, how, sizeof(how));
    return fail_trial(run, "%s", how);
}

static uint64_t probe_key(const struct spex_stream_site *site) {
    return ((uint64_t)site->probe_id << 8 | site->probe_type) + 1;
}

/* The site whose probe comes next after `key`, by id and type; NULL at the end. */
static const struct spex_stream_site *next_probe(const struct run *run, uint64_t key) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->receiver, &count);
    const struct spex_stream_site *next = NULL;
    for (size_t s = 0; s < count; s++)
        if (probe_key(&sites[s]) > key && (!next || probe_key(&sites[s]) < probe_key(next)))
            next = &sites[s];
    return next;
}

static void list_probes(const struct run *run, char *list, size_t size) {
    const struct spex_stream_site *site = next_probe(run, 0);
    snprintf(list, size, "none");
    for (size_t length = 0; site && length < size; site = next_probe(run, probe_key(site))) {
        char number[8];
        snprintf(number, sizeof(number), "%u", site->probe_id);
        length += (size_t)snprintf(list + length, size - length, "%s%s:%s", length ? ", " : "",
                                   site->name[0] ? site->name : number,
                                   spex_probe_type_name(site->probe_type));
    }
}

/* Too long for a first record. */
static int fail_startup(struct run *run) {
    const char *objective = run->setup->space->objective.probe;
    double limit = run->setup->space->rules.startup_seconds;
    char probes[256];
    if (!spex_receiver_connected(run->receiver))
        return fail_trial(run, "did not call spex_start in %g s", limit);
    if (run->objective_known)
        return fail_trial(run, "hung: no record of %s in %g s", objective, limit);
    list_probes(run, probes, sizeof(probes));
    return fail_trial(run, "has no probe %s; it has: %s", objective, probes);
}

/* The longest a run may take is over: a slow configuration has been measured with fewer records
 * than the policy wanted, a program that hangs has failed. */
static int end_by_duration(struct run *run) {
    const char *objective = run->setup->space->objective.probe;
    double limit = run->setup->space->rules.duration_seconds;
    if (spex_measure_run(run->trial->measure).records == 0)
        return fail_trial(run, "hung: no record of %s after the warm-up in %g s", objective, limit);
    if (spex_measure_silent(run->trial->measure, spex_ticks()))
        return fail_trial(run, "hung: the records of %s ended %g s before the run did", objective,
                          spex_measure_silence(run->trial->measure, spex_ticks()));
    return succeed(run);
}

static int deadline_over(struct run *run) {
    return spex_measure_started(run->trial->measure) ? end_by_duration(run) : fail_startup(run);
}

static long milliseconds_left(const struct run *run) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t ns = (run->deadline.tv_sec - now.tv_sec) * INT64_C(1000000000) +
                 (run->deadline.tv_nsec - now.tv_nsec);
    return ns <= 0 ? 0 : (long)(ns / 1000000 + 1);
}

/* One wait, and what came of it. 0: go on; 1: the trial is over; negative: our error. */
static int step(struct run *run, struct spex_why *why) {
    struct pollfd fds[] = {
        {.fd = run->setup->stop_fd, .events = POLLIN},
        {.fd = spex_receiver_fd(run->receiver), .events = POLLIN},
        {.fd = run->program.output, .events = POLLIN},
        {.fd = run->program.pidfd, .events = POLLIN},
    };
    long left = milliseconds_left(run);
    if (left == 0)
        return deadline_over(run);
    int ready = poll(fds, sizeof(fds) / sizeof(fds[0]), (int)left);
    if (ready < 0 && errno != EINTR)
        return spex_fail(why, -errno, "cannot wait for the program: %s", strerror(errno));
    if (ready <= 0)
        return 0;
    if (fds[0].revents)
        return spex_fail(why, -EINTR, "interrupted");
    if (fds[2].revents)
        spex_program_output(&run->program);
    if (fds[3].revents && spex_program_ended(&run->program))
        return take_the_rest(run, why);
    bool more;
    return fds[1].revents ? take_stream(run, &more, why) : 0;
}

static int run_watch(struct run *run, struct spex_why *why) {
    int over = 0;
    set_deadline(run, run->setup->space->rules.startup_seconds);
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
    spex_program_teardown(&run.program);
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
