/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/last_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/service_thread.h"

/* Nanoseconds between two looks: while the first thread is there; the same where it tells when it leaves; and once it has
 * left, or is about to: at first, twice as long after each, up to LOOK_NS, as the others may stay for long. */
#define LOOK_NS      UINT64_C(1000000000)
#define LOOK_TOLD_NS UINT64_C(10000000000)
#define AGAIN_NS     UINT64_C(50000000)

/* The folder of threads has this many links besides one for each thread. */
enum { FOLDER_LINKS = 2 };

static uint64_t due_ns;
static bool ending;
/* Relaxed: who looks too late by these is woken. The process whose first thread tells: a child has another one. */
static pid_t told_in;
static bool is_leaving, has_left;
static uint64_t again_ns;
static void (*wake_lookers)(void);

/* Takes no descriptor, of which the program may have none left. */
unsigned spex_process_threads(void) {
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
static bool only_ours_are_counted(void) {
    struct spex_service_threads before = spex_service_threads();
    unsigned all = spex_process_threads();
    struct spex_service_threads after = spex_service_threads();
    return before.changes == after.changes && all > 1 && all == after.count + 1;
}

/* A thread that has ended meanwhile counts as one of the program: the next look does not find it. */
static bool thread_is_of_spex(pid_t tid) {
    char path[64], name[32];
    snprintf(path, sizeof(path), "/proc/self/task/%d/comm", (int)tid);
    return spex_descriptor_read_path(path, name, sizeof(name)) > 0 &&
           spex_service_thread_is(tid, name);
}

/* Whether the entries of the folder are threads of spex, besides its own links, the first thread
 * and this one. */
static bool entries_are_of_spex(const char *entries, size_t bytes) {
    bool all = true;
    for (size_t at = 0; all && at < bytes;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
        long tid = strtol(entry->d_name, NULL, 10);
        all = tid <= 0 || tid == getpid() || tid == gettid() || thread_is_of_spex((pid_t)tid);
        at += entry->d_reclen;
    }
    return all;
}

/* A library may contain a spex of its own, whose threads only their names and marks tell. */
static bool only_threads_of_spex_are_left(void) {
    _Alignas(struct dirent64) char entries[1024];
    struct spex_descriptor folder =
        spex_descriptor_brief(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    bool all = folder.number >= 0;
    long bytes = all;
    while (all && bytes > 0) {
        bytes = spex_descriptor_is_ours(&folder)
                    ? syscall(SYS_getdents64, folder.number, entries, sizeof(entries))
                    : -1;
        all = bytes >= 0 && entries_are_of_spex(entries, (size_t)bytes);
    }
    spex_descriptor_close(&folder);
    return all;
}

static bool only_ours_are_left(void) {
    return only_ours_are_counted() || only_threads_of_spex_are_left();
}

/* Signals that are pending were blocked by all threads of the program, and stay so. */
static void *end_run(void *arg) {
    sigset_t blocked;
    (void)arg;
    sigpending(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    exit(EXIT_SUCCESS);
}

/* exit stops spex, which waits for the thread that looks: so another thread exits. Where there can
 * be none, the process ends without a table. */
static void process_end(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_run, NULL) != 0)
        end_run(NULL);
    pthread_detach(thread);
}

/* Takes the name of a service thread from this one while it looks once more, so that of several
 * copies of spex in the process one at the most ends it: the other finds a thread of the program. */
static void process_end_once(void) {
    char name[16];
    bool before = false;
    /* Relaxed: it orders nothing. */
    if (!spex_cas_relaxed(&ending, &before, true))
        return;
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, "exit");
    if (only_ours_are_left())
        process_end();
    prctl(PR_SET_NAME, name);
    spex_store_relaxed(&ending, false);
}

static uint64_t look_ns(void) {
    uint64_t again = spex_load_relaxed(&again_ns);
    if (spex_load_relaxed(&has_left)) {
        spex_store_relaxed(&again_ns, again < LOOK_NS / 2 ? 2 * again : LOOK_NS);
        return again;
    }
    if (spex_load_relaxed(&is_leaving))
        return AGAIN_NS;
    return spex_load_relaxed(&told_in) == getpid() ? LOOK_TOLD_NS : LOOK_NS;
}

void spex_last_thread_is_told(void) {
    spex_store_relaxed(&told_in, getpid());
    spex_store_relaxed(&is_leaving, false);
    spex_store_relaxed(&has_left, false);
}

static void look_soon(void) {
    void (*wake)(void) = spex_load_relaxed(&wake_lookers);
    spex_store_relaxed(&again_ns, AGAIN_NS);
    spex_store_relaxed(&due_ns, spex_clock_ns(CLOCK_MONOTONIC) + AGAIN_NS);
    if (wake)
        wake();
}

void spex_last_thread_leaves(void) {
    spex_store_relaxed(&is_leaving, true);
    look_soon();
}

void spex_last_thread_another_leaves(void) {
    if (spex_load_relaxed(&has_left) && spex_last_thread_wait_ns() > AGAIN_NS)
        look_soon();
}

void spex_last_thread_wake_by(void (*wake)(void)) {
    spex_store_relaxed(&wake_lookers, wake);
}

uint64_t spex_last_thread_wait_ns(void) {
    uint64_t due = spex_load_relaxed(&due_ns), now = spex_clock_ns(CLOCK_MONOTONIC);
    if (!due)
        return look_ns();
    return due > now ? due - now : 0;
}

/* Two threads that look at once do no harm. */
void spex_last_thread_look(void) {
    bool left = first_thread_has_left();
    if (left && !spex_load_relaxed(&has_left)) {
        spex_store_relaxed(&again_ns, AGAIN_NS);
        spex_store_relaxed(&has_left, true);
    }
    spex_store_relaxed(&due_ns, spex_clock_ns(CLOCK_MONOTONIC) + look_ns());
    if (left && only_ours_are_left())
        process_end_once();
}

void spex_last_thread_look_if_due(void) {
    if (spex_clock_ns(CLOCK_MONOTONIC) >= spex_load_relaxed(&due_ns))
        spex_last_thread_look();
}
