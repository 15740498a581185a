/* SPDX-License-Identifier: MIT */
/* Whole fits where fitted.c has none: rows without any grid, zeros, runs, several modes, more rows
 * than points, and what no law explains. Each figure of the model, and what it says of the
 * future. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "../unit/told_text.h"
#include "model/fit/fit.h"

enum { ROWS = 2600, WIDTH = 3 };

static double parameters[WIDTH * ROWS], times[ROWS];
static uint32_t runs[ROWS];
static double part_of_one(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

typedef double law(const double *x);

static double square(const double *x) {
    return 4 + 0.02 * x[0] * x[0];
}
static double root_and_log(const double *x) {
    return 10 * sqrt(x[0]) + 3 * log2(x[1] + 1e-9);
}
static double three(const double *x) {
    return 50 + x[0] * log2(x[1]) + 0.3 * x[2];
}
static double nothing(const double *x) {
    (void)x;
    return 12;
}
static double saw(const double *x) {
    return 5 + fmod(x[0] * 7, 31);
}
static double late(const double *x) {
    return 20 + (x[0] > 300 ? 0.4 * (x[0] - 300) : 0);
}

/* Values of a parameter are any whole numbers from `low` to `high`. */
struct measured {
    law *of;
    size_t width, rows;
    double low, high, noise;
    /* One in so many is so many times slower; the runs that rows are of; 0: none. */
    unsigned every;
    double slower;
    unsigned runs;
    /* How much a whole run varies. */
    double between;
};

static const struct measured all[] = {
    {square, 1, 60, 1, 200, 0.05, 17, 6, 0, 0},
    {square, 1, 200, 0, 12, 0.1, 0, 0, 5, 0.2},
    {root_and_log, 2, 150, 2, 400, 0.04, 0, 0, 0, 0},
    {root_and_log, 2, 300, 1, 6, 0.05, 9, 3, 7, 0.1},
    {three, 3, 200, 2, 60, 0.03, 31, 8, 0, 0},
    {three, 3, 60, 2, 5, 0.2, 0, 0, 3, 0.05},
    {nothing, 1, 80, 1, 40, 0.2, 0, 0, 4, 0.1},
    {nothing, 2, 40, 1, 9, 0.02, 3, 2, 0, 0},
    {saw, 1, 90, 1, 100, 0.02, 0, 0, 0, 0},
    {late, 1, 120, 1, 900, 0.03, 0, 0, 0, 0},
    {square, 2, 2600, 1, 5000, 0.05, 0, 0, 0, 0},
    {three, 3, 5, 3, 30, 0.05, 0, 0, 0, 0},
    {square, 1, 3, 5, 90, 0.01, 0, 0, 0, 0},
    {square, 1, 120, 3, 7, 0.3, 4, 2.5, 2, 0.4},
};

static void measure(const struct measured *measured, uint64_t seed) {
    uint64_t random = seed;
    for (size_t r = 0; r < measured->rows; r++) {
        double *x = &parameters[r * measured->width];
        for (size_t p = 0; p < measured->width; p++)
            x[p] =
                measured->low + floor(part_of_one(&random) * (measured->high - measured->low + 1));
        runs[r] = measured->runs ? (uint32_t)(r % measured->runs) : 0;
        double run = (double)(mix(runs[r] + 1) % 1000) / 1000 - 0.5;
        times[r] = 1e-6 * measured->of(x) * (1 + measured->between * run) *
                   (1 + measured->noise * (part_of_one(&random) - 0.5));
        if (measured->every && r % measured->every == 1)
            times[r] *= measured->slower;
    }
}

