/* SPDX-License-Identifier: MIT */
/* One run's records of kernels, with what its stream has told of contexts and sites, into a
 * training. */
#ifndef SPEX_EXPLORE_TRAINING_KERNELS_H
#define SPEX_EXPLORE_TRAINING_KERNELS_H

#include <stddef.h>

#include "explore/trial/receiver.h"
#include "model/training/training.h"

/* The parameters of a run, for kernels that have none of their own. */
struct spex_run_parameters {
    const char *names[SPEX_MODEL_PARAMETERS_MAX];
    double values[SPEX_MODEL_PARAMETERS_MAX];
    size_t count;
};

struct spex_training_kernels;

/* NULL: out of memory. What it is given has to stay as long as it does. */
struct spex_training_kernels *spex_training_kernels_new(struct spex_training *training,
                                                        const struct spex_receiver *receiver,
                                                        const struct spex_run_parameters *run,
                                                        double ticks_per_second);
void spex_training_kernels_free(struct spex_training_kernels *kernels);

/* How many of the records were used: not those of other probes, nor those whose context had no room
 * or whose time holds something that was prepared meanwhile. 0; -EINVAL, -E2BIG or -ENOMEM, as
 * `error` says. */
int spex_training_kernels_take(struct spex_training_kernels *kernels,
                               const struct spex_record *records, size_t count, uint64_t *used,
                               uint64_t *left_out, struct spex_error *error);

#endif
