/* SPDX-License-Identifier: MIT */
/* Setup, teardown and services are run by /bin/sh, loads by stress-ng, each as a struct spex_program. Nothing
 * here waits longer than the timeouts that the space gives, and stop_fd ends every wait but the
 * teardown's. */
#define _GNU_SOURCE
#include "explore/trial/trial_agent.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/deadline.h"
#include "explore/trial/leftovers.h"
#include "explore/trial/load.h"
#include "explore/trial/output_figures.h"
#include "explore/trial/service.h"
#include "text/waits.h"

/* Seconds within which all workers of a load have to begin. */
#define LOAD_SECONDS 60

/* Seconds between two checks of a load's workers. */
#define LOAD_LOOK_SECONDS 0.005

/* -EINVAL is the configuration's fault and fails the trial; other errors are the explorer's. */
int spex_trial_agent_init(struct spex_trial_agent *around, const struct spex_space_file *file,
                          char *const *argv, const size_t *levels, const struct spex_launch *base,
                          int stop_fd, struct spex_error *error) {
    struct spex_error reason;
    *around = (struct spex_trial_agent){
        .agent = file->agent, .base = *base, .stop_fd = stop_fd, .setup = SPEX_NO_PROGRAM};
    for (size_t l = 0; l < SPEX_AGENT_LOADS_MAX; l++)
        around->loads[l] = SPEX_NO_PROGRAM;
    for (size_t s = 0; s < SPEX_AGENT_SERVICES_MAX; s++)
        around->services[s] = SPEX_NO_PROGRAM;
    int err = spex_agent_fill(file, argv, levels, &around->filled, &reason);
    if (err)
        spex_error_set(error, "did not start: %s", reason.text);
    return err == -EINVAL ? 1 : err;
}

/* What program_wait has seen. */
enum event { EVENT_ANY, EVENT_STOP, EVENT_OVERDUE };

/* Waits for output or the end of a program, for stop_fd, or until the deadline. Services go on
 * meanwhile: their output is read, so that none blocks on a full pipe. */
static enum event program_wait(struct spex_trial_agent *around, struct spex_program *program,
                               int stop_fd, struct spex_deadline deadline) {
    struct pollfd fds[4 + SPEX_AGENT_SERVICES_MAX] = {
        {.fd = stop_fd, .events = POLLIN},
        {.fd = program->pidfd, .events = POLLIN},
        {.fd = program->output, .events = POLLIN},
        {.fd = spex_program_errors(program), .events = POLLIN}};
    for (size_t s = 0; s < SPEX_AGENT_SERVICES_MAX; s++)
        fds[4 + s] = (struct pollfd){.fd = around->services[s].output, .events = POLLIN};
    int left = spex_deadline_left_ms(deadline);
    if (left == 0)
        return EVENT_OVERDUE;
    int ready = spex_wait_ready(fds, 4 + SPEX_AGENT_SERVICES_MAX, left);
    if (ready > 0)
        spex_program_output(program);
    for (size_t s = 0; ready > 0 && s < around->filled.service_count; s++)
        spex_program_output(&around->services[s]);
    return ready > 0 && fds[0].revents ? EVENT_STOP : EVENT_ANY;
}

/* Has the value 1, for a trial that fails: the exploration goes on. */
#define trial_fail(error, ...) (spex_error_set((error), __VA_ARGS__), 1)

/* Runs a command to its end; `said`: the end of its output, NULL for none. 0; 1 when it has failed, with the reason in `error`; -EINTR. The
 * program is to be torn down in any case. */
static int agent_run_command(struct spex_trial_agent *around, const char *what, const char *text,
                             double timeout, int stop_fd, struct spex_program *program,
                             struct spex_output_end *said, struct spex_error *error) {
    const char *const argv[] = {"/bin/sh", "-c", text, NULL};
    const struct spex_launch launch = {.argv = (char *const *)(uintptr_t)argv,
                                       .config = around->base.config,
                                       .variables = around->filled.parameters,
                                       .take = said ? spex_output_end_add : NULL,
                                       .user = said,
                                       .cpus = around->base.cpus};
    struct spex_deadline deadline = spex_deadline_in(timeout);
    struct spex_error reason;
    char words[384];
    if (spex_program_launch(program, &launch, &reason))
        return trial_fail(error, "%s: %s", what, reason.text);
    while (!spex_program_ended(program)) {
        enum event event = program_wait(around, program, stop_fd, deadline);
        if (event == EVENT_STOP)
            return spex_fail(error, -EINTR, "interrupted");
        if (event == EVENT_ANY || spex_program_ended(program))
            continue;
        spex_program_last_output(program, words, sizeof(words));
        return trial_fail(error, "%s: did not end in %g s%s", what, timeout, words);
    }
    spex_program_output(program);
    spex_program_describe(program, words, sizeof(words));
    return program->by_signal || program->status ? trial_fail(error, "%s: %s", what, words) : 0;
}

/* Returns 1: the trial fails. */
static int load_fail(const struct spex_load_filled *load, const char *words,
                     struct spex_error *error) {
    return trial_fail(error, "load %s: %s", load->stressor, words);
}

