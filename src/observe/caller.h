/* SPDX-License-Identifier: MIT */
/* A process that has connected to the socket of a command: its connection, and its last report. */
#ifndef SPEX_OBSERVE_CALLER_H
#define SPEX_OBSERVE_CALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile_reader.h"

/* Numbers of requests, by which answers are recognized. Reports that no request asked for have
 * the number 0. */
enum { SPEX_CALLER_INTERVAL = 1, SPEX_CALLER_LAST };

struct spex_caller {
    /* The process id as this PID namespace sees it; 0 for a process of another namespace that
     * has not reported. */
    pid_t process;
    /* Whose process it is. */
    uid_t owner;
    /* -1: closed. */
    int socket;
    /* -1: the process has ended, or pidfd_open has failed. */
    int pidfd;
    /* The file of its rings, which came with its profile; -1: none. It is kept where this is set. */
    int rings;
    bool keeps_rings;
    char command[SPEX_PROFILE_NAME_BYTES];
    struct spex_profile_reader reader;
    /* For commands that print intervals: the profile at the end of the last interval, and whether
     * the first interval has begun. */
    struct spex_profile shown;
    bool subscribed;
    /* Made while another connection of the process was open: another copy of spex made it, and not
     * the program that the process has become. */
    bool beside;
    /* Times of CLOCK_MONOTONIC: of the connection, of the last complete report, and of the end of
     * the connection. */
    uint64_t called_ns;
    uint64_t heard_ns;
    uint64_t closed_ns;
    /* The profile was made whole by what the rings of the process had when it had died. */
    bool whole;
    /* Records that the process has made after its last report; -1: not known. */
    int64_t unseen_records;
    /* Gets every sound frame, if it is not NULL. */
    void (*frame)(void *user, const char *frame, size_t bytes);
    void *user;
    /* Why the connection was given up; empty while it is not. */
    struct spex_error error;
};

/* Owns `socket` from here on. The socket must be non-blocking. */
void spex_caller_open(struct spex_caller *caller, int socket);
void spex_caller_free(struct spex_caller *caller);

/* Asks for a report now (SPEX_CONTROL_PROFILE) or one every `interval_ms`
 * (SPEX_CONTROL_SUBSCRIBE). Does not wait, and reports no error: spex_caller_take finds out
 * when the connection is closed. */
void spex_caller_ask(struct spex_caller *caller, enum spex_control_kind kind, uint32_t number,
                     uint32_t interval_ms);

/* Takes the frames that have arrived, up to the end of a report. Does not wait. 1: a report is
 * complete. 0: no frame is waiting, or many were taken. -1: the connection is closed, and no
 * other report comes. */
int spex_caller_take(struct spex_caller *caller);

/* Whether the process runs. False also when its pidfd could not be opened. */
bool spex_caller_runs(struct spex_caller *caller);

/* The time at the end of a connection that its last report does not cover. */
double spex_caller_unseen_seconds(const struct spex_caller *caller);

/* Whether no report has begun to arrive. */
bool spex_caller_silent(const struct spex_caller *caller);

/* Whether `later` is the same program in the same process, which has lost its first connection
 * and has connected again. */
bool spex_caller_same(const struct spex_caller *caller, const struct spex_caller *later);

#endif
