/* SPDX-License-Identifier: MIT */
/* Probes whose executions alone cost more than the budget, so that they are on in slices of the
 * time: in virtual time, on a simulated program (plant.h). */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../check.h"
#include "chance.h"
#include "plant.h"
#include "site/registry.h"

/* Forty seconds of what cannot even be counted within the budget. */
static double falling_rate(const void *context, unsigned probe, double seconds) {
    (void)context;
    (void)probe;
    return seconds < 40 ? 5e7 : 5e5;
}

/* A probe alone that is in slices uses so much of the budget at least: nobody can tell that it does not
 * cost what it may. With another one that tells it, most. */
#define USED_ALONE 0.05

static const double used_least[] = {0, USED_ALONE, 0.6};

TEST(a_probe_in_slices_comes_back) {
    const struct plant_options options = {.share = 0.01,
                                          .cpus = 1,
                                          .probes = 1,
                                          .skip_ns = 1.6,
                                          .record_ns = 24,
                                          .seconds = 110,
                                          .rate = falling_rate};
    plant_run(&options);
    assert_true(plant_worst(0, 110, 1) <= 1.5);
    assert_true(plant_mean(5, 40) > USED_ALONE);
    assert_true(plant_mean(5, 40) < 1.06);
    for (double t = 42; t < 110; t += 0.1)
        assert_int_not_equal(plant_period(0, t), SPEX_SITE_HELD);
    assert_true(plant_mean(106, 110) > 0.6);
}

/* From 40 s on counting costs an eighth of the budget by calibration, in bursts. */
static double bursty_rate(const void *context, unsigned probe, double seconds) {
    (void)context;
    (void)probe;
    if (seconds < 40)
        return 5e7;
    return fmod(seconds, 0.04) < 0.02 ? 8e5 : 0;
}

TEST(bursts_within_the_budget_end_slices) {
    const struct plant_options options = {.share = 0.01,
                                          .cpus = 1,
                                          .probes = 1,
                                          .skip_ns = 1.6,
                                          .record_ns = 24,
                                          .seconds = 140,
                                          .rate = bursty_rate};
    plant_run(&options);
    assert_true(plant_worst(0, 140, 1) <= 1.5);
    for (double t = 45; t < 140; t += 0.1)
        assert_int_not_equal(plant_period(0, t), SPEX_SITE_HELD);
}

/* The first probe is busy; the others execute now and then. */
struct busy_and_rare {
    double busy, rare;
};

static double busy_and_rare_rate(const void *context, unsigned probe, double seconds) {
    const struct busy_and_rare *rates = context;
    (void)seconds;
    return probe == 0 ? rates->busy : rates->rare;
}

/* The share of the time from 1 s on that the probe was held off. */
static double share_held(unsigned probe, double until) {
    double held = 0, all = 0;
    for (double t = 1; t < until; t += 1e-3, all++)
        held += plant_period(probe, t) == SPEX_SITE_HELD;
    return held / all;
}

/* The example of docs/rate_policies.md, which holds all probes off where their executions alone
 * cost more than the budget. */
extern const struct spex_rate_policy_ops spex_rate_policy;

static void run_busy_and_rare(const struct busy_and_rare *rates, double skip_ns, double pass_ns) {
    const struct plant_options options = {.share = 0.02,
                                          .cpus = 1,
                                          .probes = 2,
                                          .skip_ns = skip_ns,
                                          .record_ns = 40,
                                          .pass_ns = pass_ns,
                                          .seconds = 20,
                                          .policy = &spex_rate_policy,
                                          .rate = busy_and_rare_rate,
                                          .scenario = rates};
    plant_run(&options);
}

/* Five hundred passes a second, as on a machine that is busy, would cost more than the budget. */
TEST(looks_at_a_rare_probe_cost_little) {
    static const struct busy_and_rare rates = {1.5e6, 15};
    run_busy_and_rare(&rates, 2.5, 60e3);
    assert_true(share_held(0, 20) <= 0);
    assert_true(share_held(1, 20) <= 0);
}

TEST(what_is_rare_is_recorded_beside_slices) {
    static const struct busy_and_rare rates[] = {{2e7, 3}, {2e7, 15}, {5e7, 50}};
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        run_busy_and_rare(&rates[r], 1.6, 3e3);
        assert_true(share_held(0, 20) > 0.3);
        assert_true(share_held(1, 20) <= 0);
        assert_true(plant_mean(1, 20) > USED_ALONE);
        assert_true(plant_worst(0, 20, 1) <= 1.5);
    }
}

