/* SPDX-License-Identifier: MIT */
/* Margins from sums alone. Consecutive looks are not independent, so n looks count as fewer, by
 * their correlation; the sums over pairs of looks give it. */
#include "stats/occupancy.h"

#include <math.h>

#include "base/grown.h"
#include "base/student.h"

/* Margins need at least so many independent looks. */
#define LOOKS_LEAST 10

/* From this n p (1 - p) on, the binomial distribution of a share is taken for a normal one. */
#define NORMAL_LEAST 10

/* Most threads of a look in sums that count as valid. Sums within it stay far from overflow. */
#define THREADS_MOST 1e6

/* Sums of products go over pairs of consecutive looks, for their correlation. */
void spex_occupancy_add(struct spex_occupancy *activity, uint32_t threads, int64_t before) {
    activity->looks++;
    activity->active += threads > 0;
    activity->threads += threads;
    activity->thread_squares += (uint64_t)threads * threads;
    if (before < 0)
        return;
    activity->pairs++;
    activity->active_pairs += threads > 0 && before > 0;
    activity->thread_pairs += (uint64_t)threads * (uint64_t)before;
}

/* spex_grown makes a sum that has become less 0, and not a very great number. */
void spex_occupancy_subtract(struct spex_occupancy *activity, const struct spex_occupancy *before) {
    *activity = (struct spex_occupancy){
        .looks = spex_grown(before->looks, activity->looks),
        .active = spex_grown(before->active, activity->active),
        .threads = spex_grown(before->threads, activity->threads),
        .thread_squares = spex_grown(before->thread_squares, activity->thread_squares),
        .pairs = spex_grown(before->pairs, activity->pairs),
        .active_pairs = spex_grown(before->active_pairs, activity->active_pairs),
        .thread_pairs = spex_grown(before->thread_pairs, activity->thread_pairs),
    };
    if (!spex_occupancy_valid(activity))
        *activity = (struct spex_occupancy){0};
}

bool spex_occupancy_valid(const struct spex_occupancy *activity) {
    return activity->active <= activity->looks && activity->pairs <= activity->looks &&
           activity->active_pairs <= activity->pairs && activity->active <= activity->threads &&
           (double)activity->threads <= THREADS_MOST * (double)activity->looks &&
           (double)activity->thread_squares <= THREADS_MOST * (double)activity->threads &&
           (double)activity->thread_pairs <= THREADS_MOST * (double)activity->threads;
}

static double mean_of(uint64_t sum, uint64_t count) {
    return count ? (double)sum / (double)count : 0;
}

double spex_occupancy_share(const struct spex_occupancy *activity) {
    return mean_of(activity->active, activity->looks);
}

double spex_occupancy_threads(const struct spex_occupancy *activity) {
    return mean_of(activity->threads, activity->looks);
}

/* The effective number of independent looks: n (1 - r)/(1 + r), for looks that form a first-order
 * autoregressive process with correlation r between neighbours (Bayley and Hammersley, The
 * "effective" number of independent observations in an autocorrelated time series, JRSS Supplement
 * 8:2, 1946). Looks form such a process where the times in and out of the probe are exponential,
 * also at random distances. The estimate of r is too low by (1 + 3 r)/n (Marriott and Pope, Bias in
 * the estimation of autocorrelations, Biometrika 41, 1954). A negative r, which appears when looks
 * are in step with the program, is taken for chance. `products` is the sum over pairs. */
static double independent_looks(const struct spex_occupancy *activity, double average,
                                double variance, uint64_t products) {
    double looks = (double)activity->looks;
    if (!(variance > 0) || activity->pairs == 0)
        return looks;
    double r = (mean_of(products, activity->pairs) - average * average) / variance;
    r += (1 + 3 * r) / looks;
    if (r <= 0)
        return looks;
    return r < 1 ? looks * (1 - r) / (1 + r) : 0;
}

/* Margin of a share of n independent looks where the normal distribution does not apply: distance
 * to the further end of Wilson's interval (Probable inference, the law of succession, and
 * statistical inference, JASA 22, 1927). */
static double rare_margin(double share, double n) {
    const double z2 = SPEX_NORMAL_95 * SPEX_NORMAL_95;
    double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
    double half = SPEX_NORMAL_95 * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return half + fabs(middle - share);
}

/* Margin of the mean of n independent looks, by the t distribution. */
static double mean_margin(double variance, double n) {
    return spex_student_95(n - 1) * sqrt(variance / (n - 1));
}

double spex_occupancy_share_margin(const struct spex_occupancy *activity) {
    double share = spex_occupancy_share(activity), variance = share * (1 - share);
    double n = independent_looks(activity, share, variance, activity->active_pairs);
    if (n < LOOKS_LEAST)
        return -1;
    return n * variance < NORMAL_LEAST ? rare_margin(share, n) : mean_margin(variance, n);
}

/* Where the share is near 0 or 1, looks say little about the number of threads, too: then the
 * margin is at least that of the share, in the mean number of threads per active look. */
double spex_occupancy_threads_margin(const struct spex_occupancy *activity) {
    double threads = spex_occupancy_threads(activity), share = spex_occupancy_share(activity);
    double variance = mean_of(activity->thread_squares, activity->looks) - threads * threads;
    double n = independent_looks(activity, threads, variance, activity->thread_pairs);
    if (n < LOOKS_LEAST)
        return -1;
    double margin = variance > 0 ? mean_margin(variance, n) : 0;
    double least = rare_margin(share, n) * (share > 0 ? threads / share : 1);
    return n * share * (1 - share) < NORMAL_LEAST && least > margin ? least : margin;
}
