/* SPDX-License-Identifier: MIT */
/* Frames of the threads whose kernels are sampled by models (probe/kernel_frames.h), and the futex
 * by which these threads wake the sampling thread (kernel_sampler.h). */
#ifndef SPEX_KERNELS_FRAMES_H
#define SPEX_KERNELS_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/record.h>

#include "probe/kernel_frames.h"

struct spex_thread;
struct spex_sampling_plan;

/* The sampling plan in use; NULL: kernels are not sampled by models. A former plan is never freed,
 * so a pointer that a thread has loaded stays valid. */
extern struct spex_sampling_plan *spex_samples_plan;
void spex_samples_plan_set(struct spex_sampling_plan *plan);

/* Copies frame number `at` (0: the outermost) of another thread. False: the thread is changing the
 * frame, or has no such frame. Lock-free; any thread. */
bool spex_samples_frame_read(const struct spex_thread *thread, uint32_t at,
                             struct spex_samples_frame *frame);

/* Tells the sampling thread that it has work at `ticks`, and wakes it if it would sleep longer. Any
 * thread; safe in signal handlers. */
void spex_kernel_sampler_needed(uint64_t ticks);

/* Number of calls of spex_kernel_sampler_needed, modulo 2^32. The sampling thread reads it before
 * it looks for work, and passes it to spex_kernel_sampler_rest. */
int32_t spex_kernel_sampler_calls(void);

/* Sleeps until `until` (ticks), or until spex_kernel_sampler_needed asks for less. Returns at once
 * if the number of calls is no longer `seen`. For the sampling thread alone. */
void spex_kernel_sampler_rest(uint64_t until, double ticks_per_second, int32_t seen);

/* Measures what sampling by models adds to an execution that makes no record and gets no frame, in
 * ticks: the least of some runs. 0: out of memory. */
double spex_samples_execution_ticks(struct spex_sampling_plan *plan);

#endif
