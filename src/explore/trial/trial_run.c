/* SPDX-License-Identifier: MIT */
/* Runs a trial on the calling thread: one loop of poll() over the program, its output, its stream,
 * the agent and the stop descriptor, with a deadline for the first record and then for the run.
 * measure/measured_run.h decides when enough was measured. */
#include "explore/trial/trial_run.h"

#include <errno.h>

#include <spex/ticks.h>

#include "base/deadline.h"
#include "explore/trial/command_trial.h"
#include "explore/trial/program_run.h"
#include "explore/trial/trial_metrics.h"
#include "measure/measured_run.h"

/* The state of a trial. */
struct run {
    const struct spex_trial_setup *setup;
    struct spex_measured_run of;
    struct spex_program_run in;
    struct spex_deadline deadline;
    bool stream_ended; /* no more records will come; the deadline is for the program's end */
    bool looked_again; /* the program was silent, and has got more time */
};

/* A machine that stands still for a moment looks like a program that hangs: a program that is
 * silent at the end of its run has so many seconds more. */
#define LOOK_AGAIN_SECONDS 1

static int fail_memory(struct spex_error *error) {
    return spex_fail(error, -ENOMEM, "out of memory");
}

/* Presents the sites that the program has told to the measured run. The names are enough to find a
 * criterion's probe; files are not needed. */
static bool site_describe(const void *user, size_t index, struct spex_selection_probe *site) {
    const struct spex_stream_site *told = (const struct spex_stream_site *)user + index;
    *site = (struct spex_selection_probe){
        .provider = told->provider,
        .name = told->name,
        .type = told->probe_type,
        .subsample = 1,
        .id = spex_stream_site_id(told),
        .number = told->probe_id,
    };
    return true;
}

/* Passes the records that are in order to the measurement and the policy. 1: the run is over; or a
 * negative errno value. The first record of the objective ends the time for the startup and begins
 * that of the run. */
static int run_take_records(struct run *run, bool all, struct spex_error *error) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->in.receiver, &count);
    int over = spex_measured_run_find_probes(&run->of, site_describe, sites, count);
    if (over)
        return over;
    bool started = spex_measure_started(run->of.measure);
    const struct spex_record *records = spex_receiver_records(run->in.receiver, all, &count);
    over = spex_measured_run_add(&run->of, records, count);
    if (!started && spex_measure_started(run->of.measure))
        run->deadline = spex_deadline_in(run->of.plan->duration_seconds);
    return over < 0 ? fail_memory(error) : over;
}

/* Tells the measurement that no more records will come. 1: the run is over. */
static int run_end_records(struct run *run, struct spex_error *error) {
    int over = spex_measured_run_end_records(&run->of);
    return over < 0 ? fail_memory(error) : over;
}

/* Receives part of the stream. *more: another call finds something without waiting. */
static int run_take_stream(struct run *run, bool *more, struct spex_error *error) {
    struct spex_error reason;
    int got = spex_receiver_take(run->in.receiver, &reason);
    *more = got > 0;
    if (got == -ENOMEM)
        return spex_fail(error, got, "%s", reason.text);
    if (got < 0)
        return spex_trial_end(run->of.trial, "%s", reason.text);
    return run_take_records(run, false, error);
}

/* Receives what has arrived; of a program that keeps sending, a bounded amount. */
static int run_take_all(struct run *run, struct spex_error *error) {
    bool more = true;
    int over = 0;
    for (int rounds = 0; !over && more && rounds < 64; rounds++)
        over = run_take_stream(run, &more, error);
    return over;
}

/* Fails the trial of a program that has ended well, with fewer records than were wanted. How many it had
 * is not told, so that such failures are counted together. */
static int end_with_few(struct run *run, const char *how) {
    const struct spex_space *space = run->of.space;
    unsigned wanted = space->rules.records_per_thread;
    return spex_trial_end(
        run->of.trial,
        "%s, before it had %u record%s a thread of %s after the first, which begins "
        "the time",
        how, wanted, wanted == 1 ? "" : "s", space->criteria[0].probe);
}

