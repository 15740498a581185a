/* SPDX-License-Identifier: MIT */
/* Gives every class records in proportion to its weight, or all of its records if it executes less
 * often: the level L for which
 *
 *     Σ F_i T_detect_i + Σ T_report_i · max(least_i, min(L W_i, most_i)) = MaxAllowedOverhead - 1
 *
 * So rare code is recorded completely, and frequent code pays. Where weights are the relative
 * variances of values, the relative errors of all means are alike. When detection alone exceeds the
 * budget, the classes with the highest cost for their weight are switched off. */
#include <spex/rate_policy.h>

#include "policies/rate/rate_items.h"

/* Bisection steps of the search for the level, down to the precision of a double. */
enum { BISECTION_STEPS = 64 };

/* The greatest share of the budget that detection may take. The rest pays for records. */
#define DETECTION_MOST 0.95

static const char switched_off_reason[] =
    "held off: its executions alone cost more than the budget";

static size_t fair_workspace_size(size_t class_count) {
    return class_count * sizeof(struct spex_rate_item);
}

/* Records a second that the class makes at least: all where it is pinned. */
static double class_least_frequency(const struct spex_rate_class *cls) {
    double most = spex_rate_most(cls);
    return cls->pinned || cls->min_frequency > most ? most : cls->min_frequency;
}

/* Records a second that a class makes at a level: at least its minimum, at most all. */
static double records_at_level(const struct spex_rate_class *cls, double level) {
    double low = class_least_frequency(cls), most = spex_rate_most(cls);
    double records = level * cls->weight;
    if (records < low)
        return low;
    return records < most ? records : most;
}

/* The overhead of the records of all classes at a level, as a share of the time. */
static double reporting_overhead(const struct spex_rate_problem *problem,
                                 const struct spex_rate_plan *plan, double level) {
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        if (plan->decisions[c].mode != SPEX_RATE_OFF)
            sum +=
                records_at_level(&problem->classes[c], level) * spex_rate_report_cost(problem, c);
    return sum;
}

/* The classes in the order in which they are switched off: the highest cost of detection for its
 * weight first, pinned ones last. */
static void sort_by_cost(const struct spex_rate_problem *problem, struct spex_rate_item *items) {
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        double weight = cls->weight > 0 ? cls->weight : 1e-50;
        items[c] = (struct spex_rate_item){
            .first = !cls->pinned, .worth = spex_rate_detection(problem, c) / weight, .index = c};
    }
    spex_rate_items_sort(items, problem->class_count);
}

/* Switches off classes until detection of the others fits; returns the overhead of that. */
static double switch_off_classes(const struct spex_rate_problem *problem,
                                 struct spex_rate_item *items, struct spex_rate_plan *plan) {
    const double most = problem->budget * DETECTION_MOST;
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        plan->decisions[c] = (struct spex_rate_decision){.mode = SPEX_RATE_SAMPLED};
        sum += spex_rate_detection(problem, c);
    }
    if (sum <= most)
        return sum;
    sort_by_cost(problem, items);
    for (size_t i = 0; i < problem->class_count && sum > most; i++) {
        plan->decisions[items[i].index] =
            (struct spex_rate_decision){.mode = SPEX_RATE_OFF, .reason = switched_off_reason};
        sum -= spex_rate_detection(problem, items[i].index);
    }
    return sum > most ? 0 : sum;
}

/* The level at which records take at most `left`, by bisection: reporting_overhead increases with
 * the level. */
static double level_for(const struct spex_rate_problem *problem, const struct spex_rate_plan *plan,
                        double left) {
    double low = 0, high = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        if (spex_rate_most(&problem->classes[c]) > high * problem->classes[c].weight &&
            problem->classes[c].weight > 0)
            high = spex_rate_most(&problem->classes[c]) / problem->classes[c].weight;
    if (reporting_overhead(problem, plan, high) <= left)
        return high;
    for (int step = 0; step < BISECTION_STEPS; step++) {
        double middle = (low + high) / 2;
        if (reporting_overhead(problem, plan, middle) <= left)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void decide_frequency(const struct spex_rate_class *cls, double records,
                             struct spex_rate_decision *decision) {
    bool all = records >= spex_rate_most(cls);
    decision->mode = spex_rate_mode_of(cls, records);
    decision->frequency = records;
    decision->reason = cls->pinned ? "pinned" : all ? "as selected" : "its share of the budget";
}

static int fair_decide(const struct spex_rate_problem *problem, void *workspace,
                       struct spex_rate_plan *plan) {
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    double left = problem->budget - switch_off_classes(problem, workspace, plan);
    double level = level_for(problem, plan, left), minima = reporting_overhead(problem, plan, 0);
    /* When the budget does not pay for the minima, all classes get the same part of them. */
    double scale = minima > left ? left / minima : 1;
    plan->feasible = scale >= 1;
    for (size_t c = 0; c < problem->class_count; c++) {
        struct spex_rate_decision *decision = &plan->decisions[c];
        if (decision->mode == SPEX_RATE_OFF)
            plan->feasible = false;
        else
            decide_frequency(&problem->classes[c],
                             records_at_level(&problem->classes[c], level) * scale, decision);
    }
    plan->reason = plan->feasible ? "each by its weight, and what is rare in full"
                                  : "not even the least that was asked for is within the budget";
    plan->probing_frequency = 0;
    spex_rate_plan_add_up(problem, plan);
    return 0;
}

SPEX_RATE_POLICY(fair) = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "fair",
    .summary = "as many records a second for each weight, and all of what is rare",
    .workspace_size = fair_workspace_size,
    .decide = fair_decide,
};
