/* SPDX-License-Identifier: MIT */
/* When a run can end early: when the rules say so; and, if they name a precision, as soon as its
 * result is almost certainly worse than several results that are known. */
#ifndef SPEX_POLICIES_EXPLORE_ENOUGH_H
#define SPEX_POLICIES_EXPLORE_ENOUGH_H

#include <spex/policy.h>

/* A run is compared with the worst of so many best runs: the very best one may have been lucky. */
#define SPEX_ENOUGH_RUNS 4

/* Standard errors by which a run has to be worse. The test is made many times during a run and ends
 * it the first time that it holds, so the margin is wider than for a single test. */
#define SPEX_ENOUGH_ERRORS 3

struct spex_enough {
    /* The least losses of the first objective, ascending, of runs that kept all limits; each at the
     * worse end of its 95 % interval. */
    double best[SPEX_ENOUGH_RUNS];
    size_t count;
};

/* The factor that makes a value of the criterion a loss: less is better. */
SPEX_INLINE double spex_enough_sign(const struct spex_criterion *criterion) {
    return criterion->goal == SPEX_MAXIMISE || criterion->goal == SPEX_AT_LEAST ? -1 : 1;
}

/* Whether the figures keep all limits of the space. */
SPEX_INLINE bool spex_enough_keeps(const struct spex_space *space,
                                   const struct spex_measured *measured) {
    for (size_t c = 0; c < space->criterion_count; c++) {
        double sign = spex_enough_sign(&space->criteria[c]);
        if (spex_criterion_is_limit(&space->criteria[c]) &&
            !(sign * measured[c].value <= sign * space->criteria[c].bound))
            return false;
    }
    return true;
}

/* Adds a result; to be called for each. */
static inline void spex_enough_learn(struct spex_enough *enough, const struct spex_space *space,
                                     const struct spex_result *result) {
    if (!result->ok || !spex_enough_keeps(space, result->measured))
        return;
    double error = result->measured[0].error;
    double loss = spex_enough_sign(&space->criteria[0]) * result->measured[0].value +
                  (isfinite(error) ? 1.96 * error : 0);
    size_t place = enough->count;
    if (place == SPEX_ENOUGH_RUNS && !(loss < enough->best[--place]))
        return;
    enough->count += enough->count < SPEX_ENOUGH_RUNS;
    for (; place > 0 && enough->best[place - 1] > loss; place--)
        enough->best[place] = enough->best[place - 1];
    enough->best[place] = loss;
}

/* Whether a run under way is almost certain to be worse than the best runs, or to exceed a limit.
 * Never for several objectives, where a run that is bad in one may be on the Pareto front. */
static inline bool spex_enough_lost(const struct spex_enough *enough,
                                    const struct spex_space *space, const struct spex_run *run) {
    if (enough->count < SPEX_ENOUGH_RUNS || space->objective_count > 1)
        return false;
    for (size_t c = 0; c < space->criterion_count; c++) {
        double sign = spex_enough_sign(&space->criteria[c]);
        double at_best =
            sign * run->measured[c].value - SPEX_ENOUGH_ERRORS * run->measured[c].error;
        if (c == 0 && at_best > enough->best[SPEX_ENOUGH_RUNS - 1])
            return true;
        if (spex_criterion_is_limit(&space->criteria[c]) &&
            at_best > sign * space->criteria[c].bound)
            return true;
    }
    return false;
}

/* Whether a run has told enough. Figures of the run may be noted nowhere: when the run ends depends
 * on timing, and plans must not. A run can only be lost when every thread has made a record and
 * there are 20 records a thread in the mean; before, its standard errors are not reliable. */
static inline bool spex_enough_run(const struct spex_enough *enough, const struct spex_space *space,
                                   const struct spex_run *run) {
    uint64_t threads = spex_space_threads(space, run->levels);
    if (spex_run_enough(space, run))
        return true;
    return space->rules.precision > 0 && run->threads >= threads && run->records >= 20 * threads &&
           spex_enough_lost(enough, space, run);
}

#endif
