/* SPDX-License-Identifier: MIT */
/* Batch means: Law, Simulation Modeling and Analysis, 5th ed., 9.5.3; of ratios: Cochran, Sampling
 * Techniques, 3rd ed., 6.4. Batches are doubled until their means are not seen to be correlated:
 * Fishman and Yarberry, INFORMS Journal on Computing 9(3), 1997. The correlation that is left is
 * taken for that of an autoregressive process of first order, as in Tafazzoli and Wilson, "Skart",
 * IIE Transactions 43(2), 2011.
 *
 * Every figure is a ratio of two sums over batches: values and weights (mean), weights and time
 * (rate), weights above a limit and all weights (quantile). */
#include "measure/batch_means.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "base/student.h"
#include "stats/histogram.h"
#include "stats/scale.h"

/* Fewest batches from which an error is computed; lags at which correlation is looked for; buckets
 * in a batch's histogram. */
enum { LEAST_BATCHES = 8, LAGS = 8, ROW = SPEX_HISTOGRAM_BUCKETS };

/* Least number of independent records beyond a quantile for which it has an error. */
#define LEAST_BEYOND 5

/* In standard deviations: a correlation above the first is more than chance (one side, 5 %); a
 * skewness below the second may be chance and is ignored. */
#define CORRELATED       1.645
#define SKEWED_BY_CHANCE 0.75

int spex_batch_means_open(struct spex_batch_means *means, uint64_t batch_records, bool quantiles) {
    *means = (struct spex_batch_means){
        .batch_records = batch_records, .min = INFINITY, .max = -INFINITY};
    if (quantiles)
        means->weights = spex_calloc((size_t)SPEX_BATCHES * ROW, sizeof(*means->weights));
    return quantiles && !means->weights ? -ENOMEM : 0;
}

void spex_batch_means_close(struct spex_batch_means *means) {
    spex_free(means->weights);
    means->weights = NULL;
}

static void batch_add(struct spex_batch *to, const struct spex_batch *batch) {
    to->weight += batch->weight;
    to->sum += batch->sum;
    to->time += batch->time;
}

/* The buckets between the least and the greatest value, of which there is one. Others are not
 * touched, so their pages need no memory. */
struct range {
    unsigned first, end;
};

static struct range buckets_range(const struct spex_batch_means *means) {
    return (struct range){spex_value_scale_bucket(means->scale, means->min),
                          spex_value_scale_bucket(means->scale, means->max) + 1};
}

/* Joins the histograms of neighbouring batches in place, in ascending order: a target is never
 * behind its sources. */
static void batches_join_weights(struct spex_batch_means *means) {
    struct range range = buckets_range(means);
    size_t bytes = (range.end - range.first) * sizeof(*means->weights);
    for (size_t b = 0; b < SPEX_BATCHES / 2; b++) {
        double *to = means->weights + b * ROW;
        const double *one = means->weights + 2 * b * ROW, *other = one + ROW;
        for (unsigned i = range.first; i < range.end; i++)
            to[i] = one[i] + other[i];
    }
    for (size_t b = SPEX_BATCHES / 2; b < SPEX_BATCHES; b++)
        memset(means->weights + b * ROW + range.first, 0, bytes);
}

/* All batches are full: joins them by two, so that half of them are free and new ones are twice as
 * long. */
static void batches_join(struct spex_batch_means *means) {
    if (means->weights)
        batches_join_weights(means);
    for (size_t b = 0; b < SPEX_BATCHES / 2; b++) {
        means->batches[b] = means->batches[2 * b];
        batch_add(&means->batches[b], &means->batches[2 * b + 1]);
    }
    memset(means->batches + SPEX_BATCHES / 2, 0, sizeof(means->batches) / 2);
    means->count = SPEX_BATCHES / 2;
    means->batch_records *= 2;
}

/* Has the batches' histograms hold other numbers than before. False: no memory; then quantiles are
 * not known. */
static bool batches_widen(struct spex_batch_means *means, unsigned scale) {
    unsigned from = means->scale;
    double *weights = from == SPEX_SCALE_NATURAL
                          ? spex_calloc((size_t)SPEX_BATCHES * ROW, sizeof(*weights))
                          : means->weights;
    struct range range = buckets_range(means);
    means->scale = scale;
    for (size_t b = 0; weights && weights != means->weights && b < SPEX_BATCHES; b++)
        for (unsigned i = range.first; i < range.end; i++)
            weights[b * ROW + spex_value_scale_bucket_from(scale, from, i)] +=
                means->weights[b * ROW + i];
    if (weights != means->weights)
        spex_free(means->weights);
    means->weights = weights;
    return weights;
}

