/* SPDX-License-Identifier: MIT */
#include "rate/experiment/sliced.h"

#include <math.h>

#include "base/student.h"

/* Figures of slices that make a finding. */
enum { SLICED_LEAST = 4 };

/* With a standard error above such a share of the factor there is a finding only when all figures
 * are new: chance would have many tries. */
#define SLICED_PRECISE 0.15

/* Least standard error of a factor. */
#define ERROR_LEAST 0.01

/* The part since the last call. */
static struct spex_slice_part sliced_part(const struct spex_sliced *sliced,
                                          const struct spex_subject *subject, uint32_t witness,
                                          const struct spex_progress *progress) {
    uint64_t witnessed = progress->executions[witness] - sliced->witnessed;
    uint64_t executed = progress->executions[subject->first] - sliced->executed;
    bool known = sliced->cpu_ns && witness == sliced->witness &&
                 progress->threads == sliced->threads && witnessed >= SPEX_WITNESSED_LEAST &&
                 progress->cpu_ns > sliced->cpu_ns;
    double seconds = (double)(progress->cpu_ns - sliced->cpu_ns) / 1e9, of = (double)witnessed;
    return (struct spex_slice_part){.time = known ? seconds / of : NAN,
                                    .cost = known ? (double)executed * subject->on.cost / of : 0};
}

/* Adds the figure of a dear part between two others, if all are known. */
static bool sliced_add(struct spex_sliced *sliced, const struct spex_slice_part *after) {
    const struct spex_slice_part *before = &sliced->before, *within = &sliced->within;
    double longer = within->time - (before->time + after->time) / 2;
    double dearer = within->cost - (before->cost + after->cost) / 2;
    if (!isfinite(longer) || !(dearer > 0))
        return false;
    sliced->figures[sliced->count++ % SPEX_FIGURES_MOST] = longer / dearer;
    return true;
}

/* Makes a finding of the new figures, whose spread has the rounding of counts in it, and of the
 * former ones. False: they are too few, or tell little more than at the last finding. */
static bool sliced_conclude(struct spex_sliced *sliced, struct spex_finding *finding) {
    double mean, error;
    size_t count = (sliced->count - 1) % SPEX_FIGURES_MOST + 1;
    if (count < SLICED_LEAST)
        return false;
    spex_finding_mean(sliced->figures, count, &mean, &error);
    error = fmax(error * spex_student_95((double)count - 1) / SPEX_NORMAL_95, ERROR_LEAST);
    const struct spex_results_known known = spex_finding_join(sliced->known, mean, error);
    *finding = (struct spex_finding){.count = 1};
    spex_finding_set(finding, known);
    if (count < SPEX_FIGURES_MOST)
        return finding->error < SLICED_PRECISE * finding->factor;
    sliced->known = known;
    return true;
}

/* Takes in the part that is over: after a cheap one there may be a figure. */
static bool sliced_over(struct spex_sliced *sliced, enum spex_slice_over over,
                        const struct spex_slice_part *part) {
    bool added = false;
    if (over == SPEX_SLICE_DEAR)
        sliced->within = *part;
    if (over == SPEX_SLICE_CHEAP) {
        added = sliced_add(sliced, part);
        sliced->before = *part;
        sliced->within.time = NAN;
    }
    return added;
}

bool spex_experiment_sliced(struct spex_sliced *sliced, const struct spex_subject *subject,
                            uint32_t witness, enum spex_slice_over over,
                            const struct spex_progress *progress, struct spex_finding *finding) {
    const struct spex_slice_part part = sliced_part(sliced, subject, witness, progress);
    if (witness != sliced->witness)
        sliced->before.time = sliced->within.time = NAN;
    bool added = sliced_over(sliced, over, &part);
    sliced->witness = witness;
    sliced->cpu_ns = progress->cpu_ns;
    sliced->threads = progress->threads;
    sliced->witnessed = progress->executions[witness];
    sliced->executed = progress->executions[subject->first];
    return added && sliced_conclude(sliced, finding);
}