/* The program has ended: what it had sent may still be enough. The stream need not be closed, since
 * a child of the program may hold it open. */
static int run_take_rest(struct run *run, struct spex_error *error) {
    spex_program_output(&run->in.program);
    int over = run_take_all(run, error);
    over = over ? over : run_take_records(run, true, error);
    over = over ? over : run_end_records(run, error);
    if (over)
        return over;
    char how[384];
    spex_program_describe(&run->in.program, how, sizeof(how));
    if (!run->in.program.by_signal && run->in.program.status == 0 &&
        spex_measure_started(run->of.measure))
        return end_with_few(run, how);
    return spex_trial_end(run->of.trial, "%s", how);
}

/* Fails the trial: no first record within the startup time. The status tells how far the program
 * came. */
static int run_fail_startup(struct run *run, const char *words) {
    const char *objective = run->of.space->criteria[0].probe;
    double limit = run->of.space->rules.startup_seconds;
    char probes[256];
    if (!spex_receiver_connected(run->in.receiver))
        return spex_trial_end(run->of.trial,
                              "did not connect in %g s: no spex_start with the SPEX_OUT given%s",
                              limit, words);
    if (run->of.known[0])
        return spex_trial_end(run->of.trial, "hung: no record of %s in %g s%s", objective, limit,
                              words);
    spex_receiver_list_probes(run->in.receiver, probes, sizeof(probes));
    return spex_trial_end(run->of.trial, "has no probe %s; it has: %s", objective, probes);
}

/* Whether the run goes on, once, as the program is silent. */
static bool run_looks_again(struct run *run) {
    const struct spex_measure *measure = run->of.measure;
    if (run->looked_again || run->stream_ended || !spex_measure_started(measure) ||
        !spex_measure_silent(measure, spex_ticks()))
        return false;
    run->looked_again = true;
    run->deadline = spex_deadline_in(LOOK_AGAIN_SECONDS);
    return true;
}

/* Handles a deadline. This process may have been late itself, so what has arrived is taken first,
 * which may have moved the deadline. */
static int run_deadline_over(struct run *run, struct spex_error *error) {
    char words[256];
    int64_t before = run->deadline.monotonic_ns;
    int over = run_take_all(run, error);
    if (over || run->deadline.monotonic_ns != before || run_looks_again(run))
        return over;
    over = run_end_records(run, error);
    if (over)
        return over;
    spex_program_output(&run->in.program);
    spex_program_last_output(&run->in.program, words, sizeof(words));
    if (run->stream_ended)
        return spex_trial_end(run->of.trial, "ended its records before the run was over%s", words);
    if (!spex_measure_started(run->of.measure))
        return run_fail_startup(run, words);
    over = spex_measured_run_end_by_duration(&run->of, spex_ticks(), words);
    return over < 0 ? fail_memory(error) : over;
}

/* The stream has ended. A program that is ending has a second to show how, so that its exit status
 * becomes the trial's and not the end of its records. */
static void run_expect_end(struct run *run) {
    struct spex_deadline soon = spex_deadline_in(1);
    run->stream_ended = true;
    if (soon.monotonic_ns < run->deadline.monotonic_ns)
        run->deadline = soon;
}

/* Fails the trial when a load has ended. 0 or 1. */
static int run_check_agent(struct run *run) {
    struct spex_error reason;
    return spex_trial_agent_step(&run->in.around, &reason)
               ? spex_trial_end(run->of.trial, "%s", reason.text)
               : 0;
}

