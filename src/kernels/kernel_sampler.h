/* SPDX-License-Identifier: MIT */
/* The thread that looks at kernels while they are executed, each as often as its frame says
 * (frames.h). A look makes a record of weight 0: what the kernel's record would be if it ended
 * now. */
#ifndef SPEX_KERNELS_KERNEL_SAMPLER_H
#define SPEX_KERNELS_KERNEL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "text/error.h"

/* From now on kernels that are probed go by the models in a file, `samples` each (plan.h), for what
 * `budget` lets them cost (a share of the program's time; 0: anything). `alone`: no controller
 * counts what collectors cost. What went by other models before goes by these. One caller at a
 * time. 0, or as spex_sampling_plan_create or starting a thread, with the reason. */
int spex_kernel_sampler_start(const char *models, double samples, double budget, bool alone,
                              struct spex_error *why);

/* Whether a file holds models: 0, or as above. */
int spex_kernel_sampler_check(const char *models, struct spex_error *why);

/* Nothing is looked at any more. */
void spex_kernel_sampler_stop(void);

/* In the child of a fork there is none. */
void spex_kernel_sampler_fork_child(void);

#endif
