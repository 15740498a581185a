/* SPDX-License-Identifier: MIT */
/* Events of the processor and of the kernel, chosen by code or name, and differences of their
 * readings. */
#define SPEX_BUILDING /* so that the linker takes what is only referred to here */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <spex/probe.h>

#include "../check.h"
#include "base/shared_object.h"
#include "counter_checks.h"
#include "counters/counters.h"
#include "counters/prepare.h"
#include "messages.h"

/* ---- events by code and name ---- */

TEST(events_that_are_none) {
    messages_begin();
    assert_int_equal(spex_perfcntr_set_name(0, "perf::NO-SUCH-EVENT"), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(0, ""), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(0, NULL), -EINVAL);
    assert_int_equal(spex_perfcntr_set_name(SPEX_PERFCNTRS, "perf::TASK-CLOCK"), -EINVAL);
    assert_int_equal(spex_perfcntr_set(SPEX_PERFCNTRS, 0xc0, 0), -EINVAL);
    assert_int_equal(spex_perfcntr_set(0, 0x10000, 0), -EINVAL);
    assert_int_equal(spex_perfcntr_set(0, 0xc0, (uint64_t)1 << 24), -EINVAL);
    const char *messages = messages_end();
    assert_non_null(strstr(messages, "counter 0: perf::NO-SUCH-EVENT: "));
    assert_non_null(strstr(messages, "counter 8: a number of 0 to 7"));
    assert_non_null(strstr(messages, "no code of event 0x10000, mask 0"));
}

TEST(a_counter_without_event) {
    const enum spex_counter last = (enum spex_counter)(SPEX_COUNTERS - 1);
    messages_begin();
    assert_int_equal(spex_counters_prepare(last), -ENOENT);
    assert_non_null(strstr(messages_end(), "counter 7 not available: no event has been set"));
}

/* Says that it is there and counts, or that it is not and why; never a number without a counter. */
TEST(events_of_the_processor) {
    struct spex_thread_counters mine = {0};
    assert_int_equal(spex_perfcntr_set(3, 0xc0, 0), 0); /* instructions retired, on x86 */
    const enum spex_counter raw = (enum spex_counter)(first_perfcntr + 3);
    const enum spex_counter both[] = {SPEX_COUNTER_LLC, raw};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        messages_begin();
        int err = spex_counters_prepare(both[i]);
        const char *messages = messages_end();
        struct spex_reading reading = read_now(&mine, both[i]);
        print_message("%s\n", description(both[i]));
        assert_int_equal(reading.available, err == 0);
        assert_int_equal(strstr(messages, "not available here: ") != NULL, err != 0);
        assert_int_equal(strstr(description(both[i]), "not available here: ") != NULL, err != 0);
    }
    spex_counters_close(&mine);
}

static const struct {
    struct spex_processor processor;
    const char *text;
} processors[] = {
    {{SPEX_VENDOR_INTEL, 6, 0x3c}, "LONGEST_LAT_CACHE (references 0x4f2e, misses 0x412e)"},
    {{SPEX_VENDOR_INTEL, 6, 0x8f}, "LONGEST_LAT_CACHE (references 0x4f2e, misses 0x412e)"},
    {{SPEX_VENDOR_AMD, 0x17, 0x31},
     "DATA_CACHE_REFILLS_FROM_SYSTEM (references 0x5a43, misses 0x5843)"},
    {{SPEX_VENDOR_AMD, 0x19, 0x01},
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0x5e44, misses 0x5c44)"},
    {{SPEX_VENDOR_AMD, 0x19, 0x11},
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0xde44, misses 0xdc44)"},
    {{SPEX_VENDOR_AMD, 0x19, 0x50},
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0x5e44, misses 0x5c44)"},
    {{SPEX_VENDOR_AMD, 0x19, 0x61},
     "ANY_DATA_CACHE_FILLS_FROM_SYSTEM (references 0xde44, misses 0xdc44)"},
    {{SPEX_VENDOR_AMD, 0x1a, 0x02}, "LsAnyFillsFromSys (references 0xde44, misses 0xdc44)"},
    {{SPEX_VENDOR_AMD, 0x17, 0x01}, NULL},
    {{SPEX_VENDOR_OTHER, 6, 0x3c}, NULL},
};

