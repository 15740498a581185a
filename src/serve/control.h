/* SPDX-License-Identifier: MIT */
/* The control thread: lets commands of the same user look at this process's probes and switch
 * them. It sleeps until one calls. */
#ifndef SPEX_SERVE_CONTROL_H
#define SPEX_SERVE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/descriptor.h"

/* What clients can request of the process. Each puts what is to be said into `answer`, and
 * returns -EBUSY, at once, while another thread starts, sets or stops spex: that thread may wait
 * for the caller. */
struct spex_control_requests {
    /* As spex_set. */
    int (*select)(const char *probes, char *answer, size_t size);
    /* Streams records of these types (a mask) to the other end of `socket`, which is spex's
     * then. 0; -EUSERS when there are as many streams as may be, -EPERM before spex_start,
     * -ENOMEM. */
    int (*stream)(struct spex_descriptor socket, uint32_t types, char *answer, size_t size);
    /* Has kernels that are probed sampled by the models at this path, so many times an
     * execution, for so much of the program's time (0: what its budget is); NULL: by what the
     * process was started with. 0, or why not. */
    int (*models)(const char *path, double samples, double share, char *answer, size_t size);
};

/* Starts the thread with an open door. `requests` stays for ever. `chosen`: SPEX_CONTROL's
 * directory, or NULL. 0, or a negative errno value with the reason. */
int spex_control_start(const struct spex_control_requests *requests, const char *chosen, char *why,
                       size_t why_size);

/* Calls the command that waits at the socket `path`, which will be sent a report every
 * `interval_ms`. Starts the thread if need be. When that command goes, all probes go off. */
int spex_control_call(const struct spex_control_requests *requests, const char *path,
                      uint32_t interval_ms, char *why, size_t why_size);

/* Every site is off and every record collected: sends the last reports, closes all, ends the
 * thread. Waits for slow readers, two seconds at most. */
void spex_control_stop(void);

/* Around a fork; in the child there is no thread, and what it had open is the parent's. */
void spex_control_fork_prepare(void);
void spex_control_fork_parent(void);
void spex_control_fork_child(void);

#endif
