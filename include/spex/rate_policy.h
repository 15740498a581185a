/* SPDX-License-Identifier: MIT */
/* Rate policies. A policy divides an overhead budget among probes: which of them record every
 * execution, which a part, which none, so that the records carry the most information. This header
 * is all that a policy needs, whether it is built in or a shared object of its own
 * (SPEX_RATE_POLICY_OBJECT). The policy "budget" in policies/ is a complete example.
 *
 * The model is that of Metz, Lencevicius and Gonzalez, "Performance Data Collection Using a Hybrid
 * Approach"; the numbers of sections in this file are theirs. Events belong to classes. A class is
 * traced (every execution makes a record), sampled (some do), or probed (one sampler looks at all
 * such classes at regular times). With f records a second of each class,
 *
 *     information = Σ f · weight
 *     overhead    = Σ frequency · detect_cost + Σ f · report_cost + probing_frequency · sample_cost
 *
 * where a probed class has f = probing_frequency · share, and is not detected. The overhead is a
 * fraction of the time: the paper's Overhead, minus 1. Times are in seconds, frequencies in Hz.
 *
 * A policy is a pure function: it allocates nothing, makes no system calls, keeps no state between
 * calls, and returns the same plan for the same problem. The caller owns all memory.
 *
 * Threads: any thread; in a program that runs, a collector's thread every 100 ms. Calls may
 * overlap, but never with the same workspace. A call for a thousand classes should take less than a
 * millisecond. */
#ifndef SPEX_RATE_POLICY_H
#define SPEX_RATE_POLICY_H

#include <spex/detail/names_begin.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

#define SPEX_RATE_POLICY_ABI 1

/* A class. All numbers are 0, or from 1e-50 to 1e50, so that results of arithmetic are finite. */
struct spex_rate_class {
    /* NULL: the class has no name. */
    const char *name;
    /* Executions a second, in Hz, over all of the time. */
    double frequency;
    /* EventTime / EventPeriod: the fraction of the time during which an execution is going on. */
    double share;
    /* How much information a record has. */
    double weight;
    /* Seconds that an execution costs, recorded or not (4.3.4). */
    double detect_cost;
    /* Seconds that a record costs in addition. */
    double report_cost;
    /* The least records a second, or the least frequency of probing, in Hz (4.3.5). */
    double min_frequency;
    /* The most records a second that were asked for, in Hz; 0: all. */
    double wanted;
    /* All executions are wanted, whatever their weight (4.3.6). */
    bool pinned;
};

/* What a policy decides about: the classes and the budget. */
struct spex_rate_problem {
    /* sizeof, as compiled by the caller. */
    size_t size;
    /* The most overhead, as a fraction of the time: MaxAllowedOverhead - 1. */
    double budget;
    /* MaxF in Hz. If it is above 0, each record or sample costs budget / max_frequency, detecting
     * costs nothing, and the costs below and of the classes are ignored. */
    double max_frequency;
    /* Seconds that a sample by probing costs (4.3.3); above 0 where there is probing. */
    double sample_cost;
    size_t class_count;
    const struct spex_rate_class *classes;
};

enum spex_rate_mode {
    /* No execution is detected. */
    SPEX_RATE_OFF = 0,
    /* Every execution makes a record. */
    SPEX_RATE_TRACED,
    /* Every execution is detected, and some make a record. At 0 Hz executions are only counted. */
    SPEX_RATE_SAMPLED,
    /* No execution is detected, but probing meets some. With a probing frequency of 0 it is off. */
    SPEX_RATE_PROBED
};

/* What a policy decides about a class. */
struct spex_rate_decision {
    enum spex_rate_mode mode;
    /* Records a second, in Hz. */
    double frequency;
    /* A few words; valid as long as the policy. */
    const char *reason;
};

/* What a policy fills in. */
struct spex_rate_plan {
    /* sizeof, as compiled by the caller. */
    size_t size;
    /* One for each class; the caller's memory. */
    struct spex_rate_decision *decisions;
    /* The plan keeps to the budget, and grants everything that is pinned or a minimum. */
    bool feasible;
    /* Records a second times their weights, over all classes. */
    double information;
    /* The fraction of the time that the plan costs. */
    double overhead;
    /* F_probing in Hz; 0: no probing. */
    double probing_frequency;
    /* One line about the whole plan; valid as long as the policy. */
    const char *reason;
};

/* A division of the classes into traced and probed. */
struct spex_rate_combination {
    /* Whether a class is traced, for each class; the caller's memory. */
    bool *traced;
    double information;
    double overhead;
    double probing_frequency;
};

/* A policy. spex_rate_policy_check says what a program requires of it. */
struct spex_rate_policy_ops {
    /* sizeof, as compiled by the policy. */
    size_t size;
    /* SPEX_RATE_POLICY_ABI. */
    uint32_t abi;
    const char *name;
    /* One line for users. */
    const char *summary;

    /* Mandatory. */

    /* Bytes of workspace that decide() needs for this many classes; may be 0. */
    size_t (*workspace_size)(size_t class_count);
    /* Fills in the plan. When not everything pinned or minimal fits, the plan is not feasible; it
     * keeps to the budget all the same, if any plan can, and the reasons say what was denied.
     * `workspace` is aligned as by malloc; its contents have no meaning before and after the call.
     * Returns 0; or -EINVAL for an invalid problem (spex_rate_problem_check), with the plan
     * unchanged. */
    int (*decide)(const struct spex_rate_problem *problem, void *workspace,
                  struct spex_rate_plan *plan);

    /* Optional; both or none. For comparing policies, not for collectors; may take a second. */

