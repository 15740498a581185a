/* SPDX-License-Identifier: MIT */
/* Quick solutions of Problem 2, from which the search starts: the paper's approximation, a knapsack
 * for each of some sampling frequencies, and a solution that keeps the minima. */
#include "policies/rate/hybrid_start.h"

#include "policies/rate/hybrid_sums.h"

/* SCANS sampling frequencies are tried, and each interval is halved REFINEMENTS times. */
enum { SCANS = 8, REFINEMENTS = 5 };

double spex_hybrid_information(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = spex_hybrid_sums_of_traced(hybrid);
    return spex_hybrid_information_of(hybrid, &sums);
}

/* Worth over cost; very great where the cost is 0. */
static double over_cost(double worth, double cost) {
    return cost > 0 ? worth / cost : 1e300;
}

/* Permutes the candidates into the order of the items, in place, following the permutation's
 * cycles. items[i].index becomes i. */
static void permute_candidates(struct spex_hybrid *hybrid) {
    for (size_t start = 0; start < hybrid->count; start++) {
        struct spex_hybrid_candidate moved = hybrid->candidates[start];
        size_t to = start;
        while (hybrid->items[to].index != start) {
            size_t from = hybrid->items[to].index;
            hybrid->candidates[to] = hybrid->candidates[from];
            hybrid->items[to].index = to;
            to = from;
        }
        hybrid->candidates[to] = moved;
        hybrid->items[to].index = to;
    }
}

/* Sorts the candidates by profit over cost, descending. */
void spex_hybrid_sort(struct spex_hybrid *hybrid) {
    hybrid->max_hit = 0;
    hybrid->has_minimum = false;
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        hybrid->items[c] = (struct spex_rate_item){
            .worth = over_cost(candidate->profit, candidate->cost), .index = c};
        hybrid->max_hit += candidate->hit;
        hybrid->has_minimum |= candidate->minimum > 0;
    }
    spex_rate_items_sort(hybrid->items, hybrid->count);
    permute_candidates(hybrid);
}

static void trace_none(struct spex_hybrid *hybrid) {
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->candidates[c].traced = false;
}

/* The solutions S_0,1 to S_0,to of the paper: traces what fits, in order. Returns the number of the
 * best of them that exceeds *best, which becomes its information, or 0. items[c].worth holds the
 * greatest minimum of the candidates after c. */
static size_t trace_in_order(struct spex_hybrid *hybrid, size_t to, double *best) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    double skipped = 0, later = 0;
    size_t best_step = 0;
    trace_none(hybrid);
    for (size_t c = hybrid->count; c-- > 0;) {
        hybrid->items[c].worth = later;
        later = spex_hybrid_greater(later, hybrid->candidates[c].minimum);
    }
    for (size_t c = 0; c < to; c++) {
        struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        if (sums.cost + candidate->cost > hybrid->max_f + spex_hybrid_slack(hybrid)) {
            skipped = spex_hybrid_greater(skipped, candidate->minimum);
            continue;
        }
        candidate->traced = true;
        spex_hybrid_sums_add(&sums, candidate);
        sums.need = spex_hybrid_greater(skipped, hybrid->items[c].worth);
        double found = spex_hybrid_information_of(hybrid, &sums);
        if (found > *best) {
            *best = found;
            best_step = c + 1;
        }
    }
    return best_step;
}

/* The solutions S_1,0 to S_n,0: traces one candidate. Returns the number of the best if it exceeds
 * *best, or 0. */
static size_t trace_one(struct spex_hybrid *hybrid, double *best) {
    size_t best_step = 0;
    trace_none(hybrid);
    struct spex_hybrid_needs needs = spex_hybrid_needs_of(hybrid);
    for (size_t c = 0; c < hybrid->count; c++) {
        struct spex_hybrid_sums sums = {0, 0, 0, spex_hybrid_need_without(&needs, c)};
        spex_hybrid_sums_add(&sums, &hybrid->candidates[c]);
        double found = spex_hybrid_information_of(hybrid, &sums);
        if (found > *best) {
            *best = found;
            best_step = c + 1;
        }
    }
    return best_step;
}

/* The approximation algorithm of 4.2. The paper's order by weight is that by profit over cost where
 * costs differ. trace_in_order marks candidates beyond the best solution, so it runs again up to
 * that. */
