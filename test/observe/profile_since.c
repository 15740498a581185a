/* SPDX-License-Identifier: MIT */
/* What happened between two profiles: of the process, its types and its probes. */
#include <string.h>

#include "../check.h"
#include "observe/profile_reader.h"

static struct spex_profile_type types_before[] = {
    {.probe_type = SPEX_CNT, .produced = 10}, {.probe_type = SPEX_LAT, .produced = 7, .lost = 2}};
static struct spex_profile_type types_now[] = {
    {.probe_type = SPEX_CNT, .produced = 15},
    {.probe_type = SPEX_LAT, .produced = 17, .lost = 3, .used = 1, .record = 5}};

static struct spex_profile_row rows_before[] = {
    {.probe = {
         .probe_type = SPEX_LAT,
         .probe_id = 2,
         .count = 70,
         .records = 7,
         .on_seconds = 1,
         .polled_seconds = 0.5,
         .activity = {.looks = 10, .active = 2, .threads = 2, .thread_squares = 2, .pairs = 9}}}};
static struct spex_profile_row rows_now[] = {
    {.probe = {.probe_type = SPEX_CNT, .probe_id = 1, .count = 5, .records = 5}},
    {.probe = {.probe_type = SPEX_LAT,
               .probe_id = 2,
               .count = 170,
               .records = 17,
               .on_seconds = 3,
               .polled_seconds = 1.5,
               .activity = {.looks = 30,
                            .active = 12,
                            .threads = 14,
                            .thread_squares = 18,
                            .pairs = 28,
                            .active_pairs = 4,
                            .thread_pairs = 5}}}};

static const struct spex_profile before = {.process = {.seconds = 1, .produced = 17, .lost = 2},
                                           .types = types_before,
                                           .type_count = COUNT_OF(types_before),
                                           .rows = rows_before,
                                           .row_count = COUNT_OF(rows_before)};
static const struct spex_profile now = {.process = {.seconds = 3, .produced = 32, .lost = 3},
                                        .types = types_now,
                                        .type_count = COUNT_OF(types_now),
                                        .rows = rows_now,
                                        .row_count = COUNT_OF(rows_now)};

static struct spex_profile difference;

static int teardown(void **state) {
    (void)state;
    spex_profile_free(&difference);
    return 0;
}

static void test_differences(void **state) {
    (void)state;
    assert_int_equal(spex_profile_since(&now, &before, &difference), 0);
    assert_int_equal(difference.process.produced, 15);
    assert_int_equal(difference.process.lost, 1);
    assert_int_equal(difference.type_count, 2);
    assert_int_equal(difference.types[0].produced, 5);
    assert_int_equal(difference.types[1].produced, 10);
    assert_int_equal(difference.types[1].lost, 1);
    assert_int_equal(difference.types[1].used, 1);
    assert_int_equal(difference.row_count, 2);
    assert_int_equal(difference.rows[0].probe.records, 5);
    assert_int_equal(difference.rows[1].probe.records, 10);
    assert_true(difference.rows[1].probe.count == 100);
    assert_true(difference.rows[1].probe.on_seconds == 2);
    assert_true(difference.rows[1].probe.polled_seconds == 1);
    assert_int_equal(difference.rows[1].probe.activity.looks, 20);
    assert_int_equal(difference.rows[1].probe.activity.active, 10);
    assert_int_equal(difference.rows[1].probe.activity.thread_pairs, 5);
    assert_true(spex_profile_rate(&difference.rows[1].probe) == 100);
}

static void test_since_nothing(void **state) {
    (void)state;
    const struct spex_profile none = {0};
    assert_int_equal(spex_profile_since(&now, &none, &difference), 0);
    assert_int_equal(difference.types[1].produced, 17);
    assert_int_equal(difference.rows[1].probe.records, 17);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_differences, teardown),
        cmocka_unit_test_teardown(test_since_nothing, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
