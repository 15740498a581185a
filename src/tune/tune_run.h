/* SPDX-License-Identifier: MIT */
/* Measures one run of a configuration that has just been applied. What does not work is a result,
 * not an error. */
#ifndef SPEX_TUNE_TUNE_RUN_H
#define SPEX_TUNE_TUNE_RUN_H

#include <spex/policy.h>

#include "measure/trial.h"
#include "text/error.h"
#include "tune/feed.h"

struct spex_tune_setup {
    const struct spex_space *space;
    const struct spex_policy_ops *policy;
    void *policy_state;
    struct spex_feed *feed;
    double ticks_per_second;
    uint64_t *cpu_ns; /* of this thread, up to which it is accounted for */
};

/* Fills in `trial`, which has been initialised with plan->levels, from records that are made from
 * now on. 0 whatever they say; -ECANCELED when the end was asked for; or what went wrong. */
int spex_tune_run(const struct spex_tune_setup *setup, const struct spex_plan *plan,
                  struct spex_trial *trial, struct spex_error *why);

#endif
