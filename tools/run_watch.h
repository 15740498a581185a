/* SPDX-License-Identifier: MIT */
/* Watches a program while it runs: takes the reports of its processes, passes signals on to it. */
#ifndef SPEX_RUN_WATCH_H
#define SPEX_RUN_WATCH_H

#include <stdint.h>

#include "launch.h"
#include "listener.h"
#include "passed_signals.h"
#include "run_output.h"

struct spex_run_watch {
    struct spex_launched program;
    struct spex_listener listener;
    struct spex_passed_signals signals;
    struct spex_run_output output;
    uint32_t interval_ms; /* 0: no tables before the end */
    uint64_t start_ns;
};

/* Returns when the program has ended. */
void spex_run_watch(struct spex_run_watch *watch);

/* Then: takes what the processes that it has left have to say so far, and the last of those that are ending. Waits
 * a second at most, and not for what goes on. */
void spex_run_watch_settle(struct spex_run_watch *watch);

#endif