/* Reports that a load has ended. */
static int load_fail_ended(struct spex_program *program, const struct spex_load_filled *load,
                           struct spex_error *error) {
    char words[384];
    spex_program_output(program);
    spex_program_describe(program, words, sizeof(words));
    return load_fail(load, words, error);
}

/* Waits until all workers have begun: a trial measured before would have less load. */
static int load_wait_for_workers(struct spex_trial_agent *around, struct spex_program *program,
                                 const struct spex_load_filled *load, struct spex_error *error) {
    struct spex_deadline deadline = spex_deadline_in(LOAD_SECONDS);
    while (!spex_load_runs(program, load->workers)) {
        if (program_wait(around, program, around->stop_fd, spex_deadline_in(LOAD_LOOK_SECONDS)) ==
            EVENT_STOP)
            return spex_fail(error, -EINTR, "interrupted");
        if (spex_program_ended(program))
            return load_fail_ended(program, load, error);
        if (spex_deadline_left_ms(deadline) == 0)
            return trial_fail(error, "load %s: had not %u workers at work in %d s", load->stressor,
                              load->workers, LOAD_SECONDS);
    }
    return 0;
}

/* Made with the first load that is started; all loads share it. */
static int agent_make_load_directory(struct spex_trial_agent *around, const char *directory,
                                     struct spex_error *error) {
    if (around->load_directory)
        return 0;
    if (asprintf(&around->load_directory, "%s/" SPEX_TRIAL_LOADS, directory) < 0) {
        around->load_directory = NULL;
        return spex_fail(error, -ENOMEM, "out of memory");
    }
    if (mkdir(around->load_directory, 0700) < 0)
        return spex_fail(error, -errno, "cannot make a directory %s: %s", around->load_directory,
                         strerror(errno));
    return 0;
}

/* 0; 1: the load cannot be started, which fails the trial; or a negative errno value. */
static int agent_begin_load(struct spex_trial_agent *around, size_t l, const char *directory,
                            struct spex_error *error) {
    const struct spex_load_filled *load = &around->filled.loads[l];
    struct spex_error reason;
    if (load->workers == 0)
        return 0;
    int err = agent_make_load_directory(around, directory, error);
    if (err)
        return err;
    if (spex_load_start(&around->loads[l], load, &around->base, around->load_directory, &reason))
        return load_fail(load, reason.text, error);
    return load_wait_for_workers(around, &around->loads[l], load, error);
}

/* Runs the setup. A setup that has failed is ended before the teardown command runs. */
static int agent_begin_setup(struct spex_trial_agent *around, struct spex_error *error) {
    struct spex_error left;
    if (!around->filled.setup)
        return 0;
    int over = agent_run_command(around, "setup", around->filled.setup,
                                 around->agent->setup.timeout_seconds, around->stop_fd,
                                 &around->setup, NULL, error);
    if (over && spex_program_teardown(&around->setup, &left))
        return spex_fail(error, -EPERM, "setup: %s", left.text);
    return over;
}

/* 0; 1: the service is not ready, which fails the trial; or a negative errno value. */
static int agent_begin_service(struct spex_trial_agent *around, size_t s,
                               struct spex_error *error) {
    const struct spex_service service = {.filled = &around->filled.services[s],
                                         .variables = around->filled.parameters,
                                         .base = &around->base,
                                         .stop_fd = around->stop_fd,
                                         .program = &around->services[s]};
    if (!service.filled->command || !service.filled->ready)
        return 0;
    return spex_service_start(&service, error);
}

/* Services and loads begin one after another, each when the one before it is at work. */
int spex_trial_agent_begin(struct spex_trial_agent *around, const char *directory,
                           struct spex_error *error) {
    int over = agent_begin_setup(around, error);
    for (size_t s = 0; s < around->filled.service_count && !over; s++)
        over = agent_begin_service(around, s, error);
    for (size_t l = 0; l < around->filled.load_count && !over; l++)
        over = agent_begin_load(around, l, directory, error);
    return over;
}

void spex_trial_agent_fds(const struct spex_trial_agent *around, struct pollfd *fds) {
    *fds++ = (struct pollfd){.fd = around->setup.output, .events = POLLIN};
    for (size_t s = 0; s < SPEX_AGENT_SERVICES_MAX; s++) {
        *fds++ = (struct pollfd){.fd = around->services[s].output, .events = POLLIN};
        *fds++ = (struct pollfd){.fd = around->services[s].pidfd, .events = POLLIN};
    }
    for (size_t l = 0; l < SPEX_AGENT_LOADS_MAX; l++) {
        *fds++ = (struct pollfd){.fd = around->loads[l].output, .events = POLLIN};
        *fds++ = (struct pollfd){.fd = around->loads[l].pidfd, .events = POLLIN};
    }
}

/* Output is read so that nobody blocks on a full pipe. The setup's pipe may be held by processes
 * that it has left running. */
