/* SPDX-License-Identifier: MIT */
/* Detects every class and reports records as far as the budget goes, those of greatest weight over
 * cost first: Problem 1 of the paper (4.1), with a cost of detection (4.3.4), costs of each class
 * (4.3.3), minimum frequencies (4.3.5) and pinned classes (4.3.6):
 *
 *     maximise   Σ f_i W_i
 *     so that    Σ F_i T_detect_i + Σ f_i T_report_i <= MaxAllowedOverhead - 1
 *     and        least_i <= f_i <= most_i,  least_i = most_i = F_i where pinned
 *
 * Detection and the least frequencies are paid first. The rest of the budget is a continuous
 * knapsack of profits W_i and sizes T_report_i per record. When the budget does not even pay for
 * detection and the least frequencies, classes of least weight over cost are switched off, pinned
 * ones last. */
#include <spex/rate_policy.h>

#include "policies/rate/rate_items.h"

static const char switched_off_reason[] =
    "off: what must be detected and recorded exceeds the budget, and "
    "its weight is least for its cost";

static size_t budget_workspace_size(size_t class_count) {
    return class_count * sizeof(struct spex_rate_item);
}

static double lesser_of(double a, double b) {
    return a < b ? a : b;
}

/* Records a second that the class is to make at least. */
static double class_least_frequency(const struct spex_rate_class *cls) {
    double most = spex_rate_most(cls);
    return cls->pinned ? most : lesser_of(cls->min_frequency, most);
}

/* The overhead of detecting the class and recording as little of it as allowed. */
static double class_least_overhead(const struct spex_rate_problem *problem, size_t c) {
    return spex_rate_overhead(problem, c, class_least_frequency(&problem->classes[c]));
}

/* Plans the least frequency of each class. Returns the overhead of that. */
static double plan_least_frequencies(const struct spex_rate_problem *problem,
                                     struct spex_rate_plan *plan) {
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        double records = class_least_frequency(cls);
        plan->decisions[c] = (struct spex_rate_decision){
            .mode = spex_rate_mode_of(cls, records),
            .frequency = records,
            .reason = cls->pinned    ? "pinned"
                      : records <= 0 ? "counted only: others have more weight for their cost"
                                     : "its minimum: others have more weight for their cost",
        };
        sum += class_least_overhead(problem, c);
    }
    return sum;
}

/* Weight over cost of an execution that is recorded: it decides which class is switched off, and
 * does not depend on how often the class executes. */
static double class_weight_over_cost(const struct spex_rate_problem *problem, size_t c) {
    double most = spex_rate_most(&problem->classes[c]);
    return problem->classes[c].weight * most / spex_rate_overhead(problem, c, most);
}

/* Keeps the least frequencies of classes in the order of weight over cost as long as they fit, and
 * switches off the other classes. Returns the overhead of those kept. */
static double switch_off_classes(const struct spex_rate_problem *problem,
                                 struct spex_rate_item *items, struct spex_rate_plan *plan) {
    size_t count = 0;
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        if (class_least_overhead(problem, c) > 0)
            items[count++] = (struct spex_rate_item){.first = problem->classes[c].pinned,
                                                     .worth = class_weight_over_cost(problem, c),
                                                     .index = c,
                                                     .cost = class_least_overhead(problem, c)};
    spex_rate_items_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        if (spex_rate_fits(sum + items[i].cost, problem->budget))
            sum += items[i].cost;
        else
            plan->decisions[items[i].index] =
                (struct spex_rate_decision){.mode = SPEX_RATE_OFF, .reason = switched_off_reason};
    }
    return sum;
}

static void decide_frequency(const struct spex_rate_problem *problem, struct spex_rate_plan *plan,
                             size_t c, double records, const char *reason) {
    plan->decisions[c] = (struct spex_rate_decision){
        .mode = spex_rate_mode_of(&problem->classes[c], records),
        .frequency = records,
        .reason = reason,
    };
}

/* Plans all records of classes whose records cost nothing, and makes the other classes with a
 * weight items of the knapsack. Returns the number of items. */
static size_t collect_knapsack_items(const struct spex_rate_problem *problem,
                                     struct spex_rate_item *items, struct spex_rate_plan *plan) {
    size_t count = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        double more = spex_rate_most(cls) - class_least_frequency(cls);
        double cost = spex_rate_report_cost(problem, c);
        if (plan->decisions[c].mode == SPEX_RATE_OFF || more <= 0)
            continue;
        if (cost <= 0)
            decide_frequency(problem, plan, c, spex_rate_most(cls), "its records cost nothing");
        else if (cls->weight > 0)
            items[count++] = (struct spex_rate_item){
                .worth = cls->weight / cost, .index = c, .cost = more * cost};
        else
            plan->decisions[c].reason = "it has no weight";
    }
    return count;
}

/* Solves the continuous knapsack for `left`, what the budget has left. */
static void plan_rest_of_budget(const struct spex_rate_problem *problem,
                                struct spex_rate_item *items, double left,
                                struct spex_rate_plan *plan) {
    size_t count = collect_knapsack_items(problem, items, plan);
    double rounding = problem->budget * SPEX_RATE_ROUNDING, rest;
    size_t whole = spex_rate_items_fill(items, count, (left > 0 ? left : 0) + rounding, &rest);
    rest -= rounding;
    for (size_t i = 0; i < whole; i++)
        decide_frequency(problem, plan, items[i].index,
                         spex_rate_most(&problem->classes[items[i].index]),
                         "all of it: its weight is high for its cost");
    if (whole < count && rest > 0) {
        size_t c = items[whole].index;
        double more = rest / spex_rate_report_cost(problem, c);
        decide_frequency(problem, plan, c, class_least_frequency(&problem->classes[c]) + more,
                         "what the classes of more weight for their cost left over");
    }
}

/* The least first, then the knapsack of the rest. Expected time in proportion to the classes,
 * unless some must be switched off, for which they are sorted. */
static int budget_decide(const struct spex_rate_problem *problem, void *workspace,
                         struct spex_rate_plan *plan) {
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    double sum = plan_least_frequencies(problem, plan);
    plan->feasible = spex_rate_fits(sum, problem->budget);
    plan->reason = plan->feasible
                       ? "the budget goes to the most weight for what it costs"
                       : "what must be detected and recorded exceeds the budget: classes are off";
    if (!plan->feasible)
        sum = switch_off_classes(problem, workspace, plan);
    plan_rest_of_budget(problem, workspace, problem->budget - sum, plan);
    plan->probing_frequency = 0;
    spex_rate_plan_add_up(problem, plan);
    return 0;
}

SPEX_RATE_POLICY(budget) = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "budget",
    .summary = "as much within the budget as it pays for, by weight over cost",
    .workspace_size = budget_workspace_size,
    .decide = budget_decide,
};
