/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/uninterrupted.h"

#include <errno.h>
#include <pthread.h>

/* Signals that the thread raises itself by what it does: blocked, they would kill the process. */
static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/* Signals by which others end a program. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void mask_make(sigset_t *mask) {
    struct sigaction action;
    sigfillset(mask);
    for (size_t i = 0; i < COUNT(own); i++)
        sigdelset(mask, own[i]);
    /* A section may wait for who reads a pipe: a program without a handler ends all the same. */
    for (size_t i = 0; i < COUNT(ends); i++)
        if (sigaction(ends[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigdelset(mask, ends[i]);
}

void spex_uninterrupted_begin(struct spex_uninterrupted *before) {
    sigset_t mask;
    before->error = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancel_state);
    mask_make(&mask);
    pthread_sigmask(SIG_BLOCK, &mask, &before->signals);
}

void spex_uninterrupted_end(const struct spex_uninterrupted *before) {
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    pthread_setcancelstate(before->cancel_state, NULL);
    errno = before->error;
}
