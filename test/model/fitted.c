/* SPDX-License-Identifier: MIT */
/* The intervals of predictions, against their definition. */
#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"
#include "model/fit/fit.h"

static struct spex_random random_state;

static double even(void) {
    return (double)(spex_random_next(&random_state) >> 11) / (double)(UINT64_C(1) << 53);
}

static void expect_near(double found, double is) {
    if (found != is && !(fabs(found - is) <= 1e-5 * fabs(is) + 1e-9))
        fail_msg("%.9g instead of %.9g", found, is);
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
TEST(intervals_have_two_parts) {
    static const double freedoms[] = {0, 0.5, 3, 40}, errors[] = {0, 0.05, 0.5},
                        times_more[] = {0.5, 1, 1.5, 64, 1e25};
    spex_random_seed(&random_state, 1, 1);
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
TEST(what_is_divided_has_two_ends) {
    double quantile = spex_student_two_sided(0.05, 9);
    spex_random_seed(&random_state, 1, 1);
    struct spex_fit fit = made_fit(9, 0.2);
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
