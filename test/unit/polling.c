/* SPDX-License-Identifier: MIT */
/* What a policy is told of probing: shares of time, and costs beyond those of being probed. */
#include <math.h>
#include <string.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "collect/metrics.h"
#include "rate/occupancy_sampler.h"
#include "rate/polling.h"
#include "serve/own_profile.h"
#include "site/registry.h"

#include "../check.h"
#include "policies/rate/rates.h"

enum { WORK = 1, RECORDS = 100 };

static int start(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null"};
    return spex_start(&options);
}

static int stop(void **state) {
    (void)state;
    return spex_stop();
}

static double known_cost(void) {
    double cost;
    spex_metrics_lock();
    while ((cost = spex_polling_execution_cost()) <= 0) { /* in the first milliseconds */
        spex_metrics_unlock();
        spex_metrics_lock();
    }
    spex_metrics_unlock();
    return cost;
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-3 * fabs(b);
}

static void hybrid_alone_leaves_something_to_polling(void **state) {
    (void)state;
    assert_true(spex_polling_policy(spex_builtin_rate_policy("hybrid")));
    assert_false(spex_polling_policy(spex_builtin_rate_policy("fair")));
    assert_false(spex_polling_policy(spex_builtin_rate_policy("budget")));
    assert_false(spex_polling_policy(spex_builtin_rate_policy("fixed")));
}

static void a_class_costs_what_it_costs_beyond_being_polled(void **state) {
    struct spex_rate_class classes[] = {
        {.frequency = 1e5, .detect_cost = 0, .report_cost = 1},
        {.frequency = 3e5, .detect_cost = 1, .report_cost = 1},
        {.frequency = 0, .detect_cost = 0, .report_cost = 0},
    };
    struct spex_rate_problem problem = {
        .size = sizeof(problem), .budget = 1, .class_count = 3, .classes = classes};
    (void)state;
    assert_int_equal(start("1"), 0);
    double cost = known_cost();
    spex_metrics_lock();
    assert_true(near(spex_polling_base(classes, 3), 4e5 * cost));
    assert_int_equal(spex_polling_dearest(classes, 3), 1);
    spex_polling_without_base(&problem, classes);
    spex_metrics_unlock();
    assert_true(near(problem.budget, 1 - 4e5 * cost));
    assert_true(classes[0].detect_cost <= 0);
    assert_true(near(1 - classes[0].report_cost, cost));
    assert_true(near(1 - classes[1].detect_cost, cost));
    assert_true(near(classes[1].report_cost, 1));
    assert_true(classes[2].report_cost <= 0 && classes[2].report_cost >= 0);
}

static uint32_t work_site(void) {
    uint32_t site = 0;
    while (spex_site_info(site)->probe_id != WORK)
        site++;
    return site;
}

static void work(void) {
    LAT_PROBE_BEGIN(WORK, 1);
    LAT_PROBE_END(WORK);
}

static void a_share_by_records_is_rate_times_mean(void **state) {
    struct spex_polling_share share = {0}, same;
    double weight = 0, ticks = 0;
    (void)state;
    assert_int_equal(start("1"), 0);
    known_cost();
    for (int i = 0; i < RECORDS; i++)
        work();
    while (weight < RECORDS) {
        spex_metrics_lock();
        spex_metrics_sums(WORK, SPEX_LAT, &weight, &ticks);
        spex_metrics_unlock();
    }
    spex_metrics_lock();
    double rate = spex_metrics_tick_rate();
    spex_polling_measure(&share, work_site(), false, 1000);
    same = share;
    spex_polling_measure(&same, work_site(), false, 1e9); /* no new records: nothing new */
    spex_metrics_unlock();
    assert_true(near(share.share, 1000 * ticks / weight / rate) || ticks <= 0);
    assert_true(share.share <= same.share && share.share >= same.share);
}

static void a_share_by_looks_is_the_number_of_threads(void **state) {
    struct spex_polling_share share = {0};
    (void)state;
    assert_int_equal(start("1@poll"), 0);
    LAT_PROBE_BEGIN(WORK, 1);
    spex_metrics_lock();
    uint32_t first = spex_site_info(work_site())->probe;
    share.activity = spex_occupancy_sampler_occupancy(first);
    for (int look = 0; look < 1000; look++)
        spex_occupancy_sampler_look();
    spex_polling_measure(&share, first, true, 0);
    spex_metrics_unlock();
    LAT_PROBE_END(WORK);
    assert_true(near(share.share, 1));
}

/* What a profile says of a probe that is polled all the time, and of one that is recorded. */
static void a_profile_tells_how_long_it_was_polled(void **state) {
    static const char *const selections[] = {"1:lat@poll", "1:lat"};
    (void)state;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        struct spex_profile_row row;
        assert_int_equal(start(selections[s]), 0);
        known_cost();
        work();
        spex_metrics_lock();
        spex_profile_probe_now(work_site(), &row);
        spex_metrics_unlock();
        double polled = s == 0 ? row.probe.on_seconds : 0;
        assert_true(row.probe.on_seconds > 0);
        assert_true(fabs(row.probe.polled_seconds - polled) <= 1e-6 * row.probe.on_seconds);
        assert_true(row.probe.held_seconds <= 0);
        spex_stop();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_alone_leaves_something_to_polling),
        cmocka_unit_test_teardown(a_class_costs_what_it_costs_beyond_being_polled, stop),
        cmocka_unit_test_teardown(a_share_by_records_is_rate_times_mean, stop),
        cmocka_unit_test_teardown(a_share_by_looks_is_the_number_of_threads, stop),
        cmocka_unit_test_teardown(a_profile_tells_how_long_it_was_polled, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
