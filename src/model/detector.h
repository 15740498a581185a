/* SPDX-License-Identifier: MIT */
/* Detects executions that take longer than usual for their kernel, from the logarithm of actual
 * over predicted time.
 *
 * What is usual is learnt from the stream itself. Times have heavy tails that the models do not
 * describe (preemption, interrupts, other programs' use of the caches), and all times may become
 * longer by and by. Learnt are:
 *
 *     centre   the median, which follows slowly, and is never further from the prediction, if there
 *              is one, than by a factor of 2
 *     upper    what a tenth of the executions exceed, above the centre
 *     tail     what an execution exceeds at the allowed rate of false alarms
 *
 * An execution beyond the tail is an outlier. Too many executions above the upper tenth in a row
 * are a shift, if they are also beyond the model's interval. The test is a CUSUM of Bernoulli
 * variables (Reynolds and Stoumbos, Journal of Quality Technology 31, 1999): of the distribution it
 * needs only the share above `upper`. Outliers and shifts are not learnt. */
#ifndef SPEX_MODEL_DETECTOR_H
#define SPEX_MODEL_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tail.h"

/* Executions before the detector judges by what is usual. Until then an outlier is an execution
 * that takes 10 times the prediction. */
enum { SPEX_DETECTOR_FIRST = 32 };

enum spex_verdict { SPEX_USUAL, SPEX_OUTLIER, SPEX_SHIFTED };

struct spex_detector {
    /* False alarms for each execution. */
    double rate;
    /* Executions that the detector has learnt from or judged. */
    uint64_t seen;
    float first[SPEX_DETECTOR_FIRST];
    /* There is no prediction: the ratio is to some time of the kernel, and no execution is an
     * outlier before there is a centre. */
    bool alone;
    double centre;
    /* Median deviation from the centre. */
    double deviation;
    double upper;
    /* Evidence of a shift: the CUSUM. */
    double evidence;
    /* Time when there was last no evidence, in seconds. */
    double evidence_since;
    bool shifted;
    /* End of the last execution, in seconds. */
    double last;
    struct spex_tail tail;
};

void spex_detector_init(struct spex_detector *detector, double rate, bool alone);

/* Whether an execution with this logarithm is unusual at the rate of false alarms; the caller may
 * have a reason to pass it all the same. */
bool spex_detector_unlikely(struct spex_detector *detector, double log_ratio);

/* Whether the execution is in the upper tenth, or may be while the detector learns. If so,
 * spex_detector_take needs to know whether it is `beyond` the model's interval. */
bool spex_detector_high(const struct spex_detector *detector, double log_ratio);

/* Judges an execution and learns from it. `when`: its end in seconds of any clock; `beyond`: it is
 * beyond the model's interval; `outlier`: it counts as an outlier. */
enum spex_verdict spex_detector_take(struct spex_detector *detector, double log_ratio, double when,
                                     bool beyond, bool outlier);

/* Learns from an outlier after all: it has turned out to be usual. */
void spex_detector_absorb(struct spex_detector *detector, double log_ratio);

#endif
