/* SPDX-License-Identifier: MIT */
/* When a run has said enough: by the rules; and, where they name a precision, as soon as it is as good as certain that
 * it comes out worse than several that are known. */
#ifndef SPEX_POLICIES_EXPLORE_ENOUGH_H
#define SPEX_POLICIES_EXPLORE_ENOUGH_H

#include <spex/policy.h>

/* The best is likely to have been lucky; what the least of so many best runs is worth is not luck alone. */
#define SPEX_ENOUGH_RUNS 4

/* Standard errors by which a run has to be worse: it is looked at many times, and stops at the first. */
#define SPEX_ENOUGH_ERRORS 3

struct spex_enough {
    double best
        [SPEX_ENOUGH_RUNS]; /* values of the first objective of runs that kept all limits, as losses, ascending,
                                      each at the worse end of its interval */
    size_t count;
};

SPEX_INLINE double spex_enough_sign(const struct spex_criterion *criterion) {
    return criterion->goal == SPEX_MAXIMISE || criterion->goal == SPEX_AT_LEAST ? -1 : 1;
}

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

/* To be told of each result. */
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

/* A limit that is certainly not kept is as bad. */
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

/* What it is told of a run must not change plans. It is lost only when every thread has made a record, and there are 20
 * of each in the mean: before that errors are not to be relied on. */
static inline bool spex_enough_run(const struct spex_enough *enough, const struct spex_space *space,
                                   const struct spex_run *run) {
    uint64_t threads = spex_space_threads(space, run->levels);
    if (spex_run_enough(space, run))
        return true;
    return space->rules.precision > 0 && run->threads >= threads && run->records >= 20 * threads &&
           spex_enough_lost(enough, space, run);
}

#endif
