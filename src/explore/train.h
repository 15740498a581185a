/* SPDX-License-Identifier: MIT */
/* Trains models: runs a program for each configuration of a plan and collects the times of its
 * kernels. */
#ifndef SPEX_EXPLORE_TRAIN_H
#define SPEX_EXPLORE_TRAIN_H

#include "explore/training_run.h"
#include "model/fit/training.h"
#include "text/error.h"

struct spex_train_progress {
    uint64_t done; /* runs that have ended */
    uint64_t runs;
    uint64_t failed;
    uint64_t records;
    uint64_t lost;

    uint64_t left_out; /* records, as in struct spex_training_outcome */
    /* Configuration and reason of the run that has just ended, if it failed; else NULL. */
    const char *failure;
};

struct spex_train_options {
    const char *plan; /* file of a space; NULL: one run */
    char *const *argv;
    const char *probes;
    int stop_fd; /* readable: give up; -1 for none */
    void (*progress)(void *user, const struct spex_train_progress *progress); /* after each run */
    void *user;
};

/* 0, also when runs have failed; -EINTR when stop_fd became readable; or another negative errno
 * value with the reason in `error`. */
int spex_train(const struct spex_train_options *options, struct spex_training *training,
               struct spex_error *error);

#endif
