/* SPDX-License-Identifier: MIT */
/* Runs a program to its end with its kernels' probes on, and passes their records on to a
 * training. */
#ifndef SPEX_EXPLORE_TRAINING_RUN_H
#define SPEX_EXPLORE_TRAINING_RUN_H

#include "explore/space/space.h"
#include "model/fit/training.h"
#include "text/error.h"

struct spex_training_setup {
    const struct spex_space_file *file; /* the space and its agent */
    char *const *argv;
    const char *probes;    /* selection of probes, for SPEX_PROBES */
    const char *directory; /* private; the configuration and the socket are made here */
    double ticks_per_second;
    int stop_fd; /* readable: give up; -1 for none */
};

/* The outcome of a run. */
struct spex_training_outcome {
    uint64_t records; /* kernels' records that were used */
    uint64_t lost;
    uint64_t left_out; /* records not used: see spex_training_kernels_take */
    bool failed;       /* the program was not started or did not end well */
    struct spex_error failure;
};

/* Runs the configuration `levels`. 0 whatever the program did; -EINTR when stop_fd became readable;
 * or another negative errno value with the reason in `error`. */
int spex_training_run(const struct spex_training_setup *setup, const size_t *levels,
                      struct spex_training *training, struct spex_training_outcome *outcome,
                      struct spex_error *error);

#endif
