/* SPDX-License-Identifier: MIT */
/* A process that has called a command's socket: its connection, and the last that it has reported. */
#ifndef SPEX_OBSERVE_CALLER_H
#define SPEX_OBSERVE_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile_reader.h"

/* Numbers of requests, to know answers by. What it reports of its own accord has 0. */
enum { SPEX_CALLER_INTERVAL = 1, SPEX_CALLER_LAST };

struct spex_caller {
    pid_t process; /* as seen here; 0: it is in another namespace */
    int socket;    /* -1: closed */
    int pidfd;     /* -1: the process is gone, or could not be opened */
    char command[SPEX_PROFILE_NAME_BYTES];
    struct spex_profile_reader reader;
    struct spex_profile shown; /* what the last interval ended with, and */
    bool subscribed;           /*   whether the first has begun; for who prints intervals */
    uint64_t called_ns;        /* when it was let in, */
    uint64_t heard_ns;         /*   when the last report was complete, and */
    uint64_t closed_ns;        /*   when the connection ended: CLOCK_MONOTONIC */
    char why[128];             /* it was broken off for; mostly empty */
};

/* Takes the socket over, non-blocking. */
void spex_caller_open(struct spex_caller *caller, int socket);
void spex_caller_free(struct spex_caller *caller);

/* Asks for a report now (SPEX_CONTROL_PROFILE) or every so often (SPEX_CONTROL_SUBSCRIBE). A process that cannot be
 * asked is about to close. */
void spex_caller_ask(struct spex_caller *caller, enum spex_control_kind kind, uint32_t number,
                     uint32_t interval_ms);

/* Takes in what has come, without waiting, up to the end of a report: 1 when it is there, 0 when there is no more
 * to take, -1 when nothing will come any more: the connection is closed. */
int spex_caller_take(struct spex_caller *caller);

/* Whether its process runs. */
bool spex_caller_runs(struct spex_caller *caller);

/* Whether it has said nothing at all. */
bool spex_caller_silent(const struct spex_caller *caller);

/* Whether `later` is the same program in the same process, which has lost its first connection and called again. */
bool spex_caller_same(const struct spex_caller *caller, const struct spex_caller *later);

#endif
