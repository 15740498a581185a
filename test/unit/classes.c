/* SPDX-License-Identifier: MIT */
/* Which probes a decision is about, and what it knows of them: states, frequencies and costs are
 * the test's. */
#include <math.h>
#include <string.h>

#include "deciding.h"

static void classes_are_the_probes_that_are_recorded(void **state) {
    (void)state;
    spex_controller.collecting.record = 30 * NS;
    spex_controller.running = 1.5;
    pass();
    assert_int_equal(told.problem.class_count, 2);
    for (uint32_t c = 0; c < 2; c++) {
        const struct spex_rate_class *class = &told.classes[c];
        assert_string_equal(class->name, infos[c].name);
        assert_true(class->frequency == 1000 * (c + 1) && class->wanted == 1000);
        assert_true(class->weight == 1 && class->min_frequency == 100 && class->share == 0);
        expect_near(class->detect_cost, (c + 1) * 100 * NS);
        expect_near(class->report_cost, (c + 1) * 1000 * NS + 30 * NS);
        expect_near(probes[c].demand,
                    class->frequency * (c + 1) * 100 * NS + 1000 * ((c + 1) * 1000 * NS + 30 * NS));
        assert_true(probes[c].slices.passed.on == 50 + c && probes[c].slices.passed.held == 60 + c);
        assert_true(probes[c].slices.used.on == 1.5);
        expect_done(c, "applied");
    }
    assert_int_equal(told.passes, 4);
    assert_int_equal(spex_controller.recorded, 2);
    expect_near(spex_controller.demand, probes[FIRST].demand + probes[SECOND].demand);
    expect_near(told.problem.budget, 0.04);
    assert_true(told.problem.sample_cost == 5e-6 && told.problem.max_frequency == 0);
    assert_true(told.expected == 2 && told.begun == 1 && told.polling_applied == 1);
    assert_true(told.counted_seconds == 0.25 && spex_controller.decided == 10);
    assert_false(spex_controller.overdue || spex_controller.holding || spex_controller.trying);
    told.sample_cost = 7e-6;
    spex_controller.budget.tokens = -0.001;
    spex_controller.decided_tokens = 0.002;
    pass();
    assert_true(told.problem.sample_cost == 7e-6);
    expect_near(told.problem.budget, 0.04 - 0.004);
    expect_near(spex_controller.surprise, 0.003);
    assert_true(spex_controller.decided_tokens == -0.001);
}

/* What is polled by the selection has no period. What is not selected has its period, for when it is
 * again. */
static void nothing_is_decided_about_others(void **state) {
    (void)state;
    probes[FIRST].period = 5;
    told.states[FIRST].selected = 0;
    told.states[SECOND].by_hand = true;
    probes[SECOND].frequency_held = 7;
    probes[SECOND].why = "a reason";
    pass();
    assert_int_equal(told.problem.class_count, 0);
    assert_true(told.throttled[FIRST] == 0xeeeeeeee && told.throttled[SECOND] == 0xeeeeeeee);
    for (uint32_t i = FIRST; i <= SECOND; i++)
        assert_true(probes[i].measured == 10 && probes[i].count == 1000 + i && probes[i].seen);
    assert_true(probes[FIRST].period == 5 && probes[FIRST].frequency == 1000);
    assert_true(!probes[SECOND].selected && !probes[SECOND].why && !probes[SECOND].period);
    assert_true(probes[SECOND].factor == 1 && probes[SECOND].frequency == 0);
    assert_true(probes[SECOND].frequency_held == 7);
    probes[SECOND].period = 3;
    pass();
    assert_int_equal(told.throttled[SECOND], 0);
}

#define RATE 1e9 /* ticks a second */

/* FIRST was looked at then, and has been selected for so long since. */
static void looked_at(double looked, double selected) {
    spex_controller.tick_rate = RATE;
    probes[FIRST].looked = looked;
    told.states[FIRST].held_ticks += (uint64_t)(selected * RATE);
}