/* Waits for an event and handles it. 0: go on; 1: the trial is over; or a negative errno value. */
static int run_step(struct run *run, struct spex_error *error) {
    struct pollfd fds[SPEX_RUN_FDS];
    int ready = spex_program_run_wait(&run->in, fds, spex_deadline_left_ms(run->deadline), error);
    if (ready < 0)
        return ready;
    if (fds[SPEX_RUN_STOP].revents && ready)
        return spex_fail(error, -EINTR, "interrupted");
    if (ready && fds[SPEX_RUN_OUTPUT].revents)
        spex_program_output(&run->in.program);
    if (ready && run_check_agent(run))
        return 1;
    if (ready && fds[SPEX_RUN_PROGRAM].revents && spex_program_ended(&run->in.program))
        return run_take_rest(run, error);
    if (spex_deadline_left_ms(run->deadline) == 0)
        return run_deadline_over(run, error);
    bool more;
    int over = ready ? run_take_stream(run, &more, error) : 0;
    if (!over && !run->stream_ended && spex_receiver_ended(run->in.receiver))
        run_expect_end(run);
    return over;
}

/* The loop of the trial. 0: it is over, with its status; or a negative errno value. */
static int run_watch(struct run *run, struct spex_error *error) {
    int over = 0;
    run->deadline = spex_deadline_in(run->of.space->rules.startup_seconds);
    while (!over)
        over = run_step(run, error);
    return over < 0 ? over : 0;
}

/* Stores what the trial has besides the criteria's values. */
static int run_account(struct run *run, struct spex_error *error) {
    struct spex_trial *trial = run->of.trial;
    size_t site_count;
    const struct spex_stream_site *sites = spex_receiver_sites(run->in.receiver, &site_count);
    int err = spex_measured_run_account(&run->of, spex_receiver_lost(run->in.receiver));
    trial->steady = spex_measure_steady(run->of.measure);
    err = err ? err
              : spex_trial_metrics(trial, spex_measure_tracer(run->of.measure),
                                   run->setup->ticks_per_second, trial->seconds, sites, site_count);
    return err ? fail_memory(error) : 0;
}

/* Launches the program with its agent. 0; 1: the trial has failed; or a negative errno value. */
static int run_begin(struct run *run, struct spex_error *error) {
    const struct spex_trial_setup *setup = run->setup;
    struct spex_error reason;
    int over = spex_program_run_begin(&run->in, setup->file, setup->argv, run->of.plan->levels,
                                      run->of.plan->probes, setup->cpus, &reason);
    if (over < 0)
        return spex_fail(error, over, "%s", reason.text);
    return over ? spex_trial_end(run->of.trial, "%s", reason.text) : 0;
}

/* -EAGAIN when the trial failed and this process was held up: the failure says nothing about the
 * program then. */
static int run_trial(struct run *run, struct spex_error *error) {
    int over = run_begin(run, error);
    if (over)
        return over < 0 ? over : run_account(run, error);
    int err = run_watch(run, error);
    if (!err && !run->of.trial->ok && spex_receiver_late(run->in.receiver))
        err = spex_fail(error, -EAGAIN, "spex was held up for over a second");
    return err ? err : run_account(run, error);
}

/* Ends and releases everything after an error, too. */
int spex_trial_run(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                   struct spex_trial *trial, struct spex_error *error) {
    struct run run = {.setup = setup,
                      .of = {.space = &setup->file->space,
                             .plan = plan,
                             .trial = trial,
                             .policy = setup->policy,
                             .policy_state = setup->policy_state,
                             .policy_lock = setup->policy_lock,
                             .unknown = "has made no record of",
                             .hung = "hung: "}};
    if (spex_space_of_command(run.of.space))
        return spex_trial_run_command(setup, plan, trial, error);
    spex_program_run_init(&run.in, setup->directory, setup->stop_fd);
    int err = spex_measured_run_open(&run.of, setup->ticks_per_second, error);
    err = err ? err : spex_program_run_prepare(&run.in, run.of.space, plan->levels, error);
    err = err ? err : run_trial(&run, error);
    err = spex_program_run_end(&run.in, err, trial, error);
    spex_measured_run_close(&run.of);
    spex_program_run_release(&run.in);
    return err;
}
