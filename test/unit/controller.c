/* SPDX-License-Identifier: MIT */
/* The controller in a process that starts, stops and selects: what it believes, and what its sites
 * do. */
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "rate/controller.h"
#include "ring/rings.h"
#include "site/registry.h"

enum { BUSY = 1, OTHER, BATCH = 1000, BATCHES = 30 };

/* Of the account's own time, seconds, after which it has all that was recorded before. */
#define SETTLED 5.0

static void work(void) {
    for (int i = 0; i < BATCH; i++) {
        LAT_PROBE_BEGIN(BUSY, 1);
        LAT_PROBE_END(BUSY);
    }
}

static void work_other(void) {
    for (int i = 0; i < BATCH; i++) {
        LAT_PROBE_BEGIN(OTHER, 1);
        LAT_PROBE_END(OTHER);
    }
}

static int start(const char *budget) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*", .out = "/dev/null", .budget = budget};
    return spex_start(&options);
}

static const char *policy_now(void) {
    spex_metrics_lock();
    const char *policy = spex_controller_totals().policy;
    spex_metrics_unlock();
    return policy;
}

TEST(the_policy_is_the_one_that_was_asked_for) {
    static const char *const policies[] = {NULL, "budget", "fixed"};
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        const struct spex_options options = {.size = sizeof(options),
                                             .probes = "*",
                                             .out = "/dev/null",
                                             .budget = "2%",
                                             .rate_policy = policies[p]};
        assert_int_equal(spex_start(&options), 0);
        assert_string_equal(policy_now(), policies[p] ? policies[p] : "fair");
        assert_int_equal(spex_stop(), 0);
        assert_null(policy_now());
    }
}

static uint32_t site_of(uint16_t id) {
    uint32_t site = 0;
    while (spex_site_info(site)->probe_id != id)
        site++;
    return site;
}

struct seen {
    struct spex_controller_totals totals;
    struct spex_controller_view view;
    uint32_t period; /* of the site */
    double tick_rate;
};

/* All of one moment. */
static struct seen look_at(uint16_t id) {
    bool loaded;
    spex_metrics_lock();
    struct seen seen = {.totals = spex_controller_totals(),
                        .view = spex_controller_look(site_of(id)),
                        .period = spex_site_sampling(site_of(id), &loaded).period,
                        .tick_rate = spex_metrics_tick_rate()};
    spex_metrics_unlock();
    return seen;
}

static struct seen look(void) {
    return look_at(BUSY);
}

/* The program's work goes on meanwhile. */
static struct seen work_until(double seconds) {
    struct seen seen;
    while (work(), (seen = look()).totals.seconds < seconds)
        continue;
    return seen;
}

static struct seen work_until_held(void) {
    struct seen seen;
    while (work(), (seen = look()).view.period != SPEX_SITE_HELD)
        continue;
    return seen;
}

TEST(each_collection_has_accounts_of_its_own) {
    for (int n = 0; n < 3; n++) {
        assert_int_equal(start("2%"), 0);
        struct seen seen = work_until(0.05);
        assert_true(seen.totals.share > 0);
        assert_true(seen.totals.spent >= 0);
        assert_true(seen.totals.spent <
                    100 * seen.totals.seconds); /* of all CPUs that there may be */
        assert_int_equal(spex_stop(), 0);
        assert_true(look().totals.share <= 0);
    }
}

