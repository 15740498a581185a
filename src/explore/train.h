/* SPDX-License-Identifier: MIT */
/* Runs a program once for each configuration of a plan, as often as that says, and collects what
 * its kernels take. */
#ifndef SPEX_EXPLORE_TRAIN_H
#define SPEX_EXPLORE_TRAIN_H

#include "explore/training_run.h"
#include "model/training/training.h"
#include "text/error.h"

struct spex_train_progress {
    uint64_t done; /* runs */
    uint64_t runs;
    uint64_t failed;
    uint64_t records;
    uint64_t lost;
    uint64_t left_out;
    const char
        *failure; /* of the run that has just failed, with its configuration; NULL: it has not */
};

struct spex_train_options {
    const char *plan; /* a space's file; NULL: one run */
    char *const *argv;
    const char *probes;
    int stop_fd; /* readable: give up; -1 for none */
    void (*progress)(void *user, const struct spex_train_progress *progress); /* after each run */
    void *user;
};

/* 0, also where runs have failed; -EINTR; or a negative errno value with the reason in `error`. */
int spex_train(const struct spex_train_options *options, struct spex_training *training,
               struct spex_error *error);

#endif
