/* SPDX-License-Identifier: MIT */
/* Each round has another order, so that what changes while the program runs, such as the frequency
 * of the processor, does not always meet the same benchmarks. */
#include "harness/rounds.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/random.h"

/* Fewer repetitions have no 95 % interval. */
enum { REPETITIONS_LEAST = 6 };

/* State of a benchmark between rounds. */
struct turn {
    struct spex_bench_instance *instance;
    uint64_t iterations;
    double seconds;
};

static void shuffle(struct turn *turns, size_t count, struct spex_random *random) {
    for (size_t left = count; left > 1; left--) {
        size_t other = spex_random_next(random) % left;
        struct turn turn = turns[left - 1];
        turns[left - 1] = turns[other];
        turns[other] = turn;
    }
}

static bool is_done(const struct turn *turn, const struct spex_bench_settings *settings) {
    const struct spex_bench_figures *figures = &turn->instance->figures;
    if (*figures->error)
        return true;
    if (settings->repetitions)
        return figures->count >= settings->repetitions;
    return turn->seconds >= settings->max_seconds ||
           (figures->count >= REPETITIONS_LEAST &&
            spex_bench_figures_precise(figures, settings->precision));
}

/* 0 or a negative errno value. */
static int take_turn(struct turn *turn, const struct spex_bench_manner *manner) {
    uint64_t begin = spex_clock_ns(CLOCK_MONOTONIC);
    struct spex_bench_figures *figures = &turn->instance->figures;
    int err = spex_bench_measure(turn->instance, manner, &turn->iterations);
    if (!err && figures->count)
        err = spex_bench_figures_estimate(figures);
    turn->seconds += (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin) / 1e9;
    return err;
}

int spex_bench_rounds(struct spex_bench_instances *instances, struct spex_bench_manner *manner,
                      const struct spex_bench_settings *settings) {
    struct spex_random random;
    size_t left = instances->count;
    struct turn *turns = calloc(left ? left : 1, sizeof(*turns));
    int err = turns ? 0 : -ENOMEM;
    spex_random_seed(&random, settings->seed, 0);
    for (size_t i = 0; i < left && turns; i++)
        turns[i].instance = &instances->items[i];
    while (left && !err) {
        size_t kept = 0;
        if (settings->interleave)
            shuffle(turns, left, &random);
        for (size_t i = 0; i < left && !err; i++)
            err = take_turn(&turns[i], manner);
        for (size_t i = 0; i < left && !err; i++)
            if (!is_done(&turns[i], settings))
                turns[kept++] = turns[i];
        left = kept;
    }
    free(turns);
    return err;
}
