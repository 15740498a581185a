/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "service_thread.h"

#include <signal.h>

#include <spex/atomic.h>

#include "clock.h"

static uint64_t cpu_ns;

static int start(pthread_t *thread, void *(*run)(void *), void *arg) {
    const struct sched_param none = {.sched_priority = 0}; /* else that of the starting thread */
    pthread_attr_t attributes;
    int err = pthread_attr_init(&attributes);
    if (err)
        return -err;
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &none);
    err = -pthread_create(thread, &attributes, run, arg);
    pthread_attr_destroy(&attributes);
    return err;
}

int spex_service_thread_start(pthread_t *thread, const char *name, void *(*run)(void *),
                              void *arg) {
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int err = start(thread, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_setname_np(*thread, name);
    return err;
}

void spex_service_cpu_note(uint64_t *since) {
    uint64_t now = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spex_fetch_add_relaxed(&cpu_ns, now - *since); /* a figure for people */
    *since = now;
}

uint64_t spex_service_cpu_ns(void) {
    return spex_load_relaxed(&cpu_ns);
}
