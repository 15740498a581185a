/* SPDX-License-Identifier: MIT */
/* The report of an instance on a probe: by which times it is compared with others, what another
 * clock makes of it, and what says nothing. */
#include "../check.h"
#include "../values_take.h"

#include <math.h>

#include "fleet/lead/fleet_sums.h"

static struct spex_values values;

/* 8 executions in 10 s, of which something was held for 3 s. */
static struct spex_profile_row row_of(double held_count) {
    spex_values_clear(&values);
    values_take(&values, 1000, 4);
    values_take(&values, 3000, 4);
    return (struct spex_profile_row){
        .probe = {.probe_type = SPEX_LAT,
                  .series = 1,
                  .records = 2,
                  .count = 8,
                  .weight = 8,
                  .on_seconds = 10,
                  .held_count = held_count,
                  .held_seconds = 3,
                  .nested = {.x = 2, .y = 3, .xx = 4, .xy = 6, .yy = 9},
                  .slowest = {.ticks = 3000}},
        .values = {&values}};
}

TEST(what_was_held_counts_where_some_was) {
    for (int held = 0; held < 2; held++) {
        const struct spex_profile_row row = row_of(held);
        struct spex_reported_row reported;
        assert_int_equal(spex_reported_row_of(&reported, 5, &row, 1), 0);
        const struct spex_reported_between *between = &reported.between;
        assert_int_equal(reported.number, 5);
        assert_int_equal(reported.instances, 1);
        assert_true(between->count == 1 && between->s == (held ? 13 : 10));
        assert_true(between->ss == between->s * between->s);
        assert_true(between->es == between->e * between->s);
        assert_true(between->ee == between->e * between->e);
        spex_reported_row_free(&reported);
    }
}

/* However short; without a time there is no rate. */
TEST(what_was_on_for_a_time_is_compared) {
    const double seconds[] = {0, 1e-3, 0.5, 1};
    for (size_t s = 0; s < COUNT_OF(seconds); s++) {
        struct spex_profile_row row = row_of(0);
        struct spex_reported_row reported;
        row.probe.on_seconds = seconds[s];
        assert_int_equal(spex_reported_row_of(&reported, 5, &row, 1), 0);
        const struct spex_reported_between *between = &reported.between;
        assert_true(between->count == (s ? 1 : 0) && between->e == (s ? 8 : 0));
        assert_true(between->s == seconds[s] && between->ss == seconds[s] * seconds[s]);
        assert_true(between->es == between->e * between->s);
        assert_true(between->ee == between->e * between->e);
        spex_reported_row_free(&reported);
    }
}

/* Times are multiplied, products of two times twice; counts and values without ticks stay. */
TEST(another_clock_changes_times_alone) {
    struct spex_profile_row row = row_of(0);
    struct spex_reported_row reported;
    assert_int_equal(spex_reported_row_of(&reported, 0, &row, 2), 0);
    assert_true(reported.probe.nested.x == 4 && reported.probe.nested.y == 6);
    assert_true(reported.probe.nested.xx == 16 && reported.probe.nested.xy == 24 &&
                reported.probe.nested.yy == 36);
    assert_int_equal(reported.probe.slowest.ticks, 6000);
    assert_true(reported.probe.count == 8 && reported.values[0]->mean == 4000);
    assert_int_equal(reported.values[0]->min, 2000);
    assert_int_equal(reported.values[0]->max, 6000);
    spex_reported_row_free(&reported);
    row.probe.slowest.ticks = UINT64_MAX;
    assert_int_equal(spex_reported_row_of(&reported, 0, &row, 4), 0);
    assert_int_equal(reported.probe.slowest.ticks, UINT64_C(1) << 63);
    spex_reported_row_free(&reported);
    row.probe.probe_type = SPEX_SNAPSHOT;
    assert_int_equal(spex_reported_row_of(&reported, 0, &row, 2), 0);
    assert_true(reported.values[0]->mean == 2000 && reported.probe.nested.x == 2);
    spex_reported_row_free(&reported);
}

