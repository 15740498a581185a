/* SPDX-License-Identifier: MIT */
/* Where the next measurement is proposed: where the mean time is least certain, by all places; and
 * what measuring there brings. */
#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "model/fit/next.h"

enum { ROWS = 400 };

static struct spex_random random_state;
static double parameters[2 * ROWS], times[ROWS];

static double even(void) {
    return (double)(spex_random_next(&random_state) >> 11) / (double)(UINT64_C(1) << 53);
}

static struct spex_fit fit_of(size_t width, size_t rows) {
    struct spex_fit fit;
    assert_int_equal(
        spex_fit(&(struct spex_measurements){width, rows, parameters, times, NULL}, &fit), 0);
    return fit;
}

static void add(size_t *rows, size_t width, double n, double p, double seconds, double noise) {
    parameters[*rows * width] = n;
    parameters[*rows * width + width - 1] = width == 2 ? p : n;
    times[(*rows)++] = seconds * (1 + noise * (even() - 0.5));
}

/* Half of the interval of the mean, relative. */
static double share_at(const struct spex_fit *fit, const double *values) {
    struct spex_fit means = *fit;
    means.model.share = means.model.floor = 0;
    struct spex_prediction made = spex_fit_predict(&means, values);
    return (made.high - made.low) / 2 / made.value;
}

TEST(one_parameter_by_all_places) {
    static const double ranges[][2] = {{16, 8192}, {100, 120}, {1, 1e6}, {20, 20}, {8192, 20000}};
    spex_random_seed(&random_state, 1, 1);
    for (size_t r = 0; r < COUNT_OF(ranges); r++) {
        size_t rows = 0;
        for (int i = 0; i < 40; i++)
            add(&rows, 1, 16 * exp2(i % 10), 0, 1e-5 + 1e-7 * 16 * exp2(i % 10), 0.2);
        struct spex_fit fit = fit_of(1, rows);
        struct spex_next next;
        const double *low = &ranges[r][0], *high = &ranges[r][1];
        assert_true(spex_fit_next(&fit, low, high, &next));
        assert_true(*low <= next.values[0] && next.values[0] <= *high);
        assert_true(next.values[0] == round(next.values[0]));
        assert_true(next.share == share_at(&fit, next.values));
        assert_true(next.seconds == spex_model_value(&fit.model, next.values));
        for (int i = 0; i <= 1000; i++) {
            double n = *low * pow(*high / *low, i / 1000.0);
            assert_true(share_at(&fit, &n) <= next.share * 1.0001);
        }
    }
}

TEST(two_parameters_by_all_places) {
    const double low[] = {100, 1}, high[] = {20000, 64};
    spex_random_seed(&random_state, 2, 1);
    size_t rows = 0;
    for (int i = 0; i < 100; i++) {
        double n = 1000 * exp2(i % 5), p = exp2(i / 5 % 5);
        add(&rows, 2, n, p, 1e-8 * n / p + 1e-7 * p, 0.1);
    }
    struct spex_fit fit = fit_of(2, rows);
    struct spex_next next;
    assert_true(spex_fit_next(&fit, low, high, &next));
    for (int i = 0; i < 100 * 100; i++) {
        const double at[] = {low[0] * pow(high[0] / low[0], i % 100 / 99.0),
                             low[1] * pow(high[1] / low[1], floor(i / 100.0) / 99.0)};
        assert_true(share_at(&fit, at) <= next.share * 1.001);
    }
}

/* A change is uncertain between two sizes. What is measured there makes its interval narrower. */
TEST(a_change_is_narrowed) {
    const double low = 1000, high = 8192000;
    spex_random_seed(&random_state, 3, 1);
    size_t rows = 0;
    for (int i = 0; i < 42; i++) {
        double n = 1000 * exp2(i % 14);
        add(&rows, 1, n, 0, 1e-9 * n * (n < 70000 ? 1 : 2), 0.05);
    }
    double before = INFINITY;
    for (int step = 0; step < 5; step++) {
        struct spex_fit fit = fit_of(1, rows);
        struct spex_next next;
        assert_int_equal(fit.model.change_count, 1);
        const struct spex_model_change *change = &fit.model.changes[0];
        assert_true(change->low < 70000 && 70000 <= change->high);
        assert_true(change->high / change->low < before);
        before = change->high / change->low;
        assert_true(spex_fit_next(&fit, &low, &high, &next));
        assert_true(change->low < next.values[0] && next.values[0] < change->high);
        assert_true(next.share > 0.2);
        for (int r = 0; r < 3; r++)
            add(&rows, 1, next.values[0], 0,
                1e-9 * next.values[0] * (next.values[0] < 70000 ? 1 : 2), 0.05);
    }
    assert_true(before < 1.2);
}

/* One point has no interval. */
TEST(nothing_is_proposed_without_an_interval) {
    const double low = 1, high = 100;
    struct spex_next next;
    size_t rows = 0;
    add(&rows, 1, 1, 0, 3, 0);
    struct spex_fit fit = fit_of(1, rows);
    assert_false(spex_fit_next(&fit, &low, &high, &next));
    /* Where the model is not defined nothing is proposed: at 0 the time has no bound. */
    rows = 0;
    spex_random_seed(&random_state, 4, 1);
    for (int i = 0; i < 25; i++)
        add(&rows, 1, exp2(i % 5), 0, 1 + 8 / exp2(i % 5), 0.1);
    fit = fit_of(1, rows);
    const double nothing = 0;
    assert_true(fit.model.terms[0].factors[0].twelfths < 0);
    assert_true(spex_fit_next(&fit, &nothing, &high, &next));
    assert_true(next.values[0] > 0 && isfinite(next.share));
}
