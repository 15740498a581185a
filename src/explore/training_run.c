/* SPDX-License-Identifier: MIT */
/* One run of a training: starts the program with a configuration, passes its kernels' records on,
 * and waits for its end. A failure of the program is an outcome, not an error. */
#include "explore/training_run.h"

#include <errno.h>

#include "explore/training_kernels.h"
#include "explore/trial/program_run.h"
#include "measure/trial.h"

/* The state of a run. */
struct run {
    const struct spex_training_setup *setup;
    struct spex_training_outcome *outcome;
    struct spex_trial trial; /* takes the notes of the agent (trial_agent.h) */
    struct spex_program_run in;
    struct spex_training_kernels *kernels;
    struct spex_run_parameters parameters;
};

/* The parameters of a run: numbers that vary in the space, at most as many as a model takes.
 * Negative ones are left out, which models do not allow. */
static void training_run_parameters(const struct spex_space *space, const size_t *levels,
                                    struct spex_run_parameters *out) {
    out->count = 0;
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        const struct spex_value *value = &parameter->values[levels[p]];
        if (!spex_parameter_ordered(parameter) || parameter->count < 2 ||
            out->count == SPEX_MODEL_PARAMETERS_MAX || parameter->values[0].number < 0)
            continue;
        out->names[out->count] = parameter->name;
        out->values[out->count++] = value->number;
    }
}

/* Notes why the program has failed. Returns 1: the run is over. */
static int training_run_fail(struct run *run, const char *text) {
    run->outcome->failed = true;
    spex_error_set(&run->outcome->failure, "%s", text);
    return 1;
}

/* Passes on the records whose order is settled. `all`: the stream has ended; take the others,
 * too. */
static int training_run_take_records(struct run *run, bool all, struct spex_error *error) {
    struct spex_error reason;
    size_t count;
    const struct spex_record *records = spex_receiver_records(run->in.receiver, all, &count);
    int err = spex_training_kernels_take(run->kernels, records, count, &run->outcome->records,
                                         &run->outcome->left_out, &reason);
    return err ? spex_fail(error, err, "%s", reason.text) : 0;
}

/* Receives what the stream has, once or, with `all`, until there is no more. 0; 1 when the stream
 * is broken, which fails the run; or negative. */
static int training_run_take_stream(struct run *run, bool all, struct spex_error *error) {
    struct spex_error reason;
    int more = 1;
    while (more > 0) {
        more = spex_receiver_take(run->in.receiver, &reason);
        if (more == -ENOMEM)
            return spex_fail(error, more, "%s", reason.text);
        if (more < 0)
            return training_run_fail(run, reason.text);
        int err = training_run_take_records(run, all && more == 0, error);
        if (err)
            return err;
        if (!all)
            break;
    }
    return 0;
}

/* Takes what the program had sent before it ended, and judges how it ended. 1, or negative. */
static int training_run_take_rest(struct run *run, struct spex_error *error) {
    char how[384];
    spex_program_output(&run->in.program);
    int err = training_run_take_stream(run, true, error);
    if (err)
        return err;
    if (run->in.program.by_signal || run->in.program.status != 0) {
        spex_program_describe(&run->in.program, how, sizeof(how));
        return training_run_fail(run, how);
    }
    if (!spex_receiver_connected(run->in.receiver))
        return training_run_fail(run, "did not connect: no spex_start with the SPEX_OUT given");
    return 1;
}

/* Waits for an event and handles it. 0: go on; 1: the run is over; or a negative errno value. */
static int training_run_step(struct run *run, struct spex_error *error) {
    struct pollfd fds[SPEX_RUN_FDS];
    struct spex_error reason;
    int ready = spex_program_run_wait(&run->in, fds, -1, error);
    if (ready <= 0)
        return ready;
    if (fds[SPEX_RUN_STOP].revents)
        return spex_fail(error, -EINTR, "interrupted");
    if (fds[SPEX_RUN_OUTPUT].revents)
        spex_program_output(&run->in.program);
    if (spex_trial_agent_step(&run->in.around, &reason))
        return training_run_fail(run, reason.text);
    if (fds[SPEX_RUN_PROGRAM].revents && spex_program_ended(&run->in.program))
        return training_run_take_rest(run, error);
    return training_run_take_stream(run, false, error);
}

/* 0; 1: the program cannot be started, which fails the run; or a negative errno value. */
static int training_run_launch(struct run *run, const size_t *levels, struct spex_error *error) {
    const struct spex_training_setup *setup = run->setup;
    struct spex_error reason;
    int over = spex_program_run_begin(&run->in, setup->file, setup->argv, levels, setup->probes,
                                      NULL, &reason);
    if (over < 0)
        return spex_fail(error, over, "%s", reason.text);
    return over ? training_run_fail(run, reason.text) : 0;
}

/* The kernels refer to the receiver and to the parameters of the run, and are not used after
 * these. */
static int training_run_prepare(struct run *run, const size_t *levels,
                                struct spex_training *training, struct spex_error *error) {
    const struct spex_training_setup *setup = run->setup;
    const struct spex_space *space = &setup->file->space;
    training_run_parameters(space, levels, &run->parameters);
    if (spex_trial_init(&run->trial, space, levels))
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_program_run_prepare(&run->in, space, levels, error);
    if (err)
        return err;
    run->kernels = spex_training_kernels_new(training, run->in.receiver, &run->parameters,
                                             setup->ticks_per_second);
    return run->kernels ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* Ends the program and what it has started, also after an error. A note of the agent fails the run
 * where a trial would keep it as a note: a training has nothing to attach it to. */
static int training_run_finish(struct run *run, int err, struct spex_error *error) {
    if (run->in.receiver)
        run->outcome->lost = spex_receiver_lost(run->in.receiver);
    err = spex_program_run_end(&run->in, err, &run->trial, error);
    if (!err && run->trial.note && !run->outcome->failed)
        training_run_fail(run, run->trial.note);
    spex_program_run_release(&run->in);
    spex_training_kernels_free(run->kernels);
    spex_trial_free(&run->trial);
    return err;
}

int spex_training_run(const struct spex_training_setup *setup, const size_t *levels,
                      struct spex_training *training, struct spex_training_outcome *outcome,
                      struct spex_error *error) {
    struct run run = {.setup = setup, .outcome = outcome};
    *outcome = (struct spex_training_outcome){.failed = false};
    spex_program_run_init(&run.in, setup->directory, setup->stop_fd);
    int over = training_run_prepare(&run, levels, training, error);
    over = over ? over : training_run_launch(&run, levels, error);
    while (!over)
        over = training_run_step(&run, error);
    return training_run_finish(&run, over < 0 ? over : 0, error);
}
