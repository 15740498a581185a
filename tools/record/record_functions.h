/* SPDX-License-Identifier: MIT */
/* Records functions of a program that was built without spex. */
#ifndef SPEX_TOOLS_RECORD_RECORD_FUNCTIONS_H
#define SPEX_TOOLS_RECORD_RECORD_FUNCTIONS_H

#include <sys/types.h>

#include "tools/record/recorded.h"

struct spex_record_functions {
    struct spex_recording *recording;
    /* As users write them. */
    const char *functions;
    /* As a share of the program's CPU time; 0: the default. */
    double budget;
    /* A process that runs; 0: `argv` is run. */
    pid_t process;
    char *const *argv;
    /* The signal that has ended the program; 0: none. */
    int by_signal;
};

/* Writes a trace until the program has ended or a signal comes. A program that was run has its own exit status. */
int spex_record_functions(struct spex_record_functions *record);

#endif
