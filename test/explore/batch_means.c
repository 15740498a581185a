/* SPDX-License-Identifier: MIT */
/* Values that are known, and whether 95 % intervals hold the truth in 95 % of series however
 * their records are correlated. What is reached is printed. The random numbers are the same in
 * every run. */
#include <math.h>

#include "measure/batch_means.h"
#include "sources.h"
#include "stats/histogram.h"

#define MICRO 1e6

enum { SERIES = 250 };

enum figure { MEAN, RATE, P50, P90, P99, FIGURES };

static const char *const figure_names[] = {"mean", "rate", "p50", "p90", "p99"};

static struct spex_batch_means opened(uint64_t batch_records, bool quantiles) {
    struct spex_batch_means means;
    assert_int_equal(spex_batch_means_open(&means, batch_records, quantiles), 0);
    return means;
}

static void close_to(double found, double expected, double tolerance) {
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

/* Whatever has been joined. */
static void values(void **state) {
    (void)state;
    static const unsigned counts[] = {1, 7, 127, 128, 129, 1000, 100000};
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        struct spex_batch_means means = opened(1, true);
        double sum = 0, weight = 0;
        for (unsigned r = 0; r < counts[c]; r++) {
            spex_batch_means_add(&means, r * 7919 % counts[c] + 1, 1 + r % 3, 2);
            sum += (1 + r % 3) * (double)(r * 7919 % counts[c] + 1);
            weight += 1 + r % 3;
        }
        close_to(spex_batch_means_mean(&means).value, sum / weight, 1e-12);
        close_to(spex_batch_means_rate(&means).value, weight / counts[c] / 2, 1e-12);
        close_to(spex_batch_means_quantile(&means, 0.5).value, (1 + counts[c]) / 2.0, 0.1);
        assert_int_equal(means.min, 1);
        assert_int_equal(means.max, counts[c]);
        assert_true(means.count < SPEX_BATCHES);
        assert_int_equal(means.count * means.batch_records + means.open_records, counts[c]);
        close_to(spex_batch_means_time(&means, means.count),
                 2.0 * (double)(counts[c] - means.open_records), 1e-12);
        spex_batch_means_close(&means);
    }
}

static void nothing(void **state) {
    (void)state;
    struct spex_batch_means means = opened(1, true);
    assert_true(isnan(spex_batch_means_mean(&means).value));
    assert_true(isnan(spex_batch_means_rate(&means).value));
    assert_true(isnan(spex_batch_means_quantile(&means, 0.5).value));
    for (unsigned r = 0; r < 7; r++) {
        spex_batch_means_add(&means, 100 + r, 1, 1 + r % 2);
        assert_true(isnan(spex_batch_means_mean(&means).error));
        assert_true(isnan(spex_batch_means_rate(&means).error));
        assert_true(isnan(spex_batch_means_quantile(&means, 0.5).error));
    }
    spex_batch_means_add(&means, 107, 1, 1);
    assert_true(spex_batch_means_mean(&means).error > 0);
    assert_true(spex_batch_means_rate(&means).error > 0);
    spex_batch_means_close(&means);
}

/* Batches of one record, none like its neighbours: Student's interval. A skewness that chance
 * explains does not make it longer, a greater one does. */
static void intervals_of_eight(void **state) {
    static const struct {
        uint64_t values[8];
        double error; /* the standard error */
        bool skewed;
    } series[] = {
        {{1000, 3000, 1000, 3000, 1000, 3000, 1000, 3000}, 377.9645, false},
        {{1000, 3000, 1500, 3000, 1000, 3000, 1000, 3200}, 369.0903, false},
        {{1000, 2000, 1000, 2600, 1000, 2000, 1100, 1900}, 220.9961, false},
        {{1000, 1100, 1000, 1100, 9000, 1100, 1000, 1100}, 993.0113, true},
    };
    const double student = 2.364624, normal = 1.959964;
    (void)state;
    for (size_t s = 0; s < COUNT_OF(series); s++) {
        struct spex_batch_means means = opened(1, false);
        for (unsigned r = 0; r < 8; r++)
            spex_batch_means_add(&means, series[s].values[r], 1, 1);
        double error = spex_batch_means_mean(&means).error * normal / student;
        if (series[s].skewed)
            assert_true(error > 1.2 * series[s].error);
        else
            close_to(error, series[s].error, 1e-5);
        spex_batch_means_close(&means);
    }
}

