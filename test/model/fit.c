/* SPDX-License-Identifier: MIT */
/* What a fit takes, what it refuses, and what it makes of little and strange measurements. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "model/fit/fit.h"
#include "model/fit/singles.h"

static struct spex_fit must_fit(size_t width, size_t rows, const double *parameters,
                                const double *times) {
    const struct spex_measurements measured = {width, rows, parameters, times, NULL};
    struct spex_fit fit;
    assert_int_equal(spex_fit(&measured, &fit), 0);
    return fit;
}

static void expect_text(const struct spex_model *model, const char *expected) {
    static const char *const names[] = {"n", "m", "k"};
    char text[256];
    spex_model_text(model, names, text, sizeof(text));
    assert_string_equal(text, expected);
}

TEST(linear) {
    const double n[] = {10, 20, 30, 40, 50}, times[] = {25, 45, 65, 85, 105};
    struct spex_fit fit = must_fit(1, 5, n, times);
    assert_int_equal(fit.model.class, SPEX_MODEL_LINEAR);
    assert_true(fit.model.adjusted_r2 > 0.999999);
    expect_text(&fit.model, "5 + 2·n");
    struct spex_prediction prediction = spex_model_predict(&fit.model, &(double){1000});
    assert_true(fabs(prediction.value - 2005) < 1e-6);
    assert_true(prediction.low <= prediction.value && prediction.value <= prediction.high);
}

TEST(texts) {
    struct spex_model model = {.parameter_count = 2,
                               .constant = 0.5,
                               .term_count = 4,
                               .terms = {{1, 0, {{12, 1}, {6, 0}}, 0},
                                         {2, 0, {{0, 2}}, 0},
                                         {3, 0, {{16, 0}, {27, 0}}, 0},
                                         {4, 0, {{36, 0}}, 0}}};
    const char *const names[] = {"n", "m"};
    char little[8];
    expect_text(&model, "0.5 + 1·n·log2(n)·m^(1/2) + 2·log2(n)^2 + 3·n^(4/3)·m^(9/4) + 4·n^3");
    spex_model_text(&model, names, little, sizeof(little));
    assert_string_equal(little, "0.5 + 1");
}

/* A kernel's parameter is an expression of its program. */
TEST(expressions) {
    const struct spex_model model = {
        .parameter_count = 2,
        .term_count = 2,
        .terms = {{2, 0, {{12, 1}}, 0}, {3, 0, {{24, 0}, {12, 0}}, 0}}};
    const char *const names[] = {"end - begin", "größe.n_1"};
    char text[128];
    spex_model_text(&model, names, text, sizeof(text));
    assert_string_equal(text, "2·(end - begin)·log2(end - begin) + 3·(end - begin)^2·größe.n_1");
}

TEST(refused) {
    static const double good[SPEX_MODEL_PARAMETERS_MAX + 1] = {1},
                                                         bad[][1] = {{-1}, {NAN}, {INFINITY}};
    struct spex_fit fit;
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        assert_int_equal(spex_fit(&(struct spex_measurements){1, 1, bad[b], good, NULL}, &fit),
                         -EINVAL);
        assert_int_equal(spex_fit(&(struct spex_measurements){1, 1, good, bad[b], NULL}, &fit),
                         -EINVAL);
    }
    assert_int_equal(spex_fit(&(struct spex_measurements){1, 0, good, good, NULL}, &fit), -EINVAL);
    assert_int_equal(
        spex_fit(&(struct spex_measurements){SPEX_MODEL_PARAMETERS_MAX + 1, 1, good, good, NULL},
                 &fit),
        -EINVAL);
}

/* Numbers whose squares overflow or vanish give no model that is none. */
TEST(out_of_range) {
    static const double n[] = {1, 2, 4, 8, 16};
    static const double bad[][5] = {{1e308, 1.1e308, 1.2e308, 1.7e308, 1.6e308},
                                    {1e-300, 2e-300, 4e-300, 8e-300, 16e-300}};
    struct spex_fit fit;
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_int_equal(spex_fit(&(struct spex_measurements){1, 5, n, bad[b], NULL}, &fit),
                         -ERANGE);
    assert_int_equal(spex_fit(&(struct spex_measurements){1, 5, bad[0], n, NULL}, &fit), -ERANGE);
}

/* Measurements that vary so much that the residuals of a line through the origin are no more than
 * noise, though the mean is nearer to the points. */
