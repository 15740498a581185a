/* SPDX-License-Identifier: MIT */
/* Trains models from a program that runs already, in bounded memory. */
#ifndef SPEX_TOOLS_MODELS_TRAIN_RUNNING_H
#define SPEX_TOOLS_MODELS_TRAIN_RUNNING_H

#include <sys/types.h>

#include "model/fit/training.h"

struct spex_train_running {
    pid_t process;
    /* Added to the program's selection. */
    const char *probes;
    /* The file, which is written every minute and at the end. */
    const char *models;
    /* Kernels whose executions take less on average get no model. */
    double least_seconds;
    /* 0: no limit. */
    double seconds;
    /* Ends the training when it becomes readable. */
    int stop_fd;
};

/* Reports how many kernels have no model because they are too short, if any. */
void spex_train_tell_left_out(size_t kernels, double least_seconds);

/* Reports the result. `models`: as written last; free them in any case. Returns an exit status. */
int spex_train_running(const struct spex_train_running *running, struct spex_training *training,
                       struct spex_models *models);

#endif
