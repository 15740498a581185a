/* SPDX-License-Identifier: MIT */
/* What a probe costs that is on in slices of the time, without a session (experiment.h): the
 * program is slower in a slice than in the hold-offs before and after it. Where no other probe can
 * be the witness, in some slices executions call the library (SPEX_SITE_CALLED), and the program is
 * slower in these than in the slices before and after them. Pure. */
#ifndef SPEX_RATE_EXPERIMENT_SLICED_H
#define SPEX_RATE_EXPERIMENT_SLICED_H

#include <stdbool.h>
#include <stdint.h>

#include "rate/experiment/finding.h"

/* Executions of the witness that a part of a probe in slices must have. */
#define SPEX_WITNESSED_LEAST 30

/* What a slice or a hold-off was like. */
struct spex_slice_part {
    /* CPU seconds for an execution of the witness; NAN: not known. */
    double time;
    /* What the probe costs of that by calibration. */
    double cost;
};

/* Figures of a probe that is in slices. All zero: there are none. */
struct spex_sliced {
    /* The witness, and the progress when the slice or the hold-off began; `cpu_ns` 0: it is not
     * known. */
    uint32_t witness;
    uint64_t cpu_ns, threads, witnessed, executed;
    /* The last part that cost little, and the dear one after it. */
    struct spex_slice_part before, within;
    /* Slices, those without another witness, and whether executions call the library in the
     * last. */
    unsigned begun, alone;
    bool called;
    /* Figures, of which those that `known` has not in it are the first in the array: how much longer the
     * dear part took than its neighbours, as a multiple of what it should have by calibration. */
    unsigned count;
    double figures[SPEX_FIGURES_MOST];
    /* Former figures, SPEX_FIGURES_MOST to a result. */
    struct spex_results_known known;
};

/* What has ended: a part in which the probe costs little, or one in which it costs much; or one
 * that tells nothing. */
enum spex_slice_over { SPEX_SLICE_CHEAP, SPEX_SLICE_DEAR, SPEX_SLICE_NEITHER };

/* A slice of `subject` begins, or ends. `witness`: a probe that has been on in all parts that tell
 * something. True: there is a finding. */
bool spex_experiment_sliced(struct spex_sliced *sliced, const struct spex_subject *subject,
                            uint32_t witness, enum spex_slice_over over,
                            const struct spex_progress *progress, struct spex_finding *finding);

#endif
