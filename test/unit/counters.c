/* SPDX-License-Identifier: MIT */
/* Every way of reading a counter that the machine has, against the kernel's own figures. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include <spex/probe.h>

#include "../check.h"
#include "counter_checks.h"
#include "counters/counters.h"
#include "counters/prepare.h"
#include "messages.h"

static void expect_way(const char *list, enum spex_counter counter, const char *text,
                       bool descriptors) {
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_counters_allow(list), 0);
    assert_int_equal(spex_counters_prepare(counter), 0);
    expect_text(counter, text);
    assert_true(spex_counter_cost(counter) > 0);
    if (counter == SPEX_COUNTER_FAULTS)
        expect_exact(&mine, counter, touch_pages, PAGES);
    else
        expect_exact(&mine, counter, switch_often, SWITCHES / 2);
    assert_int_equal(spex_counter_fallbacks(counter), 0);
    assert_int_equal(mine.events[counter].ids[0] != 0, descriptors);
    print_message("%s (%llu ticks)\n", description(counter),
                  (unsigned long long)spex_counter_cost(counter));
    spex_counters_close(&mine);
    assert_int_equal(spex_counters_allow(NULL), 0);
}

/* ---- the ways ---- */

TEST(faults_by_records) {
    need_perf(true);
    expect_way(NULL, SPEX_COUNTER_FAULTS, "page faults by the head of a ring", false);
    expect_way("fault-records", SPEX_COUNTER_FAULTS, "page faults by the head of a ring", false);
}

TEST(faults_by_getrusage) {
    expect_way("rusage", SPEX_COUNTER_FAULTS, "by getrusage; not by the head of a ring", false);
}

TEST(switches_by_count) {
    need_perf(true);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "switches by the count in a mapped event page", false);
}

TEST(switches_by_records) {
    need_perf(false);
    expect_way("switch-records", SPEX_COUNTER_SWITCHES, "by the head of a ring with two", false);
}

TEST(switches_by_getrusage) {
    expect_way("rusage", SPEX_COUNTER_SWITCHES, "context switches by getrusage; not by", false);
}

TEST(chosen_events_by_read) {
    static const enum spex_counter faults = SPEX_COUNTER_PERFCNTR;
    need_perf(true);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS"), 0);
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_counters_prepare(faults), 0);
    expect_text(faults, "perf::PAGE-FAULTS by read() on the event; not by the processor's");
    for (int i = 0; i < 5; i++) {
        struct spex_reading begin = read_now(&mine, faults);
        uint64_t before = by_getrusage(SPEX_COUNTER_FAULTS);
        touch_pages();
        uint64_t made = by_getrusage(SPEX_COUNTER_FAULTS) - before;
        struct spex_reading end = read_now(&mine, faults);
        assert_true(made >= PAGES);
        if (delta(&begin, &end) == made)
            break;
        assert_true(i < 4);
    }
    print_message("%s (%llu ticks)\n", description(faults),
                  (unsigned long long)spex_counter_cost(faults));
    spex_counters_close(&mine);
    assert_int_equal(event_descriptors(), 0);
}

TEST(time_of_the_thread) {
    need_perf(false);
    const enum spex_counter clock = (enum spex_counter)(first_perfcntr + 1);
    struct spex_thread_counters mine = {0};
    struct timespec begin_time, end_time;
    assert_int_equal(spex_perfcntr_set_name(1, "perf::TASK-CLOCK"), 0);
    assert_int_equal(spex_counters_prepare(clock), 0);
    (void)read_now(&mine, clock);
    clock_gettime(CLOCK_MONOTONIC, &begin_time);
    struct spex_reading begin = read_now(&mine, clock);
    touch_pages();
    struct spex_reading end = read_now(&mine, clock);
    clock_gettime(CLOCK_MONOTONIC, &end_time);
    uint64_t outer = (uint64_t)(end_time.tv_sec - begin_time.tv_sec) * 1000000000u +
                     (uint64_t)end_time.tv_nsec - (uint64_t)begin_time.tv_nsec;
    uint64_t inner = delta(&begin, &end);
    /* Two clocks of the kernel: of one rate but for the adjustment of the one. */
    assert_true(inner > 0 && inner <= outer + outer / 100);
    spex_counters_close(&mine);
}

