/* SPDX-License-Identifier: MIT */
/* One execution of a command is one measurement: its time, what the kernel says that it has used,
 * what it prints, and what a command prints that is run after it. A command that fails, is killed or
 * prints no figure where one is wanted is a failed trial, with what was expected. */
#include "explore/trial/command_trial.h"

#include <stdlib.h>

#include "base/deadline.h"
#include "explore/space/template.h"
#include "explore/trial/output_figures.h"
#include "explore/trial/program_run.h"
#include "measure/criterion.h"

struct run {
    const struct spex_trial_setup *setup;
    const struct spex_space *space;
    const struct spex_plan *plan;
    struct spex_trial *trial;
    struct spex_program_run in;
    struct spex_output_figures *figures;
    struct spex_measured measured[SPEX_CRITERIA_MAX];
};

/* The most output that is taken after the end: as much as the greatest pipe has, in parts of those
 * that spex_program_output takes. */
enum { REST_PARTS = 16 };

static int fail(struct run *run, const struct spex_error *reason) {
    return spex_trial_end(run->trial, "%s", reason->text);
}

/* 0: it has succeeded; 1: the trial has failed. */
static int run_ended(struct run *run) {
    struct spex_program *program = &run->in.program;
    char how[384];
    for (int part = 0; part < REST_PARTS; part++)
        spex_program_output(program);
    if (!program->by_signal && program->status == 0)
        return 0;
    spex_program_describe(program, how, sizeof(how));
    return spex_trial_end(run->trial, "%s", how);
}

static int run_overdue(struct run *run) {
    char words[256];
    spex_program_output(&run->in.program);
    spex_program_last_output(&run->in.program, words, sizeof(words));
    return spex_trial_end(run->trial, "did not end in %g s (<run duration>)%s",
                          run->plan->duration_seconds, words);
}

/* Waits for the command's end. 0; 1: the trial has failed; or a negative errno value. */
static int run_watch(struct run *run, struct spex_error *error) {
    struct spex_deadline deadline = spex_deadline_in(run->plan->duration_seconds);
    struct spex_program *program = &run->in.program;
    struct spex_error reason;
    while (!spex_program_ended(program)) {
        struct pollfd fds[SPEX_RUN_FDS];
        int left = spex_deadline_left_ms(deadline);
        int ready = left ? spex_program_run_wait(&run->in, fds, left, error) : 0;
        if (ready < 0)
            return ready;
        if (ready && fds[SPEX_RUN_STOP].revents)
            return spex_fail(error, -EINTR, "interrupted");
        if (ready && spex_trial_agent_step(&run->in.around, &reason))
            return fail(run, &reason);
        if (!left && !spex_program_ended(program))
            return run_overdue(run);
        spex_program_output(program);
    }
    return run_ended(run);
}

/* Runs the commands that measure. 0; 1: the trial has failed; or a negative errno value. */
static int run_measures(struct run *run, struct spex_error *error) {
    int over = 0;
    for (size_t c = 0; c < run->space->criterion_count && !over; c++) {
        struct spex_error reason;
        char *command = NULL;
        if (spex_criterion_source(&run->space->criteria[c]) != SPEX_FROM_MEASURE)
            continue;
        if (spex_template_fill(run->space->criteria[c].metric, run->space, run->plan->levels,
                               &command))
            return spex_fail(error, -ENOMEM, "out of memory");
        if (!command)
            return spex_trial_end(run->trial, "measure: %s names a parameter that does not apply",
                                  run->space->criteria[c].metric);
        over = spex_trial_agent_measure(&run->in.around, command, run->plan->duration_seconds,
                                        &run->measured[c].value, &reason);
        free(command);
        if (over < 0)
            return spex_fail(error, over, "%s", reason.text);
        over = over ? fail(run, &reason) : 0;
    }
    return over;
}

/* 0; 1: the trial has failed; or a negative errno value. */
static int run_command(struct run *run, struct spex_error *error) {
    const struct spex_trial_setup *setup = run->setup;
    struct spex_error reason;
    int over = spex_program_run_begin(&run->in, setup->file, setup->argv, run->plan->levels, NULL,
                                      setup->cpus, &reason);
    if (over < 0)
        return spex_fail(error, over, "%s", reason.text);
    if (over)
        return fail(run, &reason);
    over = run_watch(run, error);
    if (over)
        return over;
    over = spex_output_figures_end(run->figures, run->measured, &reason);
    if (over == -ENOMEM)
        return spex_fail(error, over, "%s", reason.text);
    return over ? fail(run, &reason) : run_measures(run, error);
}

/* The command and the services have been waited for, so that what they have used is known. */
static void run_succeed(struct run *run) {
    struct spex_trial *trial = run->trial;
    for (size_t c = 0; c < run->space->criterion_count; c++) {
        const struct spex_criterion *criterion = &run->space->criteria[c];
        if (spex_criterion_source(criterion) == SPEX_FROM_COMMAND)
            run->measured[c].value = spex_usage_resource(&trial->usage, trial->seconds,
                                                         spex_resource_named(criterion->metric));
        else if (spex_criterion_source(criterion) == SPEX_FROM_SERVICE)
            run->measured[c].value =
                spex_trial_agent_used(&run->in.around, spex_resource_named(criterion->metric));
        if (isnan(run->measured[c].value)) {
            spex_trial_end(trial, "what it has used could not be read");
            return;
        }
    }
    for (size_t c = 0; c < run->space->criterion_count; c++)
        trial->measured[c] = run->measured[c];
    trial->ok = trial->steady = true;
    spex_trial_end(trial, "ok");
}

int spex_trial_run_command(const struct spex_trial_setup *setup, const struct spex_plan *plan,
                           struct spex_trial *trial, struct spex_error *error) {
    struct run run = {.setup = setup, .space = &setup->file->space, .plan = plan, .trial = trial};
    for (size_t c = 0; c < SPEX_CRITERIA_MAX; c++)
        run.measured[c] = (struct spex_measured){.value = NAN, .error = NAN};
    spex_program_run_init(&run.in, setup->directory, setup->stop_fd);
    int err = spex_output_figures_open(run.space, &run.figures, error);
    run.in.take = spex_output_figures_add;
    run.in.user = run.figures;
    err = err ? err : spex_program_run_configure(&run.in, run.space, plan->levels, error);
    int over = err ? err : run_command(&run, error);
    const struct spex_program *program = &run.in.program;
    if (program->ended)
        trial->seconds = (double)(program->end_ns - program->begin_ns) / 1e9;
    err = spex_program_run_end(&run.in, over < 0 ? over : 0, trial, error);
    if (!err && !over)
        run_succeed(&run);
    if (!err && !trial->status)
        err = spex_fail(error, -ENOMEM, "out of memory");
    spex_output_figures_close(run.figures);
    spex_program_run_release(&run.in);
    return err;
}
