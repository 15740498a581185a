/* SPDX-License-Identifier: MIT */
/* Series with a warm-up, without one, and such as never settle. What is found is printed. The
 * random numbers are the same in every run. */
#include <math.h>

#include "measure/batch_means.h"
#include "measure/steady.h"
#include "sources.h"

#define MICRO     1e6
#define TOLERANCE 0.01

enum { SERIES = 100, BATCH = 5 };

/* What a value is of its settled level, `at` this share of the series. */
static double settled(double at) {
    (void)at;
    return 1;
}

static double approach(double at) {
    return 1 + 9 * exp(-at / 0.05);
}

static double from_below(double at) {
    return 1 - 0.8 * exp(-at / 0.05);
}

static double step(double at) {
    return at < 0.25 ? 3 : 1;
}

static double drift(double at) {
    return 1 + at;
}

static double late_step(double at) {
    return at < 0.7 ? 1 : 2;
}

struct shape {
    const char *name;
    double (*level)(double at);
    bool settles;
    double least, most; /* share that is to be cut off, on average, where the shape can be seen */
};

static const struct shape shapes[] = {
    {"settled", settled, true, 0, 0.10},      {"approach", approach, true, 0.08, 0.35},
    {"from below", from_below, true, 0, 0.3}, {"step", step, true, 0.2, 0.35},
    {"drift", drift, false, 0, 0.5},          {"late step", late_step, false, 0, 0.5},
};

/* `seen`: from how many records on the shapes stand out of what varies anyway, of values and of
 * gaps. */
static const struct kind {
    const char *name;
    struct arrival (*next)(struct source *source);
    double rho;
    size_t seen[2];
} kinds[] = {
    {"independent", independent, 0, {400, 400}},
    {"autoregressive 0.5", autoregressive, 0.5, {400, 400}},
    {"autoregressive 0.9", autoregressive, 0.9, {2000, 2000}},
    {"autoregressive 0.99", autoregressive, 0.99, {20000, 20000}},
    {"queue 0.5", queue, 0.5, {SIZE_MAX, 400}},
    {"queue 0.9", queue, 0.9, {SIZE_MAX, 400}},
    {"pauses", pauses, 0, {20000, 20000}},
    {"threads 0.9", threads, 0.9, {20000, 20000}},
};

struct tally {
    unsigned steady;
    double cut;
};

static struct tally tally_of(const struct kind *kind, const struct shape *shape, size_t count,
                             bool gaps) {
    struct tally tally = {0, 0};
    for (unsigned s = 0; s < SERIES; s++) {
        struct spex_batch_means means;
        struct source source = {.random = mix(s + 1000 * count + 1), .rho = kind->rho};
        double series[SPEX_BATCHES];
        assert_int_equal(spex_batch_means_open(&means, BATCH, false), 0);
        for (size_t r = 0; r < count; r++) {
            struct arrival arrival = kind->next(&source);
            double level = MICRO * shape->level((double)r / (double)count);
            spex_batch_means_add(&means, (uint64_t)fmax(arrival.value * level, 0), 1,
                                 arrival.time * level);
        }
        size_t batches =
            gaps ? spex_batch_means_gaps(&means, series) : spex_batch_means_values(&means, series);
        struct spex_steady steady = spex_steady_of(series, batches, TOLERANCE);
        tally.steady += steady.steady;
        tally.cut += (double)steady.from / (double)batches / SERIES;
        spex_batch_means_close(&means);
    }
    return tally;
}

/* Where a shape cannot be seen nothing is asked; fifty records that are all alike, since more make
 * one correlation time, may look like a warm-up. */
static bool is_bad(const struct kind *kind, const struct shape *shape, size_t count, bool gaps,
                   struct tally tally) {
    double steady = (double)tally.steady / SERIES;
    if (shape->level == settled)
        return tally.cut > (count < 400 ? 0.15 : shape->most) ||
               steady < (count < 2000 ? 0.65 : 0.9);
    if (count < kind->seen[gaps] || kind->seen[gaps] == SIZE_MAX)
        return false;
    return tally.cut < shape->least || tally.cut > shape->most ||
           (shape->settles ? steady < 0.7 : steady > 0.35);
}

