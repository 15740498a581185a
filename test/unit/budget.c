/* SPDX-License-Identifier: MIT */
/* The bucket of tokens. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "../check.h"
#include "rate/budget.h"

static void percentages_are_read(void **state) {
    static const struct {
        const char *text;
        double share;
    } good[] = {{"2%", 0.02}, {"0.5 %", 0.005}, {"100%", 1}, {"10.25%", 0.1025}};
    static const char *const bad[] = {"",     "2",   "%",   "0%",   "0.0%", "-1%", "101%", "2%%",
                                      "2,5%", " 2%", "+2%", "1e1%", "nan%", ".5%", "2% x"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        double share = 0;
        assert_true(spex_budget_parse(good[i].text, &share));
        assert_true(fabs(share - good[i].share) < 1e-12);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        double share = 0;
        if (spex_budget_parse(bad[i], &share))
            fail_msg("\"%s\" was taken for %g", bad[i], share);
    }
}

/* However long it idles, what comes then in one second is at most half as much again as the budget:
 * first as much as comes, and, as soon as that is more than was saved, as much as there is. */
static void idling_saves_a_burst_and_no_more(void **state) {
    struct spex_budget budget;
    double spent = 0;
    (void)state;
    spex_budget_begin(&budget, 0.02);
    spex_budget_advance(&budget, 3600, 1, 0);
    for (int step = 0; step < 100; step++) {
        double rate = spex_budget_rate(&budget, 1);
        double some = (rate < 0.02 || spent > 0.02 ? rate : 5 * rate) * 0.01;
        spent += some;
        spex_budget_advance(&budget, 0.01, 1, some);
    }
    assert_true(spent > 0.02 * 1.2);
    assert_true(spent <= 0.02 * 1.5);
}

static void what_is_owed_is_paid_back(void **state) {
    struct spex_budget budget;
    double spent = 0.1; /* five times what a second may cost */
    (void)state;
    spex_budget_begin(&budget, 0.02);
    spex_budget_advance(&budget, 0.01, 1, spent);
    assert_true(budget.tokens < 0);
    for (int step = 0; step < 1000; step++) {
        double some = spex_budget_rate(&budget, 1) * 0.01;
        assert_true(some > 0);
        spent += some;
        spex_budget_advance(&budget, 0.01, 1, some);
    }
    assert_true(spent <= 0.02 * (10.01 + 0.4) * 1.001);
    assert_true(spent >= 0.02 * 10 * 0.9);
}

static void a_program_on_several_cpus_may_spend_more(void **state) {
    struct spex_budget budget;
    (void)state;
    spex_budget_begin(&budget, 0.02);
    spex_budget_advance(&budget, 4, 4, 0.072);
    assert_true(fabs(budget.tokens - 0.008) < 1e-12);
    spex_budget_advance(&budget, 0.1, 0.1, 0.004);
    assert_true(fabs(budget.tokens - 0.0008) < 1e-12); /* as much as it holds of 0.1 CPUs */
}

static void the_least_that_is_held_is_kept(void **state) {
    struct spex_budgets_asked asked = {0};
    bool any;
    (void)state;
    assert_true(spex_budgets_least(&asked, 0, 1, &any) == 0 && !any);
    assert_int_equal(spex_budgets_hold(&asked, 7, 0.05, 10), 0);
    assert_int_equal(spex_budgets_hold(&asked, 8, 0.02, 20), 0);
    assert_true(spex_budgets_least(&asked, 0, 1, &any) == 0.02 && any);
    assert_true(spex_budgets_least(&asked, 0.01, 1, &any) == 0.01 && any);
    spex_budgets_renew(&asked, 8, 0);
    assert_true(spex_budgets_least(&asked, 0, 1, &any) == 0.05);
    spex_budgets_renew(&asked, 7, 30);
    assert_true(spex_budgets_least(&asked, 0.1, 29, &any) == 0.05);
    assert_true(spex_budgets_least(&asked, 0.1, 30, &any) == 0.1 && !any);
}

static void a_holder_has_one_place(void **state) {
    struct spex_budgets_asked asked = {0};
    bool any;
    (void)state;
    for (uint32_t holder = 1; holder <= SPEX_BUDGETS_ASKED; holder++)
        assert_int_equal(spex_budgets_hold(&asked, holder, 0.5, 10), 0);
    assert_int_equal(spex_budgets_hold(&asked, SPEX_BUDGETS_ASKED, 0.25, 10), 0);
    assert_int_equal(spex_budgets_hold(&asked, 99, 0.1, 10), -EUSERS);
    assert_true(spex_budgets_least(&asked, 0, 9, &any) == 0.25);
    assert_true(spex_budgets_least(&asked, 0, 10, &any) == 0 && !any);
    assert_int_equal(spex_budgets_hold(&asked, 99, 0.1, 20), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentages_are_read),
        cmocka_unit_test(idling_saves_a_burst_and_no_more),
        cmocka_unit_test(what_is_owed_is_paid_back),
        cmocka_unit_test(a_program_on_several_cpus_may_spend_more),
        cmocka_unit_test(the_least_that_is_held_is_kept),
        cmocka_unit_test(a_holder_has_one_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