/* A quantile is at most as far away as the greatest value in its bucket. */
static void within_a_bucket(void **state) {
    struct spex_batch_means means = opened(1, true);
    double low, high;
    (void)state;
    spex_histogram_bounds(spex_histogram_bucket(1 << 20), &low, &high);
    uint64_t least = (uint64_t)(low + 0.75 * (high - low)), most = (uint64_t)high - 1;
    for (unsigned r = 0; r < 1000; r++)
        spex_batch_means_add(&means, r % 2 ? least : most, 1, 1);
    struct spex_measured median = spex_batch_means_quantile(&means, 0.5);
    assert_true(median.value == (double)least);
    close_to(median.error * 1.959964, (double)(most - least), 1e-5);
    spex_batch_means_close(&means);
}

/* What does not vary is known; a quantile, as well as the histogram tells it. */
static void constant(void **state) {
    (void)state;
    struct spex_batch_means means = opened(1, true);
    for (unsigned r = 0; r < 1000; r++)
        spex_batch_means_add(&means, 12345, 1, 10);
    close_to(spex_batch_means_mean(&means).value, 12345, 1e-12);
    assert_true(spex_batch_means_mean(&means).error < 1e-9);
    assert_true(spex_batch_means_rate(&means).error < 1e-12);
    assert_true(spex_batch_means_quantile(&means, 0.99).value == 12345);
    assert_true(spex_batch_means_quantile(&means, 0.99).error == 0);
    for (unsigned r = 0; r < 1000; r++)
        spex_batch_means_add(&means, 12346 + r % 2, 1, 10);
    struct spex_measured p90 = spex_batch_means_quantile(&means, 0.9);
    assert_true(fabs(p90.value - 12347) <= 1.96 * p90.error);
    assert_true(p90.error < 0.008 * 12347);
    spex_batch_means_close(&means);
}

/* Beyond the greatest value there may be anything. */
static void too_rare(void **state) {
    (void)state;
    uint64_t random = 5;
    struct spex_batch_means means = opened(1, true);
    for (unsigned r = 0; r < 1000; r++)
        spex_batch_means_add(&means, (uint64_t)(MICRO * exponential(&random)), 1, 1);
    assert_true(spex_batch_means_quantile(&means, 0.9).error > 0);
    assert_true(isfinite(spex_batch_means_quantile(&means, 0.999).value));
    assert_true(isnan(spex_batch_means_quantile(&means, 0.999).error));
    assert_true(isnan(spex_batch_means_quantile(&means, 0.001).error));
    spex_batch_means_close(&means);
}

/* Adds one record of each of the values, in an order in which none is like its neighbours. */
static struct spex_batch_means distinct(unsigned count, unsigned step) {
    struct spex_batch_means means = opened(1, true);
    for (unsigned r = 0; r < count; r++)
        spex_batch_means_add(&means, 1 + r * step % count, 1, 1);
    return means;
}

/* By the formula, of records that are independent: the ends of an interval of the share, which is
 * moved by the binomial law's skewness. Values below 64 have buckets of their own. */
static void intervals_of_quantiles(void **state) {
    enum { COUNT = 60, STEP = 23 };
    static const double shares[] = {0.16, 0.21, 0.31, 0.455, 0.5, 0.62, 0.71, 0.79, 0.84};
    const double student_59 = 2.0009954;
    (void)state;
    struct spex_batch_means means = distinct(COUNT, STEP);
    for (size_t s = 0; s < COUNT_OF(shares); s++) {
        double q = shares[s], margin = student_59 * sqrt(q * (1 - q) / (COUNT - 1));
        double skew = (1 - 2 * q) * (1.959964 * 1.959964 - 1) / 6 / (COUNT - 1);
        double value = ceil(q * COUNT), low = ceil((q - margin + skew) * COUNT),
               high = ceil((q + margin + skew) * COUNT);
        struct spex_measured quantile = spex_batch_means_quantile(&means, q);
        assert_true(quantile.value == value);
        close_to(quantile.error * 1.959964, fmax(value - low, high - value), 1e-6);
    }
    spex_batch_means_close(&means);
}

/* Four and a half records beyond a quantile are too few, on either side, though the interval would
 * be within what was seen. */
static void records_beyond_are_counted_on_both_sides(void **state) {
    (void)state;
    for (unsigned count = 40; count <= 60; count += 5) {
        struct spex_batch_means means = distinct(count, 23);
        double low = spex_batch_means_quantile(&means, 0.1).error,
               high = spex_batch_means_quantile(&means, 0.9).error;
        assert_int_equal(isnan(low) != 0, count < 55);
        assert_int_equal(isnan(high) != 0, count < 55);
        spex_batch_means_close(&means);
    }
}

