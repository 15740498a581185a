/* SPDX-License-Identifier: MIT */
/* How many trials there is time for, when finals begin and when no trial begins any more, from the
 * times at which trials were told. */
#include "explore/time_left.h"

#include <math.h>

#include "../check.h"

#define LIMIT 100.0

/* Tells trials that take so long each, until `from` seconds have passed; returns how many. */
static uint64_t tell(struct spex_time_left *time, double each, double until) {
    uint64_t count = 0;
    for (; time->passed + each <= until + 1e-9; count++)
        spex_time_left_tell(time, time->passed + each, LIMIT);
    return count;
}

TEST(trials_come_to_take_less) {
    struct spex_time_left time = {0};
    assert_int_equal(spex_time_left_trials(&time, 0), 0);
    uint64_t told = tell(&time, 2, 40);
    assert_int_equal(told, 20);
    assert_int_equal(spex_time_left_trials(&time, told), 50);
    told += tell(&time, 0.1, 60);
    uint64_t all = spex_time_left_trials(&time, told);
    assert_in_range(all, told + 395, told + 400);
    assert_false(spex_time_left_finals(&time, 0.25));
    told += tell(&time, 0.1, 75.1);
    assert_true(spex_time_left_finals(&time, 0.25));
    assert_false(spex_time_left_over(&time, 99.9, LIMIT));
    assert_true(spex_time_left_over(&time, 99.96, LIMIT));
}

TEST(trials_come_to_take_longer) {
    struct spex_time_left time = {0};
    uint64_t told = tell(&time, 0.1, 10);
    assert_int_equal(spex_time_left_trials(&time, told), 1000);
    told += tell(&time, 5, 90);
    assert_in_range(spex_time_left_trials(&time, told), told + 2, told + 3);
    assert_false(spex_time_left_over(&time, 97, LIMIT));
    assert_true(spex_time_left_over(&time, 98, LIMIT));
}

/* At least one more, as the host would not ask otherwise. */
TEST(one_more) {
    struct spex_time_left time = {0};
    spex_time_left_tell(&time, 99, LIMIT);
    assert_int_equal(spex_time_left_trials(&time, 1), 2);
}

TEST(without_a_limit) {
    struct spex_time_left time = {0};
    spex_time_left_tell(&time, 1, LIMIT);
    spex_time_left_tell(&time, 2, 0);
    assert_int_equal(spex_time_left_trials(&time, 2), 0);
    assert_false(spex_time_left_finals(&time, 1));
    assert_false(spex_time_left_over(&time, 1e9, 0));
}

/* A store that somebody else has written. */
TEST(wrong_times) {
    static const double times[] = {-1, INFINITY, -INFINITY, 1e300, 0};
    struct spex_time_left time = {0};
    for (size_t i = 0; i < COUNT_OF(times); i++)
        for (size_t j = 0; j < COUNT_OF(times); j++) {
            spex_time_left_tell(&time, times[i], times[j]);
            assert_in_range(spex_time_left_trials(&time, 7), 0, 1000000000);
        }
}
