/* SPDX-License-Identifier: MIT */
/* What the trials of a store come to: found once, told in every form of a report. */
#ifndef SPEX_EXPLORE_FINDINGS_FINDINGS_H
#define SPEX_EXPLORE_FINDINGS_FINDINGS_H

#include "explore/findings/accuracy.h"
#include "explore/findings/convergence.h"
#include "explore/findings/effects.h"
#include "explore/findings/failures.h"
#include "explore/findings/pareto.h"
#include "explore/findings/ranking.h"
#include "measure/summary.h"

struct spex_findings {
    /* One a group of the summary. */
    bool *competes;                 /* it has a result and is within the limits, or none is */
    struct spex_ranking *standings; /* in the first objective; NaN for one that does not compete */
    enum spex_pareto_place *places;

    bool limits_kept; /* some configuration with a result is within all limits */
    size_t best;      /* group; SPEX_RANKING_NONE when no trial has a result */
    size_t worst;     /* of those that compete */
    size_t *tied;     /* groups, the best first, then the likeliest to be the best */
    size_t tied_count;
    size_t *front; /* groups on the Pareto front, by the first objective; of several objectives */
    size_t front_count;
    size_t perhaps_count; /* groups that may belong there */

    struct spex_accuracy *accuracies; /* one a criterion */
    struct spex_failure *failures;
    size_t failure_count;
    uint64_t failed; /* trials */
    /* Trials with a result that may have been measured before a warm-up had ended. */
    uint64_t unsteady;
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;
    struct spex_best_so_far *convergence; /* one a trial */
    struct spex_effects effects;
};

/* 0 or -ENOMEM; to be freed in any case. */
int spex_findings_init(struct spex_findings *findings, const struct spex_summary *summary,
                       const struct spex_trials *trials);
void spex_findings_free(struct spex_findings *findings);

/* The first trial from which on the best configuration has stayed the best, from 0; trials->count
 * without a result. */
size_t spex_findings_settled(const struct spex_findings *findings,
                             const struct spex_trials *trials);

#endif
