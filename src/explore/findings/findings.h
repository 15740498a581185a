/* SPDX-License-Identifier: MIT */
/* The findings from the trials of a store: computed once, printed in every form of report. */
#ifndef SPEX_EXPLORE_FINDINGS_FINDINGS_H
#define SPEX_EXPLORE_FINDINGS_FINDINGS_H

#include "explore/findings/accuracy.h"
#include "explore/findings/convergence.h"
#include "explore/findings/drift.h"
#include "explore/findings/effects.h"
#include "explore/findings/failures.h"
#include "explore/findings/final_race.h"
#include "explore/findings/pareto.h"
#include "explore/findings/ranking.h"
#include "explore/findings/untried.h"
#include "measure/summary.h"

struct spex_findings {
    /* These three have one element for each group of the summary. */
    bool *competes;                 /* has a result, and keeps the limits if any one does */
    struct spex_ranking *standings; /* by the first objective; NaN if it does not compete */
    enum spex_pareto_place *places;

    bool limits_kept;        /* some configuration with a result keeps all limits */
    size_t best;             /* group; SPEX_RANKING_NONE when no trial has a result */
    size_t worst;            /* group with the worst estimate */
    size_t measured;         /* group with the best mean as measured, which may be luck */
    uint64_t configurations; /* that there are, tried or not; in a large space about */
    struct spex_untried untried;
    size_t *tied; /* groups: by estimate, the best first */
    size_t tied_count;
    struct spex_final_race race;
    struct spex_drift drift;
    size_t *front; /* groups on the Pareto front, by the first objective */
    size_t front_count;
    size_t perhaps_count; /* groups that may be on the front */

    struct spex_accuracy *accuracies; /* one for each criterion */
    struct spex_failure *failures;
    size_t failure_count;
    uint64_t failed; /* trials */
    /* Successful trials that may have been measured before their warm-up had ended. */
    uint64_t unsteady;
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;
    struct spex_best_so_far *convergence; /* one for each trial */
    struct spex_effects effects;
};

/* Order of groups by the estimates of the first objective, then by number: -1: a is better, 1: b.
 * Those that do not compete come last. */
int spex_findings_order(const struct spex_findings *findings, const struct spex_space *space,
                        size_t a, size_t b);

/* How much a configuration's trials differ, as a share of their mean; 0 of fewer than 3. */
double spex_findings_spread(const struct spex_group *group);

/* A configuration is unstable when its trials, 3 at least, differ by more than this share. */
#define SPEX_UNSTABLE_SHARE 0.3

/* 0 or -ENOMEM; to be freed in any case. */
int spex_findings_init(struct spex_findings *findings, const struct spex_summary *summary,
                       const struct spex_trials *trials);
void spex_findings_free(struct spex_findings *findings);

/* The index of the first trial since which the best configuration has stayed the same;
 * trials->count without a result. */
size_t spex_findings_settled(const struct spex_findings *findings,
                             const struct spex_trials *trials);

#endif
