/* SPDX-License-Identifier: MIT */
/* When the controller decides, and what it asks the policy: states, frequencies, costs and the
 * policy's answer are the test's. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "deciding.h"

/* ---- classes ---- */

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

static void nothing_is_decided_about_others(void **state) {
    (void)state;
    probes[FIRST].period = 5;
    probes[FIRST].why = "a reason";
    told.states[FIRST].selected = 0;
    told.states[SECOND].by_hand = true;
    probes[SECOND].frequency_held = 7;
    pass();
    assert_int_equal(told.problem.class_count, 0);
    assert_true(told.throttled[FIRST] == 0xeeeeeeee && told.throttled[SECOND] == 0xeeeeeeee);
    for (uint32_t i = FIRST; i <= SECOND; i++) {
        assert_true(!probes[i].selected && !probes[i].why && !probes[i].period);
        assert_true(probes[i].factor == 1 && probes[i].frequency == 0);
        assert_true(probes[i].measured == 10 && probes[i].count == 1000 + i && probes[i].seen);
    }
    assert_true(probes[SECOND].frequency_held == 7);
    probes[SECOND].period = 3;
    pass();
    assert_int_equal(told.throttled[SECOND], 0);
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

/* ---- budgets ---- */

/* In debt first records are saved: executions without one are allowed up to the steady rate, and
 * where more than half a second's worth is owed by and by up to half of it. */
static void debts_save_records(void **state) {
    (void)state;
    spex_controller.budget.tokens = -0.02; /* a twentieth of the rate is left */
    double detection = 1000 * 100 * NS + 2000 * 200 * NS;
    pass();
    expect_near(told.problem.budget, 0.002);
    probes[FIRST].frequency = 1e5;
    detection += 99000 * 100 * NS;
    pass();
    expect_near(told.problem.budget, detection / 0.94);
    probes[FIRST].frequency = 1e6;
    pass();
    expect_near(told.problem.budget, 0.04);
    spex_controller.budget.tokens = -0.03;
    pass();
    expect_near(told.problem.budget, 0.03);
    spex_controller.budget.tokens = -1;
    pass();
    expect_near(told.problem.budget, 0.02);
    spex_controller.budget.tokens = -0.02;
    spex_controller.collecting.rest = 0.01;
    told.reserved = 0.005;
    pass();
    expect_near(told.problem.budget, 0.025);
    spex_controller.budget.tokens = 0;
    pass();
    expect_near(told.problem.budget, 0.025);
    told.reserved = 0.05;
    pass();
    assert_true(told.problem.budget == 0);
}

/* Those in slices whose executions alone cost more than the budget. */
static void probes_in_slices_are_held_again(void **state) {
    (void)state;
    probes[FIRST].tried = probes[SECOND].tried = 1;
    probes[FIRST].frequency = 0.04 / (100 * NS) * 1.001;
    probes[SECOND].frequency = 0.04 / (200 * NS) * 0.999;
    pass();
    expect_done(FIRST, "held");
    expect_done(SECOND, "applied");
    assert_true(told.throttled[FIRST] == SPEX_SITE_HELD);
    assert_int_equal(told.problem.class_count, 1);
    assert_string_equal(told.classes[0].name, "second");
    probes[SECOND].frequency *= 1.01;
    pass();
    expect_done(SECOND, "held");
    assert_int_equal(told.problem.class_count, 0);
    probes[FIRST].tried = probes[SECOND].tried = 0;
    pass();
    expect_done(FIRST, "applied");
    probes[FIRST].tried = 1;
    probes[FIRST].held.until = 9; /* its slice begins */
    pass();
    expect_done(FIRST, "applied");
}

static void polling_policies_have_shares(void **state) {
    (void)state;
    spex_controller.policy = &polling;
    spex_controller.collecting.rest = 0.01; /* is in the looks' cost */
    told.measured = true;
    pass();
    assert_int_equal(told.problem.class_count, 2);
    expect_near(told.problem.budget, 0.02);
    assert_true(told.classes[0].share == 0.125 && told.classes[0].min_frequency == 10);
    assert_false(told.polled[FIRST]);
    probes[FIRST].frequency = 0;
    pass();
    expect_done(FIRST, "recorded");
    assert_int_equal(told.problem.class_count, 1);
    probes[FIRST].frequency = 5;
    probes[FIRST].period = SPEX_SITE_POLLED;
    probes[FIRST].polled.until = 10.001;
    probes[FIRST].measured = 3;
    pass();
    assert_true(told.polled[FIRST] && probes[FIRST].measured == 10);
    expect_done(FIRST, "applied");
    spex_controller.now = 10.001;
    pass();
    expect_done(FIRST, "counted");
    probes[FIRST].period = 0;
    told.base = 0.94 * 0.04 / 2; /* both, just so */
    pass();
    assert_int_equal(told.problem.class_count, 2);
    told.base *= 1.001;
    pass();
    expect_done(FIRST, "held");
    expect_done(SECOND, "applied");
    assert_int_equal(told.problem.class_count, 1);
    spex_controller.budget.tokens = -1;
    pass();
    expect_near(told.problem.budget, told.base / 0.94 / 2);
    told.base = 1;
    pass();
    assert_int_equal(told.problem.class_count, 0);
}

/* ---- time ---- */

/* Whether a pass so long after the last decision decides. */
static bool decides_after(double seconds) {
    unsigned before = told.decided;
    spex_controller.decided = 10 - seconds;
    spex_controller_pass();
    spex_controller.slice_due = spex_controller.trial_due = INFINITY;
    return told.decided > before;
}

static void decisions_come_in_time(void **state) {
    (void)state;
    assert_false(decides_after(0.0999));
    assert_true(decides_after(0.1001));
    assert_int_equal(told.advanced, 2);
    told.rush = true;
    assert_false(decides_after(0.0019));
    assert_true(decides_after(0.0021));
    told.rush = false;
    told.overdrawn = true;
    assert_false(decides_after(0.0019));
    assert_true(decides_after(0.0021));
    told.overdrawn = false;
    spex_controller.rising = true;
    assert_true(decides_after(0.0021));
    assert_false(decides_after(0.0021));
    spex_controller.slice_due = 10;
    assert_true(decides_after(0.0021));
    spex_controller.trial_due = 10;
    assert_true(decides_after(0.0021));
    spex_controller.trial_due = 10.001;
    assert_false(decides_after(0.0021));
    told.selections++;
    assert_true(decides_after(0));
    assert_false(decides_after(0));
    spex_controller.overdue = true;
    assert_true(decides_after(0));
    told.busy = true;
    assert_false(decides_after(1));
    spex_controller.overdue = true;
    assert_false(decides_after(1));
    told.busy = false;
    assert_true(decides_after(0));
}

/* So much time goes by, in which nothing is decided. */
static void let_pass(double seconds) {
    told.busy = true;
    told.advances = seconds;
    spex_controller_pass();
    told.busy = false;
    told.advances = 0;
    spex_controller.decided = spex_controller.now - 1;
    spex_controller.slice_due = spex_controller.trial_due = INFINITY;
}

static bool decides_now(void) {
    unsigned before = told.decided;
    spex_controller.decided = spex_controller.now - 1;
    spex_controller_pass();
    return told.decided > before;
}

/* A quarter of the budget, which is 40 ms a second: where a decision takes 20 ms, two a second. */
static void decisions_have_a_share_of_the_budget(void **state) {
    (void)state;
    told.deciding_ns = 20000000;
    assert_true(decides_now());
    assert_true(spex_controller.deciding == 0.02);
    expect_near(spex_controller.deciding_tokens, -0.02);
    assert_false(decides_now());
    let_pass(1.99);
    assert_false(decides_now());
    let_pass(0.02);
    assert_true(decides_now());
    /* Four tenths of a second's worth is saved, of which two small ones can be paid. */
    let_pass(100);
    expect_near(spex_controller.deciding_tokens, 0.004);
    told.deciding_ns = 3000000;
    assert_true(decides_now());
    assert_true(decides_now());
    assert_false(decides_now());
    /* What is urgent is decided, and what was switched on. */
    told.rush = true;
    assert_true(decides_now());
    told.rush = false;
    told.overdrawn = true;
    assert_false(decides_now());
    told.selections++;
    assert_true(decides_now());
    expect_near(spex_controller.deciding_tokens, -0.008);
}

/* A probe that takes half of the time is looked at when it has taken what a decision costs, and one
 * of which nothing is known at once. */
static void dear_slices_are_not_kept_waiting(void **state) {
    (void)state;
    spex_controller.deciding = 0.02;
    spex_controller.deciding_tokens = -1;
    spex_controller.trying = true;
    spex_controller.trial_due = 9.97;
    spex_controller.trial_takes = 0.5;
    assert_in_range(spex_controller_due_ns(), 9999999, 10000002);
    assert_false(decides_now());
    spex_controller.trial_due = 9.95;
    assert_true(decides_now());
    spex_controller.deciding_tokens = -1;
    spex_controller.slice_due = spex_controller.trial_due = 10;
    spex_controller.trial_takes = 0;
    assert_false(decides_now());
    spex_controller.slice_due = INFINITY;
    spex_controller.trial_takes = INFINITY;
    assert_true(decides_now());
    spex_controller.deciding_tokens = -0.0005;
    spex_controller.trying = true;
    spex_controller.trial_due = INFINITY;
    spex_controller.slice_due = 10.01;
    assert_in_range(spex_controller_due_ns(), 49999999, 50000002);
}

static void passes_are_due(void **state) {
    (void)state;
    assert_true(spex_controller_due_ns() == UINT64_MAX && !spex_controller_holds());
    spex_controller.holding = true;
    spex_controller.slice_due = 10.05;
    assert_in_range(spex_controller_due_ns(), 49999999, 50000002);
    assert_true(spex_controller_holds());
    spex_controller.slice_due = 10.001;
    assert_int_equal(spex_controller_due_ns(), 2000001);
    spex_controller.slice_due = 12;
    assert_int_equal(spex_controller_due_ns(), 100000001);
    spex_controller.holding = false;
    spex_controller.trying = true;
    spex_controller.trial_due = 10.03;
    assert_in_range(spex_controller_due_ns(), 29999999, 30000002);
    assert_false(spex_controller_holds());
    spex_controller.rising = true;
    assert_int_equal(spex_controller_due_ns(), 2000000);
    spex_controller.rising = false;
    spex_controller.overdue = true;
    assert_int_equal(spex_controller_due_ns(), 2000000);
    told.session = true;
    told.session_due = 0.0055;
    assert_in_range(spex_controller_due_ns(), 5500000, 5500001);
    assert_true(spex_controller_holds());
    spex_controller.lifted = true;
    assert_true(spex_controller_due_ns() == UINT64_MAX);
}

/* ---- what is told ---- */

static void failures_are_told_once(void **state) {
    (void)state;
    told.error = -ENOMEM;
    pass();
    assert_non_null(strstr(told.message, "the rate policy made cannot decide: Cannot allocate"));
    assert_string_equal(told.done[FIRST], "");
    assert_true(told.begun == 0 && spex_controller.decided == 10);
    told.message[0] = '\0';
    pass();
    assert_string_equal(told.message, "");
    spex_controller.failed = false;
    told.error = EINVAL;
    pass();
    assert_non_null(strstr(told.message, "cannot decide: Invalid argument"));
    told.error = 0;
    told.message[0] = '\0';
    spex_controller.failed = false;
    pass();
    assert_string_equal(told.message, "");
    assert_false(spex_controller.failed);
    spex_controller.probes = NULL;
    told.adapted = -ENOMEM;
    unsigned advanced = told.advanced;
    spex_controller_pass(); /* nobody has asked for anything */
    assert_string_equal(told.message, "");
    told.asked = true;
    spex_controller_pass();
    assert_non_null(strstr(told.message, "that a command has asked for is not kept: Cannot"));
    assert_int_equal(told.advanced, advanced);
    assert_int_equal(told.from_now, 0);
}

static void what_begins_late_has_no_past(void **state) {
    (void)state;
    told.adapted = 1;
    pass();
    assert_true(told.from_now == 1 && told.decided == 1);
    told.adapted = 0;
    pass();
    assert_true(told.from_now == 1 && told.decided == 2);
    spex_controller.lifted = true;
    pass();
    assert_true(told.decided == 2);
}

static void accounts_are_charged_and_closed(void **state) {
    (void)state;
    spex_controller_charge(50);
    assert_true(told.charged == 50);
    spex_controller_close_accounts(99);
    assert_true(told.advanced == 1 && told.counted == 1 && told.counted_seconds == 0.25);
    spex_controller.lifted = true;
    spex_controller_charge(50);
    spex_controller_close_accounts(99);
    assert_true(told.charged == 50 && told.advanced == 1);
}

static void what_is_controlled_is_seen(void **state) {
    (void)state;
    probes[FIRST] = (struct spex_controlled){
        .frequency = 1, .frequency_held = 2, .period = 3, .factor = 4, .why = "so"};
    probes[GROUP].period = 7;
    probes[GROUP].frequency = probes[GROUP].frequency_held = 8;
    probes[GROUP].why = "all";
    spex_controller.seconds = 5;
    spex_controller.spent = 6;
    struct spex_controller_view view = spex_controller_look(FIRST);
    assert_true(view.frequency == 1 && view.frequency_held == 2 && view.factor == 4);
    assert_int_equal(view.period, 3);
    assert_string_equal(view.why, "so");
    view = spex_controller_look(MEMBER);
    assert_true(view.frequency == 0 && view.frequency_held == 0 && view.factor == 1);
    assert_int_equal(view.period, 7);
    assert_string_equal(view.why, "all");
    struct spex_controller_totals totals = spex_controller_totals();
    assert_string_equal(totals.policy, "made");
    assert_true(totals.share == 0.02 && totals.seconds == 5 && totals.spent == 6);
    spex_controller.lifted = true;
    totals = spex_controller_totals();
    assert_true(!totals.policy && totals.share == 0 && totals.seconds == 5 && totals.spent == 6);
    assert_null(spex_controller_look(FIRST).why);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(classes_are_the_probes_that_are_recorded, setup),
        cmocka_unit_test_setup(nothing_is_decided_about_others, setup),
        cmocka_unit_test_setup(what_is_switched_on_is_measured_first, setup),
        cmocka_unit_test_setup(what_is_not_executed_is_left_alone, setup),
        cmocka_unit_test_setup(what_was_switched_on_is_left_alone_until_it_is_executed, setup),
        cmocka_unit_test_setup(what_was_never_executed_is_left_alone, setup),
        cmocka_unit_test_setup(what_is_to_be_decided_about_is_not_left_alone, setup),
        cmocka_unit_test_setup(what_is_unknown_makes_few_records, setup),
        cmocka_unit_test_setup(held_probes_wait_for_their_slice, setup),
        cmocka_unit_test_setup(groups_have_the_state_of_their_members, setup),
        cmocka_unit_test_setup(the_witness_stays, setup),
        cmocka_unit_test_setup(debts_save_records, setup),
        cmocka_unit_test_setup(probes_in_slices_are_held_again, setup),
        cmocka_unit_test_setup(polling_policies_have_shares, setup),
        cmocka_unit_test_setup(decisions_come_in_time, setup),
        cmocka_unit_test_setup(decisions_have_a_share_of_the_budget, setup),
        cmocka_unit_test_setup(dear_slices_are_not_kept_waiting, setup),
        cmocka_unit_test_setup(passes_are_due, setup),
        cmocka_unit_test_setup(failures_are_told_once, setup),
        cmocka_unit_test_setup(what_begins_late_has_no_past, setup),
        cmocka_unit_test_setup(accounts_are_charged_and_closed, setup),
        cmocka_unit_test_setup(what_is_controlled_is_seen, setup),
    };
    return cmocka_run_group_tests_name("decisions", tests, NULL, NULL);
}
