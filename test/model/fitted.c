/* SPDX-License-Identifier: MIT */
/* Whole fits of measurements that chance makes by known laws: the form, which is the law's, and the
 * figures that go with it. Figures that no definition gives, as the error of the power, are those
 * that they were when models were measured (bench/beyond). */
#include <math.h>
#include <string.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"
#include "model/fit/fit.h"

enum { ROWS = 400 };

static struct spex_random random_state;
static double parameters[2 * ROWS], times[ROWS];

static double even(void) {
    return (double)(spex_random_next(&random_state) >> 11) / (double)(UINT64_C(1) << 53);
}

typedef double law(double n, double m);

static double line(double n, double m) {
    (void)m;
    return 30 + 2 * n;
}

static double cube(double n, double m) {
    (void)m;
    return 1e-3 * n * n * n;
}

static double logarithmic(double n, double m) {
    (void)m;
    return 5 + 4 * log2(n);
}

static double steps(double n, double m) {
    (void)m;
    return n * log2(n) + (n > 100 ? 2 * (n - 100) : 0);
}

static double sum(double n, double m) {
    return 3 * n + 0.5 * m * m;
}

static double product(double n, double m) {
    return 7 + 0.25 * n * log2(m);
}

/* `values` of n, of two parameters in all combinations with as many of m, each `repeats` times. */
static const struct {
    law *of;
    size_t width, values, repeats;
    double noise;
} measured[] = {
    {line, 1, 12, 1, 0.002},       {line, 1, 12, 6, 0.2},    {cube, 1, 9, 3, 0.05},
    {logarithmic, 1, 10, 4, 0.04}, {steps, 1, 24, 1, 0.002}, {steps, 1, 14, 2, 0.02},
    {line, 1, 3, 5, 0.01},         {sum, 2, 7, 1, 0.01},     {product, 2, 6, 3, 0.03},
    {sum, 2, 5, 2, 0.2},
};

static struct spex_fit fit_of(size_t which) {
    size_t width = measured[which].width, rows = 0;
    size_t others = width == 2 ? measured[which].values : 1;
    struct spex_fit fit;
    for (size_t v = 0; v < measured[which].values * others; v++) {
        double n = round(4 * pow(1.5, (double)(v / others))),
               m = 3 + 2 * (double)((v % others) * (v % others));
        for (size_t r = 0; r < measured[which].repeats; r++, rows++) {
            parameters[rows * width] = n;
            parameters[rows * width + width - 1] = width == 2 ? m : n;
            times[rows] = measured[which].of(n, m) * (1 + measured[which].noise * (even() - 0.5));
        }
    }
    times[0] *= measured[which].repeats > 3 ? 5 : 1; /* an outlier */
    const struct spex_measurements all = {width, rows, parameters, times, NULL};
    assert_int_equal(spex_fit(&all, &fit), 0);
    return fit;
}

