/* SPDX-License-Identifier: MIT */
/* Sums over the candidates of hybrid_search.h, and what they say about a choice of traced
 * candidates. Sums of many candidates are rounded, so limits are compared with a slack. */
#ifndef SPEX_POLICIES_RATE_HYBRID_SUMS_H
#define SPEX_POLICIES_RATE_HYBRID_SUMS_H

#include "policies/rate/hybrid_search.h"

static inline double spex_hybrid_greater(double a, double b) {
    return a > b ? a : b;
}

static inline double spex_hybrid_lesser(double a, double b) {
    return a < b ? a : b;
}

/* How far costs may exceed a limit, in samples a second. */
static inline double spex_hybrid_slack(const struct spex_hybrid *hybrid) {
    return hybrid->max_f * SPEX_RATE_ROUNDING;
}

/* The information of these sums; negative when they break the budget or a minimum. */
static inline double spex_hybrid_information_of(const struct spex_hybrid *hybrid,
                                                const struct spex_hybrid_sums *sums) {
    double probing = hybrid->max_f - sums->cost, slack = spex_hybrid_slack(hybrid);
    if (probing < -slack || probing < sums->need - slack)
        return -1;
    return sums->profit +
           spex_hybrid_greater(probing, 0) * spex_hybrid_greater(hybrid->max_hit - sums->hit, 0);
}

static inline void spex_hybrid_sums_add(struct spex_hybrid_sums *sums,
                                        const struct spex_hybrid_candidate *candidate) {
    sums->cost += candidate->cost;
    sums->profit += candidate->profit;
    sums->hit += candidate->hit;
}

static inline void spex_hybrid_sums_subtract(struct spex_hybrid_sums *sums,
                                             const struct spex_hybrid_candidate *candidate) {
    sums->cost -= candidate->cost;
    sums->profit -= candidate->profit;
    sums->hit -= candidate->hit;
}

/* The sums over the candidates that are marked as traced, and the greatest minimum of the
 * others. */
static inline struct spex_hybrid_sums spex_hybrid_sums_of_traced(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    for (size_t c = 0; c < hybrid->count; c++) {
        if (hybrid->candidates[c].traced)
            spex_hybrid_sums_add(&sums, &hybrid->candidates[c]);
        else
            sums.need = spex_hybrid_greater(sums.need, hybrid->candidates[c].minimum);
    }
    return sums;
}

/* The two greatest minima of the candidates that are not traced. With both, the greatest minimum
 * without any one candidate is known in O(1). */
struct spex_hybrid_needs {
    double first, second;
    size_t of_first;
};

/* Both are 0 without any minimum. */
static inline struct spex_hybrid_needs spex_hybrid_needs_of(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_needs needs = {0, 0, hybrid->count};
    for (size_t c = 0; hybrid->has_minimum && c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        if (candidate->traced || candidate->minimum <= needs.second)
            continue;
        if (candidate->minimum > needs.first)
            needs = (struct spex_hybrid_needs){candidate->minimum, needs.first, c};
        else
            needs.second = candidate->minimum;
    }
    return needs;
}

/* The greatest minimum of the candidates that are not traced, were `c` traced, too. */
static inline double spex_hybrid_need_without(const struct spex_hybrid_needs *needs, size_t c) {
    return c == needs->of_first ? needs->second : needs->first;
}

#endif
