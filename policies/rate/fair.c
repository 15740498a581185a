/* SPDX-License-Identifier: MIT */
/* Every class may make as many records a second as any other, those that execute less often all of theirs: the level L
 * for which
 *
 *     Σ F_i T_detect_i + Σ T_report_i · max(least_i, min(L, most_i)) = MaxAllowedOverhead - 1
 *
 * So rare code is recorded in full, what is busy pays, and the errors of all are alike. Weights count for nothing,
 * except to say which class is switched off when detecting alone exceeds the budget: the dearest for its weight. */
#include <spex/rate_policy.h>

/* Halvings of the interval in which the level is looked for: to the precision of a double. */
enum { STEPS = 64 };

/* What executions that make no record may take of it all; the rest is for records, which need little. */
#define DETECTION_MOST 0.95

static const char reason_off[] = "held off: its executions alone cost more than the budget";

static size_t fair_workspace_size(size_t class_count) {
    (void)class_count;
    return 0;
}

static double least(const struct spex_rate_class *cls) {
    double most = spex_rate_most(cls);
    return cls->pinned || cls->min_frequency > most ? most : cls->min_frequency;
}

static double records_at(const struct spex_rate_class *cls, double level) {
    double low = least(cls), most = spex_rate_most(cls);
    if (level < low)
        return low;
    return level < most ? level : most;
}

static double reporting(const struct spex_rate_problem *problem, const struct spex_rate_plan *plan,
                        double level) {
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        if (plan->decisions[c].mode != SPEX_RATE_OFF)
            sum += records_at(&problem->classes[c], level) * spex_rate_report_cost(problem, c);
    return sum;
}

/* The class that detecting costs most, for its weight; pinned ones last. class_count: all are off. */
static size_t dearest(const struct spex_rate_problem *problem, const struct spex_rate_plan *plan) {
    size_t found = problem->class_count;
    double most = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        double cost = spex_rate_detection(problem, c) / (cls->weight > 0 ? cls->weight : 1e-50);
        if (plan->decisions[c].mode == SPEX_RATE_OFF)
            continue;
        if (found == problem->class_count ||
            (cls->pinned == problem->classes[found].pinned ? cost > most : !cls->pinned)) {
            found = c;
            most = cost;
        }
    }
    return found;
}

/* Switches off what cannot be detected. What detecting the others costs. */
static double switch_off(const struct spex_rate_problem *problem, struct spex_rate_plan *plan) {
    double sum = 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        plan->decisions[c] = (struct spex_rate_decision){.mode = SPEX_RATE_SAMPLED};
        sum += spex_rate_detection(problem, c);
    }
    while (sum > problem->budget * DETECTION_MOST) {
        size_t c = dearest(problem, plan);
        if (c == problem->class_count)
            return 0;
        plan->decisions[c] =
            (struct spex_rate_decision){.mode = SPEX_RATE_OFF, .reason = reason_off};
        sum -= spex_rate_detection(problem, c);
    }
    return sum;
}

static double level_for(const struct spex_rate_problem *problem, const struct spex_rate_plan *plan,
                        double left) {
    double low = 0, high = 0;
    for (size_t c = 0; c < problem->class_count; c++)
        if (spex_rate_most(&problem->classes[c]) > high)
            high = spex_rate_most(&problem->classes[c]);
    if (reporting(problem, plan, high) <= left)
        return high;
    for (int step = 0; step < STEPS; step++) {
        double middle = (low + high) / 2;
        if (reporting(problem, plan, middle) <= left)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void give(const struct spex_rate_class *cls, double records,
                 struct spex_rate_decision *decision) {
    bool all = records >= spex_rate_most(cls);
    decision->mode = spex_rate_mode_of(cls, records);
    decision->frequency = records;
    decision->reason = cls->pinned ? "pinned" : all ? "as selected" : "its share of the budget";
}

static int fair_decide(const struct spex_rate_problem *problem, void *workspace,
                       struct spex_rate_plan *plan) {
    (void)workspace;
    if (spex_rate_problem_check(problem) != 0)
        return -EINVAL;
    double left = problem->budget - switch_off(problem, plan);
    double level = level_for(problem, plan, left), minima = reporting(problem, plan, 0);
    /* Where there is not even enough for the minima, all get less. */
    double scale = minima > left ? left / minima : 1;
    plan->feasible = scale >= 1;
    for (size_t c = 0; c < problem->class_count; c++) {
        struct spex_rate_decision *decision = &plan->decisions[c];
        if (decision->mode == SPEX_RATE_OFF)
            plan->feasible = false;
        else
            give(&problem->classes[c], records_at(&problem->classes[c], level) * scale, decision);
    }
    plan->reason = plan->feasible ? "all alike, and what is rare in full"
                                  : "not even the least that was asked for is within the budget";
    plan->probing_frequency = 0;
    spex_rate_plan_add_up(problem, plan);
    return 0;
}

SPEX_RATE_POLICY(fair) = {
    .size = sizeof(struct spex_rate_policy_ops),
    .abi = SPEX_RATE_POLICY_ABI,
    .name = "fair",
    .summary = "as many records a second for each, and all of what is rare",
    .workspace_size = fair_workspace_size,
    .decide = fair_decide,
};