    /* Bytes of workspace that combinations() needs. */
    size_t (*combinations_workspace_size)(size_t class_count, size_t count);
    /* Finds the combinations within the budget that have the most information, best first, at most
     * `count`. Returns their number, or -EINVAL. */
    int (*combinations)(const struct spex_rate_problem *problem, void *workspace,
                        struct spex_rate_combination *best, size_t count);
};

/* Defines a built-in policy, which the list in policies/ names. */
#define SPEX_RATE_POLICY(ident) const struct spex_rate_policy_ops spex_rate_policy_##ident

/* Defines the policy of a shared object: the host looks for this symbol. */
#define SPEX_RATE_POLICY_OBJECT                                                                    \
    extern SPEX_API const struct spex_rate_policy_ops spex_rate_policy;                            \
    const struct spex_rate_policy_ops spex_rate_policy

/* Checks a policy; for programs that load one. Returns 0; -ENOTSUP when it was compiled for another
 * version of this header; -EINVAL when a mandatory member is missing. */
SPEX_INLINE int spex_rate_policy_check(const struct spex_rate_policy_ops *ops) {
    if (ops->size < sizeof(*ops) || ops->abi != SPEX_RATE_POLICY_ABI)
        return -ENOTSUP;
    if (!ops->name || !ops->summary || !ops->workspace_size || !ops->decide ||
        !ops->combinations != !ops->combinations_workspace_size)
        return -EINVAL;
    return 0;
}

/* The share by which a sum of costs may exceed the budget: rounding errors. */
#define SPEX_RATE_ROUNDING 1e-12

/* Returns whether the number is allowed in a problem: 0, or 1e-50 to 1e50. */
SPEX_INLINE bool spex_rate_is_number(double value) {
    return (value >= 1e-50 && value <= 1e50) || (value <= 0 && value >= 0);
}

/* Checks a problem. Returns 0; -EINVAL when a number is negative, too large, too small or NaN, when
 * MaxF is given without a budget, or when the structure is shorter than this header's. */
SPEX_INLINE int spex_rate_problem_check(const struct spex_rate_problem *problem) {
    if (problem->size < sizeof(*problem) || !spex_rate_is_number(problem->budget) ||
        !spex_rate_is_number(problem->max_frequency) || !spex_rate_is_number(problem->sample_cost))
        return -EINVAL;
    if (problem->max_frequency > 0 && problem->budget <= 0)
        return -EINVAL;
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_class *cls = &problem->classes[c];
        if (!spex_rate_is_number(cls->frequency) || !spex_rate_is_number(cls->share) ||
            !spex_rate_is_number(cls->weight) || !spex_rate_is_number(cls->detect_cost) ||
            !spex_rate_is_number(cls->report_cost) || !spex_rate_is_number(cls->min_frequency) ||
            !spex_rate_is_number(cls->wanted))
            return -EINVAL;
    }
    return 0;
}

/* Returns the most records a second that the class may make, in Hz. */
SPEX_INLINE double spex_rate_most(const struct spex_rate_class *cls) {
    bool all = cls->pinned || cls->wanted <= 0 || cls->wanted >= cls->frequency;
    return all ? cls->frequency : cls->wanted;
}

/* Returns the seconds that a record of the class costs. With MaxF this is the same for all classes:
 * T_report (4.1). */
SPEX_INLINE double spex_rate_report_cost(const struct spex_rate_problem *problem, size_t c) {
    return problem->max_frequency > 0 ? problem->budget / problem->max_frequency
                                      : problem->classes[c].report_cost;
}

/* Returns the seconds that a sample by probing costs. */
SPEX_INLINE double spex_rate_sample_cost(const struct spex_rate_problem *problem) {
    return problem->max_frequency > 0 ? problem->budget / problem->max_frequency
                                      : problem->sample_cost;
}

/* Returns the overhead of detecting all executions of the class. */
SPEX_INLINE double spex_rate_detection(const struct spex_rate_problem *problem, size_t c) {
    const struct spex_rate_class *cls = &problem->classes[c];
    return problem->max_frequency > 0 ? 0 : cls->frequency * cls->detect_cost;
}

/* Returns the overhead of the class at this many records a second. */
SPEX_INLINE double spex_rate_overhead(const struct spex_rate_problem *problem, size_t c,
                                      double records) {
    return spex_rate_detection(problem, c) + records * spex_rate_report_cost(problem, c);
}

/* Returns SPEX_RATE_TRACED when every execution makes a record, otherwise SPEX_RATE_SAMPLED. */
SPEX_INLINE enum spex_rate_mode spex_rate_mode_of(const struct spex_rate_class *cls,
                                                  double records) {
    return records >= cls->frequency ? SPEX_RATE_TRACED : SPEX_RATE_SAMPLED;
}

/* Returns whether the overhead keeps to the budget, apart from rounding errors. */
SPEX_INLINE bool spex_rate_fits(double overhead, double budget) {
    return overhead <= budget + budget * SPEX_RATE_ROUNDING;
}

/* Sets the information and the overhead from the decisions and the probing frequency. */
SPEX_INLINE void spex_rate_plan_add_up(const struct spex_rate_problem *problem,
                                       struct spex_rate_plan *plan) {
    plan->information = 0;
    plan->overhead = plan->probing_frequency * spex_rate_sample_cost(problem);
    for (size_t c = 0; c < problem->class_count; c++) {
        const struct spex_rate_decision *decision = &plan->decisions[c];
        plan->information += decision->frequency * problem->classes[c].weight;
        if (decision->mode == SPEX_RATE_TRACED || decision->mode == SPEX_RATE_SAMPLED)
            plan->overhead += spex_rate_overhead(problem, c, decision->frequency);
    }
}

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
