/* SPDX-License-Identifier: MIT */
/* Two events that are read together, as those of the cache are, here of the kernel: their figures,
 * what becomes of them when descriptors are closed or stand for other files, and events that cannot
 * be opened. */
#define _GNU_SOURCE
#include <linux/perf_event.h>

#include "../check.h"
#include "counter_checks.h"
#include "counters/event.h"

static const struct spex_counter_plan both = {
    .events = 2,
    .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
              {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES}}};

static const struct spex_counter_plan one = {
    .events = 1, .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}}};

static const enum spex_way ways[] = {SPEX_WAY_READ, SPEX_WAY_RDPMC};

static struct spex_event opened(const struct spex_counter_plan *plan, enum spex_way way) {
    struct spex_event event = {0};
    const char *step;
    assert_int_equal(spex_event_open(&event, plan, way, &step), 0);
    assert_int_equal(event.way, way);
    assert_int_equal(event.events, plan->events);
    assert_int_equal(event_descriptors(), plan->events);
    assert_int_equal(event_mappings(), way == SPEX_WAY_RDPMC ? plan->events : 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(event.ids[i] != 0, i < plan->events);
        assert_int_equal(event.pages[i] != NULL, i < plan->events && way == SPEX_WAY_RDPMC);
    }
    event.source = 77;
    return event;
}

static void released(const struct spex_event *event) {
    spex_event_release(event);
    assert_int_equal(event_descriptors(), 0);
    assert_int_equal(event_mappings(), 0);
}

static struct spex_reading reading_of(const struct spex_event *event) {
    struct spex_reading reading;
    memset(&reading, 0xff, sizeof(reading));
    spex_event_read(event, SPEX_COUNTER_LLC, &reading);
    assert_int_equal(reading.source, 77);
    return reading;
}

static bool is_available(const struct spex_event *event) {
    return reading_of(event).available;
}

/* In one of a few tries as many of each as getrusage counts. */
TEST(each_event_has_its_own_count) {
    need_perf(true);
    for (size_t w = 0; w < COUNT_OF(ways); w++) {
        struct spex_event event = opened(&both, ways[w]);
        bool equal = false;
        for (int i = 0; i < 5 && !equal; i++) {
            uint64_t faults = by_getrusage(SPEX_COUNTER_FAULTS);
            uint64_t switches = by_getrusage(SPEX_COUNTER_SWITCHES);
            struct spex_reading begin = reading_of(&event);
            touch_pages();
            switch_often();
            struct spex_reading end = reading_of(&event);
            faults = by_getrusage(SPEX_COUNTER_FAULTS) - faults;
            switches = by_getrusage(SPEX_COUNTER_SWITCHES) - switches;
            assert_true(begin.available && end.available);
            assert_true(begin.running > 0 && begin.enabled >= begin.running);
            assert_true(end.running > begin.running && end.enabled >= end.running);
            equal = end.values[0] - begin.values[0] == faults &&
                    end.values[1] - begin.values[1] == switches;
        }
        assert_true(equal);
        released(&event);
    }
}

/* Closes the descriptor of event `i`, which the program does not know to be the library's. */
static void expect_noticed(const struct spex_counter_plan *plan, unsigned i) {
    struct spex_event event = opened(plan, SPEX_WAY_READ);
    assert_true(is_available(&event) && spex_event_intact(&event));
    close(event.descriptors[i]);
    assert_false(is_available(&event));
    assert_false(spex_event_intact(&event));
    int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(other, event.descriptors[i]), event.descriptors[i]);
    assert_false(is_available(&event));
    assert_false(spex_event_intact(&event));
    released(&event);
    assert_true(fcntl(event.descriptors[i], F_GETFD) >= 0); /* the program's own */
    close(event.descriptors[i]);
    close(other);
}

TEST(closed_descriptors_are_noticed) {
    need_perf(true);
    expect_noticed(&one, 0);
    expect_noticed(&both, 0);
    expect_noticed(&both, 1);
}

/* Another event of the library's at the number of the one. */
TEST(another_event_is_noticed) {
    need_perf(true);
    struct spex_event event = opened(&one, SPEX_WAY_READ), other = {0};
    const char *step;
    assert_int_equal(spex_event_open(&other, &one, SPEX_WAY_READ, &step), 0);
    assert_int_equal(dup2(other.descriptors[0], event.descriptors[0]), event.descriptors[0]);
    assert_false(is_available(&event));
    assert_false(spex_event_intact(&event));
    spex_event_release(&event);
    assert_int_equal(event_descriptors(), 2); /* both of the other event */
    close(event.descriptors[0]);
    spex_event_release(&other);
    assert_int_equal(event_descriptors(), 0);
}

TEST(what_cannot_be_opened_leaves_nothing) {
    struct spex_counter_plan plan = both;
    const struct spex_event none = {0};
    const char *step;
    need_perf(true);
    for (unsigned i = 0; i < 2; i++) {
        plan = both;
        plan.codes[i].config = PERF_COUNT_SW_MAX + 1000;
        for (size_t w = 0; w < COUNT_OF(ways); w++) {
            struct spex_event event = {0};
            assert_true(spex_event_open(&event, &plan, ways[w], &step) < 0);
            assert_string_equal(step, "perf_event_open");
            assert_memory_equal(&event, &none, sizeof(event));
            assert_int_equal(event_descriptors(), 0);
            assert_int_equal(event_mappings(), 0);
        }
    }
}

/* As linux/perf_event.h says it of pages whose event is on no counter, may not be read, or has not
 * been there all the time: the system call is asked. */
TEST(pages_that_tell_nothing) {
    static const struct perf_event_mmap_page pages[] = {
        {.cap_user_rdpmc = 1, .index = 0, .offset = 1 << 30},
        {.cap_user_rdpmc = 0, .index = 1, .offset = 1 << 30},
        {.cap_user_rdpmc = 1, .index = 0, .time_enabled = 5, .time_running = 4},
    };
    need_perf(true);
    for (size_t p = 0; p < COUNT_OF(pages); p++) {
        struct perf_event_mmap_page page = pages[p];
        struct spex_event event = opened(&one, SPEX_WAY_RDPMC);
        void *mapped = event.pages[0];
        event.pages[0] = &page;
        struct spex_reading begin = reading_of(&event);
        touch_pages();
        struct spex_reading end = reading_of(&event);
        assert_true(begin.available && end.available && begin.enabled > 0);
        /* A sanitizer touches pages of its own. */
        assert_in_range(end.values[0] - begin.values[0], PAGES, 16 * PAGES);
        event.pages[0] = mapped;
        released(&event);
    }
}

TEST(a_child_closes_what_it_has_inherited) {
    need_perf(true);
    struct spex_event event = opened(&both, SPEX_WAY_READ);
    spex_event_abandon(&event);
    assert_int_equal(event_descriptors(), 0);
}