TEST(cache_events_of_processors) {
#if defined(__x86_64__)
    for (size_t p = 0; p < COUNT_OF(processors); p++) {
        unsigned position = 0;
        struct spex_choice choice;
        bool found = spex_llc_next(&processors[p].processor, &position, &choice);
        assert_int_equal(found, processors[p].text != NULL);
        if (found)
            assert_string_equal(choice.text, processors[p].text);
    }
#else
    (void)processors;
    skip();
#endif
}

TEST(a_library_that_is_not_there) {
    const char *why = NULL;
    assert_null(spex_library_open("libspex-none.so.1", &why));
    assert_non_null(strstr(why, "libspex-none.so.1"));
}

TEST(another_event) {
    struct spex_thread_counters mine = {0};
    uint64_t values[2];
    bool scaled;
    need_perf(false);
    assert_int_equal(spex_perfcntr_set_name(0, "perf::PAGE-FAULTS:u"), 0);
    assert_int_equal(spex_counters_prepare(first_perfcntr), 0);
    struct spex_reading before = read_now(&mine, first_perfcntr);
    assert_true(before.available);
    assert_int_equal(spex_perfcntr_set_name(0, "PAGE-FAULTS:u"), 0); /* the same */
    assert_true(spex_counter_ready(&mine, first_perfcntr));

    assert_int_equal(spex_perfcntr_set_name(0, "perf::TASK-CLOCK"), 0);
    expect_text(first_perfcntr, "perf::TASK-CLOCK");
    assert_false(spex_counter_ready(&mine, first_perfcntr));
    struct spex_reading stale;
    memset(&stale, 0xff, sizeof(stale));
    spex_counter_read(&mine, first_perfcntr, &stale);
    assert_false(stale.available);
    assert_true(!stale.values[0] && !stale.values[1] && !stale.enabled && !stale.running);
    struct spex_reading after = read_now(&mine, first_perfcntr);
    assert_true(after.available);
    assert_false(spex_counter_delta(&before, &after, values, &scaled));
    assert_int_equal(event_descriptors(), 1);
    spex_counters_close(&mine);
    assert_int_equal(event_descriptors(), 0);
}

struct changing {
    int stop;
    unsigned long opened;
};

static void *read_while_changing(void *argument) {
    struct changing *changing = argument;
    struct spex_thread_counters mine = {0};
    struct spex_reading reading;
    while (!spex_load_relaxed(&changing->stop)) {
        if (!spex_counter_ready(&mine, first_perfcntr) && spex_counter_open(&mine, first_perfcntr))
            spex_fetch_add_relaxed(&changing->opened, 1);
        spex_counter_read(&mine, first_perfcntr, &reading);
    }
    spex_counters_close(&mine);
    return NULL;
}

TEST(changes_while_threads_read) {
    static const char *const names[] = {"perf::TASK-CLOCK", "perf::PAGE-FAULTS:u"};
    struct changing changing = {0};
    pthread_t threads[2];
    need_perf(false);
    prepare_some();
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_while_changing, &changing), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(spex_perfcntr_set_name(0, names[i % 2]), 0);
    while (spex_load_relaxed(&changing.opened) < COUNT_OF(threads))
        sched_yield();
    spex_store_relaxed(&changing.stop, 1);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(event_descriptors(), 0);
}

/* ---- differences ---- */

TEST(multiplexed_events_are_scaled) {
    uint64_t values[2];
    bool scaled;
    struct spex_reading begin = {{1000, 10}, 5000, 4000, 1, true};
    struct spex_reading end = {{2000, 20}, 9000, 5000, 1, true};
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_true(scaled);
    assert_int_equal(values[0], 4000);
    assert_int_equal(values[1], 40);
    end.running = 8000; /* all the time between the two */
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    assert_int_equal(values[0], 1000);
    end.running = begin.running; /* none of it */
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
    begin.enabled = begin.running = 0; /* by instruction, and then shared: how long is unknown */
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
    end.enabled = end.running; /* never shared */
    assert_true(spex_counter_delta(&begin, &end, values, &scaled));
    assert_false(scaled);
    end.source = 2;
    assert_false(spex_counter_delta(&begin, &end, values, &scaled));
}
