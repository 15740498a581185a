/* SPDX-License-Identifier: MIT */
/* What a fit is made of: the points that measurements are put together to, and least squares. */
#include <math.h>

#include "../check.h"
#include "base/ascending.h"
#include "model/fit/least_squares.h"
#include "model/fit/points.h"

/* What is missed by leaving out is what a fit without it misses. */
TEST(left_out) {
    const double y[] = {1, 3, 2, 5, 9}, weights[] = {1, 2, 1, 0.5, 1}, ones[] = {1, 1, 1, 1, 1},
                 x[] = {1, 2, 3, 4, 7};
    const double *const columns[] = {ones, x};
    const struct spex_data data = {5, y, weights};
    struct spex_least_squares all, fewer;
    double sum = 0;
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
TEST(points) {
    const double n[] = {7, 4, 7, 4, 4, 4, 7, 4}, times[] = {3, 10, 6, 11, 12, 13, 3, 90};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, NULL};
    struct spex_points made;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.count, 2);
    assert_int_equal(made.outliers, 1 + 1);
    assert_true(made.parameters[0] == 4 && made.parameters[1] == 7);
    assert_true(made.rows[0] == 4 && made.rows[1] == 2);
    assert_true(fabs(made.times[0] - 11.5) < 1e-12 && made.times[1] == 3);
    assert_true(fabs(made.variances[0] - 5.0 / 3) < 1e-12 && made.variances[1] == 0);
    spex_points_free(&made);
}

/* Two far ones are outliers of nine, and a second mode of ten. */
TEST(a_second_mode_is_no_outlier) {
    const double n[10] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, times[10] = {5, 1, 1, 5, 1, 1, 1, 1, 1, 1};
    for (size_t rows = 9; rows <= 10; rows++) {
        const struct spex_measurements measured = {1, rows, n, times, NULL};
        struct spex_points made;
        assert_int_equal(spex_points_make(&made, &measured), 0);
        assert_int_equal(made.outliers, rows == 9 ? 2 : 0);
        assert_true(fabs(made.times[0] - (rows == 9 ? 1 : 1.8)) < 1e-12);
        spex_points_free(&made);
    }
}

/* Two runs of two measurements each, of one place: 1, 1 and 2, 2.4. The variance of the mean is
 * 0.36 by the runs, and 1.52 / 3 / 4 if measurements were independent. */
TEST(points_of_runs) {
    const double n[] = {5, 5, 5, 5}, times[] = {1, 2, 1, 2.4};
    const uint32_t runs[] = {8, 9, 8, 9};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, runs};
    struct spex_points made;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.outliers, 0);
    assert_true(fabs(made.variances[0] - 1.52 / 3) < 1e-12);
    assert_true(fabs(made.rows[0] - 1.52 / 3 / 0.36) < 1e-12);
    spex_points_free(&made);
}

