/* SPDX-License-Identifier: MIT */
/* One tuning, from its start until the next one's. */
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
    struct spex_tune_options options; /* its space is `own` */
    struct spex_own_space *own;
    void *state; /* the policy's */
    bool initialised;
    struct spex_feed *feed; /* until it has ended */
    struct spex_instant begin;
    pthread_t thread;
    bool joined;
    uint64_t cpu_ns; /* of its thread, what is not the program's, up to when it has been noted */
    size_t *planned;
    size_t *now; /* applied last; as far as is known */

    /* Under the lock. */
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
    const struct spex_tune_session *tuning) {
    return &tuning->own->space;
}

/* NULL: there is none yet. */
const struct spex_group *spex_tune_session_best(const struct spex_tune_session *tuning);

/* With the lock held. */
void spex_tune_session_report(const struct spex_tune_session *tuning,
                              struct spex_tune_report *report);

#endif
