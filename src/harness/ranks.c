/* SPDX-License-Identifier: MIT */
/* Both tests count: the signed ranks of values, or the pairs in which b is greater. Their exact
 * distributions without ties are made by adding one value after another. Ties make the tests
 * slightly cautious. */
#include "harness/ranks.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/ascending.h"
#include "model/fit/points.h"

/* The chance that an interval misses. */
#define MISS 0.05

static double median_of_sorted(const double *values, size_t count) {
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Which of `count` values is the i-th of `taken` that are looked at. */
static double nth(const double *values, size_t count, size_t taken, size_t i) {
    return values[i * count / taken];
}

static size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

/* The distribution of the sum of ranks 1 to n, each there with a chance of 1/2; n (n + 1) / 2 + 1
 * values, to be freed; NULL: out of memory. */
static double *signed_rank_distribution(size_t n) {
    size_t most = n * (n + 1) / 2;
    double *chances = calloc(most + 1, sizeof(*chances));
    if (!chances)
        return NULL;
    chances[0] = 1;
    for (size_t rank = 1; rank <= n; rank++)
        for (size_t sum = rank * (rank + 1) / 2 + 1; sum-- > 0;)
            chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
    return chances;
}

/* The distribution of the number of pairs in which the value of b is greater; n m + 1 values. The
 * recursion goes by the greatest value, which is of b with a chance of j / (i + j). */
static double *rank_sum_distribution(size_t n, size_t m) {
    size_t most = n * m + 1;
    double *rows = calloc(2 * (m + 1) * most, sizeof(*rows));
    if (!rows)
        return NULL;
    double *before = rows, *now = rows + (m + 1) * most;
    for (size_t j = 0; j <= m; j++)
        before[j * most] = 1;
    for (size_t i = 1; i <= n; i++) {
        for (size_t j = 0; j <= m; j++)
            for (size_t u = 0; u <= i * j; u++) {
                double of_b = (double)j / (double)(i + j);
                double with = j && u >= i ? now[(j - 1) * most + u - i] : 0;
                now[j * most + u] = of_b * with + (1 - of_b) * before[j * most + u];
            }
        double *other = before;
        before = now;
        now = other;
    }
    for (size_t u = 0; u < most; u++)
        rows[u] = before[m * most + u];
    return rows;
}

/* How many values may lie outside an interval on each side at most, half of `miss` beyond each end;
 * -1: there is none. */
static long outside(const double *chances, size_t most, double miss) {
    double sum = 0;
    long k = -1;
    while ((size_t)(k + 1) <= most && (sum += chances[k + 1]) <= miss / 2)
        k++;
    return k;
}

/* The chance of `found` or more, or of as few, by linear interpolation where ties make halves. */
static double chance_of(const double *chances, size_t most, double found, int above) {
    double least = 0, greatest = 0;
    for (size_t s = 0; s <= most; s++) {
        least += (double)s <= found ? chances[s] : 0;
        greatest += (double)s >= found ? chances[s] : 0;
    }
    double chance = above > 0 ? greatest : above < 0 ? least : 2 * fmin(least, greatest);
    return fmin(chance, 1);
}

/* Sorts the values, and takes the median and the interval that leaves `beyond` out on each side. */
static struct spex_estimate estimate_of(double *values, size_t count, long beyond) {
    qsort(values, count, sizeof(*values), spex_ascending);
    struct spex_estimate estimate = {median_of_sorted(values, count), -INFINITY, INFINITY};
    if (beyond >= 0) {
        estimate.low = values[beyond];
        estimate.high = values[count - 1 - (size_t)beyond];
    }
    return estimate;
}

/* The centre is less than all but k of the pairs' means with the chance of a sum of ranks of k or
 * less. */
struct spex_estimate spex_centre_within(const double *values, size_t count, double miss) {
    size_t n = lesser(count, SPEX_CENTRE_MAX), pairs = n * (n + 1) / 2, p = 0;
    double *means = malloc(pairs * sizeof(*means));
    double *chances = signed_rank_distribution(n);
    struct spex_estimate estimate = {NAN, -INFINITY, INFINITY};
    if (means && chances) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j <= i; j++)
                means[p++] = (nth(values, count, n, i) + nth(values, count, n, j)) / 2;
        estimate = estimate_of(means, pairs, outside(chances, pairs, miss));
    }
    free(means);
    free(chances);
    return estimate;
}

