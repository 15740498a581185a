/* SPDX-License-Identifier: MIT */
/* The detector of anomalies on a series that chance makes: what it has learnt at some places, when
 * it finds that a shift has begun and ended, and the levels of tails. The figures are those that it
 * had when false alarms and delays were measured (anomalies.c). */
#include "model/detector.h"

#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "model/tail.h"

static struct spex_random random_state;

static double even(void) {
    return (double)(spex_random_next(&random_state) >> 11) / (double)(UINT64_C(1) << 53);
}

/* Nearly normal, of deviation 1 (Irwin and Hall). */
static double normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += even();
    return sum - 6;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-5 * fabs(expected)))
        fail_msg("%.9g instead of %.9g", found, expected);
}

struct series {
    struct spex_detector *detector;
    double now, step;
    unsigned outliers, shifted;
};

/* As the caller does it (anomalies.c): what is unlikely is an outlier. */
static enum spex_verdict take(struct series *series, double log_ratio) {
    bool outlier = spex_detector_unlikely(series->detector, log_ratio);
    series->now += series->step;
    enum spex_verdict verdict =
        spex_detector_take(series->detector, log_ratio, series->now, true, outlier);
    series->outliers += verdict == SPEX_OUTLIER;
    series->shifted += verdict == SPEX_SHIFTED;
    return verdict;
}

static void expect_learnt(const struct series *series, double centre, double upper,
                          double deviation, double evidence) {
    expect_near(series->detector->centre, centre);
    expect_near(series->detector->upper, upper);
    expect_near(series->detector->deviation, deviation);
    expect_near(series->detector->evidence, evidence);
}

TEST(a_series_is_learnt) {
    struct series series = {.detector = calloc(1, sizeof(*series.detector)), .step = 1e-3};
    assert_non_null(series.detector);
    spex_random_seed(&random_state, 5, 1);
    spex_detector_init(series.detector, 1e-4, false);
    for (int i = 0; i < SPEX_DETECTOR_FIRST; i++)
        take(&series, 0.05 + 0.1 * normal());
    expect_learnt(&series, 0.0848525167, 0.191352189, 0.0819158405, 0);
    for (int i = 0; i < 5000; i++)
        take(&series, 0.1 + 0.1 * normal());
    expect_learnt(&series, 0.0950525167, 0.13596131, 0.0677410349, 0);
    assert_int_equal(series.outliers + series.shifted, 0);
    unsigned until_found = 0, until_over = 0;
    while (take(&series, 0.5 + 0.1 * normal()) != SPEX_SHIFTED)
        until_found++;
    expect_learnt(&series, 0.0951725167, 0.14347041, 0.0685580026, 23.4206807);
    assert_int_equal(until_found, 199); /* 0.2 s */
    assert_int_equal(series.outliers, 61);
    for (int i = 0; i < 300; i++)
        take(&series, 0.5 + 0.1 * normal());
    while (series.detector->shifted) {
        take(&series, 0.1 + 0.1 * normal());
        until_over++;
    }
    expect_learnt(&series, 0.0951925167, 0.143326939, 0.0686951186, 8.72601412);
    assert_int_equal(until_over, 25);
    assert_int_equal(series.outliers, 61);
    assert_int_equal(series.shifted, 298);
    free(series.detector);
}

/* Levels of an exponential tail, with and without what is forgotten. */
TEST(tails_have_levels) {
    static const unsigned counts[] = {25, 100, 1000, 9999, 10001, 60000};
    static const double expected[][3] = {
        {5.17671783, 10.2842044, 31.5260393}, {5.56272233, 12.4917352, 59.8304272},
        {4.79598391, 9.6572806, 39.5814857},  {4.65336921, 7.12615144, 15.9148665},
        {4.64080811, 7.12589425, 15.9143255}, {5.17409801, 6.97815696, 13.8804059}};
    struct spex_tail tail;
    size_t row = 0;
    spex_random_seed(&random_state, 6, 1);
    spex_tail_init(&tail, 1e-3);
    for (unsigned n = 1; row < COUNT_OF(counts); n++) {
        spex_tail_add(&tail, -log(1 - even()));
        if (n < counts[row])
            continue;
        struct spex_tail copy = tail;
        expect_near(spex_tail_level(&copy, 1e-2), expected[row][0]);
        copy = tail;
        expect_near(spex_tail_level(&copy, 1e-3), expected[row][1]);
        copy = tail;
        expect_near(spex_tail_level(&copy, 1e-5), expected[row][2]);
        row++;
    }
}

/* Of one so heavy that it has no variance. */
TEST(heavy_tails_have_levels) {
    struct spex_tail tail;
    spex_random_seed(&random_state, 7, 1);
    spex_tail_init(&tail, 1e-3);
    for (unsigned n = 0; n < 1000; n++)
        spex_tail_add(&tail, pow(1 - even(), -0.8));
    expect_near(spex_tail_level(&tail, 1e-3), 116.233745);
}
