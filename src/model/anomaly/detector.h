/* SPDX-License-Identifier: MIT */
/* Whether a kernel's executions take longer than they do: one kernel's times, as logarithms of actual over predicted.
 *
 * What is usual is learnt from the stream itself, since times have heavy tails that no model of them tells of
 * (preemption, interrupts, other programs' use of the caches), and since all may become slower by and by:
 *
 *     centre   the median, which follows slowly, and never further from the prediction than by a factor of 2
 *     upper    what a tenth of the executions exceed, above the centre
 *     tail     what an execution exceeds at the rate of false alarms that is allowed
 *
 * One that exceeds the tail is an outlier. Too many above the upper tenth, one after the other, are a shift (a CUSUM
 * of Bernoulli's: Reynolds and Stoumbos, Journal of Quality Technology 31, 1999), where they are beyond what the model
 * allows, too: that knows nothing of the distribution but that a tenth lie above. What is found is not learnt from. */
#ifndef SPEX_MODEL_ANOMALY_DETECTOR_H
#define SPEX_MODEL_ANOMALY_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "model/anomaly/tail.h"

/* Executions before it judges by what is usual; until then by a factor of 10. */
enum { SPEX_DETECTOR_FIRST = 32 };

enum spex_verdict { SPEX_USUAL, SPEX_OUTLIER, SPEX_SHIFTED };

struct spex_detector {
    double rate;   /* false alarms, an execution */
    uint64_t seen; /* executions that it has learnt from or judged */
    float first[SPEX_DETECTOR_FIRST];
    double centre;
    double deviation; /* median, from the centre */
    double upper;
    double evidence;       /* of a shift */
    double evidence_since; /* seconds, when there was none last */
    bool shifted;
    double last; /* seconds, the last execution's end */
    struct spex_tail tail;
};

void spex_detector_init(struct spex_detector *detector, double rate);

/* Whether an execution with this logarithm is an outlier, unless something speaks for it. */
bool spex_detector_unlikely(struct spex_detector *detector, double log_ratio);

/* Whether it is among the upper tenth, or may be: then it is to be known whether it is `beyond` what the model allows. */
bool spex_detector_high(const struct spex_detector *detector, double log_ratio);

/* Takes one in, that ended `when` (seconds of any clock), is `beyond` what the model allows or not, and an `outlier` or
 * not. */
enum spex_verdict spex_detector_take(struct spex_detector *detector, double log_ratio, double when,
                                     bool beyond, bool outlier);

/* An outlier was nothing that happened, but something that happens: learns from it after all. */
void spex_detector_absorb(struct spex_detector *detector, double log_ratio);

#endif
