/* SPDX-License-Identifier: MIT */
/* The order in which the policy was asked and told so far, so that an exploration can replay it.
 * Plans are numbered from 1 in the order in which the policy made them, trials in the order in
 * which they finished. */
#ifndef SPEX_EXPLORE_STORE_HISTORY_H
#define SPEX_EXPLORE_STORE_HISTORY_H

#include <stdbool.h>

#include "measure/trial.h"
#include "text/error.h"

/* A plan whose trial had not finished when another one was stored. */
struct spex_unfinished {
    uint64_t asked;
    uint64_t told;
};

/* Most plans that can have been under way at a time. */
#define SPEX_HISTORY_UNFINISHED_MAX 1024

struct spex_history {
    const struct spex_trials *trials;
    uint64_t plans; /* number of known plans */
    uint64_t *told; /* for each plan: trials told before it */
    size_t *trial;  /* for each plan: index of its trial + 1; 0 for none */
};

/* 0; -EBADMSG when the numbers contradict each other; -ENOMEM. `trials` has to stay as long as the
 * history. */
int spex_history_make(struct spex_history *history, const struct spex_trials *trials,
                      const struct spex_unfinished *unfinished, size_t unfinished_count,
                      struct spex_error *error);
void spex_history_free(struct spex_history *history);

/* The number of trials that are told before a plan is asked for. */
uint64_t spex_history_told(const struct spex_history *history, uint64_t plan);

/* A plan's trial, or NULL. */
const struct spex_trial *spex_history_trial(const struct spex_history *history, uint64_t plan);

#endif
