/* SPDX-License-Identifier: MIT */
/* What a thread may lose in any 10 ms: from the times of its records, which tell what was spent
 * when. */
#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "../capture.h"
#include "../check.h"
#include "base/clock.h"
#include "counted.h"
#include "probe/sampler.h"
#include "probe/thread_budget.h"
#include "ring/probe_type.h"

enum { BUSY = 1, RECORDS_MAX = 1 << 20 };

static struct {
    size_t count;
    uint64_t weight;
    uint64_t ticks[RECORDS_MAX];
} seen;

static void see(const struct spex_record *record, void *context) {
    (void)context;
    if (record->probe_id != BUSY || seen.count == RECORDS_MAX)
        return;
    seen.weight += record->weight;
    seen.ticks[seen.count++] = record->timestamp;
}

__attribute__((noinline)) static void busy(void) {
    LAT_PROBE_BEGIN(BUSY, 1);
    LAT_PROBE_END(BUSY);
}

/* So many milliseconds of nothing else. The executions. */
static uint64_t work(unsigned ms) {
    uint64_t until = spex_clock_ns(CLOCK_MONOTONIC) + ms * UINT64_C(1000000), count = 0;
    while (spex_clock_ns(CLOCK_MONOTONIC) < until)
        for (int i = 0; i < 100; i++, count++)
            busy();
    return count;
}

static double ticks_per_second;

/* The library is given the rate of ticks that this test counts by: both measure it to 10^-4. */
static void start(double thread_share, const char *probes) {
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .ring_records = 1 << 16,
                                         .thread_budget = thread_share > 0 ? "100%" : NULL};
    seen.count = seen.weight = 0;
    assert_int_equal(spex_start(&options), 0);
    assert_true(spex_set(probes) >= 1);
    assert_int_equal(spex_set("off"), 0);
    if (thread_share > 0)
        spex_thread_budget_set(thread_share, ticks_per_second);
    capture_start(see, NULL);
    assert_true(spex_set(probes) >= 1);
}

/* The seconds that records cost in the window of 10 ms with the most of them. A record is allowed
 * at BEGIN and stamped at END: one of them may have been allowed before the window, by an execution
 * that the scheduler interrupted, and is left out. */
static double most_spent(void) {
    struct spex_cost cost;
    uint64_t window = (uint64_t)(SPEX_THREAD_BUDGET_SECONDS * ticks_per_second);
    size_t most = 0;
    assert_int_equal(spex_cost_get(SPEX_LAT, &cost), 0);
    for (size_t first = 0, last = 0; last < seen.count; last++) {
        while (seen.ticks[last] - seen.ticks[first] > window)
            first++;
        if (last - first + 1 > most)
            most = last - first + 1;
    }
    return most ? (double)(most - 1) * cost.record / ticks_per_second : 0;
}

static void expect_bound(const char *probes) {
    start(0.05, probes);
    uint64_t executions = work(100);
    assert_true(counted(BUSY) == (double)executions);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_stop(), 0);
    assert_true(seen.count > 0);
    assert_true(most_spent() <= 0.05 * SPEX_THREAD_BUDGET_SECONDS);
    /* The bound was met, and what was not recorded is stood for. */
    assert_true(seen.count < executions);
    assert_true(seen.weight <= executions * 3);
    assert_true(seen.weight >= executions / 3);
}

TEST(no_thread_loses_more_in_10_ms) {
    expect_bound("*@1");
    expect_bound("*@~2");
    expect_bound("*@1x64");
}

/* As after a signal handler that filled the bucket while the function had already read the time. */
TEST(a_fill_later_than_now_gains_nothing) {
    struct spex_thread_budget budget = {.since = spex_ticks() + (UINT64_C(1) << 40)};
    start(0.05, "*@1");
    assert_false(spex_thread_budget_take(&budget, spex_probe_type_ring(SPEX_LAT)));
    assert_int_equal(budget.left, 0);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_stop(), 0);
}

TEST(periodic_weights_stay_exact) {
    start(0.02, "*@3");
    uint64_t executions = work(60);
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_stop(), 0);
    assert_true(seen.weight <= executions);
    assert_true(executions - seen.weight < 1 << 18);
}

/* What is sparse is never denied: each record stands for its own period alone. */
TEST(what_is_within_the_bound_is_as_selected) {
    start(1, "*@1000");
    for (int i = 0; i < 100000; i++)
        busy();
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(seen.count, 100);
    assert_int_equal(seen.weight, 100000);
}

TEST(without_a_bound_all_is_recorded) {
    start(0, "*@1");
    for (int i = 0; i < 1000; i++)
        busy();
    assert_int_equal(spex_set("off"), 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(seen.count, 1000);
    assert_false(spex_thread_budget_bounded());
}

TEST(a_tick_rate_is_known_as_soon_as_it_is_right) {
    const struct spex_instant from = {1000000, 1000, 80}, soon = {1300000, 101000, 80};
    const struct spex_instant later = {4000000, 1001000, 80}, wide = {4000000, 1001000, 1000};
    const struct spex_instant at_last = {16000000, 5001000, 1000000};
    assert_true(spex_tick_rate(from, from) == 0);
    assert_true(spex_tick_rate(from, soon) == 0);
    assert_float_equal(spex_tick_rate(from, later), 3e9, 1);
    assert_true(spex_tick_rate(from, wide) == 0);
    assert_float_equal(spex_tick_rate(from, at_last), 3e9, 1);
}

int main(void) {
    ticks_per_second = spex_tick_rate_since(spex_instant_now());
    return tests_run(NULL, NULL);
}