TEST(what_explains_less_than_the_mean_is_no_model) {
    static const double times[] = {11, 10, 5,  9,  799, 18, 16, 27, 22,
                                   31, 23, 10, 11, 23,  19, 19, 12, 16};
    double n[COUNT_OF(times)];
    for (size_t i = 0; i < COUNT_OF(times); i++)
        n[i] = 10 + (double)(i / 3);
    struct spex_fit fit = must_fit(1, COUNT_OF(times), n, times);
    assert_true(fit.model.adjusted_r2 < 0);
    assert_int_equal(fit.model.class, SPEX_MODEL_UNKNOWN);
}

TEST(little) {
    const double n[] = {3, 3, 5, 5}, times[] = {2, 2, 7, 7}, zeros[4] = {0};
    struct spex_fit one = must_fit(1, 1, n, times), same = must_fit(1, 2, n, times);
    assert_true(fabs(one.model.constant - 2) < 1e-12 && one.model.term_count == 0);
    assert_true(isinf(spex_model_predict(&one.model, n).high));
    assert_true(fabs(same.model.constant - 2) < 1e-12 && same.points == 1);
    struct spex_fit two = must_fit(1, 4, n, times);
    assert_int_equal(two.points, 2);
    assert_int_equal(two.model.class,
                     SPEX_MODEL_UNKNOWN); /* two points do not tell a line from a curve */
    struct spex_fit nothing = must_fit(1, 4, n, zeros);
    assert_int_equal(nothing.model.class, SPEX_MODEL_CONSTANT);
    assert_true(nothing.model.constant == 0);
    struct spex_fit none = must_fit(0, 2, n, times + 2);
    assert_int_equal(none.points, 1);
}

/* Zero has no logarithm and still is a size. */
TEST(from_zero) {
    double n[8], times[8];
    for (size_t i = 0; i < 8; i++) {
        n[i] = (double)i;
        times[i] = 1 + (double)(i * i);
    }
    struct spex_fit fit = must_fit(1, 8, n, times);
    expect_text(&fit.model, "1 + 1·n^2");
}

TEST(what_does_not_vary_does_not_matter) {
    double x[3 * 6], times[6];
    for (size_t i = 0; i < 6; i++) {
        x[3 * i] = 7;
        x[3 * i + 1] = 100 * (double)(i + 1);
        x[3 * i + 2] = 0;
        times[i] = 3 * x[3 * i + 1];
    }
    struct spex_fit fit = must_fit(3, 6, x, times);
    expect_text(&fit.model, "3·m");
}

/* The class goes by the whole range: at 64 the second parameter adds 0.4 %, at 4096 17 times as
 * much as the constant. */
TEST(a_class_goes_by_the_greatest_value) {
    double x[2 * 8], times[8];
    for (size_t i = 0; i < 8; i++) {
        x[2 * i] = 3;
        x[2 * i + 1] = i < 7 ? exp2((double)i) : 4096;
        times[i] = 1e6 + x[2 * i + 1] * x[2 * i + 1];
    }
    struct spex_fit fit = must_fit(2, 8, x, times);
    expect_text(&fit.model, "1e+06 + 1·m^2");
    assert_int_equal(fit.model.class, SPEX_MODEL_POLYNOMIAL);
}

/* Of parameters that move together nothing tells which it is: one is enough, and foretells as
 * well. */
TEST(together) {
    double x[2 * 8], times[8];
    for (size_t i = 0; i < 8; i++) {
        x[2 * i] = exp2((double)i + 3);
        x[2 * i + 1] = 2 * x[2 * i];
        times[i] = 1 + 5 * x[2 * i];
    }
    struct spex_fit fit = must_fit(2, 8, x, times);
    double further[] = {8192, 16384};
    assert_true(fit.greatest[0] == 1024 && fit.greatest[1] == 2048);
    assert_int_equal(fit.model.class, SPEX_MODEL_LINEAR);
    assert_true(fabs(spex_model_value(&fit.model, further) / (1 + 5 * 8192.0) - 1) < 1e-3);
}

/* No two measurements in the same place, nor in line with each other. */
TEST(scattered) {
    enum { ROWS = 300 };
    static double x[2 * ROWS], times[ROWS];
    uint64_t random = 3;
    for (size_t i = 0; i < ROWS; i++) {
        x[2 * i] = exp2(3 + (double)random_below(&random, 7000) / 1000);
        x[2 * i + 1] = exp2(2 + (double)random_below(&random, 6000) / 1000);
        times[i] =
            (2 + x[2 * i] * x[2 * i + 1]) * (0.98 + (double)random_below(&random, 41) / 1000);
    }
    struct spex_fit fit = must_fit(2, ROWS, x, times);
    assert_int_equal(fit.model.term_count, 1);
    assert_int_equal(fit.model.terms[0].factors[0].twelfths, 12);
    assert_int_equal(fit.model.terms[0].factors[1].twelfths, 12);
}

