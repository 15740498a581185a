/* SPDX-License-Identifier: MIT */
/* A program that is run once with a configuration, what is around it, and its stream: what trials
 * and trainings have in common. What the program does wrong is a result, not an error. */
#ifndef SPEX_EXPLORE_TRIAL_PROGRAM_RUN_H
#define SPEX_EXPLORE_TRIAL_PROGRAM_RUN_H

#include <poll.h>

#include "explore/space/space.h"
#include "explore/trial/program.h"
#include "explore/trial/receiver.h"
#include "explore/trial/trial_agent.h"
#include "measure/trial.h"
#include "text/error.h"

/* In a run's directory. */
#define SPEX_TRIAL_CONFIG "configuration.xml"
#define SPEX_TRIAL_SOCKET "records"

/* What spex_program_run_wait waits for. */
enum {
    SPEX_RUN_STOP,
    SPEX_RUN_OUTPUT,
    SPEX_RUN_PROGRAM,
    SPEX_RUN_STREAM,
    SPEX_RUN_AROUND = SPEX_RUN_STREAM + SPEX_RECEIVER_FDS,
    SPEX_RUN_FDS = SPEX_RUN_AROUND + SPEX_TRIAL_AGENT_FDS
};

struct spex_program_run {
    const char *directory; /* private; the configuration and the socket are made here */
    int stop_fd;           /* readable: give up; -1 for none */
    struct spex_trial_agent around;
    struct spex_program program;
    struct spex_receiver *receiver;
    char *config; /* paths */
    char *socket;
};

void spex_program_run_init(struct spex_program_run *run, const char *directory, int stop_fd);

/* Writes the configuration and listens. 0 or an error of ours; to be ended in any case. */
int spex_program_run_prepare(struct spex_program_run *run, const struct spex_space *space,
                             const size_t *levels, struct spex_error *error);

/* Launches the program and what is to be there before it; `cpus` as in struct spex_launch. 0; 1
 * when the run has failed, or an error of ours: as `error` says. */
int spex_program_run_begin(struct spex_program_run *run, const struct spex_space_file *file,
                           char *const *argv, const size_t *levels, const char *probes,
                           const cpu_set_t *cpus, struct spex_error *error);

/* As poll, which may have been interrupted: 0 then. An error of ours. */
int spex_program_run_wait(const struct spex_program_run *run, struct pollfd fds[SPEX_RUN_FDS],
                          int timeout_ms, struct spex_error *error);

/* Ends all of it; the trial is told what was used. What went wrong first, or now. */
int spex_program_run_end(struct spex_program_run *run, int err, struct spex_trial *trial,
                         struct spex_error *error);

/* Removes the files. */
void spex_program_run_release(struct spex_program_run *run);

#endif