/* A hot program whose executions beside cache misses are `dearer` than calibrated, with a witness
 * or without. */
static void run_dear(double dearer, unsigned probes, double seconds, uint64_t seed) {
    static const struct busy_and_rare rates = {4e7, 4e5};
    const struct plant_options options = {.share = 0.02,
                                          .cpus = 1,
                                          .probes = probes,
                                          .skip_ns = 1.0 * dearer,
                                          .record_ns = 20 * dearer,
                                          .dearer = dearer,
                                          .seed = seed,
                                          .seconds = seconds,
                                          .rate = busy_and_rare_rate,
                                          .scenario = &rates};
    plant_run(&options);
}

/* Of half a second, in which no experiment comes to an end. */
TEST(short_programs_keep_their_budget) {
    static const double dearers[] = {1, 3, 5};
    for (size_t d = 0; d < COUNT_OF(dearers); d++)
        for (unsigned probes = 1; probes <= 2; probes++)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                run_dear(dearers[d], probes, 0.5, seed);
                assert_true(plant_mean(0, 0.5) < 2);
            }
}

/* With what the start and the first questions have cost the first second has at most twice the budget
 * and a twentieth, each later one at most the budget with what is saved, and half a second at most 2.5 %
 * with 2 %. */
TEST(the_start_is_in_the_budget) {
    static const struct busy_and_rare rates = {4e7, 4e5};
    static const double shares[] = {0.005, 0.01, 0.02}, starts[] = {0.002, 0.006};
    for (size_t s = 0; s < COUNT_OF(shares); s++)
        for (size_t c = 0; c < COUNT_OF(starts); c++)
            for (uint64_t seed = 1; seed <= 10; seed++) {
                const struct plant_options options = {.share = shares[s],
                                                      .cpus = 1,
                                                      .probes = 2,
                                                      .skip_ns = 1,
                                                      .record_ns = 20,
                                                      .start = starts[c],
                                                      .seed = seed,
                                                      .seconds = 8,
                                                      .rate = busy_and_rare_rate,
                                                      .scenario = &rates};
                plant_run(&options);
                double start = starts[c] / shares[s];
                assert_false(plant_recorded_all(0));
                assert_true(start + plant_mean(0, 1) <= 2.05);
                assert_true(plant_worst(1, 8, 1) <= 1.5);
                assert_true(shares[s] < 0.02 || 2 * start + plant_mean(0, 0.5) <= 1.25);
                assert_true(start + 8 * plant_mean(0, 8) >= 0.2 * 8);
            }
}

/* By what the program does in slices and beside them. */
TEST(slices_tell_what_a_probe_costs) {
    static const double dearers[] = {0.7, 1, 3, 5, 8, 12};
    for (size_t d = 0; d < COUNT_OF(dearers); d++)
        for (unsigned probes = 1; probes <= 2; probes++)
            for (uint64_t seed = 1; seed <= 3; seed++) {
                run_dear(dearers[d], probes, 20, seed);
                assert_true(plant_worst(0, 1, 1) < 2);
                assert_true(plant_worst(1, 20, 1) < 1.5);
                assert_true(plant_mean(2, 20) > used_least[probes] * fmin(dearers[d], 1));
                assert_true(plant_mean(2, 20) < 1.25);
            }
}

/* An execution may be dearer than calibrated by more than a record is: a record waits by itself. So
 * what records cost does not tell it. */
TEST(executions_may_be_dearer_than_records) {
    static const struct busy_and_rare rates = {3e7, 0};
    static const double shares[] = {0.02, 0.05};
    for (size_t s = 0; s < COUNT_OF(shares); s++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            const struct plant_options options = {.share = shares[s],
                                                  .cpus = 1,
                                                  .probes = 1,
                                                  .skip_ns = 6,
                                                  .record_ns = 56,
                                                  .dearer = 6,
                                                  .records_dearer = 2.5,
                                                  .seed = seed,
                                                  .seconds = 20,
                                                  .rate = busy_and_rare_rate,
                                                  .scenario = &rates};
            plant_run(&options);
            assert_true(plant_worst(1, 20, 1) < 1.25);
            assert_true(plant_mean(2, 20) > used_least[1]);
        }
}

/* The same on a machine whose speed is another one every 4 ms, by half at most. */
static double uneven_rate(const void *context, unsigned probe, double seconds) {
    uint64_t random = 1 + (uint64_t)(seconds / 0.004);
    return busy_and_rare_rate(context, probe, seconds) * (0.5 + chance_uniform(&random));
}

