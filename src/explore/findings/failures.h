/* SPDX-License-Identifier: MIT */
/* Lists the reasons why trials failed, with the number of trials for each. */
#ifndef SPEX_EXPLORE_FINDINGS_FAILURES_H
#define SPEX_EXPLORE_FINDINGS_FAILURES_H

#include "measure/trial.h"

struct spex_failure {
    const char *reason; /* of a trial, which keeps it */
    uint64_t trials;
};

/* The most frequent first, of equals the one that sorts first; to be freed. 0 or -ENOMEM. */
int spex_failures(const struct spex_trials *trials, struct spex_failure **failures, size_t *count);

#endif
