/* SPDX-License-Identifier: MIT */
/* What the tuning thread gets of what collectors hand over: in order, of the run's probes, of its
 * time, and an account of what there was no room for. The test plays a collector's part beside the
 * real one, whose passes say how far all are. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "base/clock.h"
#include "base/service_thread.h"
#include "collect/sinks.h"
#include "tune/feed.h"

enum { WANTED = 1, OTHER = 2, ROOM = 65536, BATCH = 256 };

SPEX_PROBE_NAME(WANTED, "feed.wanted");
SPEX_PROBE_NAME(OTHER, "feed.other");

static struct spex_feed *feed;
static struct spex_selection selection;

/* So that there are sites. */
COMPILED_ONCE static void probes(void) {
    CNT_PROBE_BEGIN(WANTED, 1);
    CNT_PROBE_END(WANTED);
    CNT_PROBE_BEGIN(OTHER, 1);
    CNT_PROBE_END(OTHER);
}

static int set_up(void **state) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "feed.other@1000000", .out = "/dev/null"};
    struct spex_error error;
    (void)state;
    probes();
    return spex_start(&options) || spex_feed_open(&feed) ||
           spex_selection_parse("feed.wanted", &selection, &error);
}

static int tear_down(void **state) {
    (void)state;
    spex_feed_close(feed);
    spex_selection_free(&selection);
    return spex_stop();
}

static struct spex_record record(uint64_t timestamp, uint16_t id) {
    return (struct spex_record){
        .timestamp = timestamp, .probe_type = SPEX_CNT, .probe_id = id, .weight = 1};
}

static void hand_over(uint64_t timestamp, uint16_t id) {
    const struct spex_record made = record(timestamp, id);
    spex_sinks_records(&(struct spex_batch){.records = &made, .count = 1});
}

/* When the real collector has been round. */
static const struct spex_record *take(size_t *count) {
    const struct spex_record *records = NULL;
    uint64_t until = 0;
    for (*count = 0; until == 0;) {
        assert_int_equal(spex_feed_take(feed, &records, count, &until), 0);
        if (until == 0)
            sched_yield();
    }
    return records;
}

TEST_WITH(records_come_in_order, set_up, tear_down) {
    static const uint64_t times[] = {30, 10, 20, 50, 40};
    size_t count;
    spex_feed_begin(feed, &selection, 0);
    for (size_t t = 0; t < COUNT_OF(times); t++)
        hand_over(times[t], WANTED);
    const struct spex_record *records = take(&count);
    assert_int_equal(count, COUNT_OF(times));
    for (size_t t = 0; t < count; t++)
        assert_int_equal(records[t].timestamp, 10 * (t + 1));
}

TEST_WITH(what_is_to_come_waits, set_up, tear_down) {
    uint64_t later = spex_ticks() + (UINT64_C(1) << 50);
    size_t count;
    spex_feed_begin(feed, &selection, 0);
    hand_over(later, WANTED);
    hand_over(10, WANTED);
    const struct spex_record *records = take(&count);
    assert_int_equal(count, 1);
    assert_int_equal(records[0].timestamp, 10);
    take(&count);
    assert_int_equal(count, 0);
}

TEST_WITH(others_and_former_ones_are_left_out, set_up, tear_down) {
    size_t count;
    hand_over(110, WANTED); /* no run has begun */
    spex_feed_begin(feed, &selection, 100);
    hand_over(120, OTHER);
    hand_over(100, WANTED);
    hand_over(101, WANTED);
    const struct spex_record *records = take(&count);
    assert_int_equal(count, 1);
    assert_int_equal(records[0].timestamp, 101);
    hand_over(102, WANTED);
    spex_feed_begin(feed, &selection, 100);
    take(&count);
    assert_int_equal(count, 0);
    spex_feed_end(feed);
    hand_over(103, WANTED);
    take(&count);
    assert_int_equal(count, 0);
}

TEST_WITH(what_has_no_room_is_counted, set_up, tear_down) {
    struct spex_record batch[BATCH];
    size_t count;
    spex_feed_begin(feed, &selection, 0);
    for (unsigned b = 0; b < ROOM / BATCH + 1; b++) {
        for (unsigned r = 0; r < BATCH; r++)
            batch[r] = record(b * BATCH + r + 1, WANTED);
        spex_sinks_records(&(struct spex_batch){.records = batch, .count = BATCH});
    }
    const struct spex_record *records = take(&count);
    assert_int_equal(count, ROOM);
    assert_int_equal(records[ROOM - 1].timestamp, ROOM);
    assert_int_equal(records[ROOM - 1].lost, 0);
    assert_int_equal(spex_feed_dropped(feed), BATCH);
    hand_over(2 * ROOM, WANTED);
    hand_over(2 * ROOM + 1, WANTED);
    records = take(&count);
    assert_int_equal(count, 2);
    assert_int_equal(records[0].lost, BATCH);
    assert_int_equal(records[0].gap, 1);
    assert_int_equal(records[1].lost, 0);
    assert_int_equal(spex_feed_dropped(feed), BATCH);
    spex_feed_begin(feed, &selection, 0);
    assert_int_equal(spex_feed_dropped(feed), 0);
}

long __real_syscall(long call, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long call, long a, long b, long c, long d, long e, long f);

/* On the thread of the test: what happens between its look at the feed and its sleep. */
static __thread bool stops_before_sleep;

long __wrap_syscall(long call, long a, long b, long c, long d, long e, long f) {
    if (call == SYS_futex && b == FUTEX_WAIT && stops_before_sleep) {
        stops_before_sleep = false;
        assert_int_equal(spex_stop(), 0);
    }
    return __real_syscall(call, a, b, c, d, e, f);
}

/* The wait has no lock while it sleeps, and does not sleep where there is news. */
TEST_WITH(news_before_the_sleep_end_it, set_up, tear_down) {
    stops_before_sleep = true;
    spex_feed_wait(feed, UINT64_MAX / 2);
    assert_false(stops_before_sleep);
    assert_true(spex_feed_stopped(feed));
}

TEST_WITH(a_wait_ends_at_its_deadline, set_up, tear_down) {
    uint64_t deadline_ns = spex_clock_ns(CLOCK_MONOTONIC) + 1000000;
    spex_feed_wait(feed, deadline_ns);
    assert_true(spex_clock_ns(CLOCK_MONOTONIC) >= deadline_ns);
    assert_false(spex_feed_stopped(feed));
    hand_over(10, WANTED); /* nobody has the lock now */
}

TEST_WITH(a_stop_of_spex_stops_it, set_up, tear_down) {
    assert_false(spex_feed_stopped(feed));
    assert_int_equal(spex_stop(), 0);
    assert_true(spex_feed_stopped(feed));
    spex_feed_wait(feed, UINT64_MAX / 2); /* for nothing more */
}

/* Collectors sleep longer where nobody waits. */
TEST_WITH(a_run_waits_for_records, set_up, tear_down) {
    assert_false(spex_sinks_prompt());
    spex_feed_begin(feed, &selection, 0);
    assert_true(spex_sinks_prompt());
    spex_feed_end(feed);
    assert_false(spex_sinks_prompt());
}
