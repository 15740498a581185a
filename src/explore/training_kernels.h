/* SPDX-License-Identifier: MIT */
/* Passes the kernels' records of one run on to a training, with the contexts and sites that its
 * stream has told. */
#ifndef SPEX_EXPLORE_TRAINING_KERNELS_H
#define SPEX_EXPLORE_TRAINING_KERNELS_H

#include <stddef.h>

#include "explore/trial/receiver.h"
#include "model/fit/training.h"

/* The parameters of a run: those of kernels that have none of their own. */
struct spex_run_parameters {
    const char *names[SPEX_MODEL_PARAMETERS_MAX];
    double values[SPEX_MODEL_PARAMETERS_MAX];
    size_t count;
};

struct spex_training_kernels;

/* NULL when out of memory. The arguments have to stay valid as long as the result. */
struct spex_training_kernels *spex_training_kernels_new(struct spex_training *training,
                                                        const struct spex_receiver *receiver,
                                                        const struct spex_run_parameters *run,
                                                        double ticks_per_second);
void spex_training_kernels_free(struct spex_training_kernels *kernels);

/* Adds the records of kernels. *used counts those added. *left_out counts those whose context had
 * no room and those during which the library set up a type of probes, since their times include
 * that. 0; -EINVAL, -E2BIG or -ENOMEM with the reason in `error`. */
int spex_training_kernels_take(struct spex_training_kernels *kernels,
                               const struct spex_record *records, size_t count, uint64_t *used,
                               uint64_t *left_out, struct spex_error *error);

#endif
