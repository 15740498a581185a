/* SPDX-License-Identifier: MIT */
/* How a command tells its user, and its caller, that something has failed. */
#ifndef SPEX_TOOLS_COMMON_COMPLAIN_H
#define SPEX_TOOLS_COMMON_COMPLAIN_H

#include <stdio.h>

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

/* Flushes `out`: 0, or the negative errno value of this write or of an earlier one that failed. */
int spex_written(FILE *out);

/* The exit status of a command whose help is all that it has written to standard output. */
int spex_help_written(void);

#endif
