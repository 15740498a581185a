/* SPDX-License-Identifier: MIT */
/* What the control thread waits for: descriptors, and the next time at which something is due. Its
 * CPU time is limited: to a quarter of a CPU, with at most SPEX_CONTROL_WAIT_ALLOWANCE_NS saved up, which
 * takes 400 ms of rest. Thirty thousand selections a second of a few probes take about so much. */
#ifndef SPEX_SERVE_CONTROL_WAIT_H
#define SPEX_SERVE_CONTROL_WAIT_H

#include <poll.h>

#include "serve/clients.h"

/* CPU time. */
#define SPEX_CONTROL_WAIT_ALLOWANCE_NS INT64_C(100000000)

/* Indices of the descriptors: the wake-up, the listening socket, and the connections from
 * SPEX_CONTROL_WAIT_FIRST on. */
enum {
    SPEX_CONTROL_WAIT_WOKEN,
    SPEX_CONTROL_WAIT_DOOR,
    SPEX_CONTROL_WAIT_FIRST,
    SPEX_CONTROL_WAIT_COUNT = SPEX_CONTROL_WAIT_FIRST + SPEX_CONTROL_CONNECTIONS
};

struct spex_control_wait {
    struct pollfd fds[SPEX_CONTROL_WAIT_COUNT];
    int count, timeout_ms;
};

/* Adds CPU time to the allowance for the time until `now`, and subtracts what was used. */
void spex_control_wait_earn(struct spex_control *control, uint64_t now, uint64_t used_ns);

/* While the CPU allowance is overdrawn the wake-up alone is waited for, until it is earned: clients
 * wait in their sockets. `now` is of CLOCK_MONOTONIC. */
void spex_control_wait_prepare(struct spex_control_wait *waiting,
                               const struct spex_control *control, uint64_t now);

/* The events of the connection at a place. */
short spex_control_wait_events(const struct spex_control *control, int place,
                               const struct spex_control_wait *waiting);

#endif
