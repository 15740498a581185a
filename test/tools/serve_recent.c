/* SPDX-License-Identifier: MIT */
/* What quantiles of `spex serve` are the recent time of: by reports at times that this test makes. */
#include "../check.h"
#include "tools/serve/recent.h"

static struct spex_recent recent;

static struct spex_profile report_at(double seconds) {
    struct spex_profile report = {.types = calloc(1, sizeof(*report.types))};
    assert_non_null(report.types);
    report.process.seconds = seconds;
    return report;
}

/* When a report at `now` has come. */
static void offer(double seconds, double now) {
    struct spex_profile report = report_at(seconds), latest = {.process = {.seconds = now}};
    spex_recent_offer(&recent, &report, &latest);
    assert_null(report.types);
}

/* Negative: none is known. */
static double begin(double now) {
    struct spex_profile latest = {.process = {.seconds = now}};
    const struct spex_profile *found = spex_recent_begin(&recent, &latest);
    return found ? found->process.seconds : -1;
}

static int forget(void **state) {
    (void)state;
    spex_recent_free(&recent);
    return 0;
}

/* Each report is offered when the next one has come. */
TEST_WITH(who_asks_seldom_gets_the_time_between, NULL, forget) {
    assert_true(begin(1) < 0);
    for (double now = 16; now < 500; now += 15) {
        offer(now - 15, now);
        assert_true(begin(now) == now - 15);
    }
}

TEST_WITH(who_asks_often_gets_ten_seconds_to_twenty, NULL, forget) {
    for (double now = 1; now < 100; now += 0.25) {
        offer(now - 0.25, now);
        double seconds = now - begin(now);
        assert_true(seconds <= 2 * SPEX_RECENT_SECONDS + 0.5);
        assert_true(seconds >= SPEX_RECENT_SECONDS || begin(now) == 0.75);
    }
}

/* One asks each quarter of a second, one each 15 s. */
TEST_WITH(clients_do_not_disturb_each_other, NULL, forget) {
    double last = 0;
    for (double now = 0.25; now < 100; now += 0.25) {
        offer(last, now);
        last = now;
        if ((int)(now * 4) % 60 == 0)
            assert_true(now - begin(now) >= SPEX_RECENT_SECONDS);
    }
}

TEST_WITH(a_collection_that_begins_anew, NULL, forget) {
    offer(100, 120);
    offer(120, 140);
    assert_true(begin(140) == 120);
    offer(140, 1);
    assert_true(begin(1) < 0);
    offer(1, 2);
    assert_true(begin(2) == 1);
}

/* A client of events has kept it longer. */
TEST_WITH(a_report_that_comes_late, NULL, forget) {
    offer(10, 20);
    offer(20, 30);
    offer(15, 31);
    assert_true(begin(31) == 20);
}

TEST_WITH(what_was_not_kept_is_not_taken, NULL, forget) {
    struct spex_profile nothing = {.types = NULL};
    spex_recent_offer(&recent, &nothing, &(struct spex_profile){.process = {.seconds = 4}});
    assert_true(begin(5) < 0);
}
