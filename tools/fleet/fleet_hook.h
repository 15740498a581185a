/* SPDX-License-Identifier: MIT */
/* The command that adds and removes instances: `HOOK add N`, `HOOK remove HOST/PROCESS…`. One runs
 * at a time; nobody waits for it. */
#ifndef SPEX_TOOLS_FLEET_FLEET_HOOK_H
#define SPEX_TOOLS_FLEET_FLEET_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "fleet/lead/lead.h"

struct spex_fleet_hook {
    /* NULL: there is none. */
    const char *command;
    /* It runs since then; 0: it does not. */
    pid_t process;
    double since;
    /* Instances to be added, and when some were asked to be removed last. */
    size_t add;
    double removed;
    /* How the last one has ended: printable; empty: none has. */
    char last[160];
};

/* Takes a decision, and starts or looks after the command. Returns whether `last` is new. */
bool spex_fleet_hook_step(struct spex_fleet_hook *hook, struct spex_lead *lead, double now);

/* The same between decisions. */
bool spex_fleet_hook_look(struct spex_fleet_hook *hook, double now);

#endif
