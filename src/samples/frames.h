/* SPDX-License-Identifier: MIT */
/* What a thread keeps while its probed kernels are sampled by their models:
 *
 *   frames  the kernels it is executing that take long enough to be looked at, from outside (looker.h), at a frequency of
 *           their own; every execution of them makes a record besides
 *   nodes   of each calling context, when one of its executions is to make a record next: those that are too short to be
 *           looked at share the frequency of the frame around them */
#ifndef SPEX_SAMPLES_FRAMES_H
#define SPEX_SAMPLES_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/record.h>

struct spex_thread;
struct spex_kernel_plan;

/* Kernels within each other; those within more of them count as short. */
enum { SPEX_SAMPLES_FRAMES = 32 };

struct spex_samples_frame {
    uint64_t begin;    /* ticks, by which it is known; 0: what follows is being changed */
    uint64_t interval; /* ticks from look to look, on average, without a budget */
    uint64_t place;    /* context, and below it the site's index */
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
    uint32_t number; /* of the thread's frames; never 0. For the thread itself */
};

static inline uint32_t spex_frame_context(const struct spex_samples_frame *frame) {
    return (uint32_t)(frame->place >> 32);
}

static inline uint32_t spex_frame_site(const struct spex_samples_frame *frame) {
    return (uint32_t)frame->place;
}

/* In coarse ticks, so that 32 bits hold more than an hour. */
struct spex_samples_node {
    uint32_t due;        /* for a record */
    uint32_t frame;      /* the number of that it was for; 0: outside of any */
    uint32_t since;      /* executions since the last record */
    uint32_t executions; /* all of them */
    uint32_t here;       /* executions in this frame, and */
    uint32_t before;     /*   in the one before */
    uint32_t plan;       /* number of that all of this is by; another begins anew */
};

struct spex_samples {
    uint32_t depth;
    uint32_t last; /* number of a frame */
    struct spex_samples_frame frames[SPEX_SAMPLES_FRAMES];
    struct spex_samples_node nodes[SPEX_CONTEXTS_MAX + 1];
};

/* What kernels go by; NULL: by nothing. It stays readable for ever. */
extern struct spex_kernel_plan *spex_samples_plan;
void spex_samples_plan_set(struct spex_kernel_plan *plan);

/* One consistent copy of a frame of another thread's. False: it is being changed, or is there no more. */
bool spex_samples_frame_read(const struct spex_thread *thread, uint32_t at,
                             struct spex_samples_frame *frame);

/* In a thread's end: it executes nothing any more. */
void spex_samples_forget(struct spex_thread *thread);

/* Ticks that an execution costs which makes no record and has no frame, beside what it costs to be probed; measures it. 0:
 * there is no memory for it. */
double spex_samples_execution_ticks(struct spex_kernel_plan *plan);

#endif
