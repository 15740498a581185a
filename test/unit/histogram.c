/* SPDX-License-Identifier: MIT */
/* Quantiles of the histogram against exact ones: within 1/128 of a value that was there. */
#include <math.h>

#include "../check.h"
#include "stats/histogram.h"

enum { SAMPLES = 20000 };

struct sample {
    uint64_t value;
    uint64_t weight;
};

static int by_value(const void *a, const void *b) {
    uint64_t x = ((const struct sample *)a)->value, y = ((const struct sample *)b)->value;
    return (x > y) - (x < y);
}

/* The smallest value up to which a share of at least q of the weight lies. */
static uint64_t exact_quantile(const struct sample *sorted, size_t count, double q) {
    double total = 0, below = 0;
    for (size_t i = 0; i < count; i++)
        total += (double)sorted[i].weight;
    for (size_t i = 0; i < count; i++) {
        below += (double)sorted[i].weight;
        if (below >= q * total)
            return sorted[i].value;
    }
    return sorted[count - 1].value;
}

static void expect_close(double got, uint64_t exact) {
    /* Values below 64 have a bucket each. */
    double tolerance = exact < 64 ? 0 : (double)exact / 128;
    if (!(fabs(got - (double)exact) <= tolerance))
        fail_msg("%.17g instead of %llu", got, (unsigned long long)exact);
}

static void compare(struct sample *samples, size_t count) {
    static const double quantiles[] = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};
    struct spex_histogram *histogram = calloc(1, sizeof(*histogram));
    assert_non_null(histogram);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        spex_histogram_add(histogram, samples[i].value, samples[i].weight);
        total += samples[i].weight;
    }
    assert_int_equal(histogram->total, total);
    qsort(samples, count, sizeof(*samples), by_value);
    for (size_t q = 0; q < COUNT_OF(quantiles); q++)
        expect_close(spex_histogram_quantile(histogram, quantiles[q]),
                     exact_quantile(samples, count, quantiles[q]));
    free(histogram);
}

static uint64_t uniform(uint64_t *seed) {
    return random_below(seed, 1000000);
}

static uint64_t small(uint64_t *seed) {
    return random_below(seed, 64);
}

static uint64_t exponential(uint64_t *seed) {
    return (uint64_t)(-log1p(-(double)random_below(seed, 1u << 30) / (1u << 30)) * 3000);
}

static uint64_t every_magnitude(uint64_t *seed) {
    return random_next(seed) >> random_below(seed, 64);
}

static uint64_t two_peaks(uint64_t *seed) {
    return random_below(seed, 10) ? 1000 + random_below(seed, 10) : 5000000;
}

static uint64_t at_the_edges(uint64_t *seed) {
    uint64_t power = (uint64_t)1 << random_below(seed, 64);
    return power + random_below(seed, 3) - 1;
}

TEST(quantiles_are_close) {
    static uint64_t (*const distributions[])(uint64_t *) = {
        uniform, small, exponential, every_magnitude, two_peaks, at_the_edges};
    static struct sample samples[SAMPLES];
    for (size_t d = 0; d < COUNT_OF(distributions); d++)
        for (uint64_t weighted = 0; weighted < 2; weighted++) {
            uint64_t seed = d * 2 + weighted;
            for (size_t i = 0; i < SAMPLES; i++)
                samples[i] = (struct sample){
                    .value = distributions[d](&seed),
                    .weight = weighted ? 1 + random_below(&seed, 1000) : 1,
                };
            compare(samples, SAMPLES);
        }
}

TEST(a_single_value_is_every_quantile) {
    static const uint64_t values[] = {
        0, 1, 63, 64, 65, 127, 128, 1u << 31, (uint64_t)1 << 63, UINT64_MAX - 1, UINT64_MAX};
    for (size_t v = 0; v < COUNT_OF(values); v++) {
        struct sample sample = {values[v], 3};
        compare(&sample, 1);
    }
}

TEST(an_empty_histogram_is_zero) {
    struct spex_histogram *histogram = calloc(1, sizeof(*histogram));
    assert_non_null(histogram);
    assert_true(spex_histogram_quantile(histogram, 0.5) == 0);
    free(histogram);
}

/* Wherever the weights are, as at both ends of a group of buckets. */
TEST(no_bucket_is_passed_over) {
    static struct spex_histogram histogram;
    const unsigned steps[] = {1, 7, 8, 9, 63, 64, 65, 1000, SPEX_HISTOGRAM_BUCKETS - 1};
    assert_int_equal(spex_histogram_next(&histogram, 0), SPEX_HISTOGRAM_BUCKETS);
    for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
        histogram = (struct spex_histogram){.total = 0};
        for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b += steps[s])
            histogram.weights[b] = UINT64_MAX;
        unsigned found = 0;
        for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b += steps[s], found++) {
            found = spex_histogram_next(&histogram, found);
            assert_int_equal(found, b);
        }
        assert_int_equal(spex_histogram_next(&histogram, found), SPEX_HISTOGRAM_BUCKETS);
    }
}