int spex_trial_agent_step(struct spex_trial_agent *around, struct spex_error *error) {
    spex_program_output(&around->setup); /* output of processes that the setup has left running */
    for (size_t s = 0; s < around->filled.service_count; s++) {
        struct spex_program *program = &around->services[s];
        spex_program_output(program);
        if (program->pid > 0 && spex_program_ended(program))
            return spex_service_fail_ended(program, &around->filled.services[s],
                                           "ended before the program", error);
    }
    for (size_t l = 0; l < around->filled.load_count; l++) {
        struct spex_program *program = &around->loads[l];
        spex_program_output(program);
        if (program->pid > 0 && spex_program_ended(program))
            return load_fail_ended(program, &around->filled.loads[l], error);
    }
    return 0;
}

int spex_trial_agent_measure(struct spex_trial_agent *around, const char *command, double timeout,
                             double *number, struct spex_error *error) {
    struct spex_program program = SPEX_NO_PROGRAM;
    struct spex_output_end said = {.length = 0};
    struct spex_error left;
    int over = agent_run_command(around, "measure", command, timeout, around->stop_fd, &program,
                                 &said, error);
    if (!over && !spex_output_end_number(&said, number))
        over = trial_fail(error, "measure: a number was expected as the output of %.200s", command);
    return spex_program_teardown(&program, &left)
               ? spex_fail(error, -EPERM, "measure: %s", left.text)
               : over;
}

double spex_trial_agent_used(const struct spex_trial_agent *around, enum spex_resource resource) {
    double used = 0;
    for (size_t s = 0; s < SPEX_AGENT_SERVICES_MAX; s++)
        if (around->services[s].pid > 0)
            used += spex_usage_resource(&around->services[s].usage, NAN, resource);
    return used;
}

/* Replaces the trial's note: the last trouble is kept. */
static void trial_set_note(struct spex_trial *trial, const char *text) {
    free(trial->note);
    trial->note = strdup(text);
}

/* The first word of a service's command without its folder, as "redis-server". */
static void service_name(const char *command, char *name, size_t size) {
    if (strncmp(command, "exec ", strlen("exec ")) == 0)
        command += strlen("exec ");
    const char *slash = command;
    size_t length = strcspn(command, " ");
    for (const char *at = command; at < command + length; at++)
        if (*at == '/')
            slash = at + 1;
    snprintf(name, size, "service %.*s", (int)(command + length - slash), slash);
}

/* The last that was started ends first, as it may use those before. Each gets its row beside the
 * loads. */
static int agent_end_services(struct spex_trial_agent *around, struct spex_trial *trial) {
    struct spex_error error;
    char name[64];
    int err = 0;
    for (size_t s = around->filled.service_count; s-- > 0;) {
        struct spex_program *program = &around->services[s];
        if (program->pid <= 0)
            continue;
        if (spex_program_teardown(program, &error))
            trial_set_note(trial, error.text);
        service_name(around->filled.services[s].command, name, sizeof(name));
        if (spex_trial_add_load(trial, name, 1, &program->usage))
            err = -ENOMEM;
    }
    return err;
}

/* Every load gets its row in the trial, also one that was not started. */
static int agent_end_loads(struct spex_trial_agent *around, struct spex_trial *trial) {
    struct spex_error error;
    int err = 0;
    for (size_t l = 0; l < around->filled.load_count; l++) {
        struct spex_program *program = &around->loads[l];
        const struct spex_load_filled *load = &around->filled.loads[l];
        if (spex_program_teardown(program, &error))
            trial_set_note(trial, error.text);
        if (spex_trial_add_load(trial, load->stressor, load->workers, &program->usage))
            err = -ENOMEM;
    }
    if (around->load_directory)
        spex_load_remove_files(around->load_directory);
    free(around->load_directory);
    return err;
}

/* Runs even when the user has interrupted the exploration (no stop_fd): it undoes what the setup
 * has done. A teardown that fails is noted and does not fail the trial, which has been measured. */
static void agent_run_teardown(struct spex_trial_agent *around, struct spex_trial *trial) {
    struct spex_program program = SPEX_NO_PROGRAM;
    struct spex_error error;
    if (agent_run_command(around, "teardown", around->filled.teardown,
                          around->agent->teardown.timeout_seconds, -1, &program, NULL, &error))
        trial_set_note(trial, error.text);
    if (spex_program_teardown(&program, &error))
        trial_set_note(trial, error.text);
}

/* Kills all processes that have the trial's configuration in their environment. */
static void agent_kill_leftovers(const struct spex_trial_agent *around) {
    char *variable;
    if (asprintf(&variable, "SPEX_CONFIG=%s", around->base.config) < 0)
        return;
    spex_leftovers_kill(variable);
    free(variable);
}

/* The setup is torn down after the teardown command, which may need processes that the setup has
 * left running, such as a server. */
int spex_trial_agent_end(struct spex_trial_agent *around, struct spex_trial *trial) {
    struct spex_error error;
    int err = agent_end_loads(around, trial);
    if (agent_end_services(around, trial))
        err = -ENOMEM;
    if (around->filled.teardown)
        agent_run_teardown(around, trial);
    if (spex_program_teardown(&around->setup, &error))
        trial_set_note(trial, error.text);
    agent_kill_leftovers(around);
    spex_agent_filled_free(&around->filled);
    return err;
}
