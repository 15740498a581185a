/* SPDX-License-Identifier: MIT */
/* Each function is a kernel, whose parameters are its arguments, in no context. The kernel's breakpoints tell the times
 * of all executions, or of those in slices of the time, which stand for the others. */
#include "tools/models/train_functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tools/common/complain.h"
#include "tools/common/models_file.h"
#include "tools/functions/function_kernel.h"
#include "tools/functions/function_run.h"

/* As those of a program with kernels (train_running.c). */
#define WRITE_SECONDS 60.0
#define RUN_SECONDS   1.0

struct learner {
    const struct spex_train_running *running;
    struct spex_training *training;
    struct spex_models *models;
    struct spex_function_watch watch;
    /* By the number of the function; NULL: it has no execution yet. */
    struct spex_trained *kernels[SPEX_FUNCTIONS_MAX];
    uint64_t records;
    size_t left_out_kernels;
    int err;
};

/* The kernel of a function, which is made when it is first executed. */
static int find_kernel(struct learner *learner, const struct spex_process_function *function,
                       struct spex_trained **kernel) {
    const struct spex_process_functions *all = spex_attachment_functions(learner->watch.attachment);
    struct spex_trained **found = &learner->kernels[function - all->items];
    struct spex_function_kernel as;
    int err = 0;
    if (!*found) {
        spex_function_as_kernel(all, function, &as);
        err = spex_training_kernel(learner->training, as.path, as.names, function->arguments.count,
                                   found);
    }
    *kernel = *found;
    return err;
}

static void take_execution(void *user, const struct spex_function_execution *execution) {
    struct learner *learner = user;
    struct spex_trained *kernel;
    int err = learner->err ? learner->err : find_kernel(learner, execution->function, &kernel);
    if (!err)
        err = spex_trained_add(learner->training, kernel, execution->arguments, execution->seconds,
                               execution->weight);
    learner->records += !err;
    learner->err = err;
}

static int write_models(struct learner *learner) {
    spex_models_free(learner->models);
    int err = spex_training_fit(learner->training, learner->running->least_seconds, learner->models,
                                &learner->left_out_kernels);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "the models cannot be fitted: %s", strerror(-err));
    return spex_models_file_write(learner->running->models, learner->models);
}

/* An exit status. */
static int learn(struct learner *learner) {
    double begin = spex_clock_seconds(CLOCK_MONOTONIC), changed = 0, written = 0;
    int status = SPEX_EXIT_OK;
    while (!status && !learner->err && spex_function_watch_goes_on(&learner->watch)) {
        double now = spex_clock_seconds(CLOCK_MONOTONIC) - begin;
        if (now >= changed + RUN_SECONDS) {
            spex_training_next_run(learner->training);
            changed = now;
        }
        if (now >= written + WRITE_SECONDS && learner->records) {
            status = write_models(learner);
            written = now;
        }
    }
    if (learner->err)
        return spex_complain(SPEX_EXIT_FAILED, "train: %s", strerror(-learner->err));
    return status;
}

/* What of the budget was used, as `spex attach` tells it. */
static void tell_budget(const struct spex_profile_process *process) {
    if (process->budget > 0 && process->budget_seconds > 0)
        fprintf(stderr,
                "spex: budget: %g %% of the program's CPU time; as believed, %.2g %% was used\n",
                100 * process->budget, 100 * process->budget_spent / process->budget_seconds);
}

static int finish(struct learner *learner) {
    struct spex_profile profile;
    spex_attachment_end(learner->watch.attachment, &profile);
    spex_function_watch_tell(&learner->watch);
    if (!learner->records)
        return spex_complain(SPEX_EXIT_FAILED,
                             "no function was executed to its end meanwhile; nothing is written");
    int status = write_models(learner);
    if (status)
        return status;
    fprintf(stderr, "spex: %.1f s; %" PRIu64 " executions timed, %" PRIu64 " lost\n",
            profile.process.seconds, learner->records,
            spex_attachment_lost(learner->watch.attachment));
    tell_budget(&profile.process);
    spex_train_tell_left_out(learner->left_out_kernels, learner->running->least_seconds);
    return SPEX_EXIT_OK;
}

/* Runs the program to its end, whose failure is told, and does no harm to what was learnt. */
static int learn_run(struct learner *learner, struct spex_function_run *program) {
    int status = learn(learner);
    int ended = spex_function_run_wait(program);
    if (ended)
        spex_complain(0, "train: the program has ended with status %d", ended);
    return status;
}

static int train(struct learner *learner, struct spex_function_watch_request *request,
                 char *const *argv) {
    struct spex_function_run program;
    int status = argv ? spex_function_run_start(&program, argv, request) : SPEX_EXIT_OK;
    if (status)
        return status;
    status = spex_function_watch_open(&learner->watch, request);
    if (status && argv)
        spex_function_run_give_up(&program);
    if (!status)
        status = argv ? learn_run(learner, &program) : learn(learner);
    status = status ? status : finish(learner);
    spex_function_watch_close(&learner->watch);
    return status;
}

int spex_train_functions(const struct spex_train_running *running, double budget, char *const *argv,
                         struct spex_training *training, struct spex_models *models) {
    struct learner learner = {.running = running, .training = training, .models = models};
    struct spex_function_watch_request request = {
        .command = "train",
        .process = running->process,
        .functions = running->probes,
        .timed = true,
        .budget = budget,
        .seconds = running->seconds > 0 ? running->seconds : SPEX_FUNCTIONS_SECONDS,
        .stop_fd = running->stop_fd,
        .execution = take_execution,
        .user = &learner};
    return train(&learner, &request, argv);
}
