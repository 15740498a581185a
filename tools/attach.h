/* SPDX-License-Identifier: MIT */
/* A running program whose kernels are listened to: switches them on, has their records streamed here, and puts the
 * selection back in the end. */
#ifndef SPEX_ATTACH_H
#define SPEX_ATTACH_H

#include <poll.h>
#include <stdbool.h>
#include <sys/types.h>

#include "clock.h"
#include "models.h"
#include "profile.h"
#include "receiver.h"

struct spex_attached {
    pid_t process;
    int process_fd; /* readable when the process has ended; -1: the system has no such thing */
    struct spex_receiver *receiver;
    struct spex_instant begin;
    double ticks_per_second;
    uint64_t lost_before; /* records, by the program */
    bool switched;
    char command[SPEX_PROFILE_NAME_BYTES];
    char before[SPEX_PROFILE_TEXT_BYTES]; /* what was selected, */
    char after[SPEX_PROFILE_TEXT_BYTES];  /*   and since we have added to it */
    char *back;                           /* what switches ours off again; to be freed */
};

/* What is switched on, beside what is on already: `probes`, in the users' syntax, or, where that is NULL, the kernels
 * that the models know, with this behind each: "", or "@probe", for those that are on already, too. 0, or a negative errno value with the reason; to be detached in any case. */
int spex_attach(struct spex_attached *attached, pid_t process, const char *probes,
                const struct spex_models *models, const char *sampling, struct spex_why *why);

/* Ends the stream, and puts the selection back if the program is still there; says so on standard error where it cannot. */
void spex_detach(struct spex_attached *attached);

/* Waits up to `timeout_ms` (-1: for ever) for the stream, the process's end, or `stop_fd`. True: to be stopped. */
bool spex_attached_wait(const struct spex_attached *attached, int stop_fd, int timeout_ms);

/* Takes what has come, without waiting, and hands out the records that are complete, or with `all` those there are: as
 * spex_receiver_take and spex_receiver_records. 0; 1 when there may be more; or negative, with the reason. */
int spex_attached_take(const struct spex_attached *attached, bool all,
                       const struct spex_record **records, size_t *count, struct spex_why *why);

/* Whether the process has ended or has stopped spex: what the stream has brought is all. */
bool spex_attached_over(const struct spex_attached *attached);

/* Seconds since it was attached. */
double spex_attached_seconds(const struct spex_attached *attached);

/* Records that the program has lost since then, or that this command was too slow for. */
uint64_t spex_attached_lost(const struct spex_attached *attached);

#endif
