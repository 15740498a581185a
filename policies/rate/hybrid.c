/* SPDX-License-Identifier: MIT */
/* Traces a class or leaves it to sampling: Problem 2 of the paper (4.2), with costs of tracing of
 * each class and of a sample (4.3.3), a minimum frequency of sampling (4.3.5) and pinned classes
 * (4.3.6). hybrid_search.h states it in numbers. When the budget pays for tracing everything,
 * everything is traced (4.1), even where Problem 2 counts more hits of frequent samples than there
 * are events. */
#include <spex/rate_policy.h>

#include "policies/rate/hybrid_search.h"

/* Candidates of the core: all classes where there are few. */
static size_t core_count_of(size_t class_count, size_t limit) {
    return class_count < limit ? class_count : limit;
}

/* Bytes of the arrays that workspace_divide() lays out. `limit`: candidates of the core at most;
 * `choices`: combinations that are kept. */
static size_t workspace_size_of(size_t class_count, size_t limit, size_t choices) {
    return sizeof(struct spex_hybrid) +
           class_count * (sizeof(struct spex_hybrid_candidate) + sizeof(struct spex_rate_item)) +
           spex_hybrid_table_size(core_count_of(class_count, limit)) +
           choices * sizeof(struct spex_hybrid_choice) + class_count * sizeof(bool);
}

/* Deciding runs in a program, so it searches a small core. */
static size_t hybrid_workspace_size(size_t class_count) {
    return workspace_size_of(class_count, SPEX_HYBRID_EXACT_QUICKLY, 0);
}

/* Combinations are for `spex plan`, which may search a greater core. */
static size_t hybrid_combinations_workspace_size(size_t class_count, size_t count) {
    return workspace_size_of(class_count, SPEX_HYBRID_EXACT, count);
}

/* Where the arrays begin in the workspace. The policy keeps nothing elsewhere. */
struct layout {
    struct spex_hybrid *hybrid;
    struct spex_hybrid_choice *choices;
    bool *traced; /* by class */
};

/* Divides the workspace into arrays: those of eight-byte words first, single bytes at the end, so
 * that all are aligned. */
static struct layout workspace_divide(void *workspace, size_t class_count, size_t limit,
                                      size_t choices) {
    struct spex_hybrid *hybrid = workspace;
    struct layout layout = {.hybrid = hybrid};
    hybrid->candidates = (struct spex_hybrid_candidate *)(hybrid + 1);
    hybrid->items = (struct spex_rate_item *)(hybrid->candidates + class_count);
    hybrid->table = (struct spex_hybrid_sums *)(hybrid->items + class_count);
    layout.choices =
        (struct spex_hybrid_choice *)((char *)hybrid->table +
                                      spex_hybrid_table_size(core_count_of(class_count, limit)));
    layout.traced = (bool *)(layout.choices + choices);
    return layout;
}

/* The overhead of tracing the class, in samples a second. */
static double tracing_cost(const struct spex_rate_problem *problem, size_t c) {
    return spex_rate_overhead(problem, c, spex_rate_most(&problem->classes[c])) /
           spex_rate_sample_cost(problem);
}

/* The information of tracing a class, F W. */
static double tracing_profit(const struct spex_rate_problem *problem, size_t c) {
    return spex_rate_most(&problem->classes[c]) * problem->classes[c].weight;
}

/* The samples a second that the whole budget pays for, MaxF. */
static double max_sampling_frequency(const struct spex_rate_problem *problem) {
    return problem->budget / spex_rate_sample_cost(problem);
}

/* Costs are in samples, so a sample must cost something. */
static bool is_hybrid_problem(const struct spex_rate_problem *problem) {
    return spex_rate_problem_check(problem) == 0 && spex_rate_sample_cost(problem) > 0;
}

/* Whether the budget pays for tracing all classes. */
static bool everything_fits(const struct spex_rate_problem *problem) {
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        sum += tracing_cost(problem, c);
    return spex_rate_fits(sum, max_sampling_frequency(problem));
}

/* Traces as many pinned classes as fit, by weight over cost, and takes their cost from max_f.
 * pinned[c] says which are traced. False when not all fit. */
