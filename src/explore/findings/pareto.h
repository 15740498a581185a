/* SPDX-License-Identifier: MIT */
/* The Pareto front: the configurations that no other one beats in all objectives, by their means.
 * Means are uncertain. So each configuration's place also tells whether its being on the front, or
 * its being beaten, is significant. */
#ifndef SPEX_EXPLORE_FINDINGS_PARETO_H
#define SPEX_EXPLORE_FINDINGS_PARETO_H

#include "explore/findings/accuracy.h"
#include "measure/summary.h"

enum spex_pareto_place {
    SPEX_PARETO_OUT = 0, /* does not compete: no result, or a limit is exceeded */
    SPEX_PARETO_BEATEN,  /* another one is significantly better in all objectives */
    SPEX_PARETO_PERHAPS, /* another one is better by the means, not significantly */
    SPEX_PARETO_FRONT,   /* none is better by the means, but one may be */
    SPEX_PARETO_SURE_FRONT
};

/* Sets places[] for each group; `competes` says which of them compete, `accuracies` has one element
 * for each criterion. "Significantly" means at 95 %, against those on the front. 0 or -ENOMEM. */
int spex_pareto(const struct spex_summary *summary, const bool *competes,
                const struct spex_accuracy *accuracies, enum spex_pareto_place *places);

#endif
