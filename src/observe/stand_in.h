/* SPDX-License-Identifier: MIT */
/* Stands in for a dormant program (wire/dormant.h): answers requests that look at it, in which no
 * probe is on, without waking it up. A stand-in has the descriptor of a timer in the place of a
 * socket, which is readable when an answer is due. */
#ifndef SPEX_OBSERVE_STAND_IN_H
#define SPEX_OBSERVE_STAND_IN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/dormant.h"
#include "observe/profile_reader.h"

struct spex_stand_in {
    struct spex_dormant_program program;
    uid_t owner;
    /* The directory of its socket, O_PATH; -1: it has closed its socket. */
    int directory;
    /* The user waits at most so long for a connection; 0: not at all. */
    int timeout_ms;
    /* The last request. */
    enum spex_control_kind kind;
    uint32_t number, interval_ms;
    /* When the next answer is due, CLOCK_MONOTONIC. It looks at the program more often. */
    uint64_t due_ns;
    bool hurries;
    /* The frames of an answer: made with the first one. */
    struct spex_profile_site *sites;
    uint32_t site_count;
    bool sites_known;
    /* It has told that the program has stopped spex, and is over. */
    bool over;
};

/* Makes a stand-in, which takes over `program` and `directory`. Its descriptor, or a negative errno
 * value, and nothing has been taken over. */
int spex_stand_in_open(const struct spex_dormant_program *program, int directory, int timeout_ms);

/* The stand-in behind a descriptor of spex_client_connect; NULL: it is a socket. */
struct spex_stand_in *spex_stand_in_of(int fd);

/* Ends what was behind the descriptor, but for the descriptor itself. */
void spex_stand_in_forget(int fd);

/* Whether a request only looks at the program. */
bool spex_stand_in_answers(enum spex_control_kind kind);

/* Takes such a request. 0 or a negative errno value. */
int spex_stand_in_ask(int fd, enum spex_control_kind kind, uint32_t number, uint32_t interval_ms);

/* The process has been called: its stand-ins look more often whether it wakes up. */
void spex_stand_in_called(pid_t process);

/* Gives the reader the answer that is due. 1; 0: none is, as while the program is halted; or an error
 * of spex_profile_reader_take. */
int spex_stand_in_answer(int fd, struct spex_profile_reader *reader, struct spex_error *error);

/* The program has stopped spex: gives the reader a last report. The same; -ECONNRESET: it has had
 * one. */
int spex_stand_in_end(int fd, struct spex_profile_reader *reader, struct spex_error *error);

#endif
