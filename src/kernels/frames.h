/* SPDX-License-Identifier: MIT */
/* The frames of threads whose probed kernels are sampled by their models (kernel_frames.h), and how
 * these threads wake the one that samples them (kernel_sampler.h). */
#ifndef SPEX_KERNELS_FRAMES_H
#define SPEX_KERNELS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/record.h>

#include "probe/kernel_frames.h"

struct spex_thread;
struct spex_sampling_plan;

/* What kernels go by; NULL: by nothing. It stays readable for ever. */
extern struct spex_sampling_plan *spex_samples_plan;
void spex_samples_plan_set(struct spex_sampling_plan *plan);

/* One consistent copy of a frame of another thread's. False: it is being changed, or is there no
 * more. */
bool spex_samples_frame_read(const struct spex_thread *thread, uint32_t at,
                             struct spex_samples_frame *frame);

/* A frame is to be sampled no later than at `ticks`: wakes the sampling thread if it sleeps longer.
 * Any thread, signal handlers. */
void spex_kernel_sampler_needed(uint64_t ticks);

/* How often spex_kernel_sampler_needed has been called. */
int32_t spex_kernel_sampler_calls(void);

/* The sampling thread sleeps until `until`, or until it is needed earlier, or not at all if there
 * were calls since there were `seen`. */
void spex_kernel_sampler_rest(uint64_t until, double ticks_per_second, int32_t seen);

/* Ticks that an execution costs which makes no record and has no frame, beside what it costs to be
 * probed; measures it. 0: there is no memory for it. */
double spex_samples_execution_ticks(struct spex_sampling_plan *plan);

#endif
