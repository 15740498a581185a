/* SPDX-License-Identifier: MIT */
/* The control thread: serves commands of the same user, which read this process's profile and
 * switch its probes. It sleeps in poll until a command connects. */
#ifndef SPEX_SERVE_CONTROL_H
#define SPEX_SERVE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/descriptor.h"
#include "collect/stream.h"
#include "site/registry.h"
#include "text/error.h"
#include "wire/control_format.h"

/* What a client selects. */
struct spex_control_selection {
    const char *probes;
    /* Children of forks go on with their parent's probes from here on. */
    bool follow;
    struct spex_lease lease;
    /* The share of the program's CPU time that all probes may take while the lease holds; 0: as
     * ever. */
    double budget;
    /* Set where it selects probes of which none is there (yet). NULL: nobody asks. */
    bool *unmatched;
};

/* Requests that clients can make. Each writes a text for the user to `answer`. Each returns -EBUSY
 * at once while another thread starts, sets or stops spex: that thread may wait for the control
 * thread. */
struct spex_control_requests {
    /* As spex_set, or by a lease as spex_set_for, if it is for any time. */
    int (*select)(const struct spex_control_selection *selection, char *answer, size_t size);
    /* Keeps to a share of the program's CPU time until the next such request; 0: ends that. 0 or a
     * negative errno value. */
    int (*budget)(double share, char *answer, size_t size);
    /* Streams records as asked for, and takes the descriptors over. 0; -EUSERS when there are as
     * many streams as may be, -EPERM before spex_start, -ENOMEM. */
    int (*stream)(const struct spex_stream_asked *asked, char *answer, size_t size);
    /* Samples polled kernels by the models at this path, `samples` times an execution, for the
     * share `share` of the program's CPU time (0: its budget). NULL: by the models that the process was
     * started with. 0 or a negative errno value. */
    int (*models)(const char *path, double samples, double share, char *answer, size_t size);
};

/* Opens the listening socket, and starts the thread unless `polled`. `requests` stays valid for
 * ever. `chosen`: SPEX_CONTROL's directory, or NULL. 0, or a negative errno value with the
 * reason. */
int spex_control_start(const struct spex_control_requests *requests, const char *chosen,
                       bool polled, struct spex_error *error);

/* As spex_control_start for a dormant program (wire/dormant.h): without a thread, and the socket's
 * file says so. */
int spex_control_start_dormant(const struct spex_control_requests *requests, const char *chosen,
                               struct spex_error *error);

/* Starts the thread where there is none, and has the socket's file say so. 0, also where there is no
 * socket; -EBUSY: another thread starts or stops spex; or another negative errno value. Does not
 * wait. */
int spex_control_wake(void);

/* Wakes the thread where there is one, so that it looks after what is due. */
void spex_control_nudge(void);

/* Starts the thread where somebody has called. Does not wait. 1: it runs; 0; or a negative errno
 * value. */
int spex_control_poll(void);

/* The listening socket while no thread waits at it; -1 otherwise. */
int spex_control_poll_descriptor(void);

/* Connects to the command that waits at the socket `path`, or by the inherited socket `handover`
 * (call.h), and sends it a report every `interval_ms`. Starts the thread if it does not run; in a
 * thread's first wait at a listening socket it would wait for that, so this goes before
 * spex_control_start. When the command goes, all probes go off. */
int spex_control_call(const struct spex_control_requests *requests, const char *path,
                      const struct spex_descriptor *handover, uint32_t interval_ms,
                      struct spex_error *error);

/* Sends the called command a profile now, on this thread and without waiting: with it the command
 * has what it needs to read the rings of a process that dies at any time from here on. */
void spex_control_tell(void);

/* Reads the selection that stands for this program by its name (wire/standing.h), from the
 * directory of its listening socket. The caller frees *text. 0, or a negative errno value. */
int spex_control_standing(char **text);

/* Sends the last reports, closes all connections and joins the thread. Every site is off and every
 * record collected. Waits for slow readers, at most two seconds. */
void spex_control_stop(void);

/* At the exit of the process: removes the socket, and leaves the thread asleep until the process
 * ends with it. False: somebody is connected and gets a last report; the thread is to be
 * stopped. */
bool spex_control_leave(void);

/* Unmaps what clients need, after a stop: the library is unloaded. */
void spex_control_unmap(void);

/* The lock of the control thread's state, which is held around a fork. */
struct spex_lock *spex_control_lock(void);

/* In the child of a fork, which has no control thread: closes the parent's descriptors. */
void spex_control_fork_child(void);

#endif