static void what_was_selected_meanwhile_is_decided_about(void **state) {
    (void)state;
    looked_at(9.5, 0.125);
    told.states[FIRST].selected = 0;
    pass();
    assert_int_equal(told.problem.class_count, 2);
    assert_true(probes[FIRST].selected == 1 && probes[FIRST].off == 0);
    pass(); /* no longer */
    assert_int_equal(told.problem.class_count, 1);
    assert_int_equal(at_rest[FIRST], executions[FIRST]);
    /* Also one that had never been selected before. */
    setup(NULL);
    probes[FIRST].selected = 0;
    told.states[FIRST].selected = 0;
    told.states[FIRST].on_ticks++;
    pass();
    assert_true(probes[FIRST].selected == 1 && probes[FIRST].trying);
}

/* Time in which it is not selected is none of its measurements, slices and pauses. */
static void what_is_selected_again_goes_on(void **state) {
    (void)state;
    looked_at(9.5, 0.125); /* and not for 0.375 s */
    probes[FIRST].measured = 9.5;
    probes[FIRST].since = 9.25;
    probes[FIRST].tried = 9.375;
    probes[FIRST].held = (struct spex_hold_off){.until = 10.5, .length = 1.25};
    pass();
    assert_int_equal(told.throttled[FIRST], SPEX_SITE_HELD);
    expect_near(probes[FIRST].since, 9.625);
    expect_near(probes[FIRST].tried, 9.75);
    assert_true(probes[FIRST].measured == 10 && probes[FIRST].off == 0);
    /* It has been held off since 9.25, and is until then. */
    expect_near(probes[FIRST].held.until, 10.5);
    expect_near(probes[FIRST].held.length, 10.5 - (9.25 + 0.375));
    /* It has been due for a while. */
    setup(NULL);
    looked_at(5, 0.5);
    probes[FIRST].held = (struct spex_hold_off){.until = 6, .length = 1.25};
    pass();
    assert_true(told.noted_slices == 1 && probes[FIRST].held.until <= 10);
    expect_near(probes[FIRST].held.until - probes[FIRST].held.length, 6 - 1.25 + 4.5);
    setup(NULL);
    looked_at(9.5, 0.125);
    probes[FIRST].measured = 9.875; /* no measurement begins later than now */
    executions[FIRST]++;
    pass();
    assert_true(probes[FIRST].measured == 10 && told.problem.class_count == 2);
}

static void what_is_off_for_long_begins_anew(void **state) {
    static const struct {
        double before, now;
        bool anew;
    } cases[] = {{0, 9.5, false}, {0, 10.5, true}, {8, 1.5, false}, {8, 2.5, true}};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        setup(NULL);
        spex_controller.now = 100;
        looked_at(100 - cases[c].now - 0.25, 0.25);
        probes[FIRST].off = cases[c].before;
        probes[FIRST].period = 9;
        probes[FIRST].held = (struct spex_hold_off){.until = 101, .length = 20};
        pass();
        bool anew = told.throttled[FIRST] == 0 && probes[FIRST].trying && !probes[FIRST].period &&
                    probes[FIRST].since == 100;
        bool goes_on = told.throttled[FIRST] == SPEX_SITE_HELD && probes[FIRST].period == 9;
        assert_true(cases[c].anew ? anew : goes_on);
        assert_true(probes[FIRST].looked == 100 && probes[FIRST].off == 0);
    }
}

static void what_is_switched_on_is_measured_first(void **state) {
    (void)state;
    probes[FIRST].selected = 0;
    probes[FIRST].slice = 0.01;
    probes[FIRST].taken = 0.5;
    pass();
    assert_true(probes[FIRST].trying && probes[FIRST].since == 10 && probes[FIRST].selected == 1);
    assert_true(probes[FIRST].measured == 10 && probes[FIRST].count == 1000);
    assert_int_equal(told.problem.class_count, 1);
    assert_true(spex_controller.trying && spex_controller.recorded == 1);
    assert_true(told.sliced == 1 && told.sliced_costs == 0.5);
    assert_true(spex_controller.trial_due == 10); /* after no time */
    spex_controller.now = 10.004;
    executions[FIRST]++;
    pass(); /* after as long again */
    expect_near(spex_controller.trial_due, 10.008);
    spex_controller.now = 10.006;
    pass(); /* or when the slice is over */
    expect_near(spex_controller.trial_due, 10.01);
    spex_controller.now = 10.04;
    pass();
    expect_near(spex_controller.trial_due, 10.08);
    spex_controller.now = 10.07;
    pass(); /* or after the interval of decisions */
    expect_near(spex_controller.trial_due, 10.1);
    told.measured = true;
    pass();
    assert_false(probes[FIRST].trying || spex_controller.trying);
    assert_int_equal(told.problem.class_count, 2);
    assert_true(spex_controller.trial_due == INFINITY);
}

