/* SPDX-License-Identifier: MIT */
/* The program's arguments and the space's agent, filled in for one configuration. What names a
 * parameter that does not apply is left out: an argument, a variable, a command, a load. */
#ifndef SPEX_EXPLORE_TRIAL_AGENT_FILLED_H
#define SPEX_EXPLORE_TRIAL_AGENT_FILLED_H

#include "explore/space/space.h"
#include "explore/space/space_agent.h"
#include "text/error.h"

/* Lists end with NULL. */
struct spex_agent_filled {
    char **argv;
    char **variables;  /* of the program: "NAME=value", or "NAME" for one to be removed */
    char **parameters; /* of commands: the same, for SPEX_PARAMETER_… */
    char *setup;       /* NULL: no command */
    char *teardown;
    struct spex_load_filled {
        const char *stressor; /* owned by the agent */
        unsigned workers;     /* 0: the load is not started */
        char **options;
    } loads[SPEX_AGENT_LOADS_MAX];
    size_t load_count; /* as in the agent */
    struct spex_service_filled {
        char *command, *ready; /* NULL: names a parameter that does not apply; it is not started */
        double timeout_seconds;
    } services[SPEX_AGENT_SERVICES_MAX];
    size_t service_count; /* as in the agent */
};

/* Checks that templates in the program's arguments name parameters of the space. 0; -EINVAL;
 * -ENOMEM. */
int spex_agent_check_arguments(const struct spex_space *space, char *const *argv,
                               struct spex_error *error);

/* Fills in the templates. 0; -EINVAL when argv[0] names a parameter that does not apply; -ENOMEM.
 * To be freed in any case. */
int spex_agent_fill(const struct spex_space_file *file, char *const *argv, const size_t *levels,
                    struct spex_agent_filled *filled, struct spex_error *error);

void spex_agent_filled_free(struct spex_agent_filled *filled);

#endif
