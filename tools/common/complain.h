/* SPDX-License-Identifier: MIT */
/* How a command tells its user, and its caller, that something has failed. */
#ifndef SPEX_TOOLS_COMMON_COMPLAIN_H
#define SPEX_TOOLS_COMMON_COMPLAIN_H

#include <stdint.h>
#include <stdio.h>

#include "text/error.h"

/* Exit statuses. */
enum {
    SPEX_EXIT_OK = 0,
    /* The command could not do what it was told to. */
    SPEX_EXIT_FAILED = 1,
    /* The command line is wrong. */
    SPEX_EXIT_USAGE = 2,
    /* The command has found the anomaly that it was to look for. */
    SPEX_EXIT_FOUND = 3,
    /* As in shells, for a program that cannot be started. */
    SPEX_EXIT_NOT_EXECUTABLE = 126,
    SPEX_EXIT_NOT_FOUND = 127,
    SPEX_EXIT_INTERRUPTED = 130
};

/* Writes "spex: …" to standard error; returns `status`. */
__attribute__((format(printf, 2, 3))) int spex_complain(int status, const char *format, ...);

/* What a service says as often as others give it reason to: the same thing once, however often it
 * happens on end, and different ones some times a minute. All zero at first. */
enum { SPEX_REPEATED_MOST = 10 };
#define SPEX_REPEATED_NS UINT64_C(60000000000)

struct spex_repeated {
    /* What stands before each: "serve: ", or another name of a command. */
    const char *who;
    struct spex_error last;
    /* When the minute began, and how many were said and left out since. */
    uint64_t since_ns;
    unsigned said;
    uint64_t left_out;
};

void spex_repeated_complain(struct spex_repeated *repeated, const char *text, uint64_t now_ns);

/* To be called now and then: tells how many were left out in a minute that is over. */
void spex_repeated_look(struct spex_repeated *repeated, uint64_t now_ns);

/* The same at the end of the service. */
void spex_repeated_end(struct spex_repeated *repeated);

/* Flushes `out`: 0, or the negative errno value of this write or of an earlier one that failed. */
int spex_written(FILE *out);

/* The exit status of a command whose help is all that it has written to standard output. */
int spex_help_written(void);

#endif
