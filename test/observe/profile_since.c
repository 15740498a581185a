/* SPDX-License-Identifier: MIT */
/* What happened between two profiles: of the process, its types and its probes. */
#include <math.h>

#include "../check.h"
#include "observe/profile_reader.h"
#include "observe/profile_sum.h"

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

TEST_WITH(test_differences, NULL, teardown) {
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

TEST_WITH(test_since_nothing, NULL, teardown) {
    const struct spex_profile none = {0};
    assert_int_equal(spex_profile_since(&now, &none, &difference), 0);
    assert_int_equal(difference.types[1].produced, 17);
    assert_int_equal(difference.rows[1].probe.records, 17);
}

/* A probe that was held off for 3 s before, and not since: the program has measured its clock anew,
 * so that these seconds are others. Alone and in a sum of processes with clocks of their own. */
TEST(what_stands_still_differs_by_nothing) {
    static const double rates[2][2] = {{2.1e9, 2.1e9 * (1 + 3e-10)},
                                       {2.1e9 * (1 - 7e-9), 2.1e9 * (1 + 2e-9)}};
    static struct spex_profile sums[2];
    const double held = 6300000001, polled = 777777777;
    for (size_t processes = 1; processes <= 2; processes++) {
        for (size_t when = 0; when < 2; when++)
            for (size_t p = 0; p < processes; p++) {
                double rate = rates[p][when], on = 1e9 + 2e9 * (double)when;
                struct spex_profile_row row = {.probe = {.probe_type = SPEX_CNT,
                                                         .probe_id = 1,
                                                         .count = 100,
                                                         .uncounted = 3000,
                                                         .on_seconds = on / rate,
                                                         .polled_seconds = polled / rate,
                                                         .held_seconds = held / rate}};
                struct spex_profile_type type = {.probe_type = SPEX_CNT};
                const struct spex_profile one = {.process = {.ticks_per_second = rate},
                                                 .types = &type,
                                                 .type_count = 1,
                                                 .rows = &row,
                                                 .row_count = 1};
                assert_int_equal(spex_profile_add(&sums[when], &one), 0);
            }
        assert_int_equal(spex_profile_since(&sums[1], &sums[0], &difference), 0);
        const struct spex_profile_probe *probe = &difference.rows[0].probe;
        assert_true(probe->held_seconds == 0);
        assert_true(probe->polled_seconds == 0);
        assert_true(probe->uncounted == 0);
        assert_true(spex_profile_off(probe) == 0);
        assert_true(probe->on_seconds > 0.9 * (double)processes);
        spex_profile_free(&difference);
        spex_profile_free(&sums[0]);
        spex_profile_free(&sums[1]);
    }
}

static struct spex_values values_of(double spread) {
    return (struct spex_values){.weight = spread,
                                .min = INFINITY,
                                .max = -INFINITY,
                                .spread = {.sums = {.weights = spread}}};
}

/* The spread of losses, and of values, since a time at which the row had these. */
static void assert_spread_since(const struct spex_values *values, const struct spex_values *losses,
                                double of_values, double of_losses) {
    static struct spex_profile_row then, later;
    const struct spex_values values_now = values_of(12), losses_now = values_of(12);
    then.probe.series = values != NULL;
    then.values[0] = values;
    then.losses[0] = losses;
    later.probe.series = 1;
    later.values[0] = &values_now;
    later.losses[0] = of_losses >= 0 ? &losses_now : NULL;
    assert_int_equal(spex_profile_since(&(struct spex_profile){.rows = &later, .row_count = 1},
                                        &(struct spex_profile){.rows = &then, .row_count = 1},
                                        &difference),
                     0);
    const struct spex_profile_row *row = &difference.rows[0];
    assert_true(row->values[0]->spread.sums.weights == of_values);
    assert_int_equal(row->losses[0] != NULL, of_losses >= 0);
    if (row->losses[0])
        assert_true(row->losses[0]->spread.sums.weights == of_losses);
    spex_profile_free(&difference);
}

/* The first loss copies what all values have come to, so that what they had come to before is no
 * part of a difference. */
TEST(losses_spread_since_values_did) {
    const struct spex_values five = values_of(5), three = values_of(3);
    assert_spread_since(NULL, NULL, 12, 12);
    assert_spread_since(&five, NULL, 7, 7);
    assert_spread_since(&five, &three, 7, 9);
    assert_spread_since(&five, NULL, 7, -1);
}
