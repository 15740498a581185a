/* SPDX-License-Identifier: MIT */
/* Passes signals on to the program that this process runs. Signals of the terminal reach the
 * program by itself, since it is in our process group; signals that a process sends to us are
 * sent on. When the user stops the program at the terminal (Ctrl-Z), this process stops as
 * well. */
#ifndef SPEX_OBSERVE_PASSED_SIGNALS_H
#define SPEX_OBSERVE_PASSED_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "observe/launch.h"

struct spex_passed_signals {
    /* Readable when signals have arrived. */
    int fd;
    /* The signal mask that this process was given. */
    sigset_t before;
    /* Those that are received. */
    sigset_t received;
    /* A stop was requested, and the program has not stopped yet. */
    bool stop_asked;
};

/* Blocks the signals, and must be called before the program starts. 0 or a negative errno
 * value. */
int spex_passed_signals_open(struct spex_passed_signals *signals);

/* Leaves a signal, which stays blocked, to this process. */
void spex_passed_signals_keep(struct spex_passed_signals *signals, int number);

/* Handles the signals that have arrived. Does not wait, but may stop this process until it is
 * continued. */
void spex_passed_signals_pass(struct spex_passed_signals *signals,
                              const struct spex_launched *program);

#endif
