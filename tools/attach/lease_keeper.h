/* SPDX-License-Identifier: MIT */
/* Renews a lease beside a command that waits for other things: a thread does it, so that the probes
 * stay on while the command writes to a slow disk or calculates. */
#ifndef SPEX_TOOLS_ATTACH_LEASE_KEEPER_H
#define SPEX_TOOLS_ATTACH_LEASE_KEEPER_H

#include <pthread.h>
#include <stdbool.h>

#include "tools/attach/held_lease.h"

struct spex_lease_keeper {
    struct spex_held_lease *lease;
    pthread_t thread;
    /* Readable for the thread to end. */
    int end;
    bool runs;
};

/* The lease belongs to the thread until the end. 0 or a negative errno value. */
int spex_lease_keeper_start(struct spex_lease_keeper *keeper, struct spex_held_lease *lease);
void spex_lease_keeper_stop(struct spex_lease_keeper *keeper);

#endif
