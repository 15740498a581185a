/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/service_thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <spex/atomic.h>

#include "base/clock.h"

#define LOOK_AGAIN_NS 50000

static uint64_t cpu_ns;
static unsigned starting; /* threads that have been asked for and do not run their function yet */

struct work {
    void *(*run)(void *);
    void *arg;
};

static void *begin(void *arg) {
    struct work work = *(struct work *)arg;
    free(arg);
    spex_fetch_add_release(&starting, -1); /* T1 (T2): what its start has allocated and locked */
    return work.run(work.arg);
}

static int start(pthread_t *thread, struct work *work) {
    const struct sched_param none = {.sched_priority = 0}; /* else that of the starting thread */
    pthread_attr_t attributes;
    int err = pthread_attr_init(&attributes);
    if (err)
        return -err;
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &none);
    err = -pthread_create(thread, &attributes, begin, work);
    pthread_attr_destroy(&attributes);
    return err;
}

int spex_service_thread_start(pthread_t *thread, const char *name, void *(*run)(void *),
                              void *arg) {
    sigset_t every, before;
    struct work *work = malloc(sizeof(*work));
    if (!work)
        return -ENOMEM;
    *work = (struct work){run, arg};
    spex_fetch_add_relaxed(&starting, 1);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int err = start(thread, work);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        spex_fetch_add_relaxed(&starting, -1);
        free(work);
    } else {
        pthread_setname_np(*thread, name); // NOLINT(clang-analyzer-unix.Malloc): it frees its work
    }
    return err;
}

void spex_service_threads_await(uint64_t until_ns) {
    const struct timespec look_again = {.tv_nsec = LOOK_AGAIN_NS};
    while (spex_load_acquire(&starting) != 0 &&
           spex_clock_ns(CLOCK_REALTIME) < until_ns) /* T2 (T1) */
        nanosleep(&look_again, NULL);
}

void spex_service_threads_fork_child(void) {
    starting = 0;
}

void spex_service_cpu_note(uint64_t *since) {
    uint64_t now = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spex_fetch_add_relaxed(&cpu_ns, now - *since); /* a figure for people */
    *since = now;
}

uint64_t spex_service_cpu_ns(void) {
    return spex_load_relaxed(&cpu_ns);
}