TEST(each_series_is_reported) {
    struct spex_profile_row row = row_of(0);
    struct spex_reported_row reported;
    row.probe.series = 3;
    row.values[1] = row.values[2] = &values;
    row.losses[2] = &values;
    assert_int_equal(spex_reported_row_of(&reported, 0, &row, 1), 0);
    for (unsigned s = 0; s < 3; s++)
        assert_true(reported.values[s]->mean == 2000);
    assert_true(!reported.losses[0] && !reported.losses[1] && reported.losses[2]->mean == 2000);
    spex_reported_row_free(&reported);
}

/* Ratios of sums: 3 instances of 100, 110 and 90 executions a second. */
TEST(rates_have_the_interval_of_a_ratio) {
    const double rates[] = {100, 110, 90};
    struct spex_reported_between sum = {0};
    double low, high;
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        const double e = 10 * rates[r], s = 10;
        spex_reported_between_add(&sum,
                                  &(struct spex_reported_between){1, e, s, e * e, e * s, s * s});
        assert_int_equal(spex_reported_rate(&sum, &low, &high), r > 0);
    }
    /* The standard deviation is 10, so that of the mean is 10 / sqrt(3); t of 2 degrees. */
    assert_true(fabs((low + high) / 2 - 100) < 1e-9);
    assert_true(fabs((high - low) / 2 - 4.303 * 10 / sqrt(3)) < 0.01);
    /* Rates are not below 0. */
    sum = (struct spex_reported_between){2, 10, 2, 100, 10, 2};
    assert_true(spex_reported_rate(&sum, &low, &high));
    assert_true(low == 0 && high > 5);
}

