/* SPDX-License-Identifier: MIT */
/* `spex run` of a program that was built without spex: counts its functions from its first instruction on. */
#ifndef SPEX_TOOLS_RUN_RUN_FUNCTIONS_H
#define SPEX_TOOLS_RUN_RUN_FUNCTIONS_H

#include <stdbool.h>

struct spex_run_functions {
    const char *functions, *out;
    /* 0: as of `spex attach`. */
    double budget;
    bool json, verbose;
    char *const *argv;
    /* The signal that has killed the program; 0: none. */
    int by_signal;
};

/* The program's exit status, or another after a message. */
int spex_run_functions(struct spex_run_functions *run);

#endif
