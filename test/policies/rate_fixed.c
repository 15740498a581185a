/* SPDX-License-Identifier: MIT */
/* The policy that changes nothing, and what holds for all of them. */
#include <errno.h>
#include <math.h>

#include "asking.h"

static struct spex_rate_class two[] = {
    {.name = "a", .frequency = 1000, .weight = 1, .detect_cost = 1e-6, .report_cost = 1e-5},
    {.name = "b", .frequency = 500, .weight = 2, .report_cost = 2e-5, .wanted = 100},
};

static const struct spex_rate_problem problem = {
    .size = sizeof(problem), .budget = .014, .sample_cost = 1e-5, .class_count = 2, .classes = two};

TEST(everything_is_as_asked) {
    struct answer answer;
    ask(&answer, "fixed", &problem);
    assert_int_equal(answer.err, 0);
    assert_int_equal(answer.decisions[0].mode, SPEX_RATE_TRACED);
    assert_int_equal(answer.decisions[1].mode, SPEX_RATE_SAMPLED);
    assert_true(answer.decisions[1].frequency == 100);
    assert_float_equal(answer.plan.overhead, .001 + .01 + .002, 1e-12);
    assert_float_equal(answer.plan.information, 1200, 1e-9);
    assert_true(answer.plan.feasible);
}

TEST(an_exceeded_budget_is_said_and_nothing_changed) {
    struct spex_rate_problem small = problem;
    struct answer answer;
    small.budget = .001;
    ask(&answer, "fixed", &small);
    assert_false(answer.plan.feasible);
    assert_float_equal(answer.plan.overhead, .013, 1e-12);
    assert_non_null(strstr(answer.plan.reason, "exceeds"));
}

TEST(what_is_pinned_is_not_sampled) {
    struct answer answer;
    two[1].pinned = true;
    ask(&answer, "fixed", &problem);
    two[1].pinned = false;
    assert_int_equal(answer.decisions[1].mode, SPEX_RATE_TRACED);
    assert_true(answer.decisions[1].frequency == 500);
}

static void assert_refused(const struct spex_rate_problem *bad) {
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++) {
        struct answer answer;
        ask(&answer, spex_builtin_rate_policies[p]->name, bad);
        assert_int_equal(answer.err, -EINVAL);
    }
}

TEST(what_is_no_problem_is_refused_by_all) {
    static const double bad[] = {-1, NAN, INFINITY, 1e60, 1e-60};
    struct spex_rate_problem other = problem;
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        other.budget = bad[b];
        assert_refused(&other);
    }
    other = problem;
    other.size--;
    assert_refused(&other);
    other = problem;
    other.max_frequency = 1;
    other.budget = 0;
    assert_refused(&other);
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        two[1].share = bad[b];
        assert_refused(&problem);
        two[1].share = 0;
    }
}

TEST(no_classes_are_no_overhead) {
    struct spex_rate_problem none = problem;
    none.class_count = 0;
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++) {
        struct answer answer;
        ask(&answer, spex_builtin_rate_policies[p]->name, &none);
        assert_int_equal(answer.err, 0);
        assert_true(answer.plan.feasible);
        assert_true(answer.plan.overhead == 0 && answer.plan.information == 0);
    }
}

TEST(built_in_policies_are_complete) {
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++) {
        const struct spex_rate_policy_ops *ops = spex_builtin_rate_policies[p];
        assert_ptr_equal(spex_builtin_rate_policy(ops->name), ops);
        assert_int_equal(spex_rate_policy_check(ops), 0);
    }
    assert_null(spex_builtin_rate_policy("none such"));
}
