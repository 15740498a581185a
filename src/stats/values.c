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
    values->min = UINT64_MAX;
}

/* Sets the extremes after a subtraction, to the middles of the outermost buckets that are not
 * empty. */
static void extremes_from_histogram(struct spex_values *values) {
    uint64_t low = UINT64_MAX, high = 0;
    for (unsigned b = spex_histogram_next(&values->histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(&values->histogram, b + 1)) {
        if (low == UINT64_MAX)
            low = (uint64_t)spex_histogram_value(b);
        high = (uint64_t)spex_histogram_value(b);
    }
    /* The extremes of the whole set are exact, and bound those of a part of it. */
    values->min = low < values->min ? values->min : low;
    values->max = high > values->max ? values->max : high;
}

/* The mean, within what the histogram tells. Its weights are whole numbers, of which a difference is
 * exact; what is left of a great sum less a great one may be all rounding. */
static double bounded_mean(const struct spex_histogram *histogram, double mean) {
    double least = 0, most = 0, total = (double)histogram->total;
    for (unsigned b = spex_histogram_next(histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(histogram, b + 1)) {
        double low, high;
        spex_histogram_bounds(b, &low, &high);
        least += (double)histogram->weights[b] * low;
        most += (double)histogram->weights[b] * high;
    }
    return total > 0 ? fmin(fmax(mean, least / total), most / total) : mean;
}

/* The squares of the distances of the buckets' middles from the mean. */
static double squares_by_buckets(const struct spex_histogram *histogram, double mean) {
    double squares = 0;
    for (unsigned b = spex_histogram_next(histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(histogram, b + 1)) {
        double distance = spex_histogram_value(b) - mean;
        squares += (double)histogram->weights[b] * distance * distance;
    }
    return squares;
}

/* Nothing is left where `before` has all the weight. The moments follow from the rule for
 * joining two sets (D. H. D. West, CACM 22(9), 1979), solved for the second set; where rounding may
 * have made them, from the histogram. */
SPEX_COLD void spex_values_subtract(struct spex_values *values, const struct spex_values *before) {
    double weight = values->weight - before->weight;
    if (before->weight <= 0)
        return;
    if (weight <= 0) {
        spex_values_clear(values);
        return;
    }
    values->histogram.total -= before->histogram.total;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        values->histogram.weights[b] -= before->histogram.weights[b];
    double mean = (values->mean * values->weight - before->mean * before->weight) / weight;
    mean = bounded_mean(&values->histogram, mean);
    double distance = mean - before->mean;
    double squares = values->squares - before->squares -
                     distance * distance * before->weight * weight / values->weight;
    squares = fmax(spex_settled(squares, values->squares), 0);
    if (squares <= 0 && values->squares > 0)
        squares = squares_by_buckets(&values->histogram, mean);
    values->weight = weight;
    values->mean = mean;
    values->squares = squares;
    spex_variance_subtract(&values->spread, &before->spread);
    extremes_from_histogram(values);
}

/* Adds `factor` times the weights to a histogram. Rounds so that the total is right. The limit
 * keeps the conversion defined for weights that another process has sent. */
static void histogram_add_scaled(struct spex_histogram *histogram,
                                 const struct spex_histogram *more, double factor) {
    const double most = 0x1p62;
    double owed = 0;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++) {
        owed = fmin(owed + factor * (double)more->weights[b], most);
        uint64_t whole = (uint64_t)(owed + 0.5);
        if (!more->weights[b])
            continue;
        histogram->weights[b] += whole;
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
    out->spread = losses->spread;
    histogram_add_scaled(&out->histogram, &losses->histogram, factor);
}

double spex_values_deviation(const struct spex_values *values) {
    /* Rounding may leave a small negative sum of squares. */
    return values->weight > 0 && values->squares > 0 ? sqrt(values->squares / values->weight) : 0;
}

/* The extremes are exact, but the middle of a bucket at the end may lie beyond them. */
SPEX_COLD double spex_values_quantile(const struct spex_values *values, double q) {
    if (!values->histogram.total)
        return 0;
    double value = spex_histogram_quantile(&values->histogram, q);
    if (value < (double)values->min)
        return (double)values->min;
    return value > (double)values->max ? (double)values->max : value;
}
