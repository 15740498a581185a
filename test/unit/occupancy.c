/* SPDX-License-Identifier: MIT */
/* Sums of looks: exact ones, differences, and margins held against processes of which the truth is
 * known. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "probe/gap.h"
#include "stats/occupancy.h"

#include "../check.h"

static struct spex_occupancy seen(const uint32_t *threads, unsigned looks) {
    struct spex_occupancy activity = {0};
    for (unsigned i = 0; i < looks; i++)
        spex_occupancy_add(&activity, threads[i], i ? (int64_t)threads[i - 1] : -1);
    return activity;
}

TEST(sums) {
    static const uint32_t threads[] = {0, 3, 1, 0, 0, 2, 2};
    struct spex_occupancy activity = seen(threads, COUNT_OF(threads));
    assert_int_equal(activity.looks, 7);
    assert_int_equal(activity.active, 4);
    assert_int_equal(activity.threads, 8);
    assert_int_equal(activity.thread_squares, 18);
    assert_int_equal(activity.pairs, 6);
    assert_int_equal(activity.active_pairs, 2);
    assert_int_equal(activity.thread_pairs, 7);
    assert_true(spex_occupancy_valid(&activity));
    assert_float_equal(spex_occupancy_share(&activity), 4.0 / 7, 1e-6);
    assert_float_equal(spex_occupancy_threads(&activity), 8.0 / 7, 1e-6);
}

TEST(a_look_after_a_pause_has_none_before) {
    struct spex_occupancy activity = {0};
    spex_occupancy_add(&activity, 1, -1);
    spex_occupancy_add(&activity, 1, -1);
    assert_int_equal(activity.looks, 2);
    assert_int_equal(activity.pairs, 0);
}

TEST(an_interval_is_the_difference) {
    static const uint32_t threads[] = {1, 0, 2, 2, 0, 1};
    struct spex_occupancy early = seen(threads, 3), all = seen(threads, 6);
    spex_occupancy_subtract(&all, &early);
    assert_int_equal(all.looks, 3);
    assert_int_equal(all.active, 2);
    assert_int_equal(all.threads, 3);
    assert_int_equal(all.thread_squares, 5);
    assert_int_equal(all.pairs, 3);
    assert_int_equal(all.active_pairs, 1);
    assert_int_equal(all.thread_pairs, 4);
    spex_occupancy_subtract(&early, &all); /* counts that fall are none */
    assert_true(early.looks == 0 && early.pairs == 0);
}

TEST(what_cannot_be_is_refused) {
    const struct spex_occupancy good = {.looks = 2, .active = 1, .threads = 2, .thread_squares = 4};
    struct spex_occupancy bad = good;
    assert_true(spex_occupancy_valid(&good));
    assert_true(spex_occupancy_valid(&(struct spex_occupancy){0}));
    bad.active = 3;
    assert_false(spex_occupancy_valid(&bad));
    bad = good;
    bad.threads = 0;
    assert_false(spex_occupancy_valid(&bad));
    bad = good;
    bad.pairs = 3;
    assert_false(spex_occupancy_valid(&bad));
    memset(&bad, 0xff, sizeof(bad));
    assert_true(isfinite(spex_occupancy_threads_margin(&bad)));
    bad = (struct spex_occupancy){.looks = 2, .threads = UINT64_MAX};
    assert_false(spex_occupancy_valid(&bad));
}

TEST(few_looks_tell_nothing) {
    const struct spex_occupancy none = {0}, nine = {.looks = 9, .pairs = 8};
    assert_true(spex_occupancy_share_margin(&none) < 0);
    assert_true(spex_occupancy_share_margin(&nine) < 0);
    assert_true(spex_occupancy_threads_margin(&nine) < 0);
    assert_float_equal(spex_occupancy_share(&none), 0, 0);
}

/* Wilson's interval for 0 of n ends at z2/(n + z2). */
TEST(never_seen_is_not_never) {
    const struct spex_occupancy none = {.looks = 100, .pairs = 99}, always = {.looks = 100,
                                                                              .pairs = 99,
                                                                              .active = 100,
                                                                              .threads = 100,
                                                                              .thread_squares = 100,
                                                                              .active_pairs = 99,
                                                                              .thread_pairs = 99};
    assert_float_equal(spex_occupancy_share_margin(&none), 0.03699, 1e-4);
    assert_float_equal(spex_occupancy_share_margin(&always), 0.03699, 1e-4);
    assert_float_equal(spex_occupancy_threads_margin(&none), 0.03699, 1e-4);
}

/* Sums that another process has sent: two looks more, of which five were active. */
TEST(what_cannot_be_is_nothing) {
    static const struct spex_occupancy nothing;
    struct spex_occupancy activity = {.looks = 10, .active = 5, .threads = 5, .thread_squares = 5};
    const struct spex_occupancy before = {.looks = 8};
    spex_occupancy_subtract(&activity, &before);
    assert_memory_equal(&activity, &nothing, sizeof(nothing));
}

/* One change in all the time: nobody knows how often there are any. */
TEST(a_single_phase_tells_nothing) {
    struct spex_occupancy activity = {0};
    for (int i = 0; i < 200; i++)
        spex_occupancy_add(&activity, i < 100, i ? i - 1 < 100 : -1);
    assert_true(spex_occupancy_share_margin(&activity) < 0);
}

