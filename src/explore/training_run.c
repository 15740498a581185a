/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "training_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../measure/trial.h"
#include "config_file.h"
#include "program.h"
#include "receiver.h"
#include "training_kernels.h"
#include "trial_agent.h"
#include "trial_run.h"

struct run {
    const struct spex_training_setup *setup;
    struct spex_training_outcome *outcome;
    struct spex_trial trial; /* for what the agent has to say */
    struct spex_trial_agent around;
    struct spex_program program;
    struct spex_receiver *receiver;
    struct spex_training_kernels *kernels;
    struct spex_run_parameters parameters;
    char *config;
    char *socket;
};

/* Those of a configuration's values that are numbers and change, as far as a model takes them. */
static void parameters_of(const struct spex_space *space, const size_t *levels,
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

static int run_fails(struct run *run, const char *why) {
    run->outcome->failed = true;
    spex_why_set(&run->outcome->failure, "%s", why);
    return 1;
}

static int take_records(struct run *run, bool all, struct spex_why *why) {
    struct spex_why reason;
    size_t count;
    const struct spex_record *records = spex_receiver_records(run->receiver, all, &count);
    int err = spex_training_kernels_take(run->kernels, records, count, &run->outcome->records,
                                         &run->outcome->left_out, &reason);
    return err ? spex_fail(why, err, "%s", reason.text) : 0;
}

/* 1: the stream is broken. */
static int take_stream(struct run *run, bool all, struct spex_why *why) {
    struct spex_why reason;
    int more = 1;
    while (more > 0) {
        more = spex_receiver_take(run->receiver, &reason);
        if (more == -ENOMEM)
            return spex_fail(why, more, "%s", reason.text);
        if (more < 0)
            return run_fails(run, reason.text);
        int err = take_records(run, all && more == 0, why);
        if (err)
            return err;
        if (!all)
            break;
    }
    return 0;
}

/* The program is gone. 1. */
static int take_the_rest(struct run *run, struct spex_why *why) {
    char how[384];
    spex_program_output(&run->program);
    int err = take_stream(run, true, why);
    if (err)
        return err;
    if (run->program.by_signal || run->program.status != 0) {
        spex_program_describe(&run->program, how, sizeof(how));
        return run_fails(run, how);
    }
    if (!spex_receiver_connected(run->receiver))
        return run_fails(run, "did not call spex_start");
    return 1;
}

enum {
    STOP,
    OUTPUT,
    PROGRAM,
    STREAM,
    AROUND = STREAM + SPEX_RECEIVER_FDS,
    FDS = AROUND + SPEX_TRIAL_AGENT_FDS
};

/* Waits for something, and does what there is to do. 0: go on; 1: it is over; or negative. */
static int step(struct run *run, struct spex_why *why) {
    const int wanted[] = {[STOP] = run->setup->stop_fd,
                          [OUTPUT] = run->program.output,
                          [PROGRAM] = run->program.pidfd};
    struct pollfd fds[FDS];
    struct spex_why reason;
    int streams[SPEX_RECEIVER_FDS];
    spex_receiver_fds(run->receiver, streams);
    spex_trial_agent_fds(&run->around, fds + AROUND);
    for (int f = 0; f < AROUND; f++)
        fds[f] =
            (struct pollfd){.fd = f < STREAM ? wanted[f] : streams[f - STREAM], .events = POLLIN};
    if (poll(fds, FDS, -1) < 0)
        return errno == EINTR
                   ? 0
                   : spex_fail(why, -errno, "cannot wait for the program: %s", strerror(errno));
    if (fds[STOP].revents)
        return spex_fail(why, -EINTR, "interrupted");
    if (fds[OUTPUT].revents)
        spex_program_output(&run->program);
    if (spex_trial_agent_step(&run->around, &reason))
        return run_fails(run, reason.text);
    if (fds[PROGRAM].revents && spex_program_ended(&run->program))
        return take_the_rest(run, why);
    return take_stream(run, false, why);
}

static int launch(struct run *run, const size_t *levels, struct spex_why *why) {
    const struct spex_training_setup *setup = run->setup;
    struct spex_launch launch = {.config = run->config};
    struct spex_why reason;
    int over = spex_trial_agent_init(&run->around, setup->file, setup->argv, levels, &launch,
                                     setup->stop_fd, &reason);
    over = over ? over : spex_trial_agent_begin(&run->around, setup->directory, &reason);
    if (!over) {
        launch.argv = run->around.filled.argv;
        launch.variables = run->around.filled.variables;
        launch.descriptor = setup->file->agent->descriptor;
        launch.probes = setup->probes;
        launch.socket = run->socket;
        launch.sweep = run->around.filled.teardown != NULL;
        over = spex_program_launch(&run->program, &launch, &reason) ? 1 : 0;
    }
    if (over < 0)
        return spex_fail(why, over, "%s", reason.text);
    return over ? run_fails(run, reason.text) : 0;
}

static int prepare(struct run *run, const size_t *levels, struct spex_training *training,
                   struct spex_why *why) {
    const struct spex_training_setup *setup = run->setup;
    const struct spex_space *space = &setup->file->space;
    parameters_of(space, levels, &run->parameters);
    if (asprintf(&run->config, "%s/" SPEX_TRIAL_CONFIG, setup->directory) < 0)
        run->config = NULL;
    if (asprintf(&run->socket, "%s/" SPEX_TRIAL_SOCKET, setup->directory) < 0)
        run->socket = NULL;
    if (!run->config || !run->socket || spex_trial_init(&run->trial, space, levels))
        return spex_fail(why, -ENOMEM, "out of memory");
    int err = spex_config_write(run->config, space, levels, why);
    err = err ? err : spex_receiver_open(run->socket, &run->receiver, why);
    if (err)
        return err;
    run->kernels = spex_training_kernels_new(training, run->receiver, &run->parameters,
                                             setup->ticks_per_second);
    return run->kernels ? 0 : spex_fail(why, -ENOMEM, "out of memory");
}

/* First the stream: the program's collector must not wait for us while it ends. */
static int finish(struct run *run, int err, struct spex_why *why) {
    struct spex_why left;
    if (run->receiver)
        run->outcome->lost = spex_receiver_lost(run->receiver);
    spex_receiver_close(run->receiver);
    if (spex_program_teardown(&run->program, &left))
        err = spex_fail(why, -EPERM, "%s", left.text);
    if (run->around.agent && spex_trial_agent_end(&run->around, &run->trial) && !err)
        err = spex_fail(why, -ENOMEM, "out of memory");
    if (!err && run->trial.note && !run->outcome->failed)
        run_fails(run, run->trial.note);
    if (run->socket)
        unlink(run->socket);
    if (run->config)
        unlink(run->config);
    spex_training_kernels_free(run->kernels);
    spex_trial_free(&run->trial);
    free(run->socket);
    free(run->config);
    return err;
}

int spex_training_run(const struct spex_training_setup *setup, const size_t *levels,
                      struct spex_training *training, struct spex_training_outcome *outcome,
                      struct spex_why *why) {
    struct run run = {.setup = setup, .outcome = outcome};
    *outcome = (struct spex_training_outcome){.failed = false};
    run.program.pid = run.program.pidfd = run.program.output = -1;
    int over = prepare(&run, levels, training, why);
    over = over ? over : launch(&run, levels, why);
    while (!over)
        over = step(&run, why);
    return finish(&run, over < 0 ? over : 0, why);
}
