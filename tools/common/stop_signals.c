/* SPDX-License-Identifier: MIT */
/* The signals that end a command early, as a descriptor to poll. */
#include "tools/common/stop_signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>

#include "observe/control_client.h"

/* A file that has become too large, or a closed pipe, is an error of writing then, and no
 * signal. */
int spex_stop_signals_open(void) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGINT);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGHUP);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    spex_client_stop_at(fd);
    return fd;
}