/* The share is measured at the end of the quantile's bucket that is nearer, if there is something
 * beyond it. At the other end it is correlated, so that it would say nothing. */
static void the_nearer_end_of_the_bucket_tells(void **state) {
    enum { COUNT = 100, LEAST = 10, MIDDLE = 11, MOST = 50 };
    static const struct {
        bool mirrored;
        double q, error; /* NaN: the far end is the nearer one */
    } cases[] = {
        {false, 0.69, MOST - MIDDLE}, {false, 0.62, MOST - MIDDLE}, {false, 0.41, NAN},
        {true, 0.31, MOST - MIDDLE},  {true, 0.38, MOST - MIDDLE},  {true, 0.59, NAN},
        {false, 0.78, MOST - MIDDLE}, {true, 0.22, MOST - MIDDLE},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_batch_means means = opened(1, true);
        for (unsigned r = 0, others = 0; r < COUNT; r++) {
            unsigned value = r % 10 % 3 == 2 ? MOST : others++ < 40 ? LEAST : MIDDLE;
            value = cases[c].mirrored ? LEAST + MOST - value : value;
            spex_batch_means_add(&means, value, 1, 1);
        }
        double error = spex_batch_means_quantile(&means, cases[c].q).error;
        if (isnan(cases[c].error) != isnan(error))
            fail_msg("%zu: %g", c, error);
        if (!isnan(error))
            close_to(error * 1.959964, cases[c].error, 1e-6);
        spex_batch_means_close(&means);
    }
}

/* What batches have, also when they have been joined: each a quarter of the records. */
static void batches_tell_their_own(void **state) {
    double values_of[SPEX_BATCHES], gaps[SPEX_BATCHES];
    (void)state;
    for (unsigned records = SPEX_BATCHES - 1; records < 4 * SPEX_BATCHES; records++) {
        struct spex_batch_means means = opened(1, false);
        for (unsigned r = 0; r < records; r++)
            spex_batch_means_add(&means, r, 1 + r % 2, 3 + r);
        size_t each = means.batch_records, count = records / each;
        assert_int_equal(spex_batch_means_values(&means, values_of), count);
        assert_int_equal(spex_batch_means_gaps(&means, gaps), count);
        for (size_t b = 0; b < count; b++) {
            double sum = 0, weight = 0, time = 0;
            for (size_t r = b * each; r < (b + 1) * each; r++) {
                sum += (double)(r * (1 + r % 2));
                weight += (double)(1 + r % 2);
                time += (double)(3 + r);
            }
            close_to(values_of[b], sum / weight, 1e-12);
            close_to(gaps[b], time / weight, 1e-12);
        }
        assert_int_equal(each, records < SPEX_BATCHES ? 1 : records < 2 * SPEX_BATCHES ? 2 : 4);
        spex_batch_means_close(&means);
    }
}

/* NaN where it is not known, or has no interval: the pauses' share is 1 %. */
struct kind {
    const char *name;
    struct arrival (*next)(struct source *source);
    double rho;
    double time; /* of correlation: records that say as much as an independent one does */
    double truth[FIGURES];
};

#define NORMAL_P90 1.281552
#define NORMAL_P99 2.326348
#define GAUSSIAN   1, 1 + 0.2 * NORMAL_P90, 1 + 0.2 * NORMAL_P99

static struct kind kinds[] = {
    {"independent", independent, 0, 1, {1, 1, 0.693147, 2.302585, 4.605170}},
    {"autoregressive 0.5", autoregressive, 0.5, 3, {1, 1, GAUSSIAN}},
    {"autoregressive 0.9", autoregressive, 0.9, 19, {1, 1, GAUSSIAN}},
    {"autoregressive 0.99", autoregressive, 0.99, 199, {1, 1, GAUSSIAN}},
    {"queue 0.5", queue, 0.5, 29, {1, 0.5, NAN, 3.218876, 7.824046}},
    {"queue 0.8", queue, 0.8, 240, {4, 0.8, 2.350018, 10.397208, 21.910133}},
    {"queue 0.9", queue, 0.9, 1000, {9, 0.9, 5.877867, 21.972246, 44.998097}},
    {"pauses", pauses, 0, 100, {1.5, 1 / 1.5, NAN, NAN, NAN}},
    {"drawn 0.9", drawn, 0.9, 3, {1, 1, GAUSSIAN}},
    {"drawn 0.99", drawn, 0.99, 20, {1, 1, GAUSSIAN}},
    {"counted 0.9", counted, 0.9, 3, {1, 1, GAUSSIAN}},
    {"counted 0.99", counted, 0.99, 20, {1, 1, GAUSSIAN}},
    {"threads 0.5", threads, 0.5, 12, {1, SOURCE_THREADS, GAUSSIAN}},
    {"threads 0.9", threads, 0.9, 76, {1, SOURCE_THREADS, GAUSSIAN}},
};