static void weight_add(struct spex_batch_means *means, double value, double weight) {
    unsigned scale = spex_value_scale_of(value);
    if (scale > means->scale && !batches_widen(means, scale))
        return;
    means->weights[means->count * ROW + spex_value_scale_bucket(means->scale, value)] += weight;
}

/* O(1) on average. Joining costs O(batches × buckets), and is done each time the number of records
 * has doubled. */
void spex_batch_means_add(struct spex_batch_means *means, double value, double weight,
                          double time) {
    const struct spex_batch record = {weight, weight * value, time};
    batch_add(&means->batches[means->count], &record);
    batch_add(&means->total, &record);
    if (means->weights)
        weight_add(means, value, weight);
    means->min = value < means->min ? value : means->min;
    means->max = value > means->max ? value : means->max;
    if (++means->open_records < means->batch_records)
        return;
    means->open_records = 0;
    if (++means->count == SPEX_BATCHES)
        batches_join(means);
}

/* Numerator and denominator of a ratio, by batch. */
struct pairs {
    size_t count;
    double above[SPEX_BATCHES];
    double below[SPEX_BATCHES];
};

/* Joins neighbours; of an odd number the last one is left out. */
static void pairs_join(struct pairs *pairs) {
    pairs->count /= 2;
    for (size_t b = 0; b < pairs->count; b++) {
        pairs->above[b] = pairs->above[2 * b] + pairs->above[2 * b + 1];
        pairs->below[b] = pairs->below[2 * b] + pairs->below[2 * b + 1];
    }
}

static double sum_of(const double *terms, size_t count) {
    double sum = 0;
    for (size_t t = 0; t < count; t++)
        sum += terms[t];
    return sum;
}

/* Variance of a ratio, the number of independent batches that it stands for, and the batches'
 * skewness. */
struct estimate {
    double variance;
    double batches;
    double skewness;
};

/* The batches' differences from the ratio of all. */
struct residuals {
    size_t count;
    /* Sum of the denominators. */
    double below;
    double distances[SPEX_BATCHES];
};

/* The differences sum up to 0, by the definition of the ratio. */
static void residuals_of(const struct pairs *pairs, struct residuals *residuals) {
    residuals->count = pairs->count;
    residuals->below = sum_of(pairs->below, pairs->count);
    double ratio = sum_of(pairs->above, pairs->count) / residuals->below;
    for (size_t b = 0; b < pairs->count; b++)
        residuals->distances[b] = pairs->above[b] - ratio * pairs->below[b];
}

/* Sum of the products of residuals that are `lag` apart. */
static double residuals_products(const struct residuals *residuals, size_t lag) {
    double sum = 0;
    for (size_t b = lag; b < residuals->count; b++)
        sum += residuals->distances[b] * residuals->distances[b - lag];
    return sum;
}

/* Removes the bias of a correlation that is estimated from `count` batches and their mean: it is
 * too low by (1 + 3 r) / count (Marriott and Pope, Biometrika 41(3/4), 1954). */
static double correlation_unbiased(double correlation, double count) {
    double r = correlation + (1 + 3 * correlation) / count;
    return fmin(r, 1 - 2 / count);
}

/* Returns whether the sum of the first correlations is too great for chance; each has variance 1 /
 * count if there is none. Several lags, since records of threads that take turns are not correlated
 * with their direct neighbours. */
static bool residuals_correlated(const struct residuals *residuals) {
    double count = (double)residuals->count, squares = residuals_products(residuals, 0), sum = 0;
    size_t wanted = 1;
    for (size_t lag = 1; lag <= LAGS && lag * 4 <= residuals->count; lag++) {
        sum += residuals_products(residuals, lag) / squares + 1 / count;
        if (lag < wanted)
            continue;
        if (sum > CORRELATED * sqrt((double)lag / count))
            return true;
        wanted *= 2;
    }
    return false;
}

/* Third standardised moment, without a correction for few batches. */
static double residuals_skewness(const struct residuals *residuals) {
    double squares = residuals_products(residuals, 0), cubes = 0, count = (double)residuals->count;
    for (size_t b = 0; b < residuals->count; b++)
        cubes += pow(residuals->distances[b], 3);
    return cubes / count / pow(squares / count, 1.5);
}

/* With correlation r of neighbours the variance is (1 + r) / (1 - r) times that of independent
 * batches, which are as many times fewer. */
