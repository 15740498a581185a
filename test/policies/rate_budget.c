/* SPDX-License-Identifier: MIT */
/* The continuous knapsack, where its answer is known. rate_optimum.c has random problems. */
#include "asking.h"

static struct spex_rate_class classes[4];
static struct spex_rate_problem problem;
static struct answer answer;

/* Four classes of 100 Hz and weights 1, 2, 3, 4, of which a record costs 1e-4: everything is 4
 * %. */
static int set_up(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d"};
    memset(classes, 0, sizeof(classes));
    for (size_t c = 0; c < COUNT_OF(classes); c++) {
        classes[c].name = names[c];
        classes[c].frequency = 100;
        classes[c].weight = (double)c + 1;
        classes[c].report_cost = 1e-4;
    }
    problem = (struct spex_rate_problem){.size = sizeof(problem),
                                         .budget = .025,
                                         .class_count = COUNT_OF(classes),
                                         .classes = classes};
    return 0;
}

static void assert_frequencies(double a, double b, double c, double d) {
    const double expected[] = {a, b, c, d};
    ask(&answer, "budget", &problem);
    assert_int_equal(answer.err, 0);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_float_equal(answer.decisions[i].frequency, expected[i], 1e-7);
        assert_non_null(answer.decisions[i].reason);
    }
}

static void assert_mode(size_t c, enum spex_rate_mode mode) {
    assert_int_equal(answer.decisions[c].mode, mode);
}

TEST_WITH(the_heaviest_are_traced_and_the_next_sampled, set_up, NULL) {
    assert_frequencies(0, 50, 100, 100);
    assert_mode(0, SPEX_RATE_SAMPLED);
    assert_mode(1, SPEX_RATE_SAMPLED);
    assert_mode(2, SPEX_RATE_TRACED);
    assert_mode(3, SPEX_RATE_TRACED);
    assert_float_equal(answer.plan.information, 800, 1e-7);
    assert_float_equal(answer.plan.overhead, .025, 1e-12);
    assert_true(answer.plan.feasible);
    assert_string_equal(answer.plan.reason, "the budget goes to the most weight for what it costs");
    assert_string_equal(answer.decisions[0].reason,
                        "counted only: others have more weight for their cost");
    classes[0].min_frequency = 1;
    assert_frequencies(1, 49, 100, 100);
    assert_string_equal(answer.decisions[0].reason,
                        "its minimum: others have more weight for their cost");
}

TEST_WITH(what_just_fits_is_traced, set_up, NULL) {
    problem.budget = .04;
    assert_frequencies(100, 100, 100, 100);
    for (size_t c = 0; c < COUNT_OF(classes); c++)
        assert_mode(c, SPEX_RATE_TRACED);
}

TEST_WITH(max_f_makes_all_records_alike, set_up, NULL) {
    problem.max_frequency = 250;
    problem.budget = .1;
    classes[3].report_cost = 1;
    classes[3].detect_cost = 1;
    assert_frequencies(0, 50, 100, 100);
    assert_float_equal(answer.plan.overhead, .1, 1e-12);
}

TEST_WITH(dear_records_need_more_weight, set_up, NULL) {
    classes[3].report_cost = 5e-4; /* 8000 a second of overhead, less than any */
    assert_frequencies(50, 100, 100, 0);
}

TEST_WITH(records_of_no_cost_are_all_taken, set_up, NULL) {
    classes[0].report_cost = 0;
    classes[0].weight = 0;
    assert_frequencies(100, 50, 100, 100);
}

TEST_WITH(what_has_no_weight_is_only_counted, set_up, NULL) {
    problem.budget = 1;
    classes[1].weight = 0;
    assert_frequencies(100, 0, 100, 100);
    assert_string_equal(answer.decisions[1].reason, "it has no weight");
}

TEST_WITH(detection_is_paid_before_records, set_up, NULL) {
    classes[0].detect_cost = 1e-4;
    assert_frequencies(0, 0, 50, 100);
    assert_float_equal(answer.plan.overhead, .025, 1e-12);
}

