/* SPDX-License-Identifier: MIT */
/* What is told of the executions while a probe was held off: in virtual time, on a simulated
 * program (plant.h), compared with the truth. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../check.h"
#include "plant.h"
#include "rate/slices.h"

/* A hot program: steady, or in bursts of random or fixed lengths, or ever faster; that begins
 * slowly; that does not always have the processor. */
struct hot {
    unsigned seed;
    double length; /* of a burst and the pause after it; 0: it is steady */
    double share;  /* of bursts */
    double rise;   /* of the rate, a second */
    bool regular;
    double slow;      /* seconds until it executes the probe as often as later */
    double slow_rate; /* of the rate, until then */
    unsigned others;  /* that it executes as often */
    double has,
        has_for; /* the share of the time that it has the processor, about so long at a time;
                          * 0: all */
};

/* Whether the time is in the first part of a period of the length; about `share` of all time. */
static bool within(unsigned seed, double seconds, double length, double share, bool regular) {
    uint64_t state = seed * 100003 + (uint64_t)(seconds / length);
    double part = fmod(seconds, length) / length;
    return part < (regular ? share : share * 0x1p-63 * (double)random_next(&state));
}

static double hot_rate(const void *context, unsigned probe, double seconds) {
    const struct hot *hot = context;
    (void)probe;
    double rate = 3e7 * (1 + hot->rise * seconds) * (seconds < hot->slow ? hot->slow_rate : 1);
    if (hot->length <= 0)
        return rate;
    return within(hot->seed, seconds, hot->length, hot->share, hot->regular) ? rate / hot->share
                                                                             : 0;
}

static double hot_runs(const void *context, double seconds) {
    const struct hot *hot = context;
    return hot->has <= 0 ||
           within(hot->seed + 77, seconds, hot->has_for / hot->has, hot->has, false);
}

/* A loop that has the probe in a region takes next to no time for it, and much for its passes. */
static struct plant_held run(const struct hot *hot, double seconds, bool region) {
    /* Of the CPU time: who has the processor less gets as much a second. */
    const struct plant_options options = {.share = 0.02 / (hot->has > 0 ? hot->has : 1),
                                          .cpus = 1,
                                          .probes = 1 + hot->others,
                                          .skip_ns = region ? 0.2 : 2.5,
                                          .record_ns = 40,
                                          .passes = region ? 1e8 : 0,
                                          .region_ns = 1.5,
                                          .call_ns = 10,
                                          .weight = 4,
                                          .seed = 7919 * hot->seed,
                                          .late = hot->has > 0 ? 2e-3 : 0,
                                          .seconds = seconds,
                                          .rate = hot_rate,
                                          .runs = hot_runs,
                                          .scenario = hot};
    plant_run(&options);
    return plant_held(0);
}

enum { SEEDS = 40 };

/* Of SEEDS runs: in how many the interval holds the truth, in how many slices have told, and the
 * means of what these told and of its margin, over the truth. */
struct runs {
    unsigned holding, telling;
    double count, margin;
};

static struct runs runs_of(struct hot hot, double seconds, bool region) {
    struct runs runs = {0};
    for (hot.seed = 1; hot.seed <= SEEDS; hot.seed++) {
        struct plant_held held = run(&hot, seconds, region);
        runs.holding += fabs(held.told.count - held.truth) <= fmax(held.told.margin, 0);
        if (held.told.count <= 0)
            continue;
        runs.telling++;
        runs.count += held.told.count / held.truth;
        runs.margin += held.told.margin / held.truth;
    }
    runs.count /= runs.telling ? runs.telling : 1;
    runs.margin /= runs.telling ? runs.telling : 1;
    return runs;
}

/* Of runs that are so short that slices have met next to nothing, too. */
TEST(executions_while_held_off_are_in_their_interval) {
    static const struct hot hots[] = {
        {.rise = 0},
        {.rise = 1},
        {.length = 0.003, .share = 0.5, .regular = true},
        {.length = 0.013, .share = 0.5},
        {.length = 0.2, .share = 0.5},
        {.length = 0.013, .share = 0.1},
        {.slow = 0.2, .slow_rate = 0},
        {.slow = 0.2, .slow_rate = 0.01},
        {.has = 0.3, .has_for = 0.003},
        {.has = 0.3, .has_for = 0.02},
    };
    static const double seconds[] = {0.1, 0.35, 1, 4};
    for (size_t h = 0; h < COUNT_OF(hots); h++)
        for (size_t s = 0; s < COUNT_OF(seconds); s++)
            for (int region = 0; region < 2; region++) {
                const struct runs runs = runs_of(hots[h], seconds[s], region);
                assert_true(runs.holding >= 0.9 * SEEDS);
                /* Of some bursts as long as a tenth of a run slices have met too few; and who has the
                 * processor in turns earns what slices cost only then. */
                const double telling = hots[h].length >= 0.1 ? 0.25 : hots[h].has > 0 ? 0.5 : 0.75;
                assert_true(seconds[s] < 4 || runs.telling >= telling * SEEDS);
                if (hots[h].length <= 0 && hots[h].has <= 0 && hots[h].slow <= 0 && seconds[s] >= 4)
                    assert_true(runs.margin < 0.5);
            }
}