struct spex_estimate spex_centre(const double *values, size_t count) {
    return spex_centre_within(values, count, MISS);
}

/* Of so many values each is below the median with a chance of 1/2. The chances of the binomial
 * distribution are made from their logarithms: 2^-5000 is no double. */
struct spex_estimate spex_median_estimate(double *values, size_t count) {
    double n = (double)count, sum = 0;
    long beyond = -1;
    while (beyond + 1 < (long)count) {
        double k = (double)(beyond + 1);
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
        if (sum > MISS / 2)
            break;
        beyond++;
    }
    return estimate_of(values, count, beyond);
}

struct spex_estimate spex_shift(const double *a, size_t a_count, const double *b, size_t b_count) {
    size_t n = lesser(a_count, SPEX_SHIFT_MAX), m = lesser(b_count, SPEX_SHIFT_MAX), pairs = n * m,
           p = 0;
    double *differences = malloc(pairs * sizeof(*differences));
    struct spex_estimate estimate = {NAN, -INFINITY, INFINITY};
    double *chances = rank_sum_distribution(n, m);
    if (differences && chances) {
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < m; j++)
                differences[p++] = nth(b, b_count, m, j) - nth(a, a_count, n, i);
        estimate = estimate_of(differences, pairs, outside(chances, pairs, MISS));
    }
    free(differences);
    free(chances);
    return estimate;
}

/* The sum of the ranks of values above `than` is the number of pairs, each value with itself too,
 * whose mean is above. */
double spex_centre_chance(const double *values, size_t count, double than, int above) {
    size_t n = lesser(count, SPEX_CENTRE_MAX), pairs = n * (n + 1) / 2;
    double *chances = signed_rank_distribution(n);
    double found = 0;
    if (!chances)
        return 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double mean = (nth(values, count, n, i) + nth(values, count, n, j)) / 2;
            found += mean > than ? 1 : mean == than ? 0.5 : 0;
        }
    double chance = chance_of(chances, pairs, found, above);
    free(chances);
    return chance;
}

double spex_shift_chance(const double *a, size_t a_count, const double *b, size_t b_count,
                         double than, int above) {
    size_t n = lesser(a_count, SPEX_SHIFT_MAX), m = lesser(b_count, SPEX_SHIFT_MAX);
    double *chances = rank_sum_distribution(n, m);
    double found = 0;
    if (!chances)
        return 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double difference = nth(b, b_count, m, j) - nth(a, a_count, n, i);
            found += difference > than ? 1 : difference == than ? 0.5 : 0;
        }
    double chance = chance_of(chances, n * m, found, above);
    free(chances);
    return chance;
}

struct ranked {
    double chance;
    size_t place;
};

static int order_ranked(const void *a, const void *b) {
    const struct ranked *one = a, *other = b;
    return (one->chance > other->chance) - (one->chance < other->chance);
}

/* The least chance times the number of tests, the next times one less, and so on, none below the
 * one before. Without memory all are corrected as the least is, which is cautious (Bonferroni). */
void spex_holm(double *chances, size_t count) {
    struct ranked *ranked = calloc(count ? count : 1, sizeof(*ranked));
    double before = 0;
    for (size_t i = 0; i < count && ranked; i++)
        ranked[i] = (struct ranked){chances[i], i};
    if (ranked)
        qsort(ranked, count, sizeof(*ranked), order_ranked);
    for (size_t i = 0; i < count; i++) {
        size_t place = ranked ? ranked[i].place : i;
        double corrected = fmin(chances[place] * (double)(count - (ranked ? i : 0)), 1);
        chances[place] = ranked ? before = fmax(before, corrected) : corrected;
    }
    free(ranked);
}