static bool take_pinned(const struct spex_rate_problem *problem, struct spex_hybrid *hybrid,
                        bool *pinned) {
    size_t count = 0;
    bool all = true;
    for (size_t c = 0; c < problem->class_count; c++) {
        double cost = tracing_cost(problem, c);
        double worth = cost > 0 ? tracing_profit(problem, c) / cost : 1e300;
        pinned[c] = false;
        if (problem->classes[c].pinned)
            hybrid->items[count++] =
                (struct spex_rate_item){.worth = worth, .index = c, .cost = cost};
    }
    spex_rate_items_sort(hybrid->items, count);
    hybrid->max_f = max_sampling_frequency(problem);
    for (size_t i = 0; i < count; i++) {
        bool fits = spex_rate_fits(hybrid->items[i].cost, hybrid->max_f);
        if (fits)
            hybrid->max_f -= hybrid->items[i].cost;
        pinned[hybrid->items[i].index] = fits;
        all &= fits;
    }
    hybrid->max_f = hybrid->max_f > 0 ? hybrid->max_f : 0;
    return all;
}

/* Makes the classes that are not traced already the candidates. */
static void collect_candidates(const struct spex_rate_problem *problem, const bool *pinned,
                               struct spex_hybrid *hybrid) {
    hybrid->count = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        if (!pinned[c])
            hybrid->candidates[hybrid->count++] =
                (struct spex_hybrid_candidate){.cost = tracing_cost(problem, c),
                                               .profit = tracing_profit(problem, c),
                                               .hit = cls->weight * cls->share,
                                               .minimum = cls->min_frequency,
                                               .index = c};
    }
    spex_hybrid_sort(hybrid);
}

/* The samples a second that the traced classes leave; 0 when all classes are traced. */
static double probing_frequency(const struct spex_rate_problem *problem, const bool *traced) {
    double left = max_sampling_frequency(problem);
    bool probed = false;
    for (size_t c = 0; c < problem->class_count; c++) {
        if (traced[c])
            left -= tracing_cost(problem, c);
        probed |= !traced[c];
    }
    return probed && left > 0 ? left : 0;
}

/* The decision about a class that is not traced. */
static struct spex_rate_decision decide_sampled(const struct spex_rate_problem *problem, size_t c,
                                                double probing) {
    const struct spex_rate_class *cls = &problem->classes[c];
    if (probing <= 0)
        return (struct spex_rate_decision){
            .mode = SPEX_RATE_OFF,
            .reason = "off: tracing it exceeds the budget, and nothing is left for polling"};
    return (struct spex_rate_decision){
        .mode = SPEX_RATE_PROBED,
        .frequency = probing * cls->share,
        .reason = cls->pinned ? "pinned, but polled: the budget does not pay for tracing it"
                  : tracing_cost(problem, c) > probing
                      ? "polled: with what is traced the budget does not pay for tracing it, too"
                      : "polled: tracing it tells less than the samples that it would take away",
    };
}

/* Plans all records of the class. */
static void decide_traced(const struct spex_rate_problem *problem, struct spex_rate_plan *plan,
                          size_t c, const char *reason) {
    double most = spex_rate_most(&problem->classes[c]);
    plan->decisions[c] = (struct spex_rate_decision){
        .mode = spex_rate_mode_of(&problem->classes[c], most),
        .frequency = most,
        .reason = reason,
    };
}

/* The plan where the budget pays for everything; nothing is polled then. */
static void trace_everything(const struct spex_rate_problem *problem, struct spex_rate_plan *plan) {
    for (size_t c = 0; c < problem->class_count; c++)
        decide_traced(problem, plan, c, "traced: the budget pays for tracing everything");
    plan->feasible = true;
    plan->probing_frequency = 0;
    plan->reason = "the budget pays for tracing everything";
    spex_rate_plan_add_up(problem, plan);
}

/* Drops the minimum frequencies, when no division of the budget keeps them. */
static void clear_minima(struct spex_hybrid *hybrid) {
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->candidates[c].minimum = 0;
    hybrid->has_minimum = false;
}

/* The reason for the plan as a whole. */
static const char *reason_of(bool pinned_fit, bool minima_kept) {
    if (!pinned_fit)
        return "the budget does not pay for what is pinned: some of it is polled";
    if (!minima_kept)
        return "the budget does not pay for the minimal frequencies: they are not kept";
    return "of tracing and polling, the division that tells most within the budget";
}

/* Drops the minima if no division of the budget keeps them, and solves the rest: a running
 * program gets a plan in any case, and `feasible` says that it is not what was asked for. */