/* By calibration the budget pays for all of them; until slices have told better they go on. What such
 * slices tell has a wide margin, and half of the budget is left for it. */
TEST(nothing_is_believed_until_slices_have_told) {
    static const struct busy_and_rare rates = {2e7, 1e6};
    enum { SEEDS = 10 };
    for (unsigned probes = 1; probes <= 2; probes++) {
        double mean = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            const struct plant_options options = {.share = 0.05,
                                                  .cpus = 1,
                                                  .probes = probes,
                                                  .skip_ns = 5,
                                                  .record_ns = 100,
                                                  .dearer = 5,
                                                  .seed = seed,
                                                  .seconds = 20,
                                                  .rate = uneven_rate,
                                                  .scenario = &rates};
            plant_run(&options);
            assert_true(plant_mean(0, 1) < 1.5);
            mean += plant_mean(1, 20) / SEEDS;
        }
        assert_true(mean > (probes > 1 ? 0.5 : USED_ALONE) && mean < 1.3);
    }
}

/* By a tenth. */
static double shaky_rate(const void *context, unsigned probe, double seconds) {
    uint64_t random = 1 + (uint64_t)(seconds / 0.004);
    return busy_and_rare_rate(context, probe, seconds) * (0.9 + 0.2 * chance_uniform(&random));
}

/* Counting it alone is trusted by calibration, and costs two and a half times the budget: that is known
 * before half a second is over. */
TEST(who_waits_for_memory_is_found_out_soon) {
    static const struct busy_and_rare rates = {6e6, 0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct plant_options options = {.share = 0.05,
                                              .cpus = 1,
                                              .probes = 1,
                                              .skip_ns = 20,
                                              .record_ns = 200,
                                              .dearer = 15,
                                              .seed = seed,
                                              .seconds = 5,
                                              .rate = shaky_rate,
                                              .scenario = &rates};
        plant_run(&options);
        assert_true(plant_mean(0, 5) < 1.25);
        assert_true(plant_worst(0.5, 5, 1) < 1.25);
    }
}

/* Most of what slices cost is of the first probe, which is five times as dear as calibrated; the next two
 * are sixteen times as dear, so that the budget does not pay for counting them. The last one tells. */
static double mixed_rate(const void *context, unsigned probe, double seconds) {
    static const double rates[] = {4e7, 1.2e6, 1.2e6, 1.5e5};
    (void)context;
    (void)seconds;
    return rates[probe];
}

TEST(a_finding_about_others_is_not_believed_of_one) {
    static const double skips[] = {5, 16, 16, 16};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const struct plant_options options = {.share = 0.02,
                                              .cpus = 1,
                                              .probes = 4,
                                              .skip_ns = 5,
                                              .skips_ns = skips,
                                              .record_ns = 100,
                                              .dearer = 5,
                                              .seed = seed,
                                              .seconds = 20,
                                              .rate = mixed_rate};
        plant_run(&options);
        assert_true(plant_worst(1, 20, 1) < 1.25);
        assert_true(plant_mean(2, 20) > 0.5);
    }
}

/* Of many probes that are selected one alone executes. All are held off at first, as the start of
 * spex is paid back. */
static double only_the_last_rate(const void *context, unsigned probe, double seconds) {
    const unsigned *last = context;
    (void)seconds;
    return probe == *last ? 2e7 : 0;
}

TEST(probes_that_do_not_execute_take_no_part) {
    static const unsigned last = PLANT_PROBES_MAX - 1;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        const struct plant_options options = {.share = 0.02,
                                              .cpus = 1,
                                              .probes = PLANT_PROBES_MAX,
                                              .skip_ns = 1,
                                              .record_ns = 20,
                                              .start = 0.005,
                                              .seed = seed,
                                              .seconds = 6,
                                              .rate = only_the_last_rate,
                                              .scenario = &last};
        plant_run(&options);
        assert_true(plant_mean(1, 6) > USED_ALONE);
        assert_true(plant_mean(1, 6) < 1.1);
        assert_true(plant_worst(0, 6, 1) <= 1.5);
    }
}

static double seldom_rate(const void *context, unsigned probe, double seconds) {
    (void)context;
    (void)probe;
    (void)seconds;
    return 3000;
}