struct tally {
    unsigned told, held;
    double width; /* of half intervals, sum */
};

static void series_add(const struct kind *kind, unsigned number, size_t count,
                       struct tally *tallies) {
    struct spex_batch_means means = opened(1, true);
    struct source source = {.random = mix(number + 1000 * count + 1), .rho = kind->rho};
    for (size_t r = 0; r < count; r++) {
        struct arrival arrival = kind->next(&source);
        uint64_t value = (uint64_t)(fmax(arrival.value, 0) * MICRO + 0.5);
        spex_batch_means_add(&means, value, arrival.weight, arrival.time * MICRO);
    }
    struct spex_measured measured[FIGURES] = {
        spex_batch_means_mean(&means), spex_batch_means_rate(&means),
        spex_batch_means_quantile(&means, 0.5), spex_batch_means_quantile(&means, 0.9),
        spex_batch_means_quantile(&means, 0.99)};
    for (unsigned f = 0; f < FIGURES; f++) {
        double unit = f == RATE ? 1 / MICRO : MICRO;
        double margin = 1.96 * measured[f].error / unit;
        if (isnan(margin))
            continue;
        tallies[f].told++;
        tallies[f].held += fabs(measured[f].value / unit - kind->truth[f]) <= margin;
        tallies[f].width += margin / kind->truth[f];
    }
    spex_batch_means_close(&means);
}

/* Intervals of the length of the correlation time or less cannot be had; where there is enough of
 * it, they must hold. Pauses that come by the clock are better known than is told, and quantiles no
 * better than their histogram's resolution. */
static bool is_bad(const struct kind *kind, size_t count, enum figure figure,
                   const struct tally *tally) {
    double held = (double)tally->held / tally->told;
    double misled = (double)(tally->told - tally->held) / SERIES,
           times = (double)count / kind->time;
    bool exact = kind->next != pauses && figure < P50;
    if (tally->told && count >= 1000 && times >= 50)
        return (tally->told > SERIES / 2 && held < 0.90) || (exact && held > 0.99);
    return times >= 2 && misled > 0.2;
}

static void print(const struct tally *tallies, const struct kind *kind) {
    for (unsigned f = 0; f < FIGURES; f++) {
        const struct tally *tally = &tallies[f];
        if (isnan(kind->truth[f]))
            continue;
        if (!tally->told) {
            printf("  %s -", figure_names[f]);
            continue;
        }
        printf("  %s %.0f %%", figure_names[f], 100.0 * tally->held / tally->told);
        if (tally->told < SERIES)
            printf(" of %u", tally->told);
        printf(" (+-%.3g %%)", 100 * tally->width / tally->told);
    }
    printf("\n");
}

static void coverage(void **state) {
    static const size_t counts[] = {50, 200, 1000, 5000};
    const struct kind *kind = *state;
    unsigned bad = 0;
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        struct tally tallies[FIGURES] = {{0}};
        for (unsigned s = 0; s < SERIES; s++)
            series_add(kind, s, counts[c], tallies);
        printf("%-20s %5zu records:", kind->name, counts[c]);
        print(tallies, kind);
        for (unsigned f = 0; f < FIGURES; f++) {
            if (isnan(kind->truth[f]) || !is_bad(kind, counts[c], f, &tallies[f]))
                continue;
            printf("%s: bad\n", figure_names[f]);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    enum { VALUES = 10 };
    struct CMUnitTest tests[VALUES + COUNT_OF(kinds)] = {
        cmocka_unit_test(values),
        cmocka_unit_test(nothing),
        cmocka_unit_test(intervals_of_eight),
        cmocka_unit_test(within_a_bucket),
        cmocka_unit_test(constant),
        cmocka_unit_test(too_rare),
        cmocka_unit_test(intervals_of_quantiles),
        cmocka_unit_test(the_nearer_end_of_the_bucket_tells),
        cmocka_unit_test(records_beyond_are_counted_on_both_sides),
        cmocka_unit_test(batches_tell_their_own),
    };
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        tests[VALUES + k] = (struct CMUnitTest){
            .name = kinds[k].name, .test_func = coverage, .initial_state = &kinds[k]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