static const struct {
    const char *text;
    enum spex_model_class class;
    size_t outliers;
    double adjusted_r2, share, freedom, power_error;
    struct spex_prediction within, beyond; /* at 50 and 7, and at 8 times the greatest values */
} expected[] = {
    {"30.0298 + 1.99871·n",
     SPEX_MODEL_LINEAR,
     0,
     0.999999511,
     0.000497745003,
     10,
     0.00211862019,
     {129.965008, 129.813797, 130.116219},
     {5562.44531, 5507.68012, 5617.74232}},
    {"29.973 + 1.99902·n",
     SPEX_MODEL_LINEAR,
     1,
     0.998888504,
     0.0541725011,
     59,
     0.0999273211,
     {129.924113, 115.611839, 144.236387},
     {5563.26452, 3570.05488, 8498.93367}},
    {"0.00100044·n^3",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.999755337,
     0.0156894176,
     18,
     0.0393658563,
     {125.055056, 120.81659, 129.293522},
     {559722.643, 469272.756, 666455.888}},
    {"5.01994 + 3.98725·log2(n)",
     SPEX_MODEL_LOGARITHMIC,
     1,
     0.999404409,
     0.0125698066,
     29,
     0.0172519846,
     {27.5234222, 26.7988757, 28.2479686},
     {45.9562126, 42.4719307, 49.6725109}},
    {"0.999787·n·log2(n) (n < 99.7776); -200.101 + 0.999483·n·log2(n) + 2.00748·n (n ≥ 99.7776)",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.999999738,
     0.000507609402,
     20,
     0.00235989632,
     {282.132641, 281.806471, 282.458811},
     {7344715.65, 7269321.06, 7420873.85}},
    {"0.176847 + 0.119756·n^(3/2) + 0.869608·n·log2(n)",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.998691953,
     0.0256810445,
     14,
     0.270779008,
     {287.91406, 271.09083, 304.73729},
     {127019.793, 37018.6342, 425249.088}},
    {"29.9188 + 2.00721·n",
     SPEX_MODEL_LINEAR,
     1,
     0.999587582,
     0.00337355875,
     11,
     0.0979385188,
     {130.279481, 89.9043827, 188.623318},
     {174.438177, 111.258516, 273.198762}},
    {"0.0106159 + 0.499928·m^2 + 3.00134·n",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.999985756,
     0.00289864621,
     46,
     0.00304581113,
     {174.574035, 173.494122, 175.653951},
     {181078.443, 178544.139, 183639.416}},
    {"7.03216 + 0.249285·n·log2(m)",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.999881953,
     0.00873192282,
     72,
     0.00557539717,
     {42.0237585, 41.2440895, 42.8038418},
     {529.210082, 513.841082, 544.802448}},
    {"0.670024 + 0.497502·m^2 + 2.90739·n",
     SPEX_MODEL_POLYNOMIAL,
     0,
     0.997387423,
     0.0569831655,
     25,
     0.0140744894,
     {170.416961, 148.361383, 192.497203},
     {39469.9898, 34190.2956, 44813.9723}},
};

static void expect_near(double found, double is) {
    if (found != is && !(fabs(found - is) <= 1e-5 * fabs(is) + 1e-9))
        fail_msg("%.9g instead of %.9g", found, is);
}

static void expect_prediction(struct spex_prediction found, struct spex_prediction is) {
    expect_near(found.value, is.value);
    expect_near(found.low, is.low);
    expect_near(found.high, is.high);
}

static void fits_are_as_they_were_measured(void **state) {
    static const char *const names[] = {"n", "m"};
    (void)state;
    spex_random_seed(&random_state, 1, 1);
    for (size_t f = 0; f < COUNT_OF(measured); f++) {
        char text[256];
        struct spex_fit fit = fit_of(f);
        const double near[] = {50, 7}, far[] = {8 * fit.greatest[0], 8 * fit.greatest[1]};
        spex_model_text(&fit.model, names, text, sizeof(text));
        assert_string_equal(text, expected[f].text);
        assert_int_equal(fit.model.class, expected[f].class);
        assert_int_equal(fit.outliers, expected[f].outliers);
        expect_near(fit.model.adjusted_r2, expected[f].adjusted_r2);
        expect_near(fit.model.share, expected[f].share);
        expect_near(fit.model.freedom, expected[f].freedom);
        expect_near(fit.power_error, expected[f].power_error);
        expect_prediction(spex_fit_predict(&fit, near), expected[f].within);
        expect_prediction(spex_fit_predict(&fit, far), expected[f].beyond);
    }
}

/* A model of two parameters whose intervals have every part. */
static struct spex_fit made_fit(double freedom, double power_error) {
    struct spex_fit fit = {
        .model = {.parameter_count = 2,
                  .constant = 1 + even(),
                  .term_count = 2,
                  .terms = {{.coefficient = 0.1 + even(), .factors = {{12, 0}}},
                            {.coefficient = even() / 10, .factors = {{6, 0}, {0, 1}}}},
                  .floor = even(),
                  .share = even() / 4,
                  .freedom = freedom},
        .greatest = {16, 32},
        .power_error = power_error};
    for (size_t a = 0; a < 3; a++)
        for (size_t b = 0; b < 3; b++)
            fit.model.covariance[a][b] = a == b ? even() / 100 : 1e-4;
    return fit;
}