/* Half of the interval of twice the largest value of one parameter, relative to the prediction. */
static double half_beyond(const struct spex_fit *fit) {
    double twice = 2 * fit->greatest[0];
    struct spex_prediction beyond = spex_fit_predict(fit, &twice);
    return (beyond.high - beyond.low) / 2 / beyond.value;
}

/* What was measured once in each place has noise nevertheless: it does not make the form less
 * certain. */
TEST(scattered_on_a_line) {
    enum { ROWS = 300 };
    static double n[ROWS], times[ROWS];
    uint64_t random = 3;
    for (size_t i = 0; i < ROWS; i++) {
        n[i] = exp2(3 + 7 * (double)i / ROWS);
        times[i] = n[i] * (0.9 + (double)random_below(&random, 201) / 1000);
    }
    struct spex_fit fit = must_fit(1, ROWS, n, times);
    assert_true(fit.power_error < 0.1);
}

/* Within the range the interval is the model's; beyond it grows, and the more, the further the
 * points are from every form. */
TEST(beyond_the_range) {
    enum { ROWS = 6 };
    double n[ROWS], exact[ROWS], bent[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        n[i] = exp2((double)i + 10);
        exact[i] = 1e-9 * n[i];
        bent[i] = exact[i] * (i < 3 ? 1 : 1.2);
    }
    struct spex_fit line = must_fit(1, ROWS, n, exact), curve = must_fit(1, ROWS, n, bent);
    assert_true(half_beyond(&line) < 0.001);
    assert_true(half_beyond(&curve) > 0.2);
    struct spex_prediction within = spex_model_predict(&curve.model, n + 3),
                           same = spex_fit_predict(&curve, n + 3);
    assert_true(within.low == same.low && within.high == same.high);
    double last = 0;
    for (double x = 2 * n[ROWS - 1]; x < 100 * n[ROWS - 1]; x *= 2) {
        struct spex_prediction beyond = spex_fit_predict(&curve, &x);
        assert_true(0 <= beyond.low && beyond.low < beyond.value);
        assert_true(beyond.high / beyond.value > last);
        last = beyond.high / beyond.value;
    }
}

/* Over a narrow range n is hardly told from n log n; what deviates from every form by more than
 * noise makes the growth uncertain, too. */
TEST(what_makes_the_growth_uncertain) {
    enum { ROWS = 50 };
    double n[ROWS], times[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        n[i] = 1000 + 200 * (double)(i % 5);
        times[i] = n[i] * (i / 5 % 2 ? 1.03 : 0.97);
    }
    assert_true(must_fit(1, ROWS, n, times).power_error > 0.04);
    for (size_t i = 0; i < 12; i++) {
        n[i] = ldexp(1000, (int)i % 6);
        times[i] = n[i] * (i % 2 ? 1.05 : 0.95);
    }
    assert_true(must_fit(1, 12, n, times).power_error > 0.2);
}

/* The times turn upwards at the largest size. One point is not enough for a further term: but the
 * interval says that the growth is not certain. */
TEST(no_term_for_one_point) {
    const double n[] = {1000, 2000, 4000, 8000, 16000}, times[] = {1, 1.99, 4, 8.15, 17.3};
    struct spex_fit fit = must_fit(1, 5, n, times);
    expect_text(&fit.model, "0.00101709·n");
    struct spex_prediction beyond = spex_fit_predict(&fit, &(double){64000});
    assert_true(beyond.low < 64 && beyond.high > 64 * 1.3);
}

/* 8 measurements of each of 6 values: `spread` in logarithms to both sides of 1. How many of 200
 * such fits are constant. */
static unsigned constants(double spread) {
    enum { VALUES = 6, EACH = 8, FITS = 200 };
    double n[VALUES * EACH], times[VALUES * EACH];
    uint64_t seed = 3;
    unsigned constant = 0;
    for (int f = 0; f < FITS; f++) {
        for (int i = 0; i < VALUES * EACH; i++) {
            double chance = 2 * ((double)(random_next(&seed) >> 11) / 0x1p53) - 1;
            n[i] = exp2(10 + i % VALUES);
            times[i] = 1e-6 * exp(spread * chance);
        }
        constant += must_fit(1, VALUES * EACH, n, times).model.class == SPEX_MODEL_CONSTANT;
    }
    return constant;
}

/* A constant that is measured badly is one; what is different by factors of a thousand each time is
 * not. */
TEST(a_noisy_constant) {
    assert_true(constants(1) >= 70);
    assert_true(constants(log(1000) / 2) <= 10);
}

