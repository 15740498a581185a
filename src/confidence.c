/* SPDX-License-Identifier: MIT */
#include "confidence.h"

#include <math.h>

#define NORMAL_95 1.959964

bool spex_sampled(const struct spex_profile_probe *probe) {
    bool silent = !probe->records && probe->count > 0;
    return probe->weight > (double)probe->records || probe->lost > 0 || silent;
}

/* Records of equal weight that would say as much (Kish's effective sample size): no more than there are. */
static double effective_records(const struct spex_profile_probe *probe) {
    double records = (double)probe->records;
    if (!(probe->weight_squares > 0))
        return 0;
    double effective = probe->weight * probe->weight / probe->weight_squares;
    return effective < records ? effective : records;
}

/* What the executions that were recorded themselves leave uncertain: nothing, if they are all. */
static double finite_population(const struct spex_profile_probe *probe) {
    double share = probe->count > 0 ? (double)probe->records / probe->count : 1;
    return share < 1 ? sqrt(1 - share) : 0;
}

/* Student's t, by its expansion in the normal quantile (Abramowitz and Stegun, 26.7.5); from two degrees of
 * freedom on within 1 %. */
static double student_95(double freedom) {
    const double z = NORMAL_95, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, z9 = z7 * z * z;
    const double f = freedom;
    return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f) +
           (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / (92160 * f * f * f * f);
}

double spex_count_margin(const struct spex_profile_probe *probe) {
    return probe->count_variance > 0 ? NORMAL_95 * sqrt(probe->count_variance) : 0;
}

/* Variance of the mean where whole bursts are there or not: that of a ratio of sums over them, to first order
 * (Cochran, Sampling Techniques, 3rd ed., 9A.2 and 6.4). */
static double burst_variance(const struct spex_values *values) {
    double mean = values->mean - values->origin, n = values->bursts;
    double squares = values->burst_distances - 2 * mean * values->burst_products +
                     mean * mean * values->burst_weights;
    double weight = values->weight;
    return squares > 0 && weight > 0 ? squares / (weight * weight) * n / (n - 1) : 0;
}

static double record_variance(const struct spex_values *values, double records) {
    double deviation = spex_values_deviation(values);
    return records > 1 ? deviation * deviation / (records - 1) : 0;
}

double spex_mean_margin(const struct spex_profile_probe *probe, const struct spex_values *values) {
    bool bursts = values->bursts > 0;
    double records = bursts ? values->bursts : effective_records(probe);
    if (!spex_sampled(probe))
        return 0;
    if (records < 3)
        return -1;
    double variance = bursts ? burst_variance(values) : record_variance(values, records);
    return student_95(records - 1) * sqrt(variance) * finite_population(probe);
}

/* Records that were chosen each by itself and would say as much. What the mean's variance tells of bursts is taken to
 * hold for quantiles. */
static double independent_records(const struct spex_profile_probe *probe,
                                  const struct spex_values *values) {
    double records = effective_records(probe);
    double single = record_variance(values, records);
    if (!(values->bursts > 1) || !(single > 0))
        return records;
    double in_bursts = burst_variance(values);
    return in_bursts > single ? records * single / in_bursts : records;
}

/* A quantile is known to its bucket: bounds that lie closer together than that are the bucket's. */
static void widen_to_buckets(const struct spex_values *values, double *low, double *high) {
    unsigned first = spex_histogram_bucket((uint64_t)*low),
             last = spex_histogram_bucket((uint64_t)*high);
    double edge;
    if (last > first + 1)
        return;
    spex_histogram_bounds(first, low, &edge);
    spex_histogram_bounds(last, &edge, high);
    *low = *low < (double)values->min ? (double)values->min : *low;
    *high = *high > (double)values->max ? (double)values->max : *high;
}

/* The ranks between which the quantile's rank lies, by the normal approximation of the binomial law. */
bool spex_quantile_bounds(const struct spex_profile_probe *probe, const struct spex_values *values,
                          double q, double *low, double *high) {
    double records = independent_records(probe, values);
    double margin =
        NORMAL_95 * sqrt(q * (1 - q) / (records > 0 ? records : 1)) * finite_population(probe);
    if (records < 3)
        return false;
    /* Beyond the smallest and largest record there may be anything. */
    *low = spex_values_quantile(values, q - margin);
    if (margin > 0 && q <= margin)
        *low = 0;
    *high = spex_values_quantile(values, q + margin < 1 ? q + margin : 1);
    if (spex_sampled(probe))
        widen_to_buckets(values, low, high);
    return q + margin < 1 || !spex_sampled(probe);
}
