/* SPDX-License-Identifier: MIT */
/* Deadlines to the nanosecond, by a clock that is set here. */
#include <limits.h>
#include <time.h>

#include "../check.h"
#include "base/clock.h"
#include "base/deadline.h"

enum { MS = 1000000 };

static uint64_t now_ns;

uint64_t __wrap_spex_clock_ns(clockid_t clock);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    assert_int_equal(clock, CLOCK_MONOTONIC);
    return now_ns;
}

static int left_of(int64_t ns) {
    return spex_deadline_left_ms((struct spex_deadline){(int64_t)now_ns + ns});
}

TEST(seconds_are_from_now_on) {
    now_ns = 777;
    assert_int_equal(spex_deadline_in(1.5).monotonic_ns, 777 + 1500 * (int64_t)MS);
    assert_int_equal(spex_deadline_in(0).monotonic_ns, 777);
    assert_int_equal(spex_deadline_in(-1e-9).monotonic_ns, 776);
}

/* Rounded up, so that nobody who waits comes back too early. */
TEST(what_is_left_lasts_until_then) {
    static const int64_t most = (int64_t)INT_MAX * MS;
    now_ns = 5000 * (uint64_t)MS;
    assert_int_equal(left_of(-MS), 0);
    assert_int_equal(left_of(-1), 0);
    assert_int_equal(left_of(0), 0);
    assert_int_equal(left_of(1), 1);
    assert_int_equal(left_of(MS - 1), 1);
    assert_int_equal(left_of(MS), 2);
    assert_int_equal(left_of(7 * MS + 3), 8);
    assert_int_equal(left_of(most - 1), INT_MAX);
    assert_int_equal(left_of(most), INT_MAX);
    assert_int_equal(left_of(3 * most), INT_MAX);
}

TEST(a_share_is_never_nothing) {
    const struct spex_deadline deadline = {(int64_t)now_ns + 9 * (int64_t)MS + 1};
    assert_int_equal(spex_deadline_share_ms(deadline, 1), 10);
    assert_int_equal(spex_deadline_share_ms(deadline, 3), 3);
    assert_int_equal(spex_deadline_share_ms(deadline, 10), 1);
    assert_int_equal(spex_deadline_share_ms(deadline, 11), 1);
    assert_int_equal(spex_deadline_share_ms((struct spex_deadline){0}, 1), 1);
}

/* By the number of sleeps where the clock stands still, and by the clock before that. */
TEST(patience_ends) {
    unsigned sleeps = 0;
    struct spex_patience patience = spex_patience_for(MS);
    while (spex_patience_left(&patience))
        sleeps++;
    assert_int_equal(sleeps, 20);
    patience = spex_patience_for(MS);
    assert_true(spex_patience_left(&patience));
    now_ns += MS - 1;
    assert_true(spex_patience_left(&patience));
    now_ns++;
    assert_false(spex_patience_left(&patience));
    patience = spex_patience_for(0);
    assert_false(spex_patience_left(&patience));
}