/* The CPU time of this thread; a half of it leaves room for what stands around the measurement. */
TEST(the_start_is_in_the_budget) {
    for (int n = 0; n < 3; n++) {
        uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        assert_int_equal(start("2%"), 0);
        double seconds = (double)(spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e9;
        assert_true(look().totals.spent > seconds / 2);
        assert_true(spex_set("off") >= 0);
        double before = look().totals.spent;
        assert_true(spex_set("*") > 0);
        assert_true(look().totals.spent > before);
        assert_int_equal(spex_stop(), 0);
    }
}

/* In the first milliseconds nobody knows yet how long a tick is. How many of the executions make
 * records depends on when the collector comes. */
TEST(what_is_spent_at_once_is_accounted_for) {
    for (int n = 0; n < 3; n++) {
        uint64_t before = spex_collectors_cpu_ns(), made = spex_rings_totals().produced;
        struct spex_cost cost;
        assert_int_equal(start("100%"), 0);
        for (int i = 0; i < BATCHES; i++)
            work();
        assert_int_equal(spex_cost_get(SPEX_LAT, &cost), 0);
        /* A collector that is busy has spent more than the accounts know. */
        struct seen seen;
        double collectors, records;
        do {
            sched_yield();
            seen = look();
            collectors = (double)(spex_collectors_cpu_ns() - before) / 1e9;
            records = cost.record * (double)(spex_rings_totals().produced - made) / seen.tick_rate;
        } while (seen.totals.seconds < SETTLED && seen.totals.spent - collectors <= records / 2);
        assert_true(records > 0 && seen.totals.seconds < SETTLED);
        assert_int_equal(spex_stop(), 0);
    }
}

/* Its pause takes a minute. */
TEST(what_is_selected_again_is_held) {
    assert_int_equal(start("0.0001%"), 0);
    struct seen held = work_until_held();
    assert_int_equal(held.period, 0);
    for (int n = 0; n < 3; n++) {
        assert_true(spex_set("off") >= 0);
        assert_true(spex_set("*") >= 0);
        assert_int_equal(look().period, 0);
    }
    held = work_until(held.totals.seconds + 0.5);
    assert_true(held.view.period == SPEX_SITE_HELD && held.period == 0);
    assert_int_equal(spex_stop(), 0);
}

static bool holds_slices(void) {
    spex_metrics_lock();
    bool holds = spex_controller_holds();
    spex_metrics_unlock();
    return holds;
}

/* All probes are held off when the collector is called. */
TEST(what_is_selected_again_has_its_slices) {
    assert_int_equal(start("1%"), 0);
    assert_int_equal(spex_set("1:lat"), 1);
    for (int n = 0; n < 6; n++) {
        work_until_held();
        assert_true(spex_set("off") >= 0);
        while (holds_slices())
            sched_yield();
        assert_true(spex_set("1:lat") >= 0);
        while (work(), look().view.period == SPEX_SITE_HELD)
            continue;
    }
    assert_int_equal(spex_stop(), 0);
}

TEST(a_budget_that_is_over_holds_nothing) {
    assert_int_equal(start("0.0001%"), 0);
    work_until_held();
    assert_true(spex_set("off") >= 0);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(start(NULL), 0);
    assert_int_equal(look().period, 1);
    assert_int_equal(spex_stop(), 0);
}

/* Its lease ends by hand, for all probes, and another one begins anew. */
TEST(what_a_command_has_asked_for_ends) {
    const struct spex_lease lease = {.ms = 60000, .holder = 7}, end = {.holder = 7};
    assert_int_equal(start(NULL), 0);
    for (int n = 0; n < 2; n++) {
        assert_null(policy_now());
        assert_int_equal(spex_controller_hold(&lease, 1e-6), 0);
        while (work(), work_other(),
               look().view.period != SPEX_SITE_HELD || look_at(OTHER).view.period != SPEX_SITE_HELD)
            continue;
        assert_non_null(policy_now());
        spex_controller_renew(&end);
        while (work(), policy_now())
            continue;
        for (uint16_t id = BUSY; id <= OTHER; id++) {
            struct seen seen = look_at(id);
            assert_int_equal(seen.period, 1);
            assert_null(seen.view.why);
            assert_true(seen.totals.share <= 0);
        }
        assert_false(holds_slices());
    }
    assert_int_equal(spex_controller_hold(&lease, 1), 0);
    while (work(), !look().view.why)
        continue;
    assert_int_equal(spex_stop(), 0);
}
