/* SPDX-License-Identifier: MIT */
/* Estimates of made repetitions against the same computed in a simpler way: medians, batches that
 * nothing disturbs, processes, and means of all iterations. */
#include <math.h>

#include "../check.h"
#include "harness/figures.h"

enum { ROUNDS = 200, BATCHES_MOST = 128, PROCESSES = 7, REPEATED = 3 };

static int ascending(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double middle(const double *values, size_t count) {
    double sorted[BATCHES_MOST];
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), ascending);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Of the fifth of the values that lie in the shortest range, the lowest such range. */
static double mean_of_nearest(const double *values, size_t count) {
    double sorted[BATCHES_MOST], shortest = INFINITY, mean = 0;
    size_t near = count / 5;
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), ascending);
    for (size_t from = 0; from + near <= count; from++) {
        double range = sorted[from + near - 1] - sorted[from];
        if (range >= shortest)
            continue;
        shortest = range;
        mean = 0;
        for (size_t v = from; v < from + near; v++)
            mean += sorted[v];
        mean /= (double)near;
    }
    return mean;
}

TEST(undisturbed_batches_are_the_nearest) {
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double values[BATCHES_MOST];
        size_t count = 1 + random_below(&random, BATCHES_MOST);
        for (size_t v = 0; v < count; v++)
            values[v] = 1000 + (double)random_below(&random, 50) *
                                   (double)random_below(&random, 1 + (uint64_t)round);
        double median = middle(values, count);
        double expected = count < 40 ? median : mean_of_nearest(values, count);
        double copy[BATCHES_MOST];
        memcpy(copy, values, sizeof(copy));
        assert_true(spex_bench_median(copy, count) == median);
        double found = spex_bench_undisturbed(values, count);
        assert_true(fabs(found - expected) < 1e-9);
    }
    /* Most are disturbed, each in its own way. */
    double values[100];
    for (size_t v = 0; v < 100; v++)
        values[v] = v % 4 == 0 ? 500 : 600 + 7.0 * (double)v;
    assert_true(spex_bench_undisturbed(values, 100) == 500);
    /* The last ones are the nearest. */
    for (size_t v = 0; v < 100; v++)
        values[v] = v < 80 ? 500 + 7.0 * (double)v : 2000;
    assert_true(spex_bench_undisturbed(values, 100) == 2000);
}

static struct spex_bench_repetition repetition_of(double ns, size_t process, double iterations) {
    return (struct spex_bench_repetition){.time = {ns, ns / 2, ns * 3},
                                          .mean = {ns + 7, ns / 2 + 3, ns * 3 + 1},
                                          .iterations = iterations,
                                          .process = process};
}

/* The interval is that of the processes' medians, or of all where there is one process. */
TEST(estimates_of_processes) {
    uint64_t random = 2;
    for (int round = 0; round < ROUNDS; round++) {
        struct spex_bench_figures figures = {.count = 0};
        double all[PROCESSES * REPEATED], halves[PROCESSES * REPEATED], medians[PROCESSES];
        double real = 0, cpu = 0, ticks = 0, iterations = 0;
        bool one_process = round % 2;
        size_t count = 0;
        for (size_t p = 0; p < PROCESSES; p++) {
            for (size_t r = 0; r < REPEATED; r++) {
                double ns = (double)(1000 + 100 * p + random_below(&random, 90));
                double times = (double)(1 + random_below(&random, 9));
                struct spex_bench_repetition one = repetition_of(ns, one_process ? 4 : p, times);
                assert_int_equal(spex_bench_figures_add(&figures, &one), 0);
                all[count] = ns;
                halves[count++] = ns / 2;
                iterations += times;
                real += one.mean.real_ns * times;
                cpu += one.mean.cpu_ns * times;
                ticks += one.mean.ticks * times;
            }
            medians[p] = middle(&all[p * REPEATED], REPEATED);
        }
        assert_int_equal(figures.count, count);
        assert_int_equal(spex_bench_figures_estimate(&figures), 0);
        struct spex_estimate expected =
            one_process ? spex_centre(all, count) : spex_centre(medians, PROCESSES);
        assert_true(figures.estimate.value == expected.value);
        assert_true(figures.estimate.low == expected.low);
        assert_true(figures.estimate.high == expected.high);
        assert_true(figures.cpu_ns == spex_centre(halves, count).value);
        assert_true(fabs(figures.mean.real_ns - real / iterations) < 1e-9);
        assert_true(fabs(figures.mean.cpu_ns - cpu / iterations) < 1e-9);
        assert_true(fabs(figures.mean.ticks - ticks / iterations) < 1e-9);
        double error = (expected.high - expected.low) / 2 / expected.value;
        assert_true(fabs(spex_bench_figures_error(&figures) - error) < 1e-12);
        assert_true(spex_bench_figures_precise(&figures, error * 1.001));
        assert_false(spex_bench_figures_precise(&figures, error * 0.999));
        spex_bench_figures_free(&figures);
        assert_true(!figures.repetitions && !figures.count && !figures.room);
    }
}

TEST(single_iterations_are_added) {
    static struct spex_histogram all;
    struct spex_bench_figures figures = {.count = 0};
    uint64_t random = 3;
    for (int batch = 0; batch < 5; batch++) {
        static struct spex_histogram some;
        memset(&some, 0, sizeof(some));
        for (int n = 0; n < 100; n++) {
            uint64_t ticks = random_next(&random) >> random_below(&random, 64);
            spex_histogram_add(&some, ticks, 1);
            spex_histogram_add(&all, ticks, 1);
        }
        assert_int_equal(spex_bench_figures_add_singles(&figures, &some), 0);
        assert_memory_equal(figures.singles, &all, sizeof(all));
    }
    spex_bench_figures_free(&figures);
    assert_null(figures.singles);
}
