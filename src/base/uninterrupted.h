/* SPDX-License-Identifier: MIT */
/* What the library does on a thread of the program, and must do to its end: a handler of a signal
 * may call exit or fork, or leave by siglongjmp, and pthread_cancel ends a thread in any call that
 * may wait. Each would leave the library's locks taken for ever. So handlers wait meanwhile, and
 * the thread is not cancelled. */
#ifndef SPEX_BASE_UNINTERRUPTED_H
#define SPEX_BASE_UNINTERRUPTED_H

#include <signal.h>

struct spex_uninterrupted {
    /* What is restored: the thread's mask of signals, whether it can be cancelled, errno. */
    sigset_t signals;
    int cancel_state;
    int error;
};

/* Signals that end the program by default still do. Sections may be nested. */
void spex_uninterrupted_begin(struct spex_uninterrupted *before);

void spex_uninterrupted_end(const struct spex_uninterrupted *before);

#endif