/* ---- one measurement of each of many sizes ---- */

enum { SINGLES = 400 };

static double unit_random(uint64_t *seed) {
    return (double)(random_next(seed) >> 11) / 0x1p53;
}

/* How many of 100 fits are of the class, in each of which sizes are other ones, times are off by a tenth to both sides, and
 * one execution in `interrupted` takes up to a hundred thousand times as long. */
static unsigned singles_of_class(double (*time_of)(double n), unsigned interrupted,
                                 enum spex_model_class class) {
    static double n[SINGLES], times[SINGLES];
    uint64_t seed = 7;
    unsigned right = 0;
    for (int f = 0; f < 100; f++) {
        for (int i = 0; i < SINGLES; i++) {
            n[i] = floor(exp2(5 + 12 * unit_random(&seed)));
            times[i] = time_of(n[i]) * (0.9 + 0.2 * unit_random(&seed));
            if (random_below(&seed, interrupted) == 0)
                times[i] *= 1 + exp2(16 * unit_random(&seed));
        }
        right += must_fit(1, SINGLES, n, times).model.class == class;
    }
    return right;
}

static double always(double n) {
    (void)n;
    return 3e-6;
}

static double in_proportion(double n) {
    return 1e-6 + 2e-9 * n;
}

static double by_square(double n) {
    return 1e-6 + 1e-12 * n * n;
}

/* The rest is unknown: nothing is made of what has no model. */
TEST(interrupted_executions_make_no_other_model) {
    assert_true(singles_of_class(always, 20, SPEX_MODEL_CONSTANT) >= 80);
    assert_true(singles_of_class(in_proportion, 20, SPEX_MODEL_LINEAR) >= 80);
    assert_true(singles_of_class(by_square, 20, SPEX_MODEL_POLYNOMIAL) >= 80);
    assert_true(singles_of_class(always, 20, SPEX_MODEL_POLYNOMIAL) == 0);
}

/* How many of 100 points are left of times that are `factor` times as long from a size on. */
static size_t points_left(size_t from, size_t to, double factor) {
    double n[100], times[100];
    struct spex_points points;
    for (size_t i = 0; i < 100; i++) {
        n[i] = (double)(i + 1);
        times[i] = n[i] * (i >= from && i < to ? factor : 1);
    }
    const struct spex_measurements measured = {1, 100, n, times, NULL};
    assert_int_equal(spex_points_make(&points, &measured), 0);
    assert_int_equal(spex_points_leave_out_singles(&points), 0);
    size_t left = points.count;
    assert_int_equal(points.outliers, 100 - left);
    spex_points_free(&points);
    return left;
}

/* One is an outlier; several one after the other, and those at an end, may be a change. */
TEST(what_may_be_a_change_is_no_outlier) {
    assert_int_equal(points_left(50, 51, 100), 99);
    assert_int_equal(points_left(50, 55, 100), 100);
    assert_int_equal(points_left(99, 100, 100), 100);
    assert_int_equal(points_left(0, 1, 100), 100);
    assert_int_equal(points_left(50, 51, 1.2), 100);
}

/* More parameters than combinations of all can be tried of. */
TEST(five_parameters) {
    enum { ROWS = 243 };
    static double x[5 * ROWS], times[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        size_t left = i;
        for (size_t p = 0; p < 5; p++, left /= 3)
            x[5 * i + p] = 8 * exp2(2 * (double)(left % 3));
        times[i] = 10 + x[5 * i] * x[5 * i + 1] + 20 * x[5 * i + 2] + 100 * log2(x[5 * i + 4]);
    }
    struct spex_fit fit = must_fit(5, ROWS, x, times);
    double further[] = {512, 512, 512, 512, 512};
    double truth = 10 + 512.0 * 512 + 20 * 512 + 900;
    assert_true(fabs(spex_model_value(&fit.model, further) / truth - 1) < 0.02);
}

/* As many as there may be, on no grid, in more functions than the search adds one by one. */
TEST(eight_parameters) {
    enum { WIDTH = SPEX_MODEL_PARAMETERS_MAX, ROWS = 300 };
    static double x[ROWS + 1][WIDTH], times[ROWS + 1]; /* the last is far away */
    uint64_t random = 3;
    for (size_t i = 0; i < WIDTH * (ROWS + 1); i++)
        x[i / WIDTH][i % WIDTH] = i / WIDTH < ROWS ? (double)(8 + random_below(&random, 120)) : 512;
    for (size_t i = 0; i <= ROWS; i++)
        times[i] = x[i][0] * x[i][1] + 20 * x[i][2] + 30 * x[i][4] + 40 * x[i][6] + 50 * x[i][7];
    struct spex_fit fit = must_fit(WIDTH, ROWS, x[0], times);
    assert_true(fabs(spex_model_value(&fit.model, x[ROWS]) / times[ROWS] - 1) < 1e-6);
}

