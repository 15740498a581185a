/* SPDX-License-Identifier: MIT */
/* The thread that samples kernels while they execute, each at the interval that its frame says
 * (frames.h). A sample is a record of weight 0: the record that the kernel would make if it ended
 * now. */
#ifndef SPEX_KERNELS_KERNEL_SAMPLER_H
#define SPEX_KERNELS_KERNEL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "text/error.h"

/* Samples kernels that are polled by the models in a file, with `samples` samples for each
 * execution (sampling_plan.h). Replaces the models in use. `budget`: the share of the program's
 * time that sampling may cost; 0: no limit. `alone`: no controller runs that counts the collectors'
 * cost, so it counts for this budget. One caller at a time. 0, or an error of
 * spex_sampling_plan_create or of starting the thread, with `error`. */
int spex_kernel_sampler_start(const char *models, double samples, double budget, bool alone,
                              struct spex_error *error);

/* Checks that a file holds models: 0, or the error of spex_kernel_sampler_start. */
int spex_kernel_sampler_check(const char *models, struct spex_error *error);

/* Ends the thread and waits for it. Kernels are not sampled by models afterwards. */
void spex_kernel_sampler_stop(void);

/* In the child of a fork, which has no sampling thread: forgets it. */
void spex_kernel_sampler_fork_child(void);

#endif
