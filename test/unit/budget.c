/* SPDX-License-Identifier: MIT */
/* Budgets as users ask for them. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>

#include "../check.h"
#include "rate/budget.h"

TEST(percentages_are_read) {
    static const struct {
        const char *text;
        double share;
    } good[] = {{"2%", 0.02}, {"0.5 %", 0.005}, {"100%", 1}, {"10.25%", 0.1025}};
    static const char *const bad[] = {"",     "2",   "%",   "0%",   "0.0%", "-1%", "101%", "2%%",
                                      "2,5%", " 2%", "+2%", "1e1%", "nan%", ".5%", "2% x"};
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

TEST(the_least_that_is_held_is_kept) {
    struct spex_budgets_asked asked = {0};
    bool any;
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

TEST(a_holder_has_one_place) {
    struct spex_budgets_asked asked = {0};
    bool any;
    for (uint32_t holder = 1; holder <= SPEX_BUDGETS_ASKED; holder++)
        assert_int_equal(spex_budgets_hold(&asked, holder, 0.5, 10), 0);
    assert_int_equal(spex_budgets_hold(&asked, SPEX_BUDGETS_ASKED, 0.25, 10), 0);
    assert_int_equal(spex_budgets_hold(&asked, 99, 0.1, 10), -EUSERS);
    assert_true(spex_budgets_least(&asked, 0, 9, &any) == 0.25);
    assert_true(spex_budgets_least(&asked, 0, 10, &any) == 0 && !any);
    assert_int_equal(spex_budgets_hold(&asked, 99, 0.1, 20), 0);
}