static void check_unprivileged(void) {
    drop_privileges();
    if (perf_permits(true))
        return; /* nothing is kept from this user here */
    if (!perf_permits(false)) {
        expect_way(NULL, SPEX_COUNTER_FAULTS, "by getrusage", false);
        expect_way(NULL, SPEX_COUNTER_SWITCHES, "by getrusage", false);
        return;
    }
    expect_way(NULL, SPEX_COUNTER_FAULTS, "in user mode only, by the head of a ring", false);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "by the head of a ring with two records", false);
    expect_way(NULL, SPEX_COUNTER_SWITCHES, "not by the count in a mapped event page: perf", false);
    assert_int_equal(spex_perfcntr_set_name(2, "perf::PAGE-FAULTS"), 0);
    const enum spex_counter faults = (enum spex_counter)(first_perfcntr + 2);
    assert_int_equal(spex_counters_prepare(faults), 0);
    expect_text(faults, "in user mode only, by read()");
}

TEST(without_privileges) {
    in_child(check_unprivileged);
}

static void check_dropped_privileges(void) {
    static struct spex_thread_counters mine;
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), 0);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_SWITCHES), 0);
    drop_privileges();
    expect_exact(&mine, SPEX_COUNTER_FAULTS, touch_pages, PAGES);
    expect_exact(&mine, SPEX_COUNTER_SWITCHES, switch_often, SWITCHES / 2);
    if (!perf_permits(true)) {
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_FAULTS), 1);
        assert_int_equal(spex_counter_fallbacks(SPEX_COUNTER_SWITCHES), 1);
        expect_text(SPEX_COUNTER_SWITCHES, "1 threads fell back: Permission denied");
        /* Half of the faults under the name of all would be wrong; switches have another exact
         * way. */
        assert_null(mine.events[SPEX_COUNTER_FAULTS].word);
        assert_int_equal(mine.events[SPEX_COUNTER_SWITCHES].word != NULL, perf_permits(false));
    }
}

TEST(privileges_dropped_later) {
    need_perf(true);
    in_child(check_dropped_privileges);
}

TEST(instruction_that_is_not_allowed) {
    need_perf(false);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::TASK-CLOCK"), 0);
    assert_int_equal(spex_counters_allow("rdpmc"), 0);
    messages_begin();
    assert_true(spex_counters_prepare(first_perfcntr) < 0);
    assert_non_null(strstr(messages_end(), "not by the processor's instruction: "));
    assert_int_equal(spex_counters_allow(NULL), 0);
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
}

TEST(no_way_at_all) {
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_counters_allow("none"), 0);
    messages_begin();
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), -EPERM);
    assert_int_equal(spex_counters_prepare(SPEX_COUNTER_FAULTS), -EPERM);
    const char *messages = messages_end();
    assert_non_null(strstr(messages, "spex: page faults not available here; not by"));
    assert_null(strstr(strstr(messages, "spex: ") + 1, "spex: "));
    assert_int_equal(spex_counter_cost(SPEX_COUNTER_FAULTS), 0);
    struct spex_reading reading = read_now(&mine, SPEX_COUNTER_FAULTS);
    uint64_t values[2];
    bool scaled;
    assert_false(reading.available);
    assert_false(spex_counter_delta(&reading, &reading, values, &scaled));
    assert_int_equal(spex_counters_allow(NULL), 0);
    spex_counters_close(&mine);
}

TEST(lists_of_ways) {
    static const char *const bad[] = {"rusages", "rusage,", ",rusage", "rusage read", "RUSAGE"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        messages_begin();
        assert_int_equal(spex_counters_allow(bad[i]), -EINVAL);
        assert_non_null(strstr(messages_end(), "SPEX_COUNTERS="));
    }
    assert_int_equal(spex_counters_allow("read,rusage,switch-count"), 0);
    assert_int_equal(spex_counters_allow(""), 0);
}
