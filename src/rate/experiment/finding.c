/* SPDX-License-Identifier: MIT */
#include "rate/experiment/finding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the figures that is left out of the mean at each end. */
#define TRIMMED 0.2

/* Standard deviation of the true cost around the calibrated cost before any session, as a multiple
 * of the calibrated cost. */
#define GUESS 2.0

/* Factor on the weight of former results with each further one. */
#define KEPT 0.85

/* Limits of a credible factor. */
#define FACTOR_LEAST 0.5
#define FACTOR_MOST  50.0

/* How much more an execution takes than calibrated where calls take twice what they do in
 * calibration, in other than calibrated loops. By instructions a tick it is 1.9: on x86-64 a
 * skipped execution has 14 and takes 2.1 ticks; that one of four calls the library is about 20 more
 * for each, and 5.7 ticks. Three compilations of a loop of cache misses (bench/budget) had 1.2, 1.7
 * and 2.2. Where it is 1, as in a loop without misses, this leaves 60 % of the budget used. */
#define CALL_TIMES 1.5

/* Where calls take more than twice that, the program waits for memory, and nothing tells by how much
 * more executions hold that up: beside another program on the same cores it was 0.5 to 3.5 times as
 * much. A budget is a bound, so that it is taken for much, but for no more than MOST_TIMES what
 * calls take. */
#define MEMORY_TIMES 4.0
#define MOST_TIMES   2.4

static int by_value(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

void spex_finding_mean(const double *figures, size_t n, double *mean, double *error) {
    double sorted[SPEX_FIGURES_MOST];
    size_t out = (size_t)((double)n * TRIMMED), left = n - 2 * out;
    memcpy(sorted, figures, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_value);
    double sum = 0, brought_in = 0, squares = 0;
    for (size_t f = out; f < n - out; f++)
        sum += sorted[f];
    *mean = sum / (double)left;
    for (size_t f = 0; f < n; f++) {
        size_t at = f < out ? out : f >= n - out ? n - out - 1 : f;
        brought_in += sorted[at];
    }
    brought_in /= (double)n;
    for (size_t f = 0; f < n; f++) {
        size_t at = f < out ? out : f >= n - out ? n - out - 1 : f;
        squares += (sorted[at] - brought_in) * (sorted[at] - brought_in);
    }
    double deviation = sqrt(squares / (double)(n - 1));
    *error = deviation / (((double)left / (double)n) * sqrt((double)n));
}

struct spex_results_known spex_finding_join(struct spex_results_known former, double factor,
                                            double error) {
    double weight = 1 / (error * error);
    return (struct spex_results_known){former.weight * KEPT + weight,
                                       former.sum * KEPT + weight * factor};
}

void spex_finding_set(struct spex_finding *finding, struct spex_results_known results) {
    const double guess = 1 / (GUESS * GUESS);
    double factor = (results.sum + guess) / (results.weight + guess);
    finding->factor = factor < FACTOR_LEAST  ? FACTOR_LEAST
                      : factor > FACTOR_MOST ? FACTOR_MOST
                                             : factor;
    finding->error = 1 / sqrt(results.weight);
}

void spex_finding_of_calls(struct spex_finding *finding) {
    double more = finding->factor - 1;
    if (more <= 0)
        return;
    double times = CALL_TIMES * fmin(more, 1) + MEMORY_TIMES * fmax(more - 1, 0);
    double factor = fmin(fmin(1 + times, MOST_TIMES * finding->factor), FACTOR_MOST);
    finding->error *= (factor - 1) / more;
    finding->factor = factor;
}
