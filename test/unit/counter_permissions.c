/* SPDX-License-Identifier: MIT */
/* Which events are asked for where the system permits none, or not the kernel's part: each way as
 * it can still count, and no more. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "counters/event.h"
#include "counters/plan.h"
#include "counters/prepare.h"
#include "messages.h"

enum { TRIES_MAX = 16 };

/* The ways that were tried, in order. */
static struct {
    enum spex_way way;
    bool user_only;
} tries[TRIES_MAX];
static size_t try_count;
static int refusal;

int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step);
int __real_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step);

/* getrusage needs no event; all others are refused. */
int __wrap_spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                           enum spex_way way, const char **step) {
    assert_true(try_count < TRIES_MAX);
    tries[try_count].way = way;
    tries[try_count++].user_only = plan->codes[0].exclude & SPEX_EXCLUDE_KERNEL;
    *step = "perf_event_open";
    return way == SPEX_WAY_RUSAGE ? __real_spex_event_open(event, plan, way, step) : refusal;
}

static const char *prepared(enum spex_counter counter, const char *list, int err, int result) {
    static char text[600];
    try_count = 0;
    refusal = err;
    assert_int_equal(spex_counters_allow("none"), 0);
    assert_int_equal(spex_counters_allow(list), 0);
    messages_begin();
    assert_int_equal(spex_counters_prepare(counter), result);
    (void)messages_end();
    spex_counters_describe(counter, text, sizeof(text));
    return text;
}

static void expect_try(size_t number, enum spex_way way, bool user_only) {
    assert_true(number < try_count);
    assert_int_equal(tries[number].way, way);
    assert_int_equal(tries[number].user_only, user_only);
}

/* Faults of the program alone are better than none; without a privilege they are asked for next. */
static void faults_in_user_mode_come_next(void **state) {
    static const int refusals[] = {-EACCES, -EPERM};
    (void)state;
    for (size_t r = 0; r < COUNT_OF(refusals); r++) {
        const char *text = prepared(SPEX_COUNTER_FAULTS, NULL, refusals[r], 0);
        assert_int_equal(try_count, 3);
        expect_try(0, SPEX_WAY_FAULT_RECORDS, false);
        expect_try(1, SPEX_WAY_FAULT_RECORDS, true);
        expect_try(2, SPEX_WAY_RUSAGE, false);
        assert_non_null(strstr(text, "page faults by getrusage; not by the head of a ring"));
        assert_non_null(strstr(text, strerror(-refusals[r])));
        assert_null(strstr(text, "user mode"));
    }
}

/* Less is not permitted either where it is no question of privileges. */
static void other_errors_are_final(void **state) {
    (void)state;
    prepared(SPEX_COUNTER_FAULTS, NULL, -ENOSYS, 0);
    assert_int_equal(try_count, 2);
    expect_try(0, SPEX_WAY_FAULT_RECORDS, false);
    expect_try(1, SPEX_WAY_RUSAGE, false);
}

/* They happen in the kernel. */
static void switches_are_not_asked_for_in_user_mode(void **state) {
    (void)state;
    const char *text = prepared(SPEX_COUNTER_SWITCHES, NULL, -EACCES, 0);
    assert_int_equal(try_count, 3);
    expect_try(0, SPEX_WAY_SWITCH_COUNT, false);
    expect_try(1, SPEX_WAY_SWITCH_RECORDS, false);
    expect_try(2, SPEX_WAY_RUSAGE, false);
    /* Equal reasons are said once. */
    assert_non_null(strstr(text, "; nor by the head of a ring with two records"));
}

/* Ways that SPEX_COUNTERS does not allow are not tried at all, whatever its reason is called. */
static void only_what_is_allowed(void **state) {
    (void)state;
    prepared(SPEX_COUNTER_FAULTS, "rusage", -EACCES, 0);
    assert_int_equal(try_count, 1);
    expect_try(0, SPEX_WAY_RUSAGE, false);
    prepared(SPEX_COUNTER_SWITCHES, "switch-records", -EACCES, -EPERM);
    assert_int_equal(try_count, 1);
    expect_try(0, SPEX_WAY_SWITCH_RECORDS, false);
}

/* An event that its user has restricted to user mode is asked for once in each way. */
static void what_is_in_user_mode_already(void **state) {
    const enum spex_counter first = SPEX_COUNTER_PERFCNTR;
    struct spex_choice choice = {.events = 1, .codes = {{.type = 1, .config = 2}}};
    (void)state;
    for (int user_only = 0; user_only < 2; user_only++) {
        choice.codes[0].exclude = user_only ? SPEX_EXCLUDE_KERNEL : 0;
        try_count = 0;
        refusal = -EACCES;
        assert_int_equal(spex_counters_allow("rdpmc,read"), 0);
        messages_begin();
        spex_perfcntr_replace(0, &choice);
        assert_int_equal(spex_counters_prepare(first), -EACCES);
        (void)messages_end();
        assert_int_equal(try_count, user_only ? 2 : 4);
        for (size_t t = 0; t < try_count; t++)
            expect_try(t,
                       user_only ? (t ? SPEX_WAY_READ : SPEX_WAY_RDPMC)
                                 : (t < 2 ? SPEX_WAY_RDPMC : SPEX_WAY_READ),
                       user_only || t % 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_in_user_mode_come_next),
        cmocka_unit_test(other_errors_are_final),
        cmocka_unit_test(switches_are_not_asked_for_in_user_mode),
        cmocka_unit_test(only_what_is_allowed),
        cmocka_unit_test(what_is_in_user_mode_already),
    };
    return cmocka_run_group_tests_name("counter_permissions", tests, NULL, NULL);
}
