/* SPDX-License-Identifier: MIT */
/* The bucket of tokens, and the fair shares that probes get of it. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "../check.h"
#include "budget.h"
#include "fair.h"

enum { CLASSES = 40, ROUNDS = 2000 };

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

/* However long it idles, what comes then in one second is at most half as much again as the budget. */
static void idling_saves_a_burst_and_no_more(void **state) {
    struct spex_budget budget;
    double spent = 0;
    (void)state;
    spex_budget_begin(&budget, 0.02);
    spex_budget_advance(&budget, 3600, 0, 0);
    for (int step = 0; step < 100; step++) {
        double some = spex_budget_rate(&budget, 1) * 0.01;
        spent += some;
        spex_budget_advance(&budget, 0.01, 1, some);
    }
    assert_true(spent > 0.02);
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
    spex_budget_advance(&budget, 1, 4, 0.08);
    assert_true(fabs(budget.tokens - 0.008) < 1e-12);
    spex_budget_advance(&budget, 1, 0.1, 0.02); /* one that mostly waits has one CPU's */
    assert_true(fabs(budget.tokens - 0.008) < 1e-12);
}

static struct spex_fair_class class_of(double frequency, double detect, double report) {
    return (struct spex_fair_class){.frequency = frequency,
                                    .most = frequency,
                                    .least = 100,
                                    .detect = detect,
                                    .report = report};
}

static double cost(const struct spex_fair_class *classes, size_t count) {
    double sum = 0;
    for (size_t c = 0; c < count; c++)
        if (!classes[c].held)
            sum +=
                classes[c].frequency * classes[c].detect + classes[c].records * classes[c].report;
    return sum;
}

static void rare_probes_are_recorded_in_full(void **state) {
    struct spex_fair_class classes[] = {class_of(1e6, 1e-9, 20e-9), class_of(500, 1e-9, 20e-9),
                                        class_of(3e6, 1e-9, 20e-9)};
    (void)state;
    spex_fair_shares(classes, 3, 0.02, 0.02);
    assert_true(classes[1].records == 500);
    assert_true(fabs(classes[0].records / classes[2].records - 1) < 1e-9);
    assert_true(fabs(cost(classes, 3) - 0.02) < 1e-9);
    assert_false(classes[0].held || classes[1].held || classes[2].held);
}

static void what_costs_too_much_by_itself_is_held(void **state) {
    struct spex_fair_class classes[] = {class_of(1e8, 1e-9, 20e-9), class_of(1e6, 1e-9, 20e-9)};
    (void)state;
    spex_fair_shares(classes, 2, 0.02, 0.02);
    assert_true(classes[0].held && !classes[1].held);
    assert_true(classes[0].records == 0);
    assert_true(cost(classes, 2) <= 0.02 + 1e-9);
}

/* Debts are paid by records; a probe is held for what it costs in the long run alone. */
static void debts_hold_nobody(void **state) {
    struct spex_fair_class class = class_of(1e7, 1e-9, 20e-9);
    (void)state;
    spex_fair_shares(&class, 1, 0.02, 0.005);
    assert_false(class.held);
    assert_true(class.records > 0 && class.records * class.report <= 0.02 * 0.051);
}

static void nothing_to_share_among_is_no_harm(void **state) {
    struct spex_fair_class silent = class_of(0, 1e-9, 20e-9);
    (void)state;
    spex_fair_shares(NULL, 0, 0.02, 0.02);
    spex_fair_shares(&silent, 1, 0.02, 0.02);
    assert_true(silent.records == 0 && !silent.held);
}

static double between(uint64_t *seed, double low, double high) {
    return low * pow(high / low, (double)random_below(seed, 1 << 20) / (1 << 20));
}

/* Never more than the rate, all of it where it can be used, nobody gets more while one that wants it has less. */
static void shares_are_feasible_full_and_fair(void **state) {
    struct spex_fair_class classes[CLASSES];
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + random_below(&seed, CLASSES);
        double rate = between(&seed, 1e-4, 1), wanted = 0, level = 0;
        for (size_t c = 0; c < count; c++) {
            classes[c] = class_of(between(&seed, 1, 1e8), between(&seed, 1e-10, 2e-9),
                                  between(&seed, 1e-9, 2e-6));
            classes[c].most /= (double)(1 + random_below(&seed, 100));
        }
        spex_fair_shares(classes, count, rate, rate);
        for (size_t c = 0; c < count; c++) {
            assert_true(classes[c].records >= 0 && classes[c].records <= classes[c].most);
            if (classes[c].held)
                continue;
            wanted +=
                classes[c].frequency * classes[c].detect + classes[c].most * classes[c].report;
            if (classes[c].records > classes[c].least && classes[c].records > level)
                level = classes[c].records;
        }
        double used = cost(classes, count);
        assert_true(used <= rate * (1 + 1e-9));
        assert_true(used >= (wanted < rate ? wanted : rate) * (1 - 1e-6));
        for (size_t c = 0; c < count; c++)
            if (!classes[c].held && classes[c].records < classes[c].most && level > 0)
                assert_true(classes[c].records >= level * (1 - 1e-9));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentages_are_read),
        cmocka_unit_test(idling_saves_a_burst_and_no_more),
        cmocka_unit_test(what_is_owed_is_paid_back),
        cmocka_unit_test(a_program_on_several_cpus_may_spend_more),
        cmocka_unit_test(rare_probes_are_recorded_in_full),
        cmocka_unit_test(what_costs_too_much_by_itself_is_held),
        cmocka_unit_test(debts_hold_nobody),
        cmocka_unit_test(nothing_to_share_among_is_no_harm),
        cmocka_unit_test(shares_are_feasible_full_and_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
