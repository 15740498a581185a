/* SPDX-License-Identifier: MIT */
/* Training from a program that runs already, for as long as it is followed, in bounded memory. */
#ifndef SPEX_TRAIN_RUNNING_H
#define SPEX_TRAIN_RUNNING_H

#include <sys/types.h>

#include "training.h"

struct spex_train_running {
    pid_t process;
    const char *probes;   /* what is switched on beside what is on */
    const char *models;   /* the file, written now and then */
    double least_seconds; /* on average, that a kernel takes to have a model */
    double seconds;       /* 0: any */
    int stop_fd;          /* readable: that is all */
};

/* Says how many kernels have no model for being too short, if any. */
void spex_train_tell_left_out(size_t kernels, double least_seconds);

/* Says how it went. `models`: as written last, to be freed in any case. An exit status. */
int spex_train_running(const struct spex_train_running *running, struct spex_training *training,
                       struct spex_models *models);

#endif
