/* SPDX-License-Identifier: MIT */
/* The bucket of tokens. */
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
    spex_budget_advance(&budget, 3600, 0, 0);
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
    spex_budget_advance(&budget, 1, 4, 0.072);
    assert_true(fabs(budget.tokens - 0.008) < 1e-12);
    spex_budget_advance(&budget, 1, 0.1, 0.02); /* one that mostly waits has one CPU's */
    assert_true(fabs(budget.tokens - 0.008) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentages_are_read),
        cmocka_unit_test(idling_saves_a_burst_and_no_more),
        cmocka_unit_test(what_is_owed_is_paid_back),
        cmocka_unit_test(a_program_on_several_cpus_may_spend_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
