/* SPDX-License-Identifier: MIT */
/* Which probes a session is about, and which one is its witness. */
#include "experiment_program.h"

static bool was_sparse;

/* Runs until the group is off, or in a session of one probe sparse; how many probes are in it. */
static unsigned switched_off(bool *in_group) {
    was_sparse = false;
    unsigned found = 0;
    for (int steps = 0; steps < 6 && !found; steps++) {
        struct spex_finding finding;
        work(0.01, 0, 30000);
        for (unsigned p = 1; p < PROBES; p++)
            work(0, p, (uint64_t)(subjects[p].frequency * 0.01) + 1);
        assert_false(step(0.5, &finding));
        for (unsigned p = 0; p < PROBES; p++)
            found += in_group[p] = !is_on(p) || period_of(p) == SPARSE_PERIOD;
        was_sparse = found && is_on(0);
    }
    spex_experiment_abort(program.now);
    for (unsigned p = 0; p < PROBES; p++)
        assert_true(is_on(p) && period_of(p) != SPARSE_PERIOD);
    return found;
}

/* Probes that are equally dear are a group up to the share of 85 %. */
static void expect_group(unsigned count, double frequency, unsigned expected) {
    bool in_group[PROBES];
    begin(1);
    for (unsigned p = 0; p < count; p++)
        subject((5 * p + 3) % PROBES, frequency, 1e-4);
    assert_int_equal(start(), expected > 0);
    if (expected)
        assert_int_equal(switched_off(in_group), expected);
}

static void groups_have_most_of_the_cost(void **state) {
    (void)state;
    expect_group(1, 400, 0); /* no witness */
    expect_group(2, 400, 1);
    expect_group(4, 400, 3);
    expect_group(10, 400, 9);
    expect_group(15, 400, 13);
    expect_group(24, 400, 16);
    expect_group(4, 300, 3);
    expect_group(4, 299, 0); /* too seldom for a witness */
}

/* The dearest come first, whatever their order, and the most frequent of the rest is the witness.
 */
static void the_dearest_are_the_group(void **state) {
    static const double costs[] = {1, 50, 3, 20, 2, 10};
    bool in_group[PROBES];
    (void)state;
    begin(1);
    for (unsigned p = 0; p < COUNT_OF(costs); p++)
        subject(p, p == 4 ? 2000 : 1000 + p, costs[p] * 1e-6 / (p == 4 ? 2 : 1));
    assert_true(start());
    assert_int_equal(switched_off(in_group), 3); /* 80 of 86 */
    assert_true(in_group[1] && in_group[3] && in_group[5]);

    /* Of equally frequent ones the dearest is the witness: that its count changes ends a session. */
    for (unsigned changes = 0; changes <= 4; changes += 2) {
        struct spex_finding finding;
        begin(1);
        for (unsigned p = 0; p < COUNT_OF(costs); p++)
            subject(p, 1000, costs[p] * 1e-6);
        assert_true(start());
        assert_false(step(1, &finding));
        work(0.01, changes, 1000);
        for (unsigned p = 0; p < COUNT_OF(costs); p++)
            work(0, p, 10);
        assert_int_equal(step(1, &finding), changes == 2);
    }
}

/* A session must be about a tenth of the budget, in all and for the group. */
static void what_is_cheap_is_no_group(void **state) {
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        begin(1);
        subject(0, 1000, (dear ? 1.01 : 0.99) * SHARE * 0.1 / 1000);
        subject(1, 1000, 1e-12);
        assert_int_equal(start(), dear);
        /* In all it is enough, but without the witness it is not. */
        begin(1);
        subject(0, 1000, (dear ? 1.01 : 0.99) * SHARE * 0.1 / 1000);
        subject(1, 1000, 0.9 * SHARE * 0.1 / 1000);
        assert_int_equal(start(), dear);
        assert_int_equal(spex_experiment_running(), dear);
        subject(0, 1000, 1);
        if (!dear)
            expect_pause(0.4);
        else
            spex_experiment_abort(program.now);
        assert_int_equal(start(), !dear);
    }
}

/* Of one probe that has a longer period: what that saves must be worth it, and the probe must be
 * executed often. With a witness that is as frequent, or precise enough, it is not alone. */
static void one_probe_is_tried_by_its_records(void **state) {
    static const struct {
        double frequency, cost, sparse_cost, witness;
        uint32_t sparse_period;
        bool starts, alone;
        double part;
    } cases[] = {
        {1000, 8e-6, 2.9e-6, 0, SPARSE_PERIOD, true, true, 1},
        {1000, 8e-6, 3.1e-6, 0, SPARSE_PERIOD, false, false, 1},
        {1000, 8e-6, 2.9e-6, 0, 0, false, false, 1},
        {299, 80e-6, 0, 0, SPARSE_PERIOD, false, false, 1},
        {300, 80e-6, 0, 0, SPARSE_PERIOD, true, true, 1},
        {10000, 8e-6, 0, 6600, SPARSE_PERIOD, true, true, 1},
        {10000, 8e-6, 0, 6700, SPARSE_PERIOD, true, false, 1},
        {6000, 8e-6, 0, 6600, SPARSE_PERIOD, true, false, 1},
        {10000, 8e-6, 0, 6600, 0, true, false, 1},
        {6600, 8e-6, 0, 6600, SPARSE_PERIOD, true, false, 1},
        {598, 80e-6, 0, 0, SPARSE_PERIOD, false, false, 0.5},
        {602, 80e-6, 0, 0, SPARSE_PERIOD, true, true, 0.5},
        {602, 80e-6, 0, 598, 0, false, false, 0.5},
        {602, 80e-6, 0, 602, 0, true, false, 0.5},
        {30000, 8e-6, 0, 13200, SPARSE_PERIOD, true, true, 0.5},
        {30000, 8e-6, 0, 13400, SPARSE_PERIOD, true, false, 0.5},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        bool in_group[PROBES];
        begin(1);
        spex_probe_throttle(first_of(0), PERIOD);
        subject(0, cases[c].frequency, cases[c].cost);
        subject(1, cases[c].witness, 1e-12);
        subjects[0].on.period = subjects[0].dear.period = PERIOD;
        if (cases[c].sparse_period)
            subjects[0].cheap =
                (struct spex_subject_state){cases[c].sparse_period, cases[c].sparse_cost};
        assert_int_equal(start_part(cases[c].part), cases[c].starts);
        if (!cases[c].starts)
            continue;
        assert_true(is_on(0));
        assert_int_equal(switched_off(in_group), 1);
        assert_true(in_group[0]);
        assert_int_equal(was_sparse, cases[c].alone);
        assert_int_equal(period_of(0), PERIOD);
    }
    spex_probe_throttle(first_of(0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_have_most_of_the_cost),
        cmocka_unit_test(the_dearest_are_the_group),
        cmocka_unit_test(what_is_cheap_is_no_group),
        cmocka_unit_test(one_probe_is_tried_by_its_records),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
