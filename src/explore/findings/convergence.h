/* SPDX-License-Identifier: MIT */
/* The best configuration known after each trial. */
#ifndef SPEX_EXPLORE_FINDINGS_CONVERGENCE_H
#define SPEX_EXPLORE_FINDINGS_CONVERGENCE_H

#include "measure/summary.h"

/* The state after a trial. `value` is the mean over the trials up to then, so it may get worse. */
struct spex_best_so_far {
    double seconds; /* measured time up to then, failed trials included */
    double value;   /* NaN while no trial has a result */
    size_t trial;   /* first trial of the best configuration, from 0 */
};

/* An array with one element for each trial, to be freed. NULL when out of memory. */
struct spex_best_so_far *spex_convergence(const struct spex_space *space,
                                          const struct spex_trials *trials);

#endif
