/* SPDX-License-Identifier: MIT */
/* Measures one run of a configuration that has just been applied. A configuration that does not
 * work is a result and no error. */
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
    /* CPU time of this thread that has been booked as the library's. */
    uint64_t *cpu_ns;
};

/* Fills in `trial`, which has been initialised with plan->levels, from records made from now on. 0:
 * the run is over, also if it has failed; -ECANCELED: the end was asked for; or another negative
 * errno value. */
int spex_tune_run(const struct spex_tune_setup *setup, const struct spex_plan *plan,
                  struct spex_trial *trial, struct spex_error *error);

#endif