/* The same in milliseconds, where one measurement is just no outlier: 8, 8, 8 and 10. */
TEST(points_of_runs_at_the_limit) {
    const double n[] = {5, 5, 5, 5}, times[] = {8e-3, 8e-3, 8e-3, 10e-3};
    const uint32_t runs[] = {1, 2, 1, 2};
    const struct spex_measurements measured = {1, COUNT_OF(n), n, times, runs};
    struct spex_points made;
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

/* ---- a plain count ---- */

enum { ROWS_MAX = 400, REPEATED = 60 };

static double parameters[2 * ROWS_MAX], times[ROWS_MAX];
static uint32_t runs[ROWS_MAX];

static double middle_of(const double *values, size_t count) {
    double sorted[ROWS_MAX];
    memcpy(sorted, values, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), spex_ascending);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The greatest distance from the median that is no outlier: 4 deviations, by 1.4826 times the
 * median deviation, and a quarter of the median. */
static double reach_of(const double *values, size_t count, double middle) {
    double away[ROWS_MAX];
    size_t beyond = 0;
    if (count < 3)
        return INFINITY;
    for (size_t v = 0; v < count; v++)
        away[v] = fabs(values[v] - middle);
    double reach = fmax(4 * 1.4826 * middle_of(away, count), middle / 4);
    for (size_t v = 0; v < count; v++)
        beyond += away[v] > reach;
    return count >= 10 && (double)beyond > 0.1 * (double)count ? INFINITY : reach;
}

/* What a point must be, and its variances as runs tell them, relative to the mean. */
struct plain {
    double mean, rows, variance, observed, independent;
    size_t outliers;
};

/* Of these rows of one place. */
static struct plain plain_of(const size_t *rows, size_t count, bool with_runs) {
    double values[ROWS_MAX], used[ROWS_MAX], sums[8] = {0}, squares = 0;
    size_t of_run[8] = {0}, run_count = 0;
    struct plain plain = {.rows = 0};
    for (size_t r = 0; r < count; r++)
        values[r] = times[rows[r]];
    double middle = middle_of(values, count), reach = reach_of(values, count, middle);
    for (size_t r = 0; r < count; r++)
        if (fabs(values[r] - middle) <= reach)
            used[(size_t)plain.rows++] = values[r];
    for (size_t u = 0; u < (size_t)plain.rows; u++)
        plain.mean += used[u] / plain.rows;
    for (size_t u = 0; u < (size_t)plain.rows; u++)
        plain.variance += pow(used[u] - plain.mean, 2) / fmax(plain.rows - 1, 1);
    plain.outliers = count - (size_t)plain.rows;
    for (size_t r = 0; r < count && with_runs; r++)
        if (fabs(values[r] - middle) <= reach) {
            sums[runs[rows[r]]] += values[r] - plain.mean;
            of_run[runs[rows[r]]]++;
        }
    for (size_t run = 0; run < 8; run++) {
        squares += sums[run] * sums[run];
        run_count += of_run[run] > 0;
    }
    if (run_count > 1 && plain.mean > 0) {
        double mean2 = plain.mean * plain.mean, n = (double)run_count;
        plain.observed = squares / (plain.rows * plain.rows) * n / (n - 1) / mean2;
        plain.independent = plain.variance / plain.rows / mean2;
    }
    return plain;
}

static void make_rows(uint64_t *random, size_t count, size_t width, size_t places) {
    bool modes = random_below(random, 3) == 0;
    double run_times[8];
    for (size_t run = 0; run < 8; run++)
        run_times[run] = 1 + (double)random_below(random, 100) / 300;
    for (size_t r = 0; r < count; r++) {
        parameters[r * width] = (double)random_below(random, places);
        parameters[r * width + width - 1] = (double)(1 + random_below(random, places));
        runs[r] = (uint32_t)random_below(random, 8);
        times[r] = (10 + (double)random_below(random, 20)) * run_times[runs[r]] *
                   (random_below(random, modes ? 4 : 12) ? 1 : 3);
        if (random_below(random, 40) == 0)
            times[r] = 0;
    }
}

/* Every place that was measured, in ascending order, against the rows of it. */
static void expect_points(const struct spex_points *made, size_t count, size_t width, size_t places,
                          bool with_runs) {
    struct plain plain[16 * 17];
    size_t points = 0, outliers = 0;
    double observed = 0, independent = 0;
    for (size_t n = 0; n < places; n++)
        for (size_t m = 1; m <= (width == 2 ? places : 1); m++) {
            size_t rows[ROWS_MAX], found = 0;
            for (size_t r = 0; r < count; r++)
                if (width == 2
                        ? parameters[2 * r] == (double)n && parameters[2 * r + 1] == (double)m
                        : parameters[r] == (double)(n + 1))
                    rows[found++] = r;
            if (!found)
                continue;
            assert_true(made->count > points);
            const double *at = made->parameters + points * width;
            assert_true(width == 2 ? at[0] == (double)n && at[1] == (double)m
                                   : at[0] == (double)(n + 1));
            plain[points] = plain_of(rows, found, with_runs);
            outliers += plain[points].outliers;
            observed += plain[points].observed;
            independent += plain[points++].independent;
        }
    assert_int_equal(made->count, points);
    assert_int_equal(made->outliers, outliers);
    double effect = independent > 0 ? fmax(observed / independent, 1) : 1;
    for (size_t p = 0; p < points; p++) {
        assert_true(fabs(made->times[p] - plain[p].mean) < 1e-9);
        assert_true(fabs(made->variances[p] - plain[p].variance) < 1e-6);
        double rows = effect > 1 ? fmax(plain[p].rows / effect, 1) : plain[p].rows;
        assert_true(fabs(made->rows[p] - rows) < 1e-6);
    }
}

TEST(points_are_those_of_a_plain_count) {
    uint64_t random = 11;
    for (size_t round = 0; round < REPEATED; round++) {
        size_t width = 1 + round % 2, places = 1 + random_below(&random, 12);
        size_t count = 1 + random_below(&random, ROWS_MAX);
        bool with_runs = round % 3;
        make_rows(&random, count, width, places);
        const struct spex_measurements measured = {width, count, parameters, times,
                                                   with_runs ? runs : NULL};
        struct spex_points made;
        assert_int_equal(spex_points_make(&made, &measured), 0);
        expect_points(&made, count, width, places, with_runs);
        spex_points_free(&made);
    }
}

/* Of too many places neighbours become one, in ascending order; 0 has no neighbour. */
TEST(too_many_places) {
    enum { PLACES = 6000 };
    double *many = calloc(PLACES, sizeof(*many)), *of = calloc(PLACES, sizeof(*of));
    assert_true(many && of);
    for (size_t i = 0; i < PLACES; i++) {
        many[i] = i % 3 ? 1 + (double)i : 0;
        of[i] = 7 + many[i];
    }
    const struct spex_measurements measured = {1, PLACES, many, of, NULL};
    struct spex_points made;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_in_range(made.count, 64, SPEX_POINTS_MAX);
    assert_true(made.parameters[0] == 0 && made.rows[0] == PLACES / 3 && made.times[0] == 7);
    double rows = 0;
    for (size_t p = 0; p < made.count; p++) {
        assert_true(p == 0 || made.parameters[p] > made.parameters[p - 1]);
        assert_true(fabs(made.times[p] - 7 - made.parameters[p]) < 1e-6);
        rows += made.rows[p];
    }
    /* A sixteenth of an octave, where no rows are left out. */
    for (size_t p = 2; p < made.count; p++)
        assert_true(made.parameters[p] < made.parameters[p - 1] * 2);
    assert_true(rows == PLACES);
    spex_points_free(&made);
    free(many);
    free(of);
}

/* Parameters that are 0, below 1 and above make more places than there are points, however coarse
 * the others are. */
TEST(many_parameters) {
    enum { PLACES = 6561 };
    static const double values[] = {0, 0.5, 2};
    double *many = calloc(PLACES * 8, sizeof(*many)), *of = calloc(PLACES, sizeof(*of));
    assert_true(many && of);
    for (size_t i = 0; i < PLACES; i++) {
        size_t left = i;
        for (size_t p = 0; p < 8; p++, left /= 3)
            many[8 * i + p] = values[left % 3];
        of[i] = 5;
    }
    const struct spex_measurements measured = {8, PLACES, many, of, NULL};
    struct spex_points made;
    assert_int_equal(spex_points_make(&made, &measured), 0);
    assert_int_equal(made.count, 256);
    assert_int_equal(made.outliers, 0);
    double rows = 0;
    for (size_t p = 0; p < made.count; p++)
        rows += made.rows[p];
    assert_true(rows == PLACES);
    spex_points_free(&made);
    free(many);
    free(of);
}
