/* SPDX-License-Identifier: MIT */
/* Follows the kernels of a running program: switches them on, receives their records as a stream,
 * and restores the program's selection at the end. */
#ifndef SPEX_TOOLS_ATTACH_ATTACH_H
#define SPEX_TOOLS_ATTACH_ATTACH_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/clock.h"
#include "explore/trial/receiver.h"
#include "model/models.h"
#include "profile/profile.h"
#include "tools/attach/added_selection.h"

struct spex_attached {
    pid_t process;
    /* Readable when the process has ended; -1 where the system has no pidfd_open. */
    int process_fd;
    struct spex_receiver *receiver;
    struct spex_instant begin;
    double ticks_per_second;
    /* Records that the program had lost before. */
    uint64_t lost_before;
    char command[SPEX_PROFILE_NAME_BYTES];
    struct spex_added_selection added;
    /* Until when the rest is taken, CLOCK_MONOTONIC; 0: spex_attached_rest was not called. */
    uint64_t rest_until_ns;
};

/* Adds to the program's selection: `probes`, in the users' syntax, or, where that is NULL, the
 * kernels that the models know, each with `sampling` after it. That is "" or "@poll"; the latter
 * also changes kernels that are on already. 0, or a negative errno value with the reason. Call
 * spex_detach in either case. */
int spex_attach(struct spex_attached *attached, pid_t process, const char *probes,
                const struct spex_models *models, const char *sampling, struct spex_error *error);

/* Ends the stream, and restores the selection if the program is still there. A failure to restore
 * it is reported on standard error. */
void spex_detach(struct spex_attached *attached);

/* Waits up to `timeout_ms` (-1: for ever) for the stream, the end of the process, or `stop_fd`.
 * True: `stop_fd` is readable. */
bool spex_attached_wait(const struct spex_attached *attached, int stop_fd, int timeout_ms);

/* Receives without waiting, and gives the records whose order is final, or with `all` every record:
 * see spex_receiver_take and spex_receiver_records. 0; 1 when there may be more; or a negative
 * errno value with the reason. */
int spex_attached_take(const struct spex_attached *attached, bool all,
                       const struct spex_record **records, size_t *count, struct spex_error *error);

/* Whether more of the records that are left at the end is to be taken: for some seconds, since a
 * program may send without end. */
bool spex_attached_rest(struct spex_attached *attached);

/* Whether the process has ended or has stopped spex, after which the stream brings no more. */
bool spex_attached_over(const struct spex_attached *attached);

/* Seconds since it was attached. */
double spex_attached_seconds(const struct spex_attached *attached);

/* Records lost since then, by the program or because this command was too slow. */
uint64_t spex_attached_lost(const struct spex_attached *attached);

#endif