static double expected_variance(const struct spex_model *model, const double *at) {
    const double columns[] = {1, at[0], sqrt(at[0]) * log2(at[1])};
    double value = spex_model_value(model, at), variance = 0;
    for (size_t c = 0; c < 9; c++)
        variance += columns[c / 3] * columns[c % 3] * model->covariance[c / 3][c % 3];
    return variance + model->floor * model->floor + pow(model->share * value, 2);
}

/* At the greatest values, and where one or both are so many times as great, the deviation by the
 * power adds to that of the model, as independent errors do. */
static void intervals_have_two_parts(void **state) {
    static const double freedoms[] = {0, 0.5, 3, 40}, errors[] = {0, 0.05, 0.5},
                        times_more[] = {0.5, 1, 1.5, 64, 1e25};
    (void)state;
    for (size_t c = 0; c < 4 * 3 * 5 * 5; c++) {
        struct spex_fit fit = made_fit(freedoms[c % 4], errors[c / 4 % 3]);
        double more[] = {times_more[c / 12 % 5], times_more[c / 60]},
               farther = fmax(more[0], more[1]);
        const double at[] = {16 * more[0], 32 * more[1]};
        struct spex_prediction found = spex_fit_predict(&fit, at),
                               within = spex_model_predict(&fit.model, at);
        double value = spex_model_value(&fit.model, at), freedom = fit.model.freedom;
        double quantile = spex_student_two_sided(0.05, freedom);
        double margin = freedom > 0 ? quantile * sqrt(expected_variance(&fit.model, at)) : INFINITY;
        assert_true(within.value == value && found.value == value);
        expect_near(within.high, value + margin);
        expect_near(within.low, fmax(value - margin, 0));
        if (farther <= 1) {
            assert_true(found.low == within.low && found.high == within.high);
            continue;
        }
        double factor = exp2(fmin(quantile * fit.power_error * log2(farther), 100));
        expect_near(found.high, value + sqrt(pow(margin, 2) + pow(value * (factor - 1), 2)));
        expect_near(
            found.low,
            fmax(value - sqrt(pow(value - within.low, 2) + pow(value * (1 - 1 / factor), 2)), 0));
    }
}

/* Below the least value of a parameter that the model divides by, and above the greatest of any, the
 * power's error counts, for the parameter that is furthest outside. */
static void what_is_divided_has_two_ends(void **state) {
    struct spex_fit fit = made_fit(9, 0.2);
    double quantile = spex_student_two_sided(0.05, 9);
    (void)state;
    fit.model.terms[1].factors[1] = (struct spex_exponents){-12, 0};
    fit.least[1] = 4;
    static const struct {
        double at[2], doublings;
    } outside[] = {{{8, 4}, 0},  {{1, 4}, 0},   {{8, 1}, 2},
                   {{32, 1}, 2}, {{128, 2}, 3}, {{0, 0.5}, 3}};
    for (size_t e = 0; e < COUNT_OF(outside); e++) {
        struct spex_prediction found = spex_fit_predict(&fit, outside[e].at),
                               within = spex_model_predict(&fit.model, outside[e].at);
        double factor = exp2(quantile * fit.power_error * outside[e].doublings);
        expect_near(found.high,
                    found.value + hypot(within.high - within.value, found.value * (factor - 1)));
    }
    const double nothing[] = {8, 0};
    assert_true(isinf(spex_fit_predict(&fit, nothing).high));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(fits_are_as_they_were_measured),
                                       cmocka_unit_test(intervals_have_two_parts),
                                       cmocka_unit_test(what_is_divided_has_two_ends)};
    return cmocka_run_group_tests_name("fitted", tests, NULL, NULL);
}
