/* SPDX-License-Identifier: MIT */
/* Quantiles are learnt by stochastic approximation: each execution moves an estimate by a small
 * step up or down. So the state has a fixed size and an execution takes constant time, but for
 * the tail. A shift is found by a CUSUM of Bernoulli variables; detector.h names the source. */
#include "model/detector.h"
#include "base/memory/memory.h"

#include <math.h>
#include <stdlib.h>

/* Greatest distance of the centre from the prediction, a factor of 2: beyond it the model does not
 * hold. */
#define CENTRE_MOST M_LN2

/* Least slowdown that counts for a shift. */
#define SHIFT_LEAST 0.1823 /* ln 1.2 */

/* Steps by which an execution moves the learnt values. Those of the centre and of `upper` are in
 * deviations; that of the deviation is a share of itself. CENTRE_RATE limits the centre's
 * movement in a second, so that many executions do not make it learn a shift as usual. */
#define CENTRE_STEP       0.002
#define CENTRE_STEP_LEAST 1e-5
#define CENTRE_RATE       0.02
#define UPPER_STEP        0.02
/* The step of `upper` is at least this over the number of executions: it begins with large
 * steps. */
#define UPPER_STEP_FIRST  4.0
#define DEVIATION_STEP    0.002
#define DEVIATION_LEAST   1e-4

/* The usual share above `upper`, and the share that a shift is assumed to have. */
#define ABOVE_USUAL   0.1
#define ABOVE_SHIFTED 0.5

/* Executions in a row are correlated: twice the evidence that independent ones would need. A shift
 * that lasts less than SHIFT_SECONDS is ignored. */
#define EVIDENCE      2.0
#define EVIDENCE_MORE 5.0
#define SHIFT_SECONDS 0.2

/* Logarithm of the ratio above which an execution is an outlier while the detector learns. */
#define UNLIKELY_AT_FIRST 2.302585 /* ln 10 */

void spex_detector_init(struct spex_detector *detector, double rate, bool alone) {
    *detector = (struct spex_detector){.rate = rate, .alone = alone};
    spex_tail_init(&detector->tail, rate);
}

/* Whether the detector still collects its first executions, in `first`. */
static bool detector_is_learning(const struct spex_detector *detector) {
    return detector->seen < SPEX_DETECTOR_FIRST;
}

bool spex_detector_unlikely(struct spex_detector *detector, double log_ratio) {
    if (detector_is_learning(detector))
        return !detector->alone && log_ratio > UNLIKELY_AT_FIRST;
    return log_ratio - detector->centre > spex_tail_level(&detector->tail, detector->rate);
}

