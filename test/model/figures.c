/* SPDX-License-Identifier: MIT */
/* The figures of a fit beside its form, against their definitions. */
#include <math.h>

#include "../check.h"
#include "model/fit/fit.h"

static struct spex_model model_of(size_t count, const double *n, const double *times) {
    const struct spex_measurements measured = {1, count, n, times, NULL};
    struct spex_fit fit;
    assert_int_equal(spex_fit(&measured, &fit), 0);
    return fit.model;
}

/* Of the variance, what the model leaves, with as many degrees of freedom as are left. */
static double adjusted_r2(const struct spex_model *model, size_t count, const double *n,
                          const double *times) {
    double mean = 0, all = 0, left = 0;
    for (size_t i = 0; i < count; i++)
        mean += times[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        all += pow(times[i] - mean, 2);
        left += pow(times[i] - spex_model_value(model, &n[i]), 2);
    }
    double freedom = (double)count - 1 - (double)model->term_count;
    return 1 - left / freedom / (all / ((double)count - 1));
}

TEST(the_adjusted_r2) {
    static const double n[] = {1, 2, 3, 4, 5, 6, 7, 8},
                        times[] = {3.1, 4.7, 7.2, 8.8, 11.1, 12.7, 15.2, 16.9};
    for (size_t count = 3; count <= COUNT_OF(n); count++) {
        struct spex_model model = model_of(count, n, times);
        assert_true(model.term_count > 0);
        assert_true(fabs(model.adjusted_r2 - adjusted_r2(&model, count, n, times)) < 1e-9);
    }
}

/* There is nothing that the model could leave. */
TEST(of_times_that_do_not_vary) {
    static const double n[] = {1, 2, 3, 4, 5, 6}, times[] = {7, 7, 7, 7, 7, 7};
    struct spex_model model = model_of(COUNT_OF(n), n, times);
    assert_true(model.adjusted_r2 == 1);
    assert_int_equal(model.class, SPEX_MODEL_CONSTANT);
}

/* What does not depend on n is constant where it varies by 15 % at most. */
TEST(constants_vary_little) {
    double n[10], times[10];
    for (int much = 0; much < 2; much++) {
        for (int i = 0; i < 10; i++) {
            n[i] = i + 1;
            times[i] = 1 + ((i + i / 2) % 2 ? 1 : -1) * (much ? 0.151 : 0.149);
        }
        struct spex_model model = model_of(10, n, times);
        assert_int_equal(model.term_count, 0);
        assert_int_equal(model.class, much ? SPEX_MODEL_UNKNOWN : SPEX_MODEL_CONSTANT);
    }
}

/* A term counts for the class if it grows by a hundredth of the greatest value. */
TEST(what_grows_little_is_constant) {
    double n[10], times[10];
    for (int much = 0; much < 2; much++) {
        for (int i = 0; i < 10; i++) {
            n[i] = 1000 + i * (much ? 1.2 : 1);
            times[i] = 5 * n[i];
        }
        struct spex_model model = model_of(10, n, times);
        assert_int_equal(model.term_count, 1);
        assert_int_equal(model.class, much ? SPEX_MODEL_LINEAR : SPEX_MODEL_CONSTANT);
    }
}

/* The class goes by what makes the time longer. A term that only makes it shorter counts if it varies
 * by a hundredth. */
TEST(classes_of_what_is_divided) {
    static const struct {
        double constant, linear, divided;
        enum spex_model_class class;
    } expected[] = {{0, 0, 3, SPEX_MODEL_DECREASING},
                    {2, 0, 3, SPEX_MODEL_DECREASING},
                    {1, 0, 0.008, SPEX_MODEL_CONSTANT},
                    {0, 1, 3, SPEX_MODEL_LINEAR},
                    {0, 0.0001, 3, SPEX_MODEL_DECREASING}};
    for (size_t e = 0; e < COUNT_OF(expected); e++) {
        double n[10], times[10];
        for (int i = 0; i < 10; i++) {
            n[i] = 1 + i;
            times[i] =
                expected[e].constant + expected[e].linear * n[i] + expected[e].divided / n[i];
        }
        assert_int_equal(model_of(10, n, times).class, expected[e].class);
    }
}

/* Points of two measurements, by 10 % apart, and a line through most of them. */
TEST(the_variances) {
    enum { POINTS = 9 };
    double n[2 * POINTS], times[2 * POINTS], sorted_middle = 0, within = 0, left = 0;
    double gram[2][2] = {{0, 0}, {0, 0}};
    for (int i = 0; i < 2 * POINTS; i++) {
        n[i] = 1 + i / 2;
        times[i] = (3 + 2 * n[i]) * (i % 2 ? 1.05 : 0.95) * (i / 2 % 3 == 1 ? 1.06 : 0.98);
    }
    struct spex_model model = model_of(2 * POINTS, n, times);
    assert_int_equal(model.term_count, 1);
    sorted_middle = (times[8] + times[9]) / 2; /* of means that grow */
    double floor_squared = pow(0.005 * sorted_middle, 2);
    for (int p = 0; p < POINTS; p++) {
        double columns[SPEX_MODEL_COLUMNS_MAX], mean = (times[2 * p] + times[2 * p + 1]) / 2;
        double weight = 1 / (mean * mean + floor_squared);
        within += pow(times[2 * p] - times[2 * p + 1], 2) / 2 * weight / POINTS;
        left += pow(mean - spex_model_value(&model, &n[2 * p]), 2) * weight;
        spex_model_columns(&model, &n[2 * p], columns);
        for (int a = 0; a < 2; a++)
            for (int b = 0; b < 2; b++)
                gram[a][b] += weight * columns[a] * columns[b];
    }
    double between = left / (POINTS - 2), mean_of = between > within / 2 ? between : within / 2;
    double more = between > within / 2 ? between - within / 2 : 0;
    assert_true(fabs(model.share / sqrt(within + more) - 1) < 1e-6);
    assert_true(fabs(model.floor / (model.share * sqrt(floor_squared)) - 1) < 1e-6);
    assert_true(model.freedom == 9);
    double determinant = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0];
    assert_true(fabs(model.covariance[0][0] * determinant / gram[1][1] / mean_of - 1) < 1e-6);
    assert_true(fabs(model.covariance[1][1] * determinant / gram[0][0] / mean_of - 1) < 1e-6);
    assert_true(fabs(model.covariance[0][1] * determinant / -gram[0][1] / mean_of - 1) < 1e-6);
    assert_true(fabs(model.constant_error / sqrt(model.covariance[0][0]) - 1) < 1e-9);
    assert_true(fabs(model.terms[0].error / sqrt(model.covariance[1][1]) - 1) < 1e-9);
}