static void detection(void **state) {
    static const size_t counts[] = {50, 400, 2000, 20000};
    const struct shape *shape = *state;
    unsigned bad = 0;
    for (size_t k = 0; k < COUNT_OF(kinds) * 2; k++) {
        const struct kind *kind = &kinds[k / 2];
        printf("%-10s %-20s %s:", shape->name, kind->name, k % 2 ? "gaps  " : "values");
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            struct tally tally = tally_of(kind, shape, counts[c], k % 2);
            printf("  %zu: steady %u %%, cut %.0f %%", counts[c], tally.steady * 100 / SERIES,
                   100 * tally.cut);
            if (!is_bad(kind, shape, counts[c], k % 2, tally))
                continue;
            printf(" (bad)");
            bad++;
        }
        printf("\n");
    }
    assert_int_equal(bad, 0);
}

static void too_short(void **state) {
    (void)state;
    static const double series[SPEX_STEADY_LEAST] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    assert_false(spex_steady_of(NULL, 0, 0).steady);
    assert_false(spex_steady_of(series, SPEX_STEADY_LEAST - 1, 0).steady);
    assert_true(spex_steady_of(series, SPEX_STEADY_LEAST, 0).steady);
    assert_int_equal(spex_steady_of(series, SPEX_STEADY_LEAST, 0).from, 0);
}

/* Values that are all the same but for the warm-up; and zero, of which there are no shares. */
static void constant(void **state) {
    (void)state;
    double series[40], zero[40] = {0};
    for (size_t v = 0; v < 40; v++)
        series[v] = v < 10 ? 9 : 5;
    assert_true(spex_steady_of(series, 40, 0).steady);
    assert_int_equal(spex_steady_of(zero, 40, 0).from, 0);
    assert_true(spex_steady_of(zero, 40, 0).steady);
    zero[22] = 1;
    assert_true(spex_steady_of(zero, 40, 0).steady);
    /* A single pause is no warm-up. (Of 32 values the mean is exact.) */
    for (size_t v = 0; v < 32; v++)
        series[v] = v == 7 ? 9 : 5;
    assert_true(spex_steady_of(series, 32, 0).steady);
    assert_int_equal(spex_steady_of(series, 32, 0).from, 0);
}

/* Without noise, so that each value follows from the one before: what a level is approached by in
 * the second half is less than the user minds, and the first half is the warm-up. */
static void smooth_approach(void **state) {
    (void)state;
    double series[SPEX_STEADY_MOST];
    for (size_t count = 40; count <= SPEX_STEADY_MOST; count++) {
        for (size_t v = 0; v < count; v++)
            series[v] = 2 - exp(-5 * (double)v / (double)(count - 1));
        assert_true(spex_steady_of(series, count, 0.05).steady);
        assert_int_equal(spex_steady_of(series, count, 0.05).from, count / 2);
    }
}

/* A trend that is certain, and does not matter. */
static void tolerance(void **state) {
    (void)state;
    double series[100];
    for (size_t v = 0; v < 100; v++)
        series[v] = 1000 + 0.05 * (double)v + (v % 2 ? 1 : -1);
    assert_false(spex_steady_of(series, 100, 0.001).steady);
    assert_true(spex_steady_of(series, 100, 0.01).steady);
}

/* Of an even number of values the median is in the middle of two: a trend is a share of that. */
static void median_of_even_count(void **state) {
    (void)state;
    double series[20];
    for (size_t v = 0; v < 20; v++)
        series[v] = 100 + 7 * (double)(v % 3) + 4 * (double)v;
    assert_false(spex_steady_of(series, 20, 0.202).steady);
    assert_true(spex_steady_of(series, 20, 0.208).steady);
}

int main(void) {
    struct CMUnitTest tests[5 + COUNT_OF(shapes)] = {
        cmocka_unit_test(too_short), cmocka_unit_test(constant), cmocka_unit_test(tolerance),
        cmocka_unit_test(smooth_approach), cmocka_unit_test(median_of_even_count)};
    for (size_t s = 0; s < COUNT_OF(shapes); s++)
        tests[5 + s] = (struct CMUnitTest){
            .name = shapes[s].name, .test_func = detection, .initial_state = (void *)&shapes[s]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
