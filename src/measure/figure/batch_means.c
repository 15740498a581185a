/* SPDX-License-Identifier: MIT */
/* Batch means: Law, Simulation Modeling and Analysis, 5th ed., 9.5.3; of ratios: Cochran, Sampling
 * Techniques, 3rd ed., 6.4. Batches that double, until their means are not correlated any more:
 * Fishman and Yarberry, INFORMS Journal on Computing 9(3), 1997. What correlation is left is taken
 * for that of an autoregressive process of first order, as in Tafazzoli and Wilson, "Skart", IIE
 * Transactions 43(2), 2011. */
#include "measure/figure/batch_means.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "stats/histogram.h"

enum { LEAST_BATCHES = 8, LAGS = 8, ROW = SPEX_HISTOGRAM_BUCKETS };

/* What beyond a quantile is the least that tells of it. */
#define LEAST_BEYOND 5

/* Standard deviations: of correlation that is more than chance (one side of 5 %), and of a skewness
 * that is left out since it may be chance. */
#define CORRELATED       1.645
#define SKEWED_BY_CHANCE 0.75

int spex_batch_means_open(struct spex_batch_means *means, uint64_t batch_records, bool quantiles) {
    *means = (struct spex_batch_means){.batch_records = batch_records, .min = UINT64_MAX};
    if (quantiles)
        means->weights = calloc((size_t)SPEX_BATCHES * ROW, sizeof(*means->weights));
    return quantiles && !means->weights ? -ENOMEM : 0;
}

void spex_batch_means_close(struct spex_batch_means *means) {
    free(means->weights);
    means->weights = NULL;
}

static void batch_add(struct spex_batch *to, const struct spex_batch *batch) {
    to->weight += batch->weight;
    to->sum += batch->sum;
    to->time += batch->time;
}

/* Buckets that hold something: pages of others are not touched. */
struct range {
    unsigned first, end;
};

static struct range range_of(const struct spex_batch_means *means) {
    if (means->min > means->max)
        return (struct range){0, 0};
    return (struct range){spex_histogram_bucket(means->min), spex_histogram_bucket(means->max) + 1};
}

