/* SPDX-License-Identifier: MIT */
/* Changes of figures, as ratios where both are positive, by Student's t interval of the difference
 * of means. A ratio is a difference of logarithms, whose error is the relative error of the value,
 * to first order. */
#include "explore/findings/change.h"

#include "base/student.h"

/* Makes a change of a difference: of logarithms if `ratio`, else of values whose magnitude is
 * `scale`. A margin of NaN means that errors are not known. */
static struct spex_change change_of(double difference, double margin, bool ratio, double scale) {
    struct spex_change change = {.ratio = ratio, .known = !isnan(margin)};
    double low = difference - margin, high = difference + margin;
    double none = ratio ? SPEX_CHANGE_LEAST : 0;
    change.value = ratio ? exp(difference) : difference;
    change.low = ratio ? exp(low) : low;
    change.high = ratio ? exp(high) : high;
    change.significant = change.known && (low > none || high < -none);
    double least = change.significant ? fmin(fabs(low), fabs(high)) : 0;
    change.size = (change.known ? least : fabs(difference)) / (scale > 0 ? scale : 1);
    return change;
}

/* A difference is divided by the sum of the magnitudes, so that sizes of different figures
 * compare. */
struct spex_change spex_change_by(double a, double error_a, double b, double error_b,
                                  double freedom) {
    double quantile = spex_student_two_sided(0.05, freedom);
    if (a > 0 && b > 0)
        return change_of(log(b / a), quantile * hypot(error_a / a, error_b / b), true, 1);
    return change_of(b - a, quantile * hypot(error_a, error_b), false, fabs(a) + fabs(b));
}

struct spex_change spex_change_of(const struct spex_accuracy *accuracy, const struct spex_sample *a,
                                  const struct spex_sample *b) {
    return spex_change_by(a->mean, spex_accuracy_error(accuracy, a), b->mean,
                          spex_accuracy_error(accuracy, b),
                          spex_accuracy_freedom(accuracy, (double)(a->trials + b->trials) - 2));
}

struct spex_change spex_change_of_pairs(double mean, double squares, size_t count, bool ratio) {
    double margin = NAN;
    if (count > 1) {
        double freedom = (double)count - 1;
        margin = spex_student_two_sided(0.05, freedom) * sqrt(squares / freedom / (double)count);
    }
    return change_of(mean, margin, ratio, 1);
}
