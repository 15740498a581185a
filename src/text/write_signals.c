/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "text/write_signals.h"

#include <errno.h>
#include <time.h>

static const int raised_by_writing[] = {SIGPIPE, SIGXFSZ};

/* The kernel sends both to the thread that writes. What another process has sent before stays. */
void spex_write_signals_hold(struct spex_write_signals *signals) {
    sigset_t both, pending;
    sigemptyset(&both);
    sigemptyset(&pending);
    sigemptyset(&signals->raised);
    sigpending(&pending);
    for (size_t i = 0; i < sizeof(raised_by_writing) / sizeof(raised_by_writing[0]); i++) {
        sigaddset(&both, raised_by_writing[i]);
        if (!sigismember(&pending, raised_by_writing[i]))
            sigaddset(&signals->raised, raised_by_writing[i]);
    }
    pthread_sigmask(SIG_BLOCK, &both, &signals->mask);
}

void spex_write_signals_release(const struct spex_write_signals *signals) {
    const struct timespec none = {0};
    int error = errno, taken;
    do
        taken = sigtimedwait(&signals->raised, NULL, &none);
    while (taken > 0 || (taken < 0 && errno == EINTR));
    pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
    errno = error;
}
