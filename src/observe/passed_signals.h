/* SPDX-License-Identifier: MIT */
/* Signals that are sent to us and meant for the program that we run. Those of the terminal go to our whole process
 * group, so the program has them already; those of a process it gets from us. When the user stops the program at
 * the terminal (Ctrl-Z), we stop, too. */
#ifndef SPEX_OBSERVE_PASSED_SIGNALS_H
#define SPEX_OBSERVE_PASSED_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "observe/launch.h"

struct spex_passed_signals {
    int fd;          /* readable when there is something to be done */
    sigset_t before; /* the mask that we were given */
    bool stop_asked; /* and not heard yet: the program runs */
};

/* Before the program starts. 0 or a negative errno value. */
int spex_passed_signals_open(struct spex_passed_signals *signals);

/* Does what is to be done, without waiting; except that this process may be stopped for a while. */
void spex_passed_signals_pass(struct spex_passed_signals *signals,
                              const struct spex_launched *program);

#endif
