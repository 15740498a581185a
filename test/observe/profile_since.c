/* SPDX-License-Identifier: MIT */
/* What happened between two profiles where clocks were measured anew, and where the first loss came
 * between them. What becomes of each figure is in profile_fields.c. */
#include <math.h>

#include "../check.h"
#include "observe/profile_reader.h"
#include "observe/profile_sum.h"

static struct spex_profile difference;

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
