/* SPDX-License-Identifier: MIT */
/* How the best configuration known got better from trial to trial. */
#ifndef SPEX_EXPLORE_FINDINGS_CONVERGENCE_H
#define SPEX_EXPLORE_FINDINGS_CONVERGENCE_H

#include "measure/summary.h"

/* After a trial: the mean of the first objective, over the trials up to then, of what was the best
 * then. */
struct spex_best_so_far {
    double seconds; /* measured up to then, failed trials included */
    double value;   /* NaN while no trial has a result */
    size_t trial;   /* the first of the configuration that is the best, from 0 */
};

/* One a trial; to be freed. NULL: out of memory. */
struct spex_best_so_far *spex_convergence(const struct spex_space *space,
                                          const struct spex_trials *trials);

#endif