static struct estimate residuals_estimate(const struct residuals *residuals) {
    const double count = (double)residuals->count, squares = residuals_products(residuals, 0);
    if (!(squares > 0))
        return (struct estimate){.batches = count};
    double r = fmax(correlation_unbiased(residuals_products(residuals, 1) / squares, count), 0);
    double inflation = (1 + r) / (1 - r);
    return (struct estimate){squares * count / (count - 1) / (residuals->below * residuals->below) *
                                 inflation,
                             count / inflation, residuals_skewness(residuals)};
}

/* Joins batches until they are not seen to be correlated. If they always are, takes the greatest
 * variance. Changes *pairs. */
static struct estimate ratio_estimate(struct pairs *pairs) {
    struct estimate worst = {0};
    struct residuals residuals;
    for (; pairs->count >= LEAST_BATCHES; pairs_join(pairs)) {
        residuals_of(pairs, &residuals);
        struct estimate estimate = residuals_estimate(&residuals);
        if (!(estimate.variance > 0) || !residuals_correlated(&residuals))
            return estimate;
        if (estimate.variance >= worst.variance)
            worst = estimate;
    }
    return worst;
}

/* Student's quantile, corrected for skewness; the longer side of the interval (Willink,
 * Communications in Statistics - Theory and Methods 34, 2005). */
static double estimate_student(const struct estimate *estimate) {
    double t = spex_student_95(fmax(estimate->batches - 1, 2));
    double skewness = fabs(estimate->skewness) - SKEWED_BY_CHANCE * sqrt(6 / estimate->batches);
    double b = skewness / (6 * sqrt(estimate->batches));
    if (!(b > 1e-6))
        return t;
    return fmax(t, (1 - cbrt(1 - 6 * b * (t + b))) / (2 * b));
}

/* Half of the width of a 95 % interval; NaN: not known, since there are too few batches. */
static double ratio_margin(struct pairs *pairs) {
    if (pairs->count < LEAST_BATCHES)
        return NAN;
    struct estimate estimate = ratio_estimate(pairs);
    return estimate_student(&estimate) * sqrt(estimate.variance);
}

static void pairs_of_mean(const struct spex_batch_means *means, struct pairs *pairs) {
    pairs->count = means->count;
    for (size_t b = 0; b < means->count; b++) {
        pairs->above[b] = means->batches[b].sum;
        pairs->below[b] = means->batches[b].weight;
    }
}

/* The value is over all records, the one in the open batch included; the error is from full
 * batches. */
struct spex_measured spex_batch_means_mean(const struct spex_batch_means *means) {
    struct pairs pairs;
    pairs_of_mean(means, &pairs);
    return (struct spex_measured){means->total.sum / means->total.weight,
                                  ratio_margin(&pairs) / SPEX_NORMAL_95};
}

/* A rate is a ratio of random times, so it has the error of a ratio like a mean. */
struct spex_measured spex_batch_means_rate(const struct spex_batch_means *means) {
    struct pairs pairs = {.count = means->count};
    for (size_t b = 0; b < means->count; b++) {
        pairs.above[b] = means->batches[b].weight;
        pairs.below[b] = means->batches[b].time;
    }
    return (struct spex_measured){means->total.weight / means->total.time,
                                  ratio_margin(&pairs) / SPEX_NORMAL_95};
}

/* Sums of the weights of all batches, by bucket. */
struct shares {
    struct range range;
    double all;
    double weights[ROW];
};

/* Includes the open batch, batches[count]. */
static void shares_of(const struct spex_batch_means *means, struct shares *shares) {
    shares->range = buckets_range(means);
    shares->all = means->total.weight;
    memset(shares->weights, 0, sizeof(shares->weights));
    for (size_t b = 0; b <= means->count; b++)
        for (unsigned i = shares->range.first; i < shares->range.end; i++)
            shares->weights[i] += means->weights[b * ROW + i];
}

/* The bucket in which the quantile lies. */
static unsigned quantile_bucket(const struct shares *shares, double q) {
    double wanted = q * shares->all, below = 0;
    unsigned last = shares->range.first;
    for (unsigned i = shares->range.first; i < shares->range.end; i++) {
        if (!(shares->weights[i] > 0))
            continue;
        last = i;
        below += shares->weights[i];
        if (below >= wanted)
            break;
    }
    return last;
}

/* A bucket's middle may lie outside of what was observed, so the value is confined to it. */
static double quantile_value(const struct spex_batch_means *means, const struct shares *shares,
                             double q) {
    double value = spex_value_scale_value(means->scale, quantile_bucket(shares, q));
    return isnan(value) ? NAN : fmax(means->min, fmin(value, means->max));
}

/* The end of the quantile's bucket that is closer to the quantile and has weight on both sides; 0:
 * there is none. *above: the share of the weight above it. */
