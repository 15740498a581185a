/* SPDX-License-Identifier: MIT */
/* Writing may raise signals that end the process: SIGPIPE where nobody reads a pipe any more, and
 * SIGXFSZ where a file would exceed RLIMIT_FSIZE. What the library writes must not end the
 * program. */
#ifndef SPEX_TEXT_WRITE_SIGNALS_H
#define SPEX_TEXT_WRITE_SIGNALS_H

#include <signal.h>

struct spex_write_signals {
    /* The thread's mask before. */
    sigset_t mask;
    /* The signals that were not pending before. */
    sigset_t raised;
};

/* Keeps these signals from the calling thread until release: a failed write is an error alone. */
void spex_write_signals_hold(struct spex_write_signals *signals);

/* Discards what was raised meanwhile. Keeps errno. */
void spex_write_signals_release(const struct spex_write_signals *signals);

#endif
