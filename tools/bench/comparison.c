/* SPDX-License-Identifier: MIT */
/* Differences of logarithms, judged by ranks: the tests hold whatever the distribution of the noise
 * is, if it is the same on both sides. */
#include "tools/bench/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Whether the series has a ratio. */
static bool is_judged(const struct spex_bench_series *series, bool paired) {
    for (int s = 0; s < 2; s++) {
        const struct spex_bench_values *side = &series->sides[s];
        for (size_t v = 0; v < side->count; v++)
            if (!(side->values[v] > 0) || !isfinite(side->values[v]))
                return false;
    }
    size_t a = series->sides[0].count, b = series->sides[1].count;
    return !series->error && a && b && (!paired || a == b);
}

/* The logarithms of both sides, or, paired, of their ratios. */
static void take_logarithms(const struct spex_bench_series *series, bool paired, double *a,
                            double *b) {
    const struct spex_bench_values *first = &series->sides[0], *second = &series->sides[1];
    for (size_t v = 0; v < first->count; v++)
        a[v] = log(first->values[v]);
    for (size_t v = 0; v < second->count; v++)
        b[v] = paired ? log(second->values[v] / first->values[v]) : log(second->values[v]);
}

/* Worse by more than is allowed: the logarithm of the ratio is above `allowed`, or below its
 * negative where greater is better. */
static int judge(const struct spex_bench_series *series,
                 const struct spex_bench_criterion *criterion, struct spex_bench_verdict *verdict) {
    size_t a_count = series->sides[0].count, b_count = series->sides[1].count;
    double *a = malloc((a_count + b_count) * sizeof(*a));
    if (!a)
        return -ENOMEM;
    double *b = a + a_count;
    int direction = criterion->greater ? -1 : 1;
    double allowed = direction * log1p(criterion->allowed);
    struct spex_estimate ratio;
    take_logarithms(series, criterion->paired, a, b);
    *verdict = (struct spex_bench_verdict){.series = series};
    if (criterion->paired) {
        ratio = spex_centre(b, b_count);
        verdict->chance = spex_centre_chance(b, b_count, 0, 0);
        verdict->worse_chance = spex_centre_chance(b, b_count, allowed, direction);
    } else {
        ratio = spex_shift(a, a_count, b, b_count);
        verdict->chance = spex_shift_chance(a, a_count, b, b_count, 0, 0);
        verdict->worse_chance = spex_shift_chance(a, a_count, b, b_count, allowed, direction);
    }
    verdict->ratio = (struct spex_estimate){exp(ratio.value), exp(ratio.low), exp(ratio.high)};
    for (int s = 0; s < 2; s++)
        verdict->sides[s] = spex_centre(series->sides[s].values, series->sides[s].count);
    free(a);
    return isnan(ratio.value) ? -ENOMEM : 0;
}

/* Corrects one of the two chances of all verdicts. */
static int correct(struct spex_bench_verdict *verdicts, size_t count) {
    double *chances = malloc(2 * (count + 1) * sizeof(*chances));
    if (!chances)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        chances[i] = verdicts[i].chance;
        chances[count + i] = verdicts[i].worse_chance;
    }
    spex_holm(chances, count);
    spex_holm(chances + count, count);
    for (size_t i = 0; i < count; i++) {
        verdicts[i].chance = chances[i];
        verdicts[i].differs = chances[i] < SPEX_BENCH_CHANCE_MOST;
        verdicts[i].worse_chance = chances[count + i];
        /* The test has one side. */
        verdicts[i].worse = chances[count + i] < SPEX_BENCH_CHANCE_MOST / 2;
    }
    free(chances);
    return 0;
}

int spex_bench_judge(const struct spex_bench_results *results,
                     const struct spex_bench_criterion *criterion,
                     struct spex_bench_verdict **verdicts, size_t *count) {
    int err = 0;
    *count = 0;
    *verdicts = calloc(results->count + 1, sizeof(**verdicts));
    if (!*verdicts)
        return -ENOMEM;
    for (size_t i = 0; i < results->count && !err; i++)
        if (is_judged(&results->items[i], criterion->paired))
            err = judge(&results->items[i], criterion, &(*verdicts)[(*count)++]);
    return err ? err : correct(*verdicts, *count);
}

/* All pairs on one side: one of 2^n signs, or of the ways to choose n of 2 n, on two sides. */
double spex_bench_least_chance(size_t values, size_t benchmarks, bool paired) {
    double n = (double)values;
    double one = paired ? exp2(-n) : exp(2 * lgamma(n + 1) - lgamma(2 * n + 1));
    return 2 * one * (double)benchmarks;
}
