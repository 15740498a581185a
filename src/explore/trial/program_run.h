/* SPDX-License-Identifier: MIT */
/* One run of a program with a configuration, with its agent (setup, loads, teardown) and its
 * stream: what trials and trainings have in common. A failure of the program is an outcome, not an
 * error. */
#ifndef SPEX_EXPLORE_TRIAL_PROGRAM_RUN_H
#define SPEX_EXPLORE_TRIAL_PROGRAM_RUN_H

#include <poll.h>

#include "explore/space/space.h"
#include "explore/trial/program.h"
#include "explore/trial/receiver.h"
#include "explore/trial/trial_agent.h"
#include "measure/trial.h"
#include "text/error.h"

/* Files in a run's directory. */
#define SPEX_TRIAL_CONFIG "configuration.xml"
#define SPEX_TRIAL_SOCKET "records"

/* Indices of the descriptors that spex_program_run_wait waits for. */
enum {
    SPEX_RUN_STOP,
    SPEX_RUN_OUTPUT,
    SPEX_RUN_ERRORS,
    SPEX_RUN_PROGRAM,
    SPEX_RUN_STREAM,
    SPEX_RUN_AROUND = SPEX_RUN_STREAM + SPEX_RECEIVER_FDS,
    SPEX_RUN_FDS = SPEX_RUN_AROUND + SPEX_TRIAL_AGENT_FDS
};

struct spex_program_run {
    const char *directory; /* private; has the configuration and the socket */
    int stop_fd;           /* readable: give up; -1 for none */
    struct spex_trial_agent around;
    struct spex_program program;
    struct spex_receiver *receiver; /* NULL: of a command, whose records nobody takes */
    char *config;                   /* path of the configuration */
    struct spex_descriptor config_file;
    char *socket; /* path of the stream's socket; NULL without a receiver */
    /* Is shown the program's output, if set before the launch. */
    void (*take)(void *user, const char *text, size_t length);
    void *user;
};

void spex_program_run_init(struct spex_program_run *run, const char *directory, int stop_fd);

/* Writes the configuration. 0 or a negative errno value; to be ended in any case. */
int spex_program_run_configure(struct spex_program_run *run, const struct spex_space *space,
                               const size_t *levels, struct spex_error *error);

/* The same, and listens for records. */
int spex_program_run_prepare(struct spex_program_run *run, const struct spex_space *space,
                             const size_t *levels, struct spex_error *error);

/* Runs the setup and the loads and launches the program; `cpus` as in struct spex_launch. 0; 1 when
 * the run has failed; or a negative errno value: with the reason in `error`. */
int spex_program_run_begin(struct spex_program_run *run, const struct spex_space_file *file,
                           char *const *argv, const size_t *levels, const char *probes,
                           const cpu_set_t *cpus, struct spex_error *error);

/* poll() over all descriptors of the run; 0 also when it was interrupted. */
int spex_program_run_wait(const struct spex_program_run *run, struct pollfd fds[SPEX_RUN_FDS],
                          int timeout_ms, struct spex_error *error);

/* Ends the stream, the program and the agent, and tells the trial the resources used. Returns
 * `err`, or the first error of its own. */
int spex_program_run_end(struct spex_program_run *run, int err, struct spex_trial *trial,
                         struct spex_error *error);

/* Removes the files and frees the paths. */
void spex_program_run_release(struct spex_program_run *run);

#endif