/* By the formulas of the papers, computed apart: looks that depend on each other or not, many or
 * few, of shares near to 0 and 1. The members are looks, active, threads, thread_squares, pairs,
 * active_pairs and thread_pairs; -1: nothing is known. */
TEST(margins_are_those_of_the_papers) {
    static const struct {
        struct spex_occupancy activity;
        double share, threads;
    } cases[] = {
        {{100, 50, 50, 50, 0, 0, 0}, 0.0997107, 0.0997107},
        {{1000, 1, 1, 1, 0, 0, 0}, 0.00464256, 0.00464256},
        {{400, 200, 600, 2400, 399, 150, 1300}, 0.0871727, 0.253116},
        {{1000, 300, 900, 4000, 999, 200, 2200}, 0.0513404, 0.178017},
        {{200, 4, 8, 20, 199, 2, 5}, 0.0686723, 0.0870675},
        {{50, 50, 100, 200, 49, 49, 196}, 0.0713476, 0.142695},
        {{60, 30, 30, 30, 59, 25, 25}, -1, -1},
        {{40, 20, 200, 1600, 39, 10, 1000}, 0.155247, 1.57852},
        {{10, 5, 5, 5, 0, 0, 0}, 0.263407, 0.377024},
        {{100, 97, 300, 1000, 99, 95, 930}, 0.18023, 0.321345},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        double share = spex_occupancy_share_margin(&cases[c].activity),
               threads = spex_occupancy_threads_margin(&cases[c].activity);
        if (fabs(share - cases[c].share) > 1e-4 * fabs(cases[c].share) ||
            fabs(threads - cases[c].threads) > 1e-4 * fabs(cases[c].threads))
            fail_msg("case %zu: %g and %g", c, share, threads);
    }
}

enum { THREADS = 3, TRIALS = 2000 };

/* Threads that are in and out for exponential times, by a clock whose unit is the mean time between
 * two looks. */
struct process {
    double in, out; /* means */
    bool active[THREADS];
    double until[THREADS];
};

static double exponential(struct spex_random *random, double mean) {
    return mean * spex_gap_exponential(spex_random_next(random));
}

static void begin(struct process *process, struct spex_random *random) {
    double share = process->in / (process->in + process->out);
    for (int t = 0; t < THREADS; t++) {
        process->active[t] = (double)(spex_random_next(random) >> 11) * 0x1p-53 < share;
        process->until[t] = exponential(random, process->active[t] ? process->in : process->out);
    }
}

static uint32_t threads_at(struct process *process, double now, int threads,
                           struct spex_random *random) {
    uint32_t active = 0;
    for (int t = 0; t < threads; t++) {
        while (process->until[t] <= now) {
            process->active[t] = !process->active[t];
            process->until[t] +=
                exponential(random, process->active[t] ? process->in : process->out);
        }
        active += process->active[t];
    }
    return active;
}

/* As the occupancy sampler looks: evenly between a half and one and a half of the mean. */
static struct spex_occupancy look_at(struct process *process, int threads, unsigned looks,
                                     struct spex_random *random) {
    struct spex_occupancy activity = {0};
    double now = 0;
    int64_t before = -1;
    begin(process, random);
    for (unsigned i = 0; i < looks; i++) {
        now += 0.5 + (double)(spex_random_next(random) >> 11) * 0x1p-53;
        uint32_t active = threads_at(process, now, threads, random);
        spex_occupancy_add(&activity, active, before);
        before = active;
    }
    return activity;
}

/* Shares of the trials in which the margins held the truth. */
static void hold(struct process process, int threads, unsigned looks, double *share,
                 double *in_all) {
    struct spex_random random;
    double one = process.in / (process.in + process.out);
    double any = 1 - pow(1 - one, threads);
    unsigned shares = 0, alls = 0;
    spex_random_seed(&random, 20, looks);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct spex_occupancy activity = look_at(&process, threads, looks, &random);
        shares +=
            fabs(spex_occupancy_share(&activity) - any) <= spex_occupancy_share_margin(&activity);
        alls += fabs(spex_occupancy_threads(&activity) - one * threads) <=
                spex_occupancy_threads_margin(&activity);
    }
    *share = (double)shares / TRIALS;
    *in_all = (double)alls / TRIALS;
}

TEST(margins_hold_the_truth) {
    static const struct {
        struct process process;
        int threads;
        unsigned looks;
    } cases[] = {
        {{.in = 0.01, .out = 0.01}, 1, 500}, /* independent looks */
        {{.in = 0.05, .out = 0.5}, 1, 500},  {{.in = 1, .out = 1}, 1, 500},
        {{.in = 3, .out = 3}, 1, 1000},      {{.in = 5, .out = 20}, 1, 2000},
        {{.in = 1, .out = 20}, 1, 2000},     {{.in = 20, .out = 5}, 1, 2000},
        {{.in = 0.5, .out = 2}, 3, 500},     {{.in = 3, .out = 3}, 3, 1000},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        double share, in_all;
        hold(cases[c].process, cases[c].threads, cases[c].looks, &share, &in_all);
        print_message("in %g, out %g, threads %d: %.3f %.3f\n", cases[c].process.in,
                      cases[c].process.out, cases[c].threads, share, in_all);
        assert_true(share >= 0.93 && share <= 0.97);
        assert_true(in_all >= 0.93 && in_all <= 0.97);
    }
}
