/* SPDX-License-Identifier: MIT */
/* Measures how long it takes to find a model, and to evaluate one.
 *
 *     models [--json] [--rounds SEEDS]
 *
 * Fits are those of the generated cases of the tests, SEEDS of each kind, and one of 1,000
 * points of three parameters. A prediction is that of a model with five terms, beside reading
 * the time stamp counter. */
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spex/probe.h>

#include "bench.h"
#include "cases.h"

enum {
    SEEDS_DEFAULT = 8,
    SEEDS_MAX = 200,
    LARGE_SIDE = 10,
    LARGE_ROUNDS = 21,
    PREDICTIONS = 200000
};

static double milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double time_fit(const struct spex_measurements *measured) {
    struct spex_fit fit;
    double begin = milliseconds_now();
    if (spex_fit(measured, &fit))
        errx(1, "a fit has failed");
    return milliseconds_now() - begin;
}

/* The median over all cases, and the longest time in *most. */
static struct bench_result time_cases(size_t seeds, double *most) {
    size_t kinds = model_case_kinds(), count = 0;
    double *times = calloc(kinds * seeds, sizeof(*times));
    if (!times)
        errx(1, "out of memory");
    *most = 0;
    for (size_t kind = 0; kind < kinds; kind++)
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct model_case made;
            model_case_make(&made, kind, seed);
            times[count] = time_fit(&made.measured);
            *most = times[count] > *most ? times[count] : *most;
            count++;
            model_case_free(&made);
        }
    struct bench_result result = bench_median(times, count);
    free(times);
    return result;
}

static struct bench_result time_large(void) {
    enum { ROWS = LARGE_SIDE * LARGE_SIDE * LARGE_SIDE };
    static double parameters[3 * ROWS], times[ROWS];
    double taken[LARGE_ROUNDS];
    for (size_t i = 0; i < ROWS; i++) {
        double *x = parameters + 3 * i;
        size_t second = i / LARGE_SIDE, third = second / LARGE_SIDE;
        x[0] = exp2((double)(3 + i % LARGE_SIDE));
        x[1] = exp2((double)(2 + second % LARGE_SIDE));
        x[2] = 10 * (double)(third + 1);
        /* Noise of 5 % without a generator: the fractions of the multiples of the golden ratio. */
        double noise = 0.05 * (fmod((double)i * 0.6180339887498949, 1) - 0.5);
        times[i] = (1e-6 + 3e-9 * x[0] * x[1] + 2e-8 * x[2]) * (1 + noise);
    }
    for (size_t r = 0; r < LARGE_ROUNDS; r++)
        taken[r] = time_fit(&(struct spex_measurements){3, ROWS, parameters, times, NULL});
    return bench_median(taken, LARGE_ROUNDS);
}

static double ticks_of_prediction(const struct spex_model *model) {
    volatile double sink = 0;
    double x = 1000;
    uint64_t begin = spex_ticks();
    for (int i = 0; i < PREDICTIONS; i++)
        sink = spex_model_value(model, &(double){x + i});
    (void)sink;
    return (double)(spex_ticks() - begin) / PREDICTIONS;
}

static double ticks_of_reading(void) {
    volatile uint64_t sink = 0;
    uint64_t begin = spex_ticks();
    for (int i = 0; i < PREDICTIONS; i++)
        sink = spex_ticks();
    (void)sink;
    return (double)(spex_ticks() - begin) / PREDICTIONS;
}

static struct bench_result time_predictions(struct bench_result *reading) {
    static const struct spex_model model = {.parameter_count = 1,
                                            .constant = 1,
                                            .term_count = 5,
                                            .terms = {{1, 0, {{0, 1}}},
                                                      {2, 0, {{12, 0}}},
                                                      {3, 0, {{12, 1}}},
                                                      {4, 0, {{24, 0}}},
                                                      {5, 0, {{18, 0}}}}};
    double taken[LARGE_ROUNDS], read[LARGE_ROUNDS];
    for (size_t r = 0; r < LARGE_ROUNDS; r++) {
        taken[r] = ticks_of_prediction(&model);
        read[r] = ticks_of_reading();
    }
    *reading = bench_median(read, LARGE_ROUNDS);
    return bench_median(taken, LARGE_ROUNDS);
}

static void print_result(const char *name, const char *what, struct bench_result result,
                         bool json) {
    if (json)
        printf(",\n  \"%s\": {\"median\": %.4g, \"ci95\": [%.4g, %.4g]}", name, result.median,
               result.low, result.high);
    else
        printf("%-40s %9.3f (%.3f to %.3f)\n", what, result.median, result.low, result.high);
}

int main(int argc, char **argv) {
    size_t seeds = SEEDS_DEFAULT;
    bool json;
    double most;
    struct bench_result reading;
    bench_options(argc, argv, 1, SEEDS_MAX, &seeds, &json);
    struct bench_result cases = time_cases(seeds, &most), large = time_large(),
                        prediction = time_predictions(&reading);
    if (json)
        printf("{\n  \"bench\": \"models\",\n  \"fits\": %zu,\n  \"slowest_fit_ms\": %.4g",
               model_case_kinds() * seeds, most);
    else
        printf("%-40s %9.3f\n", "the slowest fit of a case, ms", most);
    print_result("fit_ms", "fit of a case, ms", cases, json);
    print_result("large_fit_ms", "fit of 1,000 points of 3 parameters, ms", large, json);
    print_result("prediction_cycles", "prediction of 5 terms, ticks", prediction, json);
    print_result("rdtsc_cycles", "reading the time stamp counter, ticks", reading, json);
    if (json)
        puts("\n}");
    return 0;
}