static bool same(double a, double b) {
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

/* Losses of a part of the values, or none. The spread of losses is that of all values. */
static void losses_make(struct spex_values *all, struct spex_values *lost, unsigned which) {
    spex_values_clear(all);
    spex_values_clear(lost);
    for (unsigned v = 0; v < 20; v++) {
        values_take(all, 1000 + 100 * which + 37 * v, 1 + which);
        if (v % 3 == 0)
            values_take(lost, 1000 + 100 * which + 37 * v, 5);
    }
    lost->spread = all->spread;
    for (unsigned v = 0; v < 7; v++) /* what losses do to it */
        spex_variance_single(&lost->spread, 2000 + 10 * v, 2, 3);
}

/* In whatever order those come that have lost something and those that have not: losses add up, and
 * the spread is that of the losses of the ones and of all values of the others. */
TEST(losses_are_beside_all_values) {
    enum { ROWS = 4 };
    static struct spex_values all[ROWS], lost[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        losses_make(&all[i], &lost[i], i);
    for (unsigned with = 1; with < 1 << ROWS; with++) {
        struct spex_profile_row sum = {.values = {NULL}};
        static struct spex_variance spread;
        struct spex_variance_sums sums = {0};
        double weight = 0, lost_weight = 0;
        memset(&spread, 0, sizeof(spread));
        for (unsigned i = 0; i < ROWS; i++) {
            bool has = with >> i & 1;
            const struct spex_variance *of = has ? &lost[i].spread : &all[i].spread;
            const struct spex_variance_sums ended = spex_variance_sums(of);
            struct spex_profile_row row = {.probe = {.probe_type = SPEX_LAT, .series = 1},
                                           .values = {&all[i]},
                                           .losses = {has ? &lost[i] : NULL}};
            struct spex_reported_row reported;
            assert_int_equal(spex_reported_row_of(&reported, 0, &row, 1), 0);
            assert_int_equal(reported.losses[0] != NULL, has);
            assert_int_equal(spex_reported_row_add(&sum, &reported), 0);
            spex_reported_row_free(&reported);
            weight += all[i].weight;
            lost_weight += has ? lost[i].weight : 0;
            sums.weights += ended.weights;
            sums.weights_all += ended.weights_all;
            sums.squares += ended.squares;
            for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++)
                for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
                    spread.rows[r][way] += of->rows[r][way];
        }
        const struct spex_values *losses = sum.losses[0];
        assert_true(same(sum.values[0]->weight, weight));
        assert_true(same(losses->weight, lost_weight));
        assert_int_equal(losses->histogram.total, lost_weight);
        const struct spex_variance_sums got = spex_variance_sums(&losses->spread);
        assert_true(same(got.weights, sums.weights) && same(got.weights_all, sums.weights_all));
        assert_true(same(got.squares, sums.squares));
        for (unsigned r = 0; r < SPEX_VARIANCE_ROWS; r++)
            for (unsigned way = 0; way < SPEX_VARIANCE_WAYS; way++)
                assert_true(fabsf(losses->spread.rows[r][way] - spread.rows[r][way]) < 1e-3F);
        free((void *)(uintptr_t)sum.values[0]);
        free((void *)(uintptr_t)sum.losses[0]);
    }
}

/* Means of what instances tell of each type, with an error of their own and of what they differ by.
 * Of what is measured, and once of each; times in the fleet's ticks. */
TEST(types_are_means_over_instances) {
    static struct spex_reported_types reported[2], sum;
    struct spex_profile_type types[] = {
        {.probe_type = SPEX_LAT, .measured = 1, .empty = 10, .empty_error = 3},
        {.probe_type = SPEX_CNT, .measured = 0, .empty = 99},
        {.probe_type = SPEX_PERFCNTR, .pcid = 1, .measured = 1, .empty = 7, .empty_error = 1},
        {.probe_type = SPEX_PERFCNTR, .pcid = 2, .measured = 1, .empty = 8, .empty_error = 2},
        {.probe_type = SPEX_LAT, .measured = 1, .empty = 1000}};
    const struct spex_profile profile = {.types = types, .type_count = COUNT_OF(types)};
    struct spex_profile made = {.type_count = 0};
    spex_reported_types_of(&reported[0], &profile, 1);
    types[0].empty = 14;
    types[0].empty_error = 4;
    types[1].measured = 1;
    spex_reported_types_of(&reported[1], &profile, 2); /* LAT: 28 ± 8 */
    assert_int_equal(reported[0].count, 3);
    assert_int_equal(reported[1].count, 4);
    for (int n = 0; n < 2; n++)
        spex_reported_types_add(&sum, &reported[n]);
    assert_int_equal(spex_reported_types_profile(&sum, &made), 0);
    static const struct {
        uint32_t type, pcid;
        double empty, error;
    } expected[] = {{SPEX_LAT, 0, 19, 81 + (9 + 64) / 2.0},
                    {SPEX_PERFCNTR, 1, 7, 1},
                    {SPEX_PERFCNTR, 2, 8, 4},
                    {SPEX_CNT, 0, 99, 0}};
    assert_int_equal(made.type_count, COUNT_OF(expected));
    for (size_t t = 0; t < COUNT_OF(expected); t++) {
        const struct spex_profile_type *type = &made.types[t];
        assert_int_equal(type->probe_type, expected[t].type);
        assert_int_equal(type->pcid, expected[t].pcid);
        assert_true(type->used && type->measured);
        assert_true(same(type->empty, expected[t].empty));
        assert_true(same(type->empty_error, sqrt(expected[t].error)));
    }
    free(made.types);
}

/* No more than there is room for. */
TEST(types_are_bounded) {
    static struct spex_reported_types reported, sum;
    struct spex_profile_type types[SPEX_REPORTED_TYPES + 3];
    const struct spex_profile profile = {.types = types, .type_count = COUNT_OF(types)};
    struct spex_profile made = {.type_count = 0};
    for (uint32_t t = 0; t < COUNT_OF(types); t++)
        types[t] = (struct spex_profile_type){
            .probe_type = SPEX_PERFCNTR, .pcid = t, .measured = 1, .empty = t};
    spex_reported_types_of(&reported, &profile, 1);
    assert_int_equal(reported.count, SPEX_REPORTED_TYPES);
    for (int n = 0; n < 2; n++) /* the second time with others */
        for (size_t t = 0; t < reported.count; t++) {
            reported.items[t].pcid += 2 * (uint32_t)n;
            if (t + 1 == reported.count)
                spex_reported_types_add(&sum, &reported);
        }
    assert_int_equal(sum.count, SPEX_REPORTED_TYPES);
    assert_int_equal(spex_reported_types_profile(&sum, &made), 0);
    assert_int_equal(made.type_count, SPEX_REPORTED_TYPES);
    for (uint32_t t = 0; t < SPEX_REPORTED_TYPES; t++)
        assert_int_equal(made.types[t].pcid, t);
    free(made.types);
}

TEST(without_a_clock_nothing_is_taken) {
    struct spex_profile_row row = row_of(0);
    struct spex_profile profile = {.rows = &row, .row_count = 1};
    struct spex_fleet_sums sums;
    struct spex_fleet_reports_by by = {.process = 1, .boot = "b"};
    spex_fleet_sums_init(&sums);
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_STALE);
    assert_int_equal(sums.count, 0);
    assert_int_equal(sums.refused[SPEX_FLEET_STALE], 1);
    assert_int_equal(sums.messages, 1);
    /* The first clock that ticks is the fleet's, however slow. */
    profile.process.ticks_per_second = 0.5;
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_TAKEN);
    by.process = 9;
    profile.process.ticks_per_second = 1;
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_TAKEN);
    assert_true(sums.instances[1].rows[0].values[0]->mean == 1000);
    spex_fleet_sums_free(&sums);
    spex_fleet_sums_init(&sums);
    sums.messages = 1;
    profile.process.ticks_per_second = 1e9;
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_TAKEN);
    /* Clocks that differ by less than a thousandth are the same. */
    by.process = 2;
    profile.process.ticks_per_second = 1.0009e9;
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_TAKEN);
    by.process = 3;
    profile.process.ticks_per_second = 1.002e9;
    assert_int_equal(spex_fleet_sums_take(&sums, "h", &by, &profile, 0), SPEX_FLEET_TAKEN);
    assert_true(sums.instances[0].rows[0].values[0]->mean == 2000);
    assert_true(sums.instances[1].rows[0].values[0]->mean == 2000);
    assert_true(fabs(sums.instances[2].rows[0].values[0]->mean - 2000 / 1.002) < 1e-6);
    assert_int_equal(sums.messages, 4);
    spex_fleet_sums_free(&sums);
}

