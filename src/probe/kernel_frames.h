/* SPDX-License-Identifier: MIT */
/* What a thread keeps while its probed kernels are sampled by their models:
 *
 *   frames  the kernels that the thread executes and that take long enough to be sampled from
 *           outside, at a frequency of their own; besides, every execution of them makes a record
 *   nodes   of each calling context, when one of its executions is to make a record next: kernels
 *           that are too short for a frame share the frequency of the frame around them */
#ifndef SPEX_PROBE_KERNEL_FRAMES_H
#define SPEX_PROBE_KERNEL_FRAMES_H

#include <stdint.h>

#include <spex/kernel.h>

/* Most frames of a thread; kernels within more of them count as short. */
enum { SPEX_SAMPLES_FRAMES = 32 };

struct spex_samples_frame {
    /* Ticks, by which the frame is known; 0: what follows is being changed. */
    uint64_t begin;
    /* Ticks from one sample to the next, on average, without a budget. */
    uint64_t interval;
    /* The context, and below it the site's index. */
    uint64_t place;
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
    /* Number of the frame in its thread, never 0; for the thread itself. */
    uint32_t number;
};

static inline uint32_t spex_frame_context(const struct spex_samples_frame *frame) {
    return (uint32_t)(frame->place >> 32);
}

static inline uint32_t spex_frame_site(const struct spex_samples_frame *frame) {
    return (uint32_t)frame->place;
}

struct spex_samples_node {
    /* When a record is due, in coarse ticks, so that 32 bits hold more than an hour. */
    uint32_t due;
    /* The number of the frame that `due` was set for; 0: outside of any frame. */
    uint32_t frame;
    /* Executions since the last record. */
    uint32_t since;
    /* All executions. */
    uint32_t executions;
    /* Executions in this frame, and in the one before. */
    uint32_t here;
    uint32_t before;
    /* Number of the plan that the node goes by; with another plan the node begins anew. */
    uint32_t plan;
};

struct spex_samples {
    uint32_t depth;
    /* Number of the last frame. */
    uint32_t last;
    struct spex_samples_frame frames[SPEX_SAMPLES_FRAMES];
    struct spex_samples_node nodes[SPEX_CONTEXTS_MAX + 1];
};

#endif