TEST_WITH(minima_and_pins_come_before_weight, set_up, NULL) {
    classes[0].min_frequency = 20;
    classes[1].pinned = true;
    assert_frequencies(20, 100, 30, 100);
    assert_mode(1, SPEX_RATE_TRACED);
    assert_string_equal(answer.decisions[1].reason, "pinned");
    assert_true(answer.plan.feasible);
}

TEST_WITH(no_more_is_taken_than_there_is_or_is_wanted, set_up, NULL) {
    problem.budget = 1;
    classes[0].min_frequency = 1000;
    classes[3].wanted = 10;
    assert_frequencies(100, 100, 100, 10);
    assert_mode(3, SPEX_RATE_SAMPLED);
}

/* Pinned d fits; of the minima the heavier ones do; what is left over goes to them. */
TEST_WITH(of_too_much_the_least_weight_over_cost_is_off, set_up, NULL) {
    classes[0].pinned = true;
    for (size_t c = 1; c < COUNT_OF(classes); c++)
        classes[c].min_frequency = 80;
    problem.budget = .027;
    assert_frequencies(100, 0, 80, 90);
    assert_mode(0, SPEX_RATE_TRACED);
    assert_mode(1, SPEX_RATE_OFF);
    assert_mode(2, SPEX_RATE_SAMPLED);
    assert_false(answer.plan.feasible);
    assert_non_null(strstr(answer.decisions[1].reason, "exceeds the budget"));
    assert_non_null(strstr(answer.plan.reason, "exceeds the budget: classes are off"));
    assert_float_equal(answer.plan.overhead, .027, 1e-12);
}

TEST_WITH(what_is_off_is_not_detected, set_up, NULL) {
    for (size_t c = 0; c < COUNT_OF(classes); c++)
        classes[c].detect_cost = 1e-4;
    problem.budget = .035;
    assert_frequencies(0, 0, 0, 50);
    assert_mode(0, SPEX_RATE_OFF);
    assert_mode(1, SPEX_RATE_SAMPLED);
    assert_float_equal(answer.plan.overhead, .035, 1e-12);
}

/* One that alone is too much does not take the others with it. */
TEST_WITH(a_class_beyond_the_budget_is_off_alone, set_up, NULL) {
    classes[3].pinned = true;
    classes[3].frequency = 1e6;
    assert_frequencies(50, 100, 100, 0);
    assert_mode(3, SPEX_RATE_OFF);
    assert_false(answer.plan.feasible);
}

/* What the others leave over does not bring it back. */
TEST_WITH(what_is_off_stays_off, set_up, NULL) {
    classes[3].min_frequency = 1e6;
    classes[3].frequency = 2e6;
    problem.budget = .05;
    assert_frequencies(100, 100, 100, 0);
    assert_mode(3, SPEX_RATE_OFF);
    assert_float_equal(answer.plan.overhead, .03, 1e-12);
}

/* Whatever else is true of it. */
TEST_WITH(the_reason_of_a_pin_is_the_pin, set_up, NULL) {
    for (size_t c = 0; c < 3; c++)
        classes[c].pinned = true;
    classes[1].weight = 0;
    classes[2].report_cost = 0;
    problem.budget = .05;
    assert_frequencies(100, 100, 100, 100);
    for (size_t c = 0; c < 3; c++)
        assert_string_equal(answer.decisions[c].reason, "pinned");
    assert_string_equal(answer.decisions[3].reason, "all of it: its weight is high for its cost");
}

TEST_WITH(without_a_budget_what_costs_is_off, set_up, NULL) {
    problem.budget = 0;
    for (size_t c = 0; c < 3; c++)
        classes[c].detect_cost = 1e-7;
    assert_frequencies(0, 0, 0, 0);
    assert_mode(2, SPEX_RATE_OFF);
    assert_mode(3, SPEX_RATE_SAMPLED);
    assert_true(answer.plan.overhead == 0);
}
