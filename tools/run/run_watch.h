/* SPDX-License-Identifier: MIT */
/* Accompanies a program while it runs: takes the reports of its processes, and passes signals to
 * it. */
#ifndef SPEX_TOOLS_RUN_RUN_WATCH_H
#define SPEX_TOOLS_RUN_RUN_WATCH_H

#include <stdint.h>

#include "base/clock.h"
#include "observe/launch.h"
#include "observe/listener.h"
#include "observe/passed_signals.h"
#include "tools/run/run_output.h"

struct spex_run_watch {
    struct spex_launched program;
    struct spex_listener listener;
    struct spex_passed_signals signals;
    struct spex_run_output output;
    /* 0: no tables before the end. */
    uint32_t interval_ms;
    uint64_t start_ns;
    struct spex_instant begin;
};

/* Returns when the program has ended. */
void spex_run_watch(struct spex_run_watch *watch);

/* After that: takes the figures so far of processes that go on, and the last figures of processes
 * that are ending. Waits for a second at most, and not for the end of processes that go on. */
void spex_run_watch_settle(struct spex_run_watch *watch);

#endif
