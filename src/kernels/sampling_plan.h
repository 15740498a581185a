/* SPDX-License-Identifier: MIT */
/* The sampling plan: how long the executions of each calling context of this process take by the
 * models in a file, and from that how often they are sampled. Bhattacharyya and Amza, "ADLER",
 * section 3.2, "Setting the Sampling Frequency": a required number of samples over the predicted
 * time; a kernel of no class goes by the least of its times.
 *
 * Threads look up a context without a lock. The sampling thread fills in contexts that threads ask
 * for. */
#ifndef SPEX_KERNELS_SAMPLING_PLAN_H
#define SPEX_KERNELS_SAMPLING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/record.h>

#include "kernels/kernel_paths.h"
#include "model/models.h"

/* Samples for each execution: the default, and the limits. */
#define SPEX_SAMPLES_DEFAULT 10.0
#define SPEX_SAMPLES_LEAST   0.01
#define SPEX_SAMPLES_MOST    1e6
#define SPEX_SAMPLES_RANGE   "0.01 to 1000000"

/* Parses a number of samples. False: it is not a number within the limits. */
bool spex_samples_parse(const char *text, double *samples);

/* The shortest mean interval between two samples of a thread for one kernel: each sample wakes a
 * thread. Kernels with shorter intervals share the interval of the kernel around them. */
#define SPEX_LOOKS_SHORTEST_SECONDS 100e-6

/* The prediction for a calling context. */
struct spex_planned {
    /* NULL: every execution takes `seconds`. */
    const struct spex_model *model;
    /* Predicted for every execution, or where the model's value is not above 0. */
    double seconds;
    /* Which of the kernel's parameters each of the model's parameters is. */
    uint8_t slots[SPEX_MODEL_PARAMETERS_MAX];
    /* Number of parameters that the kernel must have for `slots`. */
    uint8_t parameters;
    /* Of the fields of its records. */
    uint32_t kinds;
};

/* Fills in the prediction for a kernel with these parameters. Where the model has parameters that
 * the kernel lacks, or is of no class, that is the least time of an execution. */
void spex_planned_make(struct spex_planned *planned, const struct spex_kernel_model *kernel,
                       const struct spex_kernel_described *described);

/* Predicted seconds of an execution with these parameters. */
double spex_planned_seconds(const struct spex_planned *planned, const uint64_t *parameters);

enum { SPEX_SAMPLING_PLAN_WORDS = SPEX_CONTEXTS_MAX / 64 + 1 };

struct spex_sampling_plan {
    /* Samples for each execution of a kernel with an interval of its own. */
    double samples;
    double ticks_per_second;
    /* The shortest interval, in ticks. */
    uint64_t shortest;
    /* Number of this plan in this process, from 1. */
    uint32_t number;
    /* Cost of an execution without record or sample, in ticks, beside that of being polled. */
    double execution_ticks;
    /* Factor of all intervals, at least 1, which keeps to the budget. The sampling thread writes
     * it; relaxed. */
    double stretch;
    /* NULL: not looked up yet. */
    const struct spex_planned *nodes[SPEX_CONTEXTS_MAX + 1];
    /* A bit for each context that has been asked for. */
    uint64_t asked[SPEX_SAMPLING_PLAN_WORDS];

    struct spex_models models;
    struct spex_planned planned[SPEX_CONTEXTS_MAX + 1];
    struct spex_kernel_described described;
    /* The plan before this one, which threads may still use. */
    struct spex_sampling_plan *former;
};

/* Makes a plan of the models in a file. 0; -EINVAL: the file holds no models; -ENOMEM; or the error
 * of reading; with `error`. */
int spex_sampling_plan_create(const char *path, double samples, double ticks_per_second,
                              struct spex_sampling_plan **plan, struct spex_error *error);
void spex_sampling_plan_destroy(struct spex_sampling_plan *plan);

/* Looks up the contexts that have been asked for. One thread at a time. */
void spex_sampling_plan_answer(struct spex_sampling_plan *plan,
                               const struct spex_kernels_known *known);

/* Asks for a context to be looked up. True: it has not been asked for before. Any thread; safe in
 * signal handlers. */
bool spex_sampling_plan_ask_for(struct spex_sampling_plan *plan, uint32_t context);

/* Predicted ticks of an execution; 0: there is no prediction. `planned`: that of its context. Any
 * thread; safe in signal handlers. */
double spex_planned_ticks(const struct spex_sampling_plan *plan, const struct spex_planned *planned,
                          const uint64_t *parameters);

/* Mean interval between samples of an execution that takes `ticks`, in ticks and without a budget.
 * 0: it is too short for an interval of its own. */
uint64_t spex_sampling_plan_interval(const struct spex_sampling_plan *plan, double ticks);

/* Mean interval of records outside of any frame: plan->samples a second. */
uint64_t spex_sampling_plan_base(const struct spex_sampling_plan *plan);

/* The interval times the stretch: at least one tick, and at most 2^60. */
uint64_t spex_sampling_plan_stretched(const struct spex_sampling_plan *plan, uint64_t interval);

/* Whether an execution of so many seconds has an interval of its own, as by
 * spex_sampling_plan_interval, for callers without a plan. */
static inline bool spex_samples_own(double samples, double seconds) {
    return seconds >= samples * SPEX_LOOKS_SHORTEST_SECONDS;
}

#endif
