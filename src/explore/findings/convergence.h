/* SPDX-License-Identifier: MIT */
/* The best configuration known after each trial. */
#ifndef SPEX_EXPLORE_FINDINGS_CONVERGENCE_H
#define SPEX_EXPLORE_FINDINGS_CONVERGENCE_H

#include "measure/summary.h"

/* The state after a trial: the configuration that a report of the trials up to then would name the
 * best, by the same estimate, so it may get worse. After the first SPEX_CONVERGENCE_EACH trials the
 * best is looked for once in so many more as the number of trials by SPEX_CONVERGENCE_EACH, and
 * after the last; between, it is that of the trial before. */
struct spex_best_so_far {
    double seconds; /* measured time up to then, failed trials included */
    double value;   /* the estimate; NaN while no trial has a result */
    double margin;  /* of the estimate (ranking.h) */
    size_t trial;   /* first trial of the best configuration, from 0 */
};

#define SPEX_CONVERGENCE_EACH 128

/* An array with one element for each trial, to be freed. NULL when out of memory. */
struct spex_best_so_far *spex_convergence(const struct spex_space *space,
                                          const struct spex_trials *trials);

#endif
