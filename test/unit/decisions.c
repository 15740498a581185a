/* SPDX-License-Identifier: MIT */
/* When the controller decides, and what it asks the policy: states, frequencies, costs and the
 * policy's answer are the test's. Which probes it asks about is in classes.c. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "deciding.h"

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
    /* What is urgent is decided. What was switched on waits, as that may be all the time. */
    told.rush = true;
    assert_true(decides_now());
    told.rush = false;
    told.overdrawn = true;
    assert_false(decides_now());
    told.overdrawn = false;
    told.selections++;
    assert_false(decides_now());
    assert_true(spex_controller_holds());
    expect_near(spex_controller.deciding_tokens, -0.005);
    assert_in_range(spex_controller_due_ns(), 499999999, 500000001);
    let_pass(0.51);
    assert_true(decides_after(0));
    assert_false(spex_controller_holds());
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