/* What differs in any of host, process, start, boot and begin is another one. Of what has the same
 * host and process the former is over, and nothing more is taken of it. */
TEST(processes_are_told_apart) {
    static const struct {
        const char *host, *boot;
        int32_t process;
        uint64_t loaded_ns, began_ns;
        int taken;
        size_t count;
    } steps[] = {
        {"h", "b", 1, 5, 5, SPEX_FLEET_TAKEN, 1}, {"i", "b", 1, 5, 5, SPEX_FLEET_TAKEN, 2},
        {"h", "b", 2, 5, 5, SPEX_FLEET_TAKEN, 3}, {"h", "b", 1, 5, 5, SPEX_FLEET_TAKEN, 3},
        {"i", "c", 1, 5, 6, SPEX_FLEET_TAKEN, 3}, {"i", "b", 1, 5, 5, SPEX_FLEET_OVER, 3},
        {"i", "c", 1, 5, 6, SPEX_FLEET_TAKEN, 3}, {"h", "b", 2, 7, 7, SPEX_FLEET_TAKEN, 3},
        {"h", "b", 2, 5, 5, SPEX_FLEET_OVER, 3},  {"h", "b", 1, 5, 8, SPEX_FLEET_TAKEN, 3},
        {"h", "b", 1, 5, 5, SPEX_FLEET_OVER, 3},  {"hb", "", 1, 5, 8, SPEX_FLEET_TAKEN, 4},
        {"i", "d", 1, 5, 6, SPEX_FLEET_TAKEN, 4}, {"i", "c", 1, 5, 6, SPEX_FLEET_OVER, 4},
    };
    struct spex_profile_row row = row_of(0);
    struct spex_profile profile = {.rows = &row, .row_count = 1};
    struct spex_fleet_sums sums;
    spex_fleet_sums_init(&sums);
    profile.process.ticks_per_second = 1e9;
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        struct spex_fleet_reports_by by = {.process = steps[s].process,
                                           .loaded_ns = steps[s].loaded_ns};
        snprintf(by.boot, sizeof(by.boot), "%s", steps[s].boot);
        profile.process.began_ns = steps[s].began_ns;
        int taken = spex_fleet_sums_take(&sums, steps[s].host, &by, &profile, 0);
        if (taken != steps[s].taken || sums.count != steps[s].count)
            fail_msg("step %zu: %d, %zu", s, taken, sums.count);
    }
    spex_fleet_sums_free(&sums);
}
