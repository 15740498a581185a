/* SPDX-License-Identifier: MIT */
/* The state of a thread for sampling its polled kernels by models (room kernels):
 *
 *   frames  the kernels that the thread is executing and whose predicted time is long enough to be
 *           sampled from outside, each at a frequency of its own; every execution with a frame
 *           makes a record besides
 *   nodes   for each calling context, how often its executions make records; kernels that are too
 *           short for a frame share the frequency of the frame around them
 *
 * The thread and its signal handlers write; the kernel sampler reads frames from another thread. */
#ifndef SPEX_PROBE_KERNEL_FRAMES_H
#define SPEX_PROBE_KERNEL_FRAMES_H

#include <stdint.h>

#include <spex/kernel.h>

/* Most frames of a thread. Kernels that are nested deeper are treated as short. */
enum { SPEX_SAMPLES_FRAMES = 32 };

struct spex_samples_frame {
    /* Ticks when the execution began, which identify the frame; 0: the members below are being
     * changed. */
    uint64_t begin;
    /* Mean ticks from one sample to the next, without the limit of a budget. */
    uint64_t interval;
    /* Upper half: the context. Lower half: the site's index. */
    uint64_t place;
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
    /* Number of the frame in its thread, never 0. Only the thread itself reads it. */
    uint32_t number;
};

static inline uint32_t spex_frame_context(const struct spex_samples_frame *frame) {
    return (uint32_t)(frame->place >> 32);
}

static inline uint32_t spex_frame_site(const struct spex_samples_frame *frame) {
    return (uint32_t)frame->place;
}

/* How often executions in one calling context make records. */
struct spex_samples_node {
    /* Ticks when the last execution began; 0: there was none. */
    uint64_t last;
    /* Mean ticks from one execution to the next; 0: not known. */
    float gap;
    /* The number of the frame that `here` counts in; 0: outside of any frame. */
    uint32_t frame;
    /* Executions that the next record is to stand for. */
    uint32_t owed;
    /* All executions. */
    uint32_t executions;
    /* Executions within this frame, and within the frame before it. */
    uint32_t here;
    uint32_t before;
    /* Number of the sampling plan by which the other members were computed. When the plan changes,
     * they are reset. */
    uint32_t plan;
};

struct spex_samples {
    /* How many of the frames are in use. */
    uint32_t depth;
    /* The number that was given to a frame last. */
    uint32_t last;
    struct spex_samples_frame frames[SPEX_SAMPLES_FRAMES];
    struct spex_samples_node nodes[SPEX_CONTEXTS_MAX + 1];
};

#endif
