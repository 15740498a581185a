/* SPDX-License-Identifier: MIT */
/* Runs a server during a trial, which the program puts load on: starts it, and waits until it is
 * ready. */
#ifndef SPEX_EXPLORE_TRIAL_SERVICE_H
#define SPEX_EXPLORE_TRIAL_SERVICE_H

#include "explore/trial/agent_filled.h"
#include "explore/trial/program.h"
#include "text/error.h"

struct spex_service {
    const struct spex_service_filled *filled;
    char *const *variables;         /* of commands, as of setup and teardown */
    const struct spex_launch *base; /* the configuration's path and the CPUs */
    int stop_fd;                    /* readable: give up; -1 for none */
    struct spex_program *program;
};

/* Starts the service and waits until it is ready. 0; 1 when the trial fails, with the reason in
 * `error`; -EINTR; or another negative errno value. The program is to be torn down in any case. */
int spex_service_start(const struct spex_service *service, struct spex_error *error);

/* The reason why a trial fails whose service has ended; returns 1. */
int spex_service_fail_ended(struct spex_program *program, const struct spex_service_filled *filled,
                            const char *when, struct spex_error *error);

#endif