static int hybrid_decide(const struct spex_rate_problem *problem, void *workspace,
                         struct spex_rate_plan *plan) {
    struct layout layout =
        workspace_divide(workspace, problem->class_count, SPEX_HYBRID_EXACT_QUICKLY, 0);
    struct spex_hybrid *hybrid = layout.hybrid;
    if (!is_hybrid_problem(problem))
        return -EINVAL;
    if (everything_fits(problem)) {
        trace_everything(problem, plan);
        return 0;
    }
    bool pinned_fit = take_pinned(problem, hybrid, layout.traced);
    collect_candidates(problem, layout.traced, hybrid);
    bool minima_kept = spex_hybrid_improve(hybrid);
    if (!minima_kept) {
        clear_minima(hybrid);
        spex_hybrid_improve(hybrid);
    }
    for (size_t i = 0; i < hybrid->count; i++)
        layout.traced[hybrid->candidates[i].index] = hybrid->candidates[i].traced;
    plan->probing_frequency = probing_frequency(problem, layout.traced);
    for (size_t c = 0; c < problem->class_count; c++) {
        if (layout.traced[c])
            decide_traced(problem, plan, c,
                          problem->classes[c].pinned ? "pinned"
                                                     : "traced: it tells more so than by polling");
        else
            plan->decisions[c] = decide_sampled(problem, c, plan->probing_frequency);
    }
    plan->feasible = pinned_fit && minima_kept;
    plan->reason = reason_of(pinned_fit, minima_kept);
    spex_rate_plan_add_up(problem, plan);
    return 0;
}

/* Computes a combination's figures from the classes themselves, in their order. */
static void fill_combination(const struct spex_rate_problem *problem,
                             struct spex_rate_combination *combination) {
    const bool *traced = combination->traced;
    double probing = probing_frequency(problem, traced);
    combination->probing_frequency = probing;
    combination->information = 0;
    combination->overhead = probing * spex_rate_sample_cost(problem);
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        combination->information +=
            traced[c] ? tracing_profit(problem, c) : probing * cls->share * cls->weight;
        if (traced[c])
            combination->overhead += spex_rate_overhead(problem, c, spex_rate_most(cls));
    }
}

/* Sorts combinations by information: the search's sums differ from fill_combination's by
 * rounding. */
static void sort_combinations(struct spex_rate_combination *best, size_t count) {
    for (size_t end = 1; end < count; end++)
        for (size_t i = end; i > 0 && best[i - 1].information < best[i].information; i--) {
            struct spex_rate_combination combination = best[i];
            best[i] = best[i - 1];
            best[i - 1] = combination;
        }
}

/* No combination is within the budget if what is pinned does not fit or a minimum cannot be
 * kept; then the number is 0. */
static int hybrid_combinations(const struct spex_rate_problem *problem, void *workspace,
                               struct spex_rate_combination *best, size_t count) {
    struct layout layout =
        workspace_divide(workspace, problem->class_count, SPEX_HYBRID_EXACT, count);
    struct spex_hybrid *hybrid = layout.hybrid;
    if (!is_hybrid_problem(problem))
        return -EINVAL;
    if (count == 0 || !take_pinned(problem, hybrid, layout.traced))
        return 0;
    collect_candidates(problem, layout.traced, hybrid);
    if (!spex_hybrid_improve(hybrid))
        return 0;
    size_t found = spex_hybrid_search(hybrid, SPEX_HYBRID_EXACT, layout.choices, count);
    for (size_t b = 0; b < found; b++) {
        spex_hybrid_mark(hybrid, &layout.choices[b]);
        for (size_t c = 0; c < problem->class_count; c++)
            best[b].traced[c] = layout.traced[c];
        for (size_t i = 0; i < hybrid->count; i++)
            best[b].traced[hybrid->candidates[i].index] = hybrid->candidates[i].traced;
        fill_combination(problem, &best[b]);
    }
    sort_combinations(best, found);
    return (int)found;
}

SPEX_RATE_POLICY(hybrid) = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "hybrid",
    .summary = "traces what tells most that way and leaves the rest to polling",
    .workspace_size = hybrid_workspace_size,
    .decide = hybrid_decide,
    .combinations_workspace_size = hybrid_combinations_workspace_size,
    .combinations = hybrid_combinations,
};
