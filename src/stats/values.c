/* SPDX-License-Identifier: MIT */
/* Sets of values, and the difference of one set at two times: figures of an interval are the later
 * state less the earlier one. */
#include "stats/values.h"

#include <math.h>
#include <string.h>

#include <spex/compiler.h>

#include "base/rounding.h"

void spex_values_clear(struct spex_values *values) {
    memset(values, 0, sizeof(*values));
    values->min = INFINITY;
    values->max = -INFINITY;
}

static double between(double least, double value, double most) {
    return fmin(fmax(value, least), most);
}

/* Sets the extremes after a subtraction, to the middles of the outermost buckets that are not
 * empty. The extremes of the whole set are exact, and bound those of a part of it, also where a
 * bucket does not tell. */
static void extremes_from_histogram(struct spex_values *values) {
    double low = INFINITY, high = -INFINITY, least = values->min, most = values->max;
    for (unsigned b = spex_histogram_next(&values->histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(&values->histogram, b + 1)) {
        high = spex_value_scale_value(values->spread.scale, b);
        if (low == INFINITY)
            low = high;
    }
    if (least <= most) { /* What another process says may contradict itself: it stays so. */
        values->min = between(least, low, most);
        values->max = between(least, high, most);
    }
}

SPEX_COLD void spex_values_widen(struct spex_values *values, unsigned scale) {
    unsigned from = values->spread.scale;
    spex_variance_widen(&values->spread, scale);
    if (from != SPEX_SCALE_NATURAL || scale <= from)
        return;
    uint64_t weights[SPEX_HISTOGRAM_BUCKETS];
    memcpy(weights, values->histogram.weights, sizeof(weights));
    memset(values->histogram.weights, 0, sizeof(weights));
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        if (weights[b])
            values->histogram.weights[spex_value_scale_bucket_from(scale, from, b)] += weights[b];
}

void spex_values_count(struct spex_values *values, double number, uint64_t weight) {
    spex_values_widen(values, spex_value_scale_of(number));
    values->min = fmin(values->min, number);
    values->max = fmax(values->max, number);
    values->histogram.weights[spex_value_scale_bucket(values->spread.scale, number)] += weight;
    values->histogram.total += weight;
}

void spex_values_merge(struct spex_values *values, const struct spex_values *more) {
    spex_values_widen(values, more->spread.scale);
    values->min = fmin(values->min, more->min);
    values->max = fmax(values->max, more->max);
    values->left_out += more->left_out;
    values->histogram.total += more->histogram.total;
    for (unsigned b = spex_histogram_next(&more->histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(&more->histogram, b + 1))
        values->histogram
            .weights[spex_value_scale_bucket_from(values->spread.scale, more->spread.scale, b)] +=
            more->histogram.weights[b];
}

/* The mean, within what the histogram tells. Its weights are whole numbers, of which a difference is
 * exact; what is left of a great sum less a great one may be all rounding. */
static double bounded_mean(const struct spex_values *values, double mean) {
    const struct spex_histogram *histogram = &values->histogram;
    double least = 0, most = 0, total = (double)histogram->total;
    for (unsigned b = spex_histogram_next(histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(histogram, b + 1)) {
        double low, high;
        spex_value_scale_bounds(values->spread.scale, b, &low, &high);
        least += (double)histogram->weights[b] * low;
        most += (double)histogram->weights[b] * high;
    }
    return total > 0 ? between(least / total, mean, most / total) : mean;
}

/* The squares of the distances of the buckets' middles from the mean. */
static double squares_by_buckets(const struct spex_values *values, double mean) {
    const struct spex_histogram *histogram = &values->histogram;
    double squares = 0;
    for (unsigned b = spex_histogram_next(histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(histogram, b + 1)) {
        double distance = spex_value_scale_value(values->spread.scale, b) - mean;
        squares += (double)histogram->weights[b] * distance * distance;
    }
    return squares;
}

/* Nothing is left where `before` has all the weight. The moments follow from the rule for
 * joining two sets (D. H. D. West, CACM 22(9), 1979), solved for the second set; where rounding may
 * have made them, from the histogram. */
SPEX_COLD void spex_values_subtract(struct spex_values *values, const struct spex_values *before) {
    double weight = values->weight - before->weight;
    uint64_t left_out = values->left_out - before->left_out;
    values->left_out = left_out;
    if (before->weight <= 0)
        return;
    if (weight <= 0) {
        spex_values_clear(values);
        values->left_out = left_out;
        return;
    }
    spex_values_widen(values, before->spread.scale);
    values->histogram.total -= before->histogram.total;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        if (before->histogram.weights[b])
            values->histogram.weights[spex_value_scale_bucket_from(
                values->spread.scale, before->spread.scale, b)] -= before->histogram.weights[b];
    double mean = (values->mean * values->weight - before->mean * before->weight) / weight;
    mean = bounded_mean(values, mean);
    double distance = mean - before->mean;
    double squares = values->squares - before->squares -
                     distance * distance * before->weight * weight / values->weight;
    squares = fmax(spex_settled(squares, values->squares), 0);
    if (squares <= 0 && values->squares > 0)
        squares = squares_by_buckets(values, mean);
    values->weight = weight;
    values->mean = mean;
    values->squares = squares;
    spex_variance_subtract(&values->spread, &before->spread);
    extremes_from_histogram(values);
}

/* Adds `factor` times the weights to a histogram. Rounds so that the total is right. The limit
 * keeps the conversion defined for weights that another process has sent. */
static void histogram_add_scaled(struct spex_values *to, const struct spex_values *from,
                                 double factor) {
    struct spex_histogram *histogram = &to->histogram;
    const struct spex_histogram *more = &from->histogram;
    const double most = 0x1p62;
    double owed = 0;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
        owed = fmin(owed + factor * (double)more->weights[b], most);
        uint64_t whole = (uint64_t)(owed + 0.5);
        if (!more->weights[b])
            continue;
        histogram->weights[spex_value_scale_bucket_from(to->spread.scale, from->spread.scale, b)] +=
            whole;
        histogram->total += whole;
        owed -= (double)whole;
    }
}

/* The moments follow from the rule for joining two sets, as in spex_values_subtract. */
SPEX_COLD void spex_values_weigh(struct spex_values *out, const struct spex_values *values,
                                 const struct spex_values *losses, double factor) {
    *out = *values;
    if (!losses || !(losses->weight > 0) || !(factor > 0))
        return;
    double more = factor * losses->weight, distance = losses->mean - values->mean;
    out->weight += more;
    out->mean += distance * more / out->weight;
    out->squares +=
        factor * losses->squares + distance * distance * values->weight * more / out->weight;
    spex_values_widen(out, losses->spread.scale);
    histogram_add_scaled(out, losses, factor);
    unsigned scale = out->spread.scale;
    const struct spex_block_sums blocks = values->spread.sums.blocks;
    const struct spex_variance_block block = values->spread.block;
    out->spread = losses->spread;
    out->spread.sums.blocks = blocks;
    out->spread.block = block;
    spex_variance_widen(&out->spread, scale);
}

double spex_values_deviation(const struct spex_values *values) {
    /* Of numbers that are too great it is not known. Rounding may leave a small negative sum. */
    if (!isfinite(values->squares))
        return NAN;
    return values->weight > 0 && values->squares > 0 ? sqrt(values->squares / values->weight) : 0;
}

/* The extremes are exact, but the middle of a bucket at the end may lie beyond them. */
SPEX_COLD double spex_values_quantile(const struct spex_values *values, double q) {
    if (!values->histogram.total)
        return 0;
    unsigned bucket = spex_histogram_quantile_bucket(&values->histogram, q);
    double value = spex_value_scale_value(values->spread.scale, bucket), low, high;
    spex_value_scale_bounds(values->spread.scale, bucket, &low, &high);
    if (!(values->min < values->max) || high <= values->min)
        return values->min;
    if (low >= values->max)
        return values->max;
    if (value < values->min)
        return values->min;
    return value > values->max ? values->max : value;
}