/* Until it is executed, or another selection holds. */
static void what_is_not_executed_is_left_alone(void **state) {
    (void)state;
    probes[FIRST].frequency = 0;
    told.states[SECOND].selected = 0;
    pass();
    assert_int_equal(told.problem.class_count, 1);
    told.passes = 0;
    executions[SECOND]++;
    spex_controller.now = 11;
    spex_controller.overdue = true;
    spex_controller_pass();
    assert_int_equal(told.problem.class_count, 0);
    assert_int_equal(told.passes, 3); /* SECOND and the members of the group */
    assert_true(probes[SECOND].measured == 11);
    told.passes = 0;
    executions[FIRST]++;
    spex_controller.now = 12;
    spex_controller.running = 1.5;
    spex_controller.overdue = true;
    spex_controller_pass();
    assert_int_equal(told.problem.class_count, 1);
    assert_int_equal(told.passes, 3);
    assert_true(probes[FIRST].measured == 11);     /* since the last decision */
    assert_true(probes[FIRST].slices.used.on < 0); /* what was used meanwhile is not known */
    told.passes = 0;
    pass();
    assert_int_equal(told.passes, 4);
}

static void what_was_switched_on_is_left_alone_until_it_is_executed(void **state) {
    (void)state;
    probes[FIRST].selected = 0;
    probes[FIRST].frequency = 0;
    pass();
    assert_true(probes[FIRST].trying && spex_controller.trying);
    spex_controller.now = 10.09;
    pass();
    assert_true(at_rest[FIRST] == executions[FIRST] && !spex_controller.trying);
    spex_controller.now = 10.095;
    executions[FIRST]++;
    spex_controller.overdue = true;
    spex_controller_pass();
    assert_true(probes[FIRST].trying && spex_controller.trying && probes[FIRST].measured == 10.09);
    setup(NULL);
    probes[FIRST].selected = 0;
    probes[FIRST].frequency = 0;
    pass();
    spex_controller.now = 10.1;
    pass();
    assert_int_equal(told.problem.class_count, 1);
    spex_controller.now = 10.2;
    executions[FIRST]++;
    spex_controller.overdue = true;
    spex_controller_pass(); /* A first measurement would be over. */
    assert_true(!probes[FIRST].trying && probes[FIRST].measured == 10.1);
    assert_int_equal(told.problem.class_count, 2);
    probes[FIRST].selected = 0;
    spex_controller.policy = &polling;
    pass();
    spex_controller.now = 10.3;
    pass();
    assert_string_equal(told.done[FIRST], "recorded"); /* such a policy decides about each */
}

/* Not even when the selection changes, except where it may stand in a region. */
static void what_was_never_executed_is_left_alone(void **state) {
    (void)state;
    probes[FIRST].selected = 0;
    executions[FIRST] = at_rest[FIRST] = 0;
    sites_without_regions = true;
    pass();
    assert_true(probes[FIRST].selected == 0 && told.passes == 3);
    spex_controller.now = 11;
    spex_controller.overdue = true;
    executions[FIRST] = 5;
    spex_controller_pass();
    assert_true(probes[FIRST].selected == 1 && !probes[FIRST].trying && probes[FIRST].since == 10);
    assert_true(probes[FIRST].seen && probes[FIRST].measured == 10 && probes[FIRST].count == 0);
    /* What is executed before the first decision about it is measured as others are. */
    setup(NULL);
    probes[FIRST].selected = 0;
    at_rest[FIRST] = 0;
    pass();
    assert_true(probes[FIRST].selected == 1 && probes[FIRST].trying);
    setup(NULL);
    probes[FIRST].selected = 0;
    executions[FIRST] = at_rest[FIRST] = 0;
    sites_without_regions = false;
    pass();
    assert_true(probes[FIRST].selected == 1);
}