/* All that were on in a slice have slowed the program down, and are off with the probe. */
TEST(probes_of_one_loop_are_slowed_down_by_each_other) {
    static const unsigned others[] = {0, 2, 5};
    for (size_t o = 0; o < COUNT_OF(others); o++) {
        const struct runs runs = runs_of((struct hot){.others = others[o]}, 4, false);
        assert_true(runs.holding >= 0.9 * SEEDS && runs.telling >= 0.75 * SEEDS);
        assert_true(runs.count > 0.8 && runs.count < 1.1);
    }
}

/* By CPU time, though the program has the processor more often in slices than between them. */
TEST(a_program_that_waits_for_the_processor_is_not_told_too_often) {
    static const struct hot hots[] = {{.has = 0.3, .has_for = 0.003},
                                      {.has = 0.3, .has_for = 0.02},
                                      {.has = 0.15, .has_for = 0.003},
                                      {.has = 0.1, .has_for = 0.005}};
    assert_true(runs_of(hots[0], 4, true).count < 1.25);
    for (size_t h = 0; h < COUNT_OF(hots); h++) {
        const struct runs runs = runs_of(hots[h], 4, false);
        assert_true(runs.count > 0.9 && runs.count < 1.1);
    }
}

/* Which says nothing of the rest. */
TEST(a_slow_moment_alone_tells_nothing) {
    static const struct hot hot = {.slow = 0.03, .slow_rate = 0.001};
    for (int region = 0; region < 2; region++)
        assert_int_equal(runs_of(hot, 0.35, region).holding, SEEDS);
}

/* Before anything has passed, the program is taken to use one CPU. */
TEST(the_first_slice_is_of_one_cpu) {
    static const struct spex_slices none;
    static const struct spex_slices_time passed = {.on = 3, .held = 2};
    struct spex_slices_reading reading = spex_slices_read(&none, 7, &passed);
    assert_true(reading.count == 7 && reading.on == 3 && reading.held == 2);
}

/* What is passing goes on with the CPUs that the program has used on average, on or held off. */
TEST(later_slices_are_of_the_mean_of_cpus) {
    static const struct spex_slices_time passed = {.on = 3, .held = 1},
                                         later = {.on = 4, .held = 4};
    struct spex_slices slices = {.slices = 0};
    spex_slices_pass(&slices, &(struct spex_slices_time){.on = 1}, 1);
    spex_slices_pass(&slices, &passed, 2);
    assert_true(slices.used.on == 1 + 2 * 2 && slices.used.held == 1 * 2);
    struct spex_slices_reading reading = spex_slices_read(&slices, 7, &later);
    double cpus = 7.0 / 4;
    assert_true(reading.on == 5 + cpus && reading.held == 2 + 3 * cpus);
    spex_slices_pass(&slices, &later, -1);
    assert_true(slices.used.on == reading.on && slices.used.held == reading.held);
}

/* A hold-off is as long as its time between two slices. */
TEST(hold_offs_have_their_lengths) {
    static const struct spex_speedup none = {1, 1, 1};
    static const struct spex_slices_reading readings[] = {
        {10, 1, 0}, {10, 1, 4}, {30, 3, 4}, {30, 3, 10}, {40, 4, 10}};
    struct spex_slices slices = {.slices = 0};
    for (size_t r = 0; r < sizeof(readings) / sizeof(readings[0]); r++)
        spex_slices_note(&slices, &readings[r], &none);
    assert_int_equal(slices.slices, 3);
    assert_true(slices.lengths == 4 + 6 && slices.squares == 4 * 4 + 6 * 6);
    assert_true(slices.before == 4 * 10 + 6 * 10 && slices.after.likely == 4 * 10 + 6 * 10);
    assert_true(slices.length == 0 && slices.highest == 10 && slices.differences == 0);
}
