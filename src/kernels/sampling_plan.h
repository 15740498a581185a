/* SPDX-License-Identifier: MIT */
/* What models say of the kernels of this process: by calling context, how long an execution takes, and from that how
 * often it is to be looked at. Bhattacharyya and Amza, "ADLER", section 3.2, "Setting the Sampling Frequency": a
 * required number of samples over the predicted time; kernels of no class by the least of their times. */
#ifndef SPEX_KERNELS_SAMPLING_PLAN_H
#define SPEX_KERNELS_SAMPLING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/record.h>

#include "kernels/kernel_paths.h"
#include "model/models.h"

/* Samples an execution, where nothing else is said, and what may be said. */
#define SPEX_SAMPLES_DEFAULT 10.0
#define SPEX_SAMPLES_LEAST   0.01
#define SPEX_SAMPLES_MOST    1e6
#define SPEX_SAMPLES_RANGE   "0.01 to 1000000"

/* Such a number of samples, as a user writes it. */
bool spex_samples_parse(const char *text, double *samples);

/* A thread is not looked at more often, on average, for one kernel's sake: looking is a thread's being woken. What is
 * executed more quickly than so often takes part in the frequency of the kernel around it. */
#define SPEX_LOOKS_SHORTEST_SECONDS 100e-6

/* Of a calling context. */
struct spex_planned {
    const struct spex_model *model;           /* NULL: always as long as */
    double seconds;                           /*   this; or never negative, this instead */
    uint8_t slots[SPEX_MODEL_PARAMETERS_MAX]; /* which of the kernel's parameters are the model's */
    uint8_t parameters;                       /* that the kernel must have for that */
};

/* What a model says of a kernel with these parameters: where they are not the model's, or it is of no class, how long it
 * takes at the least. */
void spex_planned_make(struct spex_planned *planned, const struct spex_kernel_model *kernel,
                       const struct spex_kernel_described *described);

/* How many seconds an execution is predicted to take. */
double spex_planned_seconds(const struct spex_planned *planned, const uint64_t *parameters);

enum { SPEX_SAMPLING_PLAN_WORDS = SPEX_CONTEXTS_MAX / 64 + 1 };

struct spex_sampling_plan {
    double samples; /* of each kernel, for each execution of what sets its frequency */
    double ticks_per_second;
    uint64_t shortest;      /* ticks */
    uint32_t number;        /* of this plan, in this process */
    unsigned coarse_shift;  /* of ticks that are coarse: about a microsecond */
    double execution_ticks; /* what one costs without record or look, beside being probed */
    double stretch;         /* of intervals, for the budget's sake; 1 or more. Relaxed */
    const struct spex_planned *nodes[SPEX_CONTEXTS_MAX + 1]; /* NULL: to be asked for */
    uint64_t asked[SPEX_SAMPLING_PLAN_WORDS];                /* a bit for each context */

    struct spex_models models;
    struct spex_planned planned[SPEX_CONTEXTS_MAX + 1];
    struct spex_kernel_described described;
    struct spex_sampling_plan *former; /* which threads may still use */
};

/* Of the models in a file. 0; -EINVAL for what holds none, -ENOMEM, or what reading failed with, with the reason. */
int spex_sampling_plan_create(const char *path, double samples, double ticks_per_second,
                              struct spex_sampling_plan **plan, struct spex_error *why);
void spex_sampling_plan_destroy(struct spex_sampling_plan *plan);

/* Looks up what has been asked for. One thread at a time. */
void spex_sampling_plan_answer(struct spex_sampling_plan *plan,
                               const struct spex_kernels_known *known);

/* Asks for a context. True: for the first time. Any thread, signal handlers. */
bool spex_sampling_plan_ask_for(struct spex_sampling_plan *plan, uint32_t context);

/* How long an execution is predicted to take, in ticks; 0: there is no saying. `planned`: of its context. Any thread,
 * signal handlers. */
double spex_planned_ticks(const struct spex_sampling_plan *plan, const struct spex_planned *planned,
                          const uint64_t *parameters);

/* The mean interval from sample to sample within something that takes so many ticks, without a budget; 0: it is too short
 * to have one of its own. */
uint64_t spex_sampling_plan_interval(const struct spex_sampling_plan *plan, double ticks);

/* The same outside of all that has one: as many samples a second. */
uint64_t spex_sampling_plan_base(const struct spex_sampling_plan *plan);

/* An interval as the budget has it now: at least one coarse tick, and not so many that they come round. */
uint64_t spex_sampling_plan_stretched(const struct spex_sampling_plan *plan, uint64_t interval);

/* Whether a kernel that takes so many seconds has an interval of its own, as spex_sampling_plan_interval: for who has no
 * plan. */
static inline bool spex_samples_own(double samples, double seconds) {
    return seconds >= samples * SPEX_LOOKS_SHORTEST_SECONDS;
}

#endif
