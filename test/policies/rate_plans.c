/* SPDX-License-Identifier: MIT */
/* Whole plans of each rate policy on made problems: modes, frequencies and reasons of all classes,
 * and the sums. A plan of a problem that is too large to be searched in full depends on each step
 * of the search, which properties of plans leave open. */
#include <stdio.h>

#include "../unit/told_text.h"
#include "asking.h"
#include "expected_plans.h"

enum { SMALL = 10, LARGE = 4, LARGE_CLASSES = 48, COMBINATIONS = 6 };

static const char *const policies[] = {"fixed", "budget", "fair", "hybrid"};

static struct spex_rate_class classes[CLASSES_MAX];
static struct spex_rate_problem problem;
/* Every third has pins, minima and what is wanted less often; every other costs of its own; the
 * budget goes from nearly nothing to all, and activity from little to half of the time. */
static void problem_make(uint64_t seed, size_t count, double budget) {
    bool constraints = seed % 3 == 1, costs = seed % 2;
    uint64_t random = seed;
    double all = 0;
    memset(classes, 0, sizeof(classes));
    for (size_t c = 0; c < count; c++) {
        struct spex_rate_class *cls = &classes[c];
        cls->frequency = 1 + (double)random_below(&random, 1000);
        cls->share = random_part(&random) * (seed > SMALL || seed % 4 == 0 ? 0.03 : 0.5);
        cls->weight = (double)random_below(&random, 12) / 4;
        cls->report_cost = costs ? 1e-6 * (double)random_below(&random, 9) : 1e-6;
        cls->detect_cost = costs ? 1e-7 * (double)random_below(&random, 9) : 0;
        if (constraints) {
            cls->pinned = random_below(&random, 6) == 0;
            cls->min_frequency =
                random_below(&random, 3) ? 0 : (double)random_below(&random, 1500) / 4;
            cls->wanted = random_below(&random, 3) ? 0 : (double)random_below(&random, 1200);
        }
        all += cls->frequency * (cls->report_cost + cls->detect_cost);
    }
    problem = (struct spex_rate_problem){.size = sizeof(problem),
                                         .budget = all * budget,
                                         .sample_cost = costs ? 2e-6 : 1e-6,
                                         .class_count = count,
                                         .classes = classes};
}

/* The mode's letter with the frequency; then the sums, and each reason once. */
static void tell_plan(const char *policy) {
    static struct answer answer;
    ask(&answer, policy, &problem);
    assert_int_equal(answer.err, 0);
    tell("%s:", policy);
    for (size_t c = 0; c < problem.class_count; c++)
        tell(" %c%.9g", "-TSP"[answer.decisions[c].mode], answer.decisions[c].frequency);
    tell(" = %.9g %.9g %.9g %c\n", answer.plan.information, answer.plan.overhead,
         answer.plan.probing_frequency, answer.plan.feasible ? '+' : '!');
}

static void tell_reasons(const char *policy) {
    static struct answer answer;
    ask(&answer, policy, &problem);
    for (size_t c = 0; c < problem.class_count; c++)
        tell("%s\n", answer.decisions[c].reason);
    tell("%s\n", answer.plan.reason);
}

static void tell_combinations(void) {
    static bool traced[COMBINATIONS][CLASSES_MAX];
    struct spex_rate_combination combinations[COMBINATIONS];
    const struct spex_rate_policy_ops *ops = spex_builtin_rate_policy("hybrid");
    void *workspace = malloc(ops->combinations_workspace_size(problem.class_count, COMBINATIONS));
    assert_non_null(workspace);
    for (size_t b = 0; b < COMBINATIONS; b++)
        combinations[b].traced = traced[b];
    int found = ops->combinations(&problem, workspace, combinations, COMBINATIONS);
    free(workspace);
    for (int b = 0; b < found; b++) {
        for (size_t c = 0; c < problem.class_count; c++)
            tell("%c", traced[b][c] ? 'T' : '.');
        tell(" %.9g %.9g %.9g\n", combinations[b].information, combinations[b].overhead,
             combinations[b].probing_frequency);
    }
    tell("%d\n", found);
}

static void tell_all(void) {
    static const double budgets[] = {0.02, 0.3, 0.6, 0.1, 0.9, 1.2, 0.45};
    told_clear();
    for (size_t s = 1; s <= SMALL; s++) {
        problem_make(s, 3 + s % 4, budgets[s % COUNT_OF(budgets)]);
        tell("%zu:\n", s);
        for (size_t p = 0; p < COUNT_OF(policies); p++)
            tell_plan(policies[p]);
        tell_combinations();
    }
    for (size_t s = SMALL + 1; s <= SMALL + LARGE; s++) {
        problem_make(s, LARGE_CLASSES, 0.15 * (double)(s - SMALL));
        tell("%zu:\n", s);
        tell_plan("hybrid");
        tell_combinations();
    }
    /* More is pinned than the budget pays for. */
    for (size_t s = 16; s <= 22; s += 3) {
        problem_make(s, 20, 0.01 * (double)s - 0.12);
        for (size_t c = 0; c < 20; c += 2)
            classes[c].pinned = true;
        tell("%zu:\n", s);
        for (size_t p = 1; p < COUNT_OF(policies); p++)
            tell_plan(policies[p]);
        tell_combinations();
    }
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        problem_make(4, 7, 0.25);
        tell_reasons(policies[p]);
    }
}

static void plans_are_those_that_are_expected(void **unused) {
    (void)unused;
    tell_all();
    const char *got = told.text;
    for (size_t part = 0; part < COUNT_OF(expected_plans); part++)
        got = told_lines(got, expected_plans[part]);
    assert_string_equal(got, "");
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) {
        tell_all();
        return puts(told.text) < 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_those_that_are_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
