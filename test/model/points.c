/* SPDX-License-Identifier: MIT */
/* What a fit is made of: the points that measurements are put together to, and least squares. */
#include <math.h>
#include <string.h>

#include "../check.h"
#include "model/fit/least_squares.h"
#include "model/fit/points.h"

/* What is missed by leaving out is what a fit without it misses. */
static void left_out(void **state) {
    const double y[] = {1, 3, 2, 5, 9}, weights[] = {1, 2, 1, 0.5, 1}, ones[] = {1, 1, 1, 1, 1},
                 x[] = {1, 2, 3, 4, 7};
    const double *const columns[] = {ones, x};
    const struct spex_data data = {5, y, weights};
    struct spex_least_squares all, fewer;
    double sum = 0;
    (void)state;
    assert_true(spex_least_squares(&data, columns, 2, &all));
    for (size_t out = 0; out < 5; out++) {
        double kept[5];
        memcpy(kept, weights, sizeof(kept));
        kept[out] = 0;
        assert_true(spex_least_squares(&(struct spex_data){5, y, kept}, columns, 2, &fewer));
        double miss = y[out] - fewer.coefficients[0] - fewer.coefficients[1] * x[out];
        sum += weights[out] * miss * miss / 5;
    }
    assert_true(fabs(spex_leave_one_out_error(&data, columns, &all) / sum - 1) < 1e-9);
    const double *const twice[] = {x, x};
    assert_false(spex_least_squares(&data, twice, 2, &all));
    assert_false(spex_least_squares(&(struct spex_data){1, y, weights}, columns, 2, &all));
}

/* Two places, in one of which a measurement is an outlier. */
static void points(void **state) {
    const double n[] = {7, 4, 7, 4, 4, 4, 7, 4}, times[] = {3, 10, 6, 11, 12, 13, 3, 90};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, NULL};
    struct spex_points made;
    (void)state;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.count, 2);
    assert_int_equal(made.outliers, 1 + 1);
    assert_true(made.parameters[0] == 4 && made.parameters[1] == 7);
    assert_true(made.rows[0] == 4 && made.rows[1] == 2);
    assert_true(fabs(made.times[0] - 11.5) < 1e-12 && made.times[1] == 3);
    assert_true(fabs(made.variances[0] - 5.0 / 3) < 1e-12 && made.variances[1] == 0);
    spex_points_free(&made);
}

/* Two runs of two measurements each, of one place: 1, 1 and 2, 2.4. The variance of the mean is
 * 0.36 by the runs, and 1.52 / 3 / 4 if measurements were independent. */
static void points_of_runs(void **state) {
    const double n[] = {5, 5, 5, 5}, times[] = {1, 2, 1, 2.4};
    const uint32_t runs[] = {8, 9, 8, 9};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, runs};
    struct spex_points made;
    (void)state;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.outliers, 0);
    assert_true(fabs(made.variances[0] - 1.52 / 3) < 1e-12);
    assert_true(fabs(made.rows[0] - 1.52 / 3 / 0.36) < 1e-12);
    spex_points_free(&made);
}

/* The same in milliseconds, where one measurement is just no outlier: 8, 8, 8 and 10. */
static void points_of_runs_at_the_limit(void **state) {
    const double n[] = {5, 5, 5, 5}, times[] = {8e-3, 8e-3, 8e-3, 10e-3};
    const uint32_t runs[] = {1, 2, 1, 2};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, runs};
    struct spex_points made;
    (void)state;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.outliers, 0);
    assert_true(fabs(made.variances[0] - 1e-6) < 1e-12);
    /* By the runs 0.25e-6, which is what it is if measurements are independent. */
    assert_true(fabs(made.rows[0] - 4) < 1e-9);
    spex_points_free(&made);
    const double scaled[] = {1e-3, 2e-3, 1e-3, 2.4e-3};
    const struct spex_measurements of_scaled = {1, COUNT_OF(n), n, scaled,
                                                (const uint32_t[]){8, 9, 8, 9}};
    assert_int_equal(spex_points_make(&made, &of_scaled), 0);
    assert_true(fabs(made.rows[0] - 1.52 / 3 / 0.36) < 1e-9);
    spex_points_free(&made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_out),
        cmocka_unit_test(points),
        cmocka_unit_test(points_of_runs),
        cmocka_unit_test(points_of_runs_at_the_limit),
    };
    return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
