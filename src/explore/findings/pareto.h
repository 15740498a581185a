/* SPDX-License-Identifier: MIT */
/* Which configurations no other one beats in all objectives. Judged by means; and, because means
 * are uncertain, also which of them another may beat, and which that are beaten may not be. */
#ifndef SPEX_EXPLORE_FINDINGS_PARETO_H
#define SPEX_EXPLORE_FINDINGS_PARETO_H

#include "explore/findings/accuracy.h"
#include "measure/summary.h"

enum spex_pareto_place {
    SPEX_PARETO_OUT = 0, /* no result, or not within the limits: does not compete */
    SPEX_PARETO_BEATEN,  /* another one is better in all objectives, surely */
    SPEX_PARETO_PERHAPS, /* another one is better by the means, but not surely */
    SPEX_PARETO_FRONT,   /* none is better by the means, but one may be */
    SPEX_PARETO_SURE_FRONT
};

/* A place for each group; `competes` says which of them do. Sure is what 95 % intervals of
 * differences say, against those that are in front. accuracies: one a criterion. 0 or -ENOMEM. */
int spex_pareto(const struct spex_summary *summary, const bool *competes,
                const struct spex_accuracy *accuracies, enum spex_pareto_place *places);

#endif