static void tell_fit(const struct measured *measured, size_t number) {
    static const char *const names[] = {"a", "b", "c"};
    struct spex_fit fit;
    char text[512];
    measure(measured, number + 1);
    const struct spex_measurements rows = {measured->width, measured->rows, parameters, times,
                                           measured->runs ? runs : NULL};
    assert_int_equal(spex_fit(&rows, &fit), 0);
    const struct spex_model *model = &fit.model;
    spex_model_text(model, names, text, sizeof(text));
    tell("%zu: %s: %s\n", number, spex_model_class_name(model->class), text);
    tell("%zu points, %zu out, R2 %.5g, floor %.4g share %.4g freedom %.5g power %.4g\n",
         fit.points, fit.outliers, model->adjusted_r2, model->floor, model->share, model->freedom,
         fit.power_error);
    tell("%.5g+-%.4g", model->constant, model->constant_error);
    for (size_t t = 0; t < model->term_count; t++)
        tell(" %.5g+-%.4g", model->terms[t].coefficient, model->terms[t].error);
    for (size_t c = 0; c <= model->term_count; c++)
        tell(" %.4g", model->covariance[c][model->term_count]);
    double within[WIDTH], beyond[WIDTH];
    for (size_t p = 0; p < WIDTH; p++) {
        within[p] = (measured->low + measured->high) / 2;
        beyond[p] = 3 * measured->high;
    }
    struct spex_prediction here = spex_fit_predict(&fit, within),
                           there = spex_fit_predict(&fit, beyond);
    tell("\n%.5g %.4g..%.4g; %.5g %.4g..%.4g\n", here.value, here.low, here.high, there.value,
         there.low, there.high);
}