static void join_weights(struct spex_batch_means *means) {
    struct range range = range_of(means);
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

static void join(struct spex_batch_means *means) {
    if (means->weights)
        join_weights(means);
    for (size_t b = 0; b < SPEX_BATCHES / 2; b++) {
        means->batches[b] = means->batches[2 * b];
        batch_add(&means->batches[b], &means->batches[2 * b + 1]);
    }
    memset(means->batches + SPEX_BATCHES / 2, 0, sizeof(means->batches) / 2);
    means->count = SPEX_BATCHES / 2;
    means->batch_records *= 2;
}

void spex_batch_means_add(struct spex_batch_means *means, uint64_t value, double weight,
                          double time) {
    const struct spex_batch record = {weight, weight * (double)value, time};
    batch_add(&means->batches[means->count], &record);
    batch_add(&means->total, &record);
    means->min = value < means->min ? value : means->min;
    means->max = value > means->max ? value : means->max;
    if (means->weights)
        means->weights[means->count * ROW + spex_histogram_bucket(value)] += weight;
    if (++means->open_records < means->batch_records)
        return;
    means->open_records = 0;
    if (++means->count == SPEX_BATCHES)
        join(means);
}

/* What a ratio is of, by batch. */
struct pairs {
    size_t count;
    double above[SPEX_BATCHES];
    double below[SPEX_BATCHES];
};

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

/* Variance of a ratio, and how many independent batches it comes of. */
struct estimate {
    double variance;
    double batches;
    double skewness; /* of the batches */
};

/* How batches differ from the ratio of all. */
struct residuals {
    size_t count;
    double below; /* sum */
    double distances[SPEX_BATCHES];
};

static void residuals_of(const struct pairs *pairs, struct residuals *residuals) {
    residuals->count = pairs->count;
    residuals->below = sum_of(pairs->below, pairs->count);
    double ratio = sum_of(pairs->above, pairs->count) / residuals->below;
    for (size_t b = 0; b < pairs->count; b++)
        residuals->distances[b] = pairs->above[b] - ratio * pairs->below[b];
}

static double products(const struct residuals *residuals, size_t lag) {
    double sum = 0;
    for (size_t b = lag; b < residuals->count; b++)
        sum += residuals->distances[b] * residuals->distances[b - lag];
    return sum;
}

/* A correlation that is estimated from `count` batches and their mean comes out too low by (1 + 3
 * r) / count (Marriott and Pope, Biometrika 41(3/4), 1954). */
static double unbiased(double correlation, double count) {
    double r = correlation + (1 + 3 * correlation) / count;
    return fmin(r, 1 - 2 / count);
}

/* Whether the sum of the first correlations, of which each has the variance 1 / count when there
 * are none, is too great for chance. Several, since records of threads that take turns are not
 * correlated with their neighbours first. */
static bool correlated(const struct residuals *residuals) {
    double count = (double)residuals->count, squares = products(residuals, 0), sum = 0;
    size_t wanted = 1;
    for (size_t lag = 1; lag <= LAGS && lag * 4 <= residuals->count; lag++) {
        sum += products(residuals, lag) / squares + 1 / count;
        if (lag < wanted)
            continue;
        if (sum > CORRELATED * sqrt((double)lag / count))
            return true;
        wanted *= 2;
    }
    return false;
}

static double skewness_of(const struct residuals *residuals) {
    double squares = products(residuals, 0), cubes = 0, count = (double)residuals->count;
    for (size_t b = 0; b < residuals->count; b++)
        cubes += pow(residuals->distances[b], 3);
    return cubes / count / pow(squares / count, 1.5);
}

static struct estimate estimate_by(const struct residuals *residuals) {
    const double count = (double)residuals->count, squares = products(residuals, 0);
    if (!(squares > 0))
        return (struct estimate){.batches = count};
    double r = fmax(unbiased(products(residuals, 1) / squares, count), 0);
    double inflation = (1 + r) / (1 - r);
    return (struct estimate){squares * count / (count - 1) / (residuals->below * residuals->below) *
                                 inflation,
                             count / inflation, skewness_of(residuals)};
}

/* Joins batches until they are not seen to be correlated any more; where they always are, the
 * greatest. */
static struct estimate estimate_of(struct pairs *pairs) {
    struct estimate worst = {0};
    struct residuals residuals;
    for (; pairs->count >= LEAST_BATCHES; pairs_join(pairs)) {
        residuals_of(pairs, &residuals);
        struct estimate estimate = estimate_by(&residuals);
        if (!(estimate.variance > 0) || !correlated(&residuals))
            return estimate;
        if (estimate.variance >= worst.variance)
            worst = estimate;
    }
    return worst;
}

/* Student's quantile, by the skewness of what it is of; of the interval's two sides the longer one
 * (Willink, Communications in Statistics - Theory and Methods 34, 2005). */
static double student_of(const struct estimate *estimate) {
    double t = spex_student_95(fmax(estimate->batches - 1, 2));
    double skewness = fabs(estimate->skewness) - SKEWED_BY_CHANCE * sqrt(6 / estimate->batches);
    double b = skewness / (6 * sqrt(estimate->batches));
    if (!(b > 1e-6))
        return t;
    return fmax(t, (1 - cbrt(1 - 6 * b * (t + b))) / (2 * b));
}

/* Half the width of a 95 % interval; NaN where it is not known. */
static double margin_of(struct pairs *pairs) {
    if (pairs->count < LEAST_BATCHES)
        return NAN;
    struct estimate estimate = estimate_of(pairs);
    return student_of(&estimate) * sqrt(estimate.variance);
}

static void pairs_of_mean(const struct spex_batch_means *means, struct pairs *pairs) {
    pairs->count = means->count;
    for (size_t b = 0; b < means->count; b++) {
        pairs->above[b] = means->batches[b].sum;
        pairs->below[b] = means->batches[b].weight;
    }
}

struct spex_measured spex_batch_means_mean(const struct spex_batch_means *means) {
    struct pairs pairs;
    pairs_of_mean(means, &pairs);
    return (struct spex_measured){means->total.sum / means->total.weight,
                                  margin_of(&pairs) / SPEX_NORMAL_95};
}

struct spex_measured spex_batch_means_rate(const struct spex_batch_means *means) {
    struct pairs pairs = {.count = means->count};
    for (size_t b = 0; b < means->count; b++) {
        pairs.above[b] = means->batches[b].weight;
        pairs.below[b] = means->batches[b].time;
    }
    return (struct spex_measured){means->total.weight / means->total.time,
                                  margin_of(&pairs) / SPEX_NORMAL_95};
}

/* The weights of all batches by bucket. */
struct shares {
    struct range range;
    double all;
    double weights[ROW];
};

static void shares_of(const struct spex_batch_means *means, struct shares *shares) {
    shares->range = range_of(means);
    shares->all = means->total.weight;
    memset(shares->weights, 0, sizeof(shares->weights));
    for (size_t b = 0; b <= means->count; b++)
        for (unsigned i = shares->range.first; i < shares->range.end; i++)
            shares->weights[i] += means->weights[b * ROW + i];
}

/* The bucket in which the quantile lies. */
static unsigned bucket_at(const struct shares *shares, double q) {
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

static double value_at(const struct spex_batch_means *means, const struct shares *shares,
                       double q) {
    double value = spex_histogram_value(bucket_at(shares, q));
    return fmax((double)means->min, fmin(value, (double)means->max));
}

/* The bucket's end that is closer to the quantile, with something to both sides; 0: there is
 * none. */
static unsigned limit_near(const struct shares *shares, double q, double *above) {
    unsigned bucket = bucket_at(shares, q);
    double least = sum_of(shares->weights + shares->range.first, bucket - shares->range.first);
    double most = least + shares->weights[bucket], wanted = q * shares->all;
    bool low = least > 0 && (!(most < shares->all) || wanted - least < most - wanted);
    *above = 1 - (low ? least : most) / shares->all;
    return *above > 0 && *above < 1 ? bucket + !low : 0;
}

/* The variance of the share that lies below the q-quantile, from that of a share near it. */
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
    struct estimate estimate = estimate_of(&pairs);
    estimate.variance *= q * (1 - q) / (above * (1 - above));
    return estimate;
}

/* A quantile is known to its bucket. */
static double bucket_margin(const struct spex_batch_means *means, double value) {
    double low, high;
    spex_histogram_bounds(spex_histogram_bucket((uint64_t)value), &low, &high);
    low = fmax(low, (double)means->min);
    high = fmin(high, (double)means->max);
    return fmax(value - low, high - value);
}

/* How many independent records would say as much of the mean. */
static double independent_records(const struct spex_batch_means *means,
                                  const struct shares *shares) {
    double mean = means->total.sum / means->total.weight, squares = 0;
    for (unsigned i = shares->range.first; i < shares->range.end; i++) {
        double distance = spex_histogram_value(i) - mean;
        squares += shares->weights[i] * distance * distance;
    }
    struct pairs pairs;
    pairs_of_mean(means, &pairs);
    double variance = estimate_of(&pairs).variance;
    return variance > 0 ? squares / shares->all / variance : INFINITY;
}

/* Half an interval's width: the values at the ends of an interval for the share (Woodruff, JASA
 * 47(260), 1952), whose law, a binomial one, is skewed (by its expansion of Cornish and Fisher). */
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
        return NAN; /* there may be anything beyond the extremes */
    double below = value - value_at(means, shares, low),
           above = value_at(means, shares, high) - value;
    return fmax(fmax(below, above), bucket_margin(means, value));
}

struct spex_measured spex_batch_means_quantile(const struct spex_batch_means *means, double q) {
    struct shares shares;
    if (means->min > means->max)
        return (struct spex_measured){NAN, NAN};
    shares_of(means, &shares);
    double value = value_at(means, &shares, q);
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