TEST(very_many) {
    enum { ROWS = 200000 };
    double *x = calloc(ROWS, sizeof(double)), *times = calloc(ROWS, sizeof(double));
    uint64_t random = 9;
    assert_true(x && times);
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = (double)(1 + random_below(&random, 1000000));
        times[i] = 1e-6 * x[i] * log2(x[i]) * (0.9 + (double)random_below(&random, 200) / 1000);
    }
    struct spex_fit fit = must_fit(1, ROWS, x, times);
    assert_int_equal(fit.model.term_count, 1);
    assert_int_equal(fit.model.terms[0].factors[0].twelfths, 12);
    assert_int_equal(fit.model.terms[0].factors[0].log, 1);
    free(x);
    free(times);
}

enum { PLACES = 10, RUNS = 5, OF_A_RUN = 12, ROWS = PLACES * RUNS * OF_A_RUN };

/* A constant of two modes, as of a cache that is hit or missed, one of which half of all are: no
 * outliers, and the mean is that of all. */
TEST(two_modes) {
    static double n[ROWS], times[ROWS];
    uint64_t random = 7;
    double sum = 0;
    for (size_t r = 0; r < ROWS; r++) {
        double noise = 1 + 0.1 * ((double)random_below(&random, 2001) / 1000 - 1);
        n[r] = (double)(1000 * (1 + r / (RUNS * OF_A_RUN)));
        times[r] = (random_below(&random, 100) < 45 ? 3 : 1) * noise;
        sum += times[r];
    }
    struct spex_fit fit = must_fit(1, ROWS, n, times);
    assert_int_equal(fit.model.class, SPEX_MODEL_CONSTANT);
    assert_int_equal(fit.outliers, 0);
    assert_true(fabs(fit.model.constant / (sum / ROWS) - 1) < 0.02);
}

/* What differs from run to run, however exactly it is known of each, says nothing about the places
 * that they are of. */
TEST(measurements_of_a_run_have_much_in_common) {
    static double n[ROWS], times[ROWS];
    static uint32_t runs[ROWS];
    uint64_t random = 11;
    double run = 1;
    for (size_t r = 0; r < ROWS; r++) {
        if (r % OF_A_RUN == 0)
            run = 1 + 0.5 * ((double)random_below(&random, 2001) / 1000 - 1);
        n[r] = (double)(1000 * (1 + r / (RUNS * OF_A_RUN)));
        times[r] = run * (1 + 0.02 * ((double)random_below(&random, 2001) / 1000 - 1));
        runs[r] = (uint32_t)(r / OF_A_RUN);
    }
    struct spex_measurements measured = {1, ROWS, n, times, NULL};
    struct spex_fit unknown, known;
    assert_int_equal(spex_fit(&measured, &unknown), 0);
    measured.runs = runs;
    assert_int_equal(spex_fit(&measured, &known), 0);
    assert_int_equal(known.model.class, SPEX_MODEL_CONSTANT);
    assert_true(known.model.constant_error > unknown.model.constant_error * 0.99);
    assert_true(known.model.freedom < unknown.model.freedom / 4);
}

/* Means that leave as much as repeated measurements vary: a slope is told from five of its standard
 * errors on, however little of the variance it explains. */
TEST(a_slope_in_noise) {
    enum { POINTS = 12, EACH = 8, NEAR = 2 };
    double n[POINTS * EACH], times[POINTS * EACH];
    unsigned told[NEAR] = {0};
    for (int step = 0; step < 400; step++) {
        for (size_t i = 0; i < POINTS * EACH; i++) {
            size_t point = i / EACH;
            double wobble = point % 4 == 0 || point % 4 == 3 ? 0.1 : -0.1;
            n[i] = (double)point + 1;
            times[i] = 1 + step * 2e-4 * n[i] + wobble + (i % 2 ? 0.25 : -0.25);
        }
        struct spex_fit fit = must_fit(1, POINTS * EACH, n, times);
        double errors = fit.model.terms[0].coefficient / fit.model.terms[0].error;
        if (fit.model.term_count != 1 || fit.model.adjusted_r2 >= SPEX_MODEL_GOOD_R2 ||
            errors < 4 || errors > 6)
            continue;
        assert_int_equal(fit.model.class == SPEX_MODEL_UNKNOWN, errors < 5);
        told[errors >= 5]++;
    }
    assert_true(told[0] && told[1]);
}