static unsigned limit_near(const struct shares *shares, double q, double *above) {
    unsigned bucket = quantile_bucket(shares, q);
    double least = sum_of(shares->weights + shares->range.first, bucket - shares->range.first);
    double most = least + shares->weights[bucket], wanted = q * shares->all;
    bool low = least > 0 && (!(most < shares->all) || wanted - least < most - wanted);
    *above = 1 - (low ? least : most) / shares->all;
    return *above > 0 && *above < 1 ? bucket + !low : 0;
}

/* Variance of the share of the weight below the q-quantile, from that of the share at a bucket's
 * end near it: a binomial share's variance is proportional to q (1 - q). */
static struct estimate share_estimate(const struct spex_batch_means *means,
                                      const struct shares *shares, double q) {
    double above;
    unsigned limit = limit_near(shares, q, &above);
    if (!limit)
        return (struct estimate){.batches = (double)means->count};
    struct pairs pairs = {.count = means->count};
    for (size_t b = 0; b < means->count; b++) {
        pairs.above[b] = sum_of(means->weights + b * ROW + limit, shares->range.end - limit);
        pairs.below[b] = means->batches[b].weight;
    }
    struct estimate estimate = ratio_estimate(&pairs);
    estimate.variance *= q * (1 - q) / (above * (1 - above));
    return estimate;
}

/* How far the quantile may be from `value` within its bucket. */
static double bucket_margin(const struct spex_batch_means *means, double value) {
    double low, high;
    spex_value_scale_bounds(means->scale, spex_value_scale_bucket(means->scale, value), &low,
                            &high);
    low = fmax(low, means->min);
    high = fmin(high, means->max);
    return fmax(value - low, high - value);
}

/* Number of independent records whose mean would have the same error. */
static double independent_records(const struct spex_batch_means *means,
                                  const struct shares *shares) {
    double mean = means->total.sum / means->total.weight, squares = 0;
    for (unsigned i = shares->range.first; i < shares->range.end; i++) {
        double distance = spex_value_scale_value(means->scale, i) - mean;
        squares += shares->weights[i] * distance * distance;
    }
    struct pairs pairs;
    pairs_of_mean(means, &pairs);
    double variance = ratio_estimate(&pairs).variance;
    return variance > 0 ? squares / shares->all / variance : INFINITY;
}

/* Half of the width of the quantile's interval: the distance to the values at the ends of an
 * interval of the share (Woodruff, JASA 47(260), 1952). The share is binomial and skewed, which the
 * Cornish-Fisher expansion corrects. */
static double quantile_margin(const struct spex_batch_means *means, const struct shares *shares,
                              double q, double value) {
    if (means->count < LEAST_BATCHES)
        return NAN;
    struct estimate estimate = share_estimate(means, shares, q);
    if (fmin(q, 1 - q) * independent_records(means, shares) < LEAST_BEYOND)
        return NAN;
    double t = spex_student_95(fmax(estimate.batches - 1, 2)), margin = t * sqrt(estimate.variance);
    double skew =
        (1 - 2 * q) * (SPEX_NORMAL_95 * SPEX_NORMAL_95 - 1) / 6 * estimate.variance / (q * (1 - q));
    double low = q - margin + skew, high = q + margin + skew;
    if (!(low > 0) || !(high < 1))
        /* Nothing is known beyond the extremes. */
        return NAN;
    double below = value - quantile_value(means, shares, low),
           above = quantile_value(means, shares, high) - value;
    return fmax(fmax(below, above), bucket_margin(means, value));
}

struct spex_measured spex_batch_means_quantile(const struct spex_batch_means *means, double q) {
    struct shares shares;
    if (means->min > means->max || !means->weights)
        return (struct spex_measured){NAN, NAN};
    shares_of(means, &shares);
    double value = quantile_value(means, &shares, q);
    return (struct spex_measured){value,
                                  quantile_margin(means, &shares, q, value) / SPEX_NORMAL_95};
}

size_t spex_batch_means_values(const struct spex_batch_means *means, double values[SPEX_BATCHES]) {
    for (size_t b = 0; b < means->count; b++)
        values[b] = means->batches[b].sum / means->batches[b].weight;
    return means->count;
}

size_t spex_batch_means_gaps(const struct spex_batch_means *means, double gaps[SPEX_BATCHES]) {
    for (size_t b = 0; b < means->count; b++)
        gaps[b] = means->batches[b].time / means->batches[b].weight;
    return means->count;
}

double spex_batch_means_time(const struct spex_batch_means *means, size_t batch) {
    double time = 0;
    for (size_t b = 0; b < batch; b++)
        time += means->batches[b].time;
    return time;
}