static int compare_floats(const void *a, const void *b) {
    float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

static double limited(double value, double low, double high) {
    return fmin(fmax(value, low), high);
}

/* Near the prediction, where there is one. */
static double centre_limited(const struct spex_detector *detector, double centre) {
    return detector->alone ? centre : limited(centre, -CENTRE_MOST, CENTRE_MOST);
}

/* Sets the first values from SPEX_DETECTOR_FIRST executions. `upper` begins with the 95 % quantile,
 * which is too high rather than too low. */
static void detector_learn_first(struct spex_detector *detector) {
    float *sorted = detector->first, distances[SPEX_DETECTOR_FIRST];
    spex_sort(sorted, SPEX_DETECTOR_FIRST, sizeof(*sorted), compare_floats);
    double middle = sorted[SPEX_DETECTOR_FIRST / 2];
    detector->centre = centre_limited(detector, middle);
    for (int f = 0; f < SPEX_DETECTOR_FIRST; f++) {
        distances[f] = fabsf(sorted[f] - (float)middle);
        spex_tail_add(&detector->tail, sorted[f] - middle);
    }
    detector->upper = sorted[SPEX_DETECTOR_FIRST * 19 / 20] - middle;
    spex_sort(distances, SPEX_DETECTOR_FIRST, sizeof(*distances), compare_floats);
    detector->deviation = fmax(distances[SPEX_DETECTOR_FIRST / 2], DEVIATION_LEAST);
}

/* The logarithm of the likelihood ratio of a shift, kept at 0 or more. */
static void evidence_take(struct spex_detector *detector, bool above, double when) {
    const double enough = -EVIDENCE * log(detector->rate);
    detector->evidence +=
        above ? log(ABOVE_SHIFTED / ABOVE_USUAL) : log((1 - ABOVE_SHIFTED) / (1 - ABOVE_USUAL));
    detector->evidence = limited(detector->evidence, 0, enough + EVIDENCE_MORE);
    if (detector->evidence == 0)
        detector->evidence_since = when;
    if (detector->evidence >= enough && when - detector->evidence_since >= SHIFT_SECONDS)
        detector->shifted = true;
    else if (detector->evidence < enough / 2)
        detector->shifted = false;
}

/* Whether there is little evidence of a shift: executions of a shift must not be learnt. */
static bool detector_may_learn(const struct spex_detector *detector) {
    return detector->evidence < -EVIDENCE * log(detector->rate) / 2;
}

/* Stochastic approximation: centre, upper and deviation take a step up or down with each execution,
 * in such a ratio that they come to rest at their quantiles. */
static void detector_learn(struct spex_detector *detector, double distance, double seconds) {
    double deviation = detector->deviation;
    double step = fmin(fmax(CENTRE_STEP * deviation, CENTRE_STEP_LEAST), CENTRE_RATE * seconds);
    detector->centre += distance > 0 ? step : distance < 0 ? -step : 0;
    detector->centre = centre_limited(detector, detector->centre);
    double up = fmax(UPPER_STEP, UPPER_STEP_FIRST / (double)detector->seen) *
                fmax(deviation, detector->upper / 2);
    detector->upper += up * (distance > detector->upper ? 1 - ABOVE_USUAL : -ABOVE_USUAL);
    detector->deviation *= fabs(distance) > deviation ? 1 + DEVIATION_STEP : 1 - DEVIATION_STEP;
    detector->deviation = fmax(detector->deviation, DEVIATION_LEAST);
    spex_tail_add(&detector->tail, distance);
}

bool spex_detector_high(const struct spex_detector *detector, double log_ratio) {
    double distance = log_ratio - detector->centre;
    return detector_is_learning(detector) || distance > fmax(detector->upper, SHIFT_LEAST);
}

/* Evidence is taken from every execution. Values are learnt from those that are no outliers and
 * belong to no shift. */
static enum spex_verdict detector_judge(struct spex_detector *detector, double log_ratio,
                                        double when, bool beyond, bool outlier) {
    double distance = log_ratio - detector->centre;
    bool above = beyond && spex_detector_high(detector, log_ratio);
    double seconds = limited(when - detector->last, 0, 1);
    evidence_take(detector, above, when);
    detector->seen++;
    if (!outlier && detector_may_learn(detector))
        detector_learn(detector, distance, seconds);
    return detector->shifted && above ? SPEX_SHIFTED : outlier ? SPEX_OUTLIER : SPEX_USUAL;
}

/* While the detector learns, executions are only collected. */
enum spex_verdict spex_detector_take(struct spex_detector *detector, double log_ratio, double when,
                                     bool beyond, bool outlier) {
    enum spex_verdict verdict = outlier ? SPEX_OUTLIER : SPEX_USUAL;
    if (!detector_is_learning(detector)) {
        verdict = detector_judge(detector, log_ratio, when, beyond, outlier);
    } else if (!outlier) {
        detector->first[detector->seen++] = (float)log_ratio;
        detector->evidence_since = when;
        if (!detector_is_learning(detector))
            detector_learn_first(detector);
    }
    detector->last = when;
    return verdict;
}

void spex_detector_absorb(struct spex_detector *detector, double log_ratio) {
    if (!detector_is_learning(detector))
        spex_tail_add(&detector->tail, log_ratio - detector->centre);
}
