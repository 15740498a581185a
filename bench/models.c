/* SPDX-License-Identifier: MIT */
/* Measures how long it takes to find a model, and to evaluate one: fits of the generated cases of
 * the tests, all of them in an iteration; one fit of 1,000 points of three parameters; and a
 * prediction by a model with five terms, beside reading the time stamp counter. */
#include <math.h>
#include <stdlib.h>

#include <spex/bench.h>
#include <spex/probe.h>

#include "cases.h"

enum { SEEDS = 8, LARGE_SIDE = 10, ROWS = LARGE_SIDE * LARGE_SIDE * LARGE_SIDE };

static void fit(struct spex_bench_state *state, const struct spex_measurements *measured) {
    struct spex_fit found;
    if (spex_fit(measured, &found))
        spex_bench_skip(state, "a fit has failed");
}

/* SEEDS of each kind; NULL: without memory. */
static struct model_case *cases_make(size_t *count) {
    size_t kinds = model_case_kinds();
    struct model_case *cases = calloc(kinds * SEEDS, sizeof(*cases));
    for (*count = 0; cases && *count < kinds * SEEDS; ++*count)
        model_case_make(&cases[*count], *count / SEEDS, *count % SEEDS + 1);
    return cases;
}

static void fit_cases(struct spex_bench_state *state) {
    static struct model_case *cases;
    static size_t count;
    if (!cases && !(cases = cases_make(&count)))
        spex_bench_skip(state, "out of memory");
    SPEX_BENCH_LOOP(state) {
        for (size_t c = 0; c < count; c++)
            fit(state, &cases[c].measured);
    }
    spex_bench_items(state, (double)count);
    spex_bench_counter(state, "fits", (double)count);
}
SPEX_BENCHMARK(fit_cases);

static void fit_large(struct spex_bench_state *state) {
    static double parameters[3 * ROWS], times[ROWS];
    for (size_t i = 0; i < ROWS && times[ROWS - 1] == 0; i++) {
        double *x = parameters + 3 * i;
        size_t second = i / LARGE_SIDE, third = second / LARGE_SIDE;
        x[0] = exp2((double)(3 + i % LARGE_SIDE));
        x[1] = exp2((double)(2 + second % LARGE_SIDE));
        x[2] = 10 * (double)(third + 1);
        /* Noise of 5 % without a generator: the fractions of the multiples of the golden ratio. */
        double noise = 0.05 * (fmod((double)i * 0.6180339887498949, 1) - 0.5);
        times[i] = (1e-6 + 3e-9 * x[0] * x[1] + 2e-8 * x[2]) * (1 + noise);
    }
    const struct spex_measurements measured = {3, ROWS, parameters, times, NULL};
    SPEX_BENCH_LOOP(state) {
        fit(state, &measured);
    }
}
SPEX_BENCHMARK(fit_large);

static void predict(struct spex_bench_state *state) {
    static const struct spex_model model = {.parameter_count = 1,
                                            .constant = 1,
                                            .term_count = 5,
                                            .terms = {{1, 0, {{0, 1}}, 0},
                                                      {2, 0, {{12, 0}}, 0},
                                                      {3, 0, {{12, 1}}, 0},
                                                      {4, 0, {{24, 0}}, 0},
                                                      {5, 0, {{18, 0}}, 0}}};
    double x = 1000;
    SPEX_BENCH_LOOP(state) {
        double value = spex_model_value(&model, &x);
        spex_bench_keep(value);
        x = x < 201000 ? x + 1 : 1000;
    }
}
SPEX_BENCHMARK(predict);

SPEX_BENCHMARK_BLOCK(rdtsc, uint64_t ticks = spex_ticks(); spex_bench_keep(ticks));

SPEX_BENCHMARK_MAIN();
