/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/last_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/service_thread.h"

/* Nanoseconds between two looks: while the first thread is there, and without it. */
#define LOOK_NS  1000000000u
#define AGAIN_NS 50000000u

/* The folder of threads has this many links besides one for each thread. */
enum { FOLDER_LINKS = 2 };

static uint64_t due_ns;
static bool ending;

/* The number of threads; 0: not known. Takes no descriptor, of which the program may have none
 * left. */
static unsigned threads_count(void) {
    struct stat folder;
    if (stat("/proc/self/task", &folder) != 0 || folder.st_nlink <= FOLDER_LINKS)
        return 0;
    return (unsigned)folder.st_nlink - FOLDER_LINKS;
}

/* A process whose first thread has left shows no file that it runs, until its last thread has. */
static bool first_thread_has_left(void) {
    char path[8];
    return readlink("/proc/self/exe", path, sizeof(path)) < 0 && errno == ENOENT &&
           access("/proc/self", F_OK) == 0;
}

/* The first thread counts as long as others are left. Threads of ours that came or went meanwhile
 * would make the two counts of different moments. */
static bool only_ours_are_left(void) {
    struct spex_service_threads before = spex_service_threads();
    unsigned all = threads_count();
    struct spex_service_threads after = spex_service_threads();
    return before.changes == after.changes && all > 1 && all == after.count + 1;
}

/* The end of the last thread, which this one stands for. Signals are for it as they were for the
 * program's threads. */
static void *end_run(void *arg) {
    sigset_t none;
    (void)arg;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    exit(EXIT_SUCCESS);
}

/* exit stops spex, which waits for the thread that looks: so another thread exits. After a failure
 * the next look tries again. */
static void process_end(void) {
    pthread_t thread;
    bool before = false;
    /* Relaxed: it orders nothing. */
    if (!spex_cas_relaxed(&ending, &before, true))
        return;
    if (pthread_create(&thread, NULL, end_run, NULL) == 0)
        pthread_detach(thread);
    else
        spex_store_relaxed(&ending, false);
}

uint64_t spex_last_thread_wait_ns(void) {
    uint64_t due = spex_load_relaxed(&due_ns), now = spex_clock_ns(CLOCK_MONOTONIC);
    if (!due)
        return LOOK_NS;
    return due > now ? due - now : 0;
}

/* Two threads that look at once do no harm. */
void spex_last_thread_look(void) {
    bool left = first_thread_has_left();
    spex_store_relaxed(&due_ns, spex_clock_ns(CLOCK_MONOTONIC) + (left ? AGAIN_NS : LOOK_NS));
    if (left && only_ours_are_left())
        process_end();
}

void spex_last_thread_look_if_due(void) {
    if (spex_clock_ns(CLOCK_MONOTONIC) >= spex_load_relaxed(&due_ns))
        spex_last_thread_look();
}
