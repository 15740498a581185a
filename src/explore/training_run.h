/* SPDX-License-Identifier: MIT */
/* Runs a program to its end, with its kernels on, and passes on what they have taken. */
#ifndef SPEX_EXPLORE_TRAINING_RUN_H
#define SPEX_EXPLORE_TRAINING_RUN_H

#include "explore/space/space.h"
#include "model/training/training.h"
#include "text/error.h"

struct spex_training_setup {
    const struct spex_space_file *file; /* what configurations are made of */
    char *const *argv;
    const char *probes;    /* selection: SPEX_PROBES */
    const char *directory; /* private; the configuration and the socket are made here */
    double ticks_per_second;
    int stop_fd; /* readable: give up; -1 for none */
};

/* What came of it. */
struct spex_training_outcome {
    uint64_t records; /* of kernels, that have been used */
    uint64_t lost;
    uint64_t left_out; /* whose context had no room, or whose time holds what was prepared in it */
    bool failed;       /* the program was not run, or did not end well: */
    struct spex_error failure;
};

/* A kernel without parameters has those of the configuration that are numbers. 0 whatever the
 * program did; -EINTR when stop_fd became readable; or what went wrong on our side. */
int spex_training_run(const struct spex_training_setup *setup, const size_t *levels,
                      struct spex_training *training, struct spex_training_outcome *outcome,
                      struct spex_error *error);

#endif