static const char *const expected_fits[] = {
    "0: polynomial: 3.90456e-06 + 2.03588e-08·a^2\n"
    "50 points, 0 out, R2 0.15318, floor 4.95e-07 share 0.3208 freedom 48 power 0.4362\n"
    "3.9046e-06+-1.096e-06 2.0359e-08+-9.355e-10 -2.347e-16 8.751e-19\n"
    "0.00020953 7.309e-05..0.000346; 0.0073331 0.0007451..0.02014\n",

    "1: polynomial: 4.09054e-06 + 1.9978e-08·a^2\n"
    "13 points, 0 out, R2 0.99341, floor 1.43e-09 share 0.0587 freedom 43.699 power 0.4058\n"
    "4.0905e-06+-5.058e-08 1.9978e-08+-9.42e-10 -3.15e-17 8.873e-19\n"
    "4.8097e-06 4.235e-06..5.384e-06; 2.9982e-05 1.17e-05..7.385e-05\n",

    "2: polynomial: 9.98498e-06·a^(1/2) + 3.00468e-06·log2(b)\n"
    "150 points, 0 out, R2 0.99826, floor 9.418e-09 share 0.01168 freedom 148 power 0.006453\n"
    "0+-0 9.985e-06+-2.376e-08 3.0047e-06+-3.567e-08 0 -7.464e-16 1.272e-15\n"
    "0.00016455 0.0001607..0.0001684; 0.00037662 0.0003664..0.0003869\n",

    "3: logarithmic: 1.0983e-05 + 5.69513e-06·log2(a) + 2.41827e-06·log2(b)\n"
    "36 points, 23 out, R2 0.72625, floor 3.412e-08 share 0.2716 freedom 210.14 power 0.406\n"
    "1.0983e-05+-7.516e-07 5.6951e-06+-3.882e-07 2.4183e-06+-3.981e-07 -1.996e-13 -1.508e-14 "
    "1.585e-13\n"
    "2.5647e-05 1.188e-05..3.941e-05; 4.4815e-05 9.136e-06..0.0001125\n",

    "4: unknown: 5.02017e-05 + 1.00781e-06·a·log2(b) + 2.90391e-07·c\n"
    "200 points, 0 out, R2 0.10375, floor 1.315e-07 share 0.1651 freedom 197 power 0.2525\n"
    "5.0202e-05+-3.817e-06 1.0078e-06+-2.844e-08 2.9039e-07+-9.45e-08 -2.878e-13 9.036e-17 "
    "8.931e-15\n"
    "0.00021398 0.000144..0.0002839; 0.0014615 0.0006794..0.00263\n",

    "5: polynomial: 5.30623e-05 + 1.67575e-07·a^2·log2(b)\n"
    "40 points, 0 out, R2 0.52104, floor 1.806e-08 share 0.06397 freedom 38 power 0.5\n"
    "5.3062e-05+-8.358e-07 1.6757e-07+-2.978e-08 -2.056e-14 8.871e-16\n"
    "5.6772e-05 4.936e-05..6.419e-05; 0.00020037 5.402e-05..0.0006133\n",

    "6: constant: 1.20766e-05\n"
    "36 points, 0 out, R2 -0.0078627, floor 4.295e-09 share 0.07041 freedom 44 power 0.3848\n"
    "1.2077e-05+-9.516e-08 9.056e-15\n"
    "1.2077e-05 1.035e-05..1.38e-05; 1.2077e-05 4.939e-06..2.841e-05\n",

    "7: unknown: 1.3597e-05\n"
    "30 points, 1 out, R2 -0.21281, floor 1.899e-08 share 0.3145 freedom 29 power 0.3838\n"
    "1.3597e-05+-7.095e-07 5.034e-13\n"
    "1.3597e-05 4.731e-06..2.246e-05; 1.3597e-05 1.751e-06..3.421e-05\n",

    "8: unknown: 1.01012e-05\n"
    "57 points, 0 out, R2 -1.1589, floor 5.386e-08 share 0.5631 freedom 56 power 0.5\n"
    "1.0101e-05+-9.079e-07 8.243e-13\n"
    "1.0101e-05 0..2.164e-05; 1.0101e-05 0..3.341e-05\n",

    "9: linear: 1.99612e-05 (a < 300.077); -0.000100127 + 4.0019e-07·a (a ≥ 300.077)\n"
    "111 points, 0 out, R2 0.9998, floor 4.336e-09 share 0.01036 freedom 108 power 0.02813\n"
    "0+-0 1.9961e-05+-3.108e-08 -0.00010013+-3.082e-07 4.0019e-07+-7.34e-10 0 0 -2.155e-16 "
    "5.387e-19\n"
    "8.0159e-05 7.85e-05..8.182e-05; 0.00098039 0.0009185..0.001046\n",

    "10: polynomial: 4.18327e-06 + 2.00025e-08·a^2\n"
    "984 points, 0 out, R2 0.99983, floor 1.274e-05 share 0.05035 freedom 1616 power 0.0007745\n"
    "4.1833e-06+-1.112e-06 2.0003e-08+-2.074e-11 -4.67e-18 4.302e-22\n"
    "0.12507 0.1127..0.1374; 4.5006 4.056..4.945\n",

    "11: polynomial: 2.09211e-05 + 9.99152e-07·a·log2(b) + 1.67883e-05·c^(1/4)\n"
    "5 points, 0 out, R2 1, floor 7.004e-11 share 9.568e-05 freedom 2 power 0.0003827\n"
    "2.0921e-05+-1.206e-07 9.9915e-07+-2.503e-10 1.6788e-05+-5.038e-08 -6.056e-15 1.048e-17 "
    "2.538e-15\n"
    "0.00012143 0.0001214..0.0001215; 0.0006564 0.0006548..0.000658\n",

    "12: polynomial: 4.15985e-06 + 1.9893e-08·a^2\n"
    "3 points, 0 out, R2 0.99999, floor 5.097e-10 share 0.002384 freedom 1 power 0.04431\n"
    "4.1598e-06+-1.105e-07 1.9893e-08+-5.972e-11 -5.698e-18 3.566e-21\n"
    "4.9043e-05 4.732e-05..5.076e-05; 0.0014544 0.000735..0.002866\n",

    "13: constant: 6.24873e-06\n"
    "5 points, 0 out, R2 -0.043595, floor 1.548e-08 share 0.4722 freedom 14.712 power 0.5\n"
    "6.2487e-06+-6.681e-07 4.463e-13\n"
    "6.2487e-06 0..1.271e-05; 6.2487e-06 0..2.161e-05\n"};

static void fits_are_those_that_are_expected(void **unused) {
    (void)unused;
    for (size_t m = 0; m < COUNT_OF(all); m++) {
        told_clear();
        tell_fit(&all[m], m);
        told_is(expected_fits[m]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_are_those_that_are_expected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
