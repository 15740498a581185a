/* SPDX-License-Identifier: MIT */
/* Runs trials of a fleet's explorations on this host, one at a time: of the space and the program
 * that its user names, with values of that space that the explorer chooses. */
#ifndef SPEX_FLEET_TRIALS_TRIAL_WORKER_H
#define SPEX_FLEET_TRIALS_TRIAL_WORKER_H

#include <spex/policy.h>

#include "fleet/link/link.h"
#include "text/error.h"

struct spex_trial_worker_options {
    struct spex_link_options link;
    const char *fleet;
    /* The name under which others know this host; NULL: its own. */
    const char *host;
    /* The space's file, and the program. */
    const char *space;
    char *const *argv;
    /* Readable: end. */
    int stop_fd;
    /* Takes a line for the user, and what becomes of a trial. */
    void (*tell)(const char *line);
    void (*trial)(void *user, const char *event, const struct spex_space *space,
                  const size_t *levels, const char *status);
    void *user;
};

/* Until stop_fd is readable: 0. Or a negative errno value with the reason. */
int spex_trial_worker_run(const struct spex_trial_worker_options *options,
                          struct spex_error *error);

#endif