/* A thousand are executed seldom, and a decision about them takes half a millisecond: what slices
 * save is not spent on decisions. Nor are all on at once when a decision was late. Also where
 * caches are cold, so that executions cost five times what was calibrated and no experiment can
 * tell that. */
TEST(decisions_about_many_are_in_the_budget) {
    static const double dearers[] = {1, 5};
    for (size_t d = 0; d < COUNT_OF(dearers); d++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const struct plant_options options = {.share = 0.005,
                                                  .cpus = 1,
                                                  .probes = PLANT_PROBES_MAX,
                                                  .skip_ns = 2 * dearers[d],
                                                  .record_ns = 20 * dearers[d],
                                                  .dearer = dearers[d],
                                                  .count_ns = 500,
                                                  .seed = seed,
                                                  .seconds = 12,
                                                  .rate = seldom_rate};
            plant_run(&options);
            assert_true(plant_mean(1, 12) < 1.25);
            assert_true(plant_mean(2, 12) > (dearers[d] > 1 ? 0.5 : 0.2));
            assert_true(plant_worst(1, 12, 1) <= (dearers[d] > 1 ? 2 : 1.5));
        }
}

/* Two probes in a region with `passes` a second, in which they execute `busy` and `rare` times. */
static struct plant_options in_region(const struct busy_and_rare *rates, double passes,
                                      double share, uint64_t seed) {
    return (struct plant_options){.share = share,
                                  .cpus = 1,
                                  .probes = 2,
                                  .passes = passes,
                                  .region_ns = 1.5,
                                  .call_ns = 10,
                                  .weight = 4,
                                  .skip_ns = 0.2,
                                  .record_ns = 40,
                                  .seed = seed,
                                  .seconds = 12,
                                  .rate = busy_and_rare_rate,
                                  .scenario = rates};
}

/* Where passes alone cost more than the budget, be it that no probe executes in most of them. What
 * the two probes have executed while they were held off is in the interval that is told. */
TEST(regions_are_on_in_slices) {
    static const struct busy_and_rare rates[] = {{1e8, 1e8}, {2e8, 1e3}, {1e8, 1e3},
                                                 {1e5, 1e5}, {1e3, 10},  {0, 0}};
    static const double shares[] = {0.005, 0.02};
    unsigned told = 0, asked = 0;
    for (size_t r = 0; r < COUNT_OF(rates); r++)
        for (size_t s = 0; s < COUNT_OF(shares); s++)
            for (uint64_t seed = 1; seed <= 10; seed++) {
                const struct plant_options options = in_region(&rates[r], 1e8, shares[s], seed);
                plant_run(&options);
                assert_true(plant_worst(0, 12, 1) <= 1.5);
                assert_true(plant_mean(2, 12) > USED_ALONE);
                assert_true(plant_mean(2, 12) < 1.06);
                assert_true(share_held(0, 12) > 0.3);
                for (unsigned p = 0; p < 2; p++, asked++) {
                    struct plant_held held = plant_held(p);
                    assert_true(held.told.margin >= 0);
                    told += fabs(held.told.count - held.truth) <= held.told.margin;
                }
            }
    assert_true(told >= 0.9 * asked);
}

/* A rare probe does not make the busy one beside it record all. */
TEST(probes_of_a_region_have_one_period) {
    static const struct busy_and_rare rates[] = {{2e6, 100}, {2e6, 2e6}, {3e5, 10}};
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        const struct plant_options options = in_region(&rates[r], 1e6, 0.02, r);
        plant_run(&options);
        assert_true(plant_worst(0, 12, 1) <= 1.5);
        assert_true(plant_mean(2, 12) > 0.3);
        assert_true(plant_mean(2, 12) < 1.06);
        assert_true(share_held(0, 12) <= 0);
        for (double t = 1; t < 12; t += 0.1)
            assert_int_equal(plant_period(0, t), plant_period(1, t));
    }
}

/* What a record costs is what it takes beyond its execution, and more if chance has chosen it. */
TEST(records_in_a_region_cost_what_they_take) {
    static const struct busy_and_rare rates = {2e5, 2e5};
    static const double skips[] = {10, 20, 20}, drawn[] = {100, 0, 100};
    for (size_t s = 0; s < COUNT_OF(skips); s++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct plant_options options = in_region(&rates, 1e6, 0.02, seed);
            options.skip_ns = skips[s];
            options.drawn_ns = drawn[s];
            plant_run(&options);
            assert_true(plant_mean(2, 12) > 0.2);
            assert_true(plant_mean(2, 12) < 1.02);
        }
}