static void what_is_to_be_decided_about_is_not_left_alone(void **state) {
    (void)state;
    for (int c = 0; c < 5; c++) {
        setup(NULL);
        probes[FIRST].frequency = c == 0 ? 1 : 0;
        probes[FIRST].tried = c == 1;
        probes[FIRST].period = c == 2 ? 2 : 0;
        probes[FIRST].selected = c != 3;
        probes[FIRST].held.until = c == 4 ? 20 : 0;
        pass();
        if (at_rest[FIRST] != SPEX_NOT_AT_REST)
            fail_msg("case %d", c);
        assert_true(at_rest[MEMBER] == SPEX_NOT_AT_REST);
    }
}

/* Those of which nothing is known make as many records as half of the budget pays for. */
static void what_is_unknown_makes_few_records(void **state) {
    (void)state;
    probes[FIRST].selected = probes[SECOND].selected = 0;
    spex_controller.collecting.record = 250 * NS;
    pass();
    assert_true(told.throttled[FIRST] == 0xeeeeeeee);
    spex_controller.now = 10.004;
    executions[FIRST] += 63; /* 15,750 a second, 1.25 µs each */
    pass();
    assert_true(told.throttled[FIRST] == 0xeeeeeeee);
    spex_controller.now = 10.008; /* the other one is awake since the decision before */
    executions[FIRST] += 63;
    executions[SECOND] += 100; /* 25,000 a second, 2.25 µs each */
    pass();
    assert_int_equal(told.throttled[FIRST], 4);
    assert_true(told.throttled[SECOND] == 4 && probes[SECOND].period == 4);
    executions[SECOND] += 1000;
    pass(); /* once */
    assert_int_equal(told.throttled[SECOND], 4);
}

static void held_probes_wait_for_their_slice(void **state) {
    (void)state;
    probes[FIRST].held.until = 10.5;
    probes[FIRST].taken = 0.25;
    pass();
    assert_int_equal(told.problem.class_count, 1);
    assert_true(told.throttled[FIRST] == SPEX_SITE_HELD && spex_controller.holding);
    assert_true(spex_controller.slice_due == 10.5);
    assert_true(told.sliced == 1 && told.sliced_costs == 0.25 && told.noted_slices == 0);
    assert_true(probes[FIRST].measured == 10 && probes[FIRST].count == 1000);
    spex_controller.now = 10.5;
    probes[FIRST].demand = 3;
    pass();
    assert_int_equal(told.problem.class_count, 2);
    assert_string_equal(told.classes[0].name, "first");
    assert_true(told.classes[0].frequency == 0 && told.classes[0].detect_cost == 0);
    assert_true(told.classes[0].min_frequency == 100 && told.classes[0].weight == 1);
    assert_true(probes[FIRST].demand == 0 && spex_controller.recorded == 1);
    assert_true(told.noted_slices == 1 && told.sliced == 2 && !spex_controller.holding);
}

/* The looks at a probe on trial follow from what it takes: by the slice before, which may have met
 * no burst, or on average; or from what it may take, where nothing is found of that. Of one that was
 * never held off nothing is known. */
static void what_is_on_trial_takes_the_mean_at_least(void **state) {
    static const struct {
        double length, taken, mean, may, factor, takes;
    } cases[] = {{1, 0.5, 0.25, 2, 1, 0.5},
                 {1, 0.001, 0.25, 2, 1, 0.25},
                 {1, 0.001, 0.25, 2, 0, 2},
                 {1, 0.5, 0.25, 0, 0, 0.5},
                 {0, 0.5, 0.25, 2, 0, INFINITY}};
    (void)state;
    probes[FIRST].trying = true;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        executions[FIRST]++;
        probes[FIRST].held.length = cases[c].length;
        probes[FIRST].taken = cases[c].taken;
        probes[FIRST].taken_mean = cases[c].mean;
        probes[FIRST].may_take = cases[c].may;
        probes[FIRST].factor = cases[c].factor;
        pass();
        assert_true(spex_controller.trial_takes == cases[c].takes);
    }
}

