/* SPDX-License-Identifier: MIT */
/* What a store tells of the exploration so far, in the order in which the policy was asked and
 * told: so that it can be asked and told the same again. Plans are numbered from 1 as the policy
 * makes them, trials in the order in which they finished. */
#ifndef SPEX_EXPLORE_STORE_HISTORY_H
#define SPEX_EXPLORE_STORE_HISTORY_H

#include "measure/trial.h"
#include "text/error.h"

/* A plan whose trial had not finished when another one was stored. */
struct spex_unfinished {
    uint64_t asked;
    uint64_t told;
};

/* More plans than this cannot be under way at a time. */
#define SPEX_HISTORY_UNFINISHED_MAX 1024

struct spex_history {
    const struct spex_trials *trials;
    uint64_t plans; /* that are known */
    uint64_t *told; /* for each of them, trials told before it */
    size_t *trial;  /* and its trial's position + 1, 0 for none */
};

/* 0; -EBADMSG when that is no history, -ENOMEM. `trials` must outlive it. */
int spex_history_make(struct spex_history *history, const struct spex_trials *trials,
                      const struct spex_unfinished *unfinished, size_t unfinished_count,
                      struct spex_error *error);
void spex_history_free(struct spex_history *history);

/* How many trials have to be told before a plan is asked for. */
uint64_t spex_history_told(const struct spex_history *history, uint64_t plan);

/* A plan's trial, or NULL. */
const struct spex_trial *spex_history_trial(const struct spex_history *history, uint64_t plan);

#endif
