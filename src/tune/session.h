/* SPDX-License-Identifier: MIT */
/* One tuning: from its start until the next one replaces it. */
#ifndef SPEX_TUNE_SESSION_H
#define SPEX_TUNE_SESSION_H

#include <pthread.h>

#include <spex/tune.h>

#include "base/clock.h"
#include "measure/summary.h"
#include "measure/trial.h"
#include "tune/feed.h"
#include "tune/own_space.h"

struct spex_tune_session {
    /* The program's options; their space is own->space. */
    struct spex_tune_options options;
    struct spex_own_space *own;
    /* The policy's state. */
    void *state;
    bool initialised;
    /* NULL once the tuning has ended. */
    struct spex_feed *feed;
    struct spex_instant begin;
    pthread_t thread;
    bool joined;
    /* CPU time of the session's thread that has been booked as the library's; the program's
     * functions are left out. */
    uint64_t cpu_ns;
    /* Levels of the configuration that the policy plans, and of the one that was applied last. */
    size_t *planned;
    size_t *now;

    /* Written by the session's thread with the lock held; read by others with it. */
    bool running;
    bool applied;
    int result;
    uint64_t failed;
    uint64_t expected;
    struct spex_trials trials;
    struct spex_summary summary;
    char why[256];
};

static inline const struct spex_space *spex_tune_session_space(
    const struct spex_tune_session *session) {
    return &session->own->space;
}

/* The group of the best configuration; NULL: no run has succeeded yet. */
const struct spex_group *spex_tune_session_best(const struct spex_tune_session *session);

/* Fills in the report. The caller holds the lock. */
void spex_tune_session_report(const struct spex_tune_session *session,
                              struct spex_tune_report *report);

#endif