/* Polled by hand where all are; otherwise the shortest period counts. */
static void groups_have_the_state_of_their_members(void **state) {
    static const struct {
        uint32_t period, other;
        bool by_hand, other_by_hand;
        uint32_t selected;
        bool all_by_hand;
    } cases[] = {
        {0, 0, false, false, 0, false}, {4, 0, false, false, 4, false},
        {0, 4, false, false, 4, false}, {4, 7, false, false, 4, false},
        {7, 4, false, false, 4, false}, {7, 4, true, true, 7, true},
        {7, 4, true, false, 4, false},  {4, 7, true, false, 7, false},
        {7, 4, false, true, 7, false},  {0, 4, false, true, 4, true},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        told.states[MEMBER] =
            (struct spex_probe_state){.selected = cases[c].period, .by_hand = cases[c].by_hand};
        told.states[OTHER] = (struct spex_probe_state){.selected = cases[c].other,
                                                       .by_hand = cases[c].other_by_hand};
        probes[GROUP].selected = 1;
        probes[GROUP].frequency = 5000;
        pass();
        const struct spex_probe_state *is = &probes[GROUP].grouped.state;
        if (is->selected != cases[c].selected || is->by_hand != cases[c].all_by_hand)
            fail_msg("%zu: %u %d", c, is->selected, is->by_hand);
        bool decided = is->selected && !is->by_hand;
        assert_int_equal(told.problem.class_count, 2 + decided);
        if (!decided)
            continue;
        expect_near(told.classes[2].wanted, 5000.0 / is->selected);
        expect_done(GROUP, "applied");
        expect_done(MEMBER, "");
    }
    spex_controller.collecting.record = 400 * NS;
    pass();
    told.states[OTHER].by_hand = false;
    probes[GROUP].selected = 1;
    pass();
    expect_near(told.classes[2].report_cost, (GROUP + 1) * 1000 * NS + 100 * NS);
}

/* The most frequent one that is recorded; another one only if it is twice as frequent. */
static void the_witness_stays(void **state) {
    (void)state;
    told.measured = true;
    spex_controller.witness = SITES;
    pass();
    assert_int_equal(spex_controller.witness, SECOND);
    expect_near(spex_controller.next_weight, 2000);
    probes[FIRST].frequency = 3999;
    pass();
    assert_int_equal(spex_controller.witness, SECOND);
    expect_near(spex_controller.next_weight, 4000);
    probes[FIRST].frequency = 4001;
    pass();
    assert_int_equal(spex_controller.witness, FIRST);
    probes[SECOND].frequency = 8003;
    probes[SECOND].tried = 1; /* not in slices itself */
    pass();
    assert_int_equal(spex_controller.witness, FIRST);
    probes[SECOND].tried = 0;
    pass();
    assert_int_equal(spex_controller.witness, SECOND);
    told.states[MEMBER].selected = 1;
    probes[GROUP].selected = 1;
    probes[GROUP].frequency = 1e9;
    pass();
    assert_int_equal(spex_controller.witness, SECOND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(classes_are_the_probes_that_are_recorded, setup),
        cmocka_unit_test_setup(nothing_is_decided_about_others, setup),
        cmocka_unit_test_setup(what_was_selected_meanwhile_is_decided_about, setup),
        cmocka_unit_test_setup(what_is_selected_again_goes_on, setup),
        cmocka_unit_test_setup(what_is_off_for_long_begins_anew, setup),
        cmocka_unit_test_setup(what_is_switched_on_is_measured_first, setup),
        cmocka_unit_test_setup(what_is_not_executed_is_left_alone, setup),
        cmocka_unit_test_setup(what_was_switched_on_is_left_alone_until_it_is_executed, setup),
        cmocka_unit_test_setup(what_was_never_executed_is_left_alone, setup),
        cmocka_unit_test_setup(what_is_to_be_decided_about_is_not_left_alone, setup),
        cmocka_unit_test_setup(what_is_unknown_makes_few_records, setup),
        cmocka_unit_test_setup(held_probes_wait_for_their_slice, setup),
        cmocka_unit_test_setup(what_is_on_trial_takes_the_mean_at_least, setup),
        cmocka_unit_test_setup(groups_have_the_state_of_their_members, setup),
        cmocka_unit_test_setup(the_witness_stays, setup),
    };
    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}
