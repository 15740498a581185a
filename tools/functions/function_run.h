/* SPDX-License-Identifier: MIT */
/* Starts a program whose functions are looked at from its first instruction on. */
#ifndef SPEX_TOOLS_FUNCTIONS_FUNCTION_RUN_H
#define SPEX_TOOLS_FUNCTIONS_FUNCTION_RUN_H

#include "observe/passed_signals.h"
#include "tools/functions/function_watch.h"

struct spex_function_run {
    struct spex_launched program;
    struct spex_passed_signals signals;
};

/* Holds the program at its first instruction, and completes a request for it, whose `user` is left alone. Signals are the
 * program's. An exit status, after a message. */
int spex_function_run_start(struct spex_function_run *run, char *const *argv,
                            struct spex_function_watch_request *request);

/* Ends a program that is held still, as nothing of it can be looked at. */
void spex_function_run_give_up(struct spex_function_run *run);

/* Waits for the program's end. Returns its exit status, or 128 and the signal that has killed it. */
int spex_function_run_wait(struct spex_function_run *run);

#endif