bool spex_hybrid_approximate(struct spex_hybrid *hybrid) {
    trace_none(hybrid);
    double best = spex_hybrid_information(hybrid);
    size_t one = trace_one(hybrid, &best);
    double ignored = -1;
    size_t steps = trace_in_order(hybrid, hybrid->count, &best);
    if (steps) {
        trace_in_order(hybrid, steps, &ignored);
        return true;
    }
    trace_none(hybrid);
    if (one)
        hybrid->candidates[one - 1].traced = true;
    return best >= 0;
}

size_t spex_hybrid_fill(struct spex_hybrid *hybrid, double probing, size_t *count) {
    double rest;
    *count = 0;
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        double worth = candidate->profit - probing * candidate->hit;
        bool needed = candidate->minimum > probing;
        if (worth > 0 || needed)
            hybrid->items[(*count)++] =
                (struct spex_rate_item){.first = needed,
                                        .worth = over_cost(worth, candidate->cost),
                                        .index = c,
                                        .cost = candidate->cost};
    }
    return spex_rate_items_fill(hybrid->items, *count,
                                hybrid->max_f - probing + spex_hybrid_slack(hybrid), &rest);
}

/* Marks the candidates of spex_hybrid_fill. Returns the information, negative when that is not
 * allowed. */
static double trace_for(struct spex_hybrid *hybrid, double probing) {
    size_t count, whole = spex_hybrid_fill(hybrid, probing, &count);
    trace_none(hybrid);
    for (size_t i = 0; i < whole; i++)
        hybrid->candidates[hybrid->items[i].index].traced = true;
    return spex_hybrid_information(hybrid);
}

/* Searches the sampling frequency for which trace_for() returns the most information, which becomes
 * *best: a scan with even steps, then steps of half the size around the best. */
static double best_probing(struct spex_hybrid *hybrid, double *best) {
    double step = hybrid->max_f / SCANS, chosen = hybrid->max_f;
    *best = -1;
    for (unsigned s = 0; s <= SCANS; s++) {
        double got = trace_for(hybrid, step * s);
        if (got > *best) {
            *best = got;
            chosen = step * s;
        }
    }
    for (unsigned r = 0; r < REFINEMENTS; r++) {
        step /= 2;
        double around[] = {spex_hybrid_greater(chosen - step, 0),
                           spex_hybrid_lesser(chosen + step, hybrid->max_f)};
        for (unsigned side = 0; side < 2; side++) {
            double got = trace_for(hybrid, around[side]);
            if (got > *best) {
                *best = got;
                chosen = around[side];
            }
        }
    }
    return chosen;
}

/* Keeps the minima with as little tracing as possible (4.3.5): traces the candidates of the
 * greatest minima, as many as give the most information. False when no number of them is
 * allowed. */
static bool trace_needed(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    double best = -1;
    size_t best_count = 0;
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->items[c] =
            (struct spex_rate_item){.worth = hybrid->candidates[c].minimum, .index = c};
    spex_rate_items_sort(hybrid->items, hybrid->count);
    trace_none(hybrid);
    for (size_t i = 0; i <= hybrid->count; i++) {
        sums.need = i < hybrid->count ? hybrid->items[i].worth : 0;
        double got = spex_hybrid_information_of(hybrid, &sums);
        if (got > best) {
            best = got;
            best_count = i;
        }
        if (i < hybrid->count)
            spex_hybrid_sums_add(&sums, &hybrid->candidates[hybrid->items[i].index]);
    }
    for (size_t i = 0; i < best_count; i++)
        hybrid->candidates[hybrid->items[i].index].traced = true;
    return best >= 0;
}

bool spex_hybrid_start(struct spex_hybrid *hybrid) {
    double parametric, approximate = -1, needed = -1;
    double probing = best_probing(hybrid, &parametric);
    if (hybrid->has_minimum && trace_needed(hybrid))
        needed = spex_hybrid_information(hybrid);
    if (spex_hybrid_approximate(hybrid))
        approximate = spex_hybrid_information(hybrid);
    if (needed > approximate && needed > parametric)
        return trace_needed(hybrid);
    if (parametric > approximate)
        trace_for(hybrid, probing);
    return parametric >= 0 || approximate >= 0;
}
