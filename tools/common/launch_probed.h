/* SPDX-License-Identifier: MIT */
/* Starts a program with probes on, whose processes connect to a socket of this command. */
#ifndef SPEX_TOOLS_COMMON_LAUNCH_PROBED_H
#define SPEX_TOOLS_COMMON_LAUNCH_PROBED_H

#include <stdbool.h>

#include "observe/launch.h"
#include "observe/listener.h"

struct spex_launch_probed {
    /* Of the command, for messages. */
    const char *command;
    /* As of spex_listener_output. */
    const char *prefix;
    const char *probes;
    /* NULL: the environment's, if it has one. */
    const char *budget, *thread_budget;
    /* Children of forks do as their parent. */
    bool follow;
    /* Programs without spex get one with the first library that has probes. */
    bool preload;
    char *const *argv;
};

/* Opens the socket, and says where it is not in SPEX_CONTROL's directory, and why. An exit status. */
int spex_launch_listen(struct spex_listener *listener, const char *command);

/* `mask`: the program's signal mask. An exit status. */
int spex_launch_probed(struct spex_launched *program, const struct spex_launch_probed *how,
                       const struct spex_listener *listener, const sigset_t *mask);

/* Says that no process of the program has connected, and what is known of why. */
void spex_launch_complain_of_silence(const struct spex_launch_probed *how);

#endif
