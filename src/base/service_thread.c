/* SPDX-License-Identifier: MIT */
/* Starts the library's threads, waits for starts before a fork, and sums up their CPU time. */
#define _GNU_SOURCE
#include "base/service_thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/deadline.h"

/* CPU time of all service threads that has been noted. */
static uint64_t service_cpu_ns;

/* Threads that have been asked for and do not run their function yet. */
static unsigned threads_starting;

/* How many service threads there are, and how often that has changed. A thread counts itself, so that
 * no more are counted than there are. */
static struct spex_service_threads threads_now;

/* This is a thread that spex_stop waits for. */
static _Thread_local bool is_awaited;

/* What new threads do; more than can be starting at a time. The starter takes a place, and the
 * thread gives it back: memory of the heap would make the C library set up a heap for a thread that
 * needs none. */
static struct thread_work {
    bool taken;
    const char *name;
    void *(*run)(void *);
    void *arg;
} works[72];

static struct thread_work *work_take(void) {
    for (struct thread_work *work = works; work < works + sizeof(works) / sizeof(works[0]);
         work++) {
        bool taken = false;
        if (spex_cas_acquire(&work->taken, &taken, true)) /* T3 (T4) */
            return work;
    }
    return NULL;
}

static void work_give_back(struct thread_work *work) {
    spex_store_release(&work->taken, false); /* T4 (T3): it has been read */
}

/* Sequentially consistent, as spex_service_threads reads both: the changes come first. */
static void threads_now_change(int change) {
    __atomic_fetch_add(&threads_now.changes, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&threads_now.count, (unsigned)change, __ATOMIC_SEQ_CST);
}

struct spex_service_threads spex_service_threads(void) {
    return (struct spex_service_threads){
        .count = __atomic_load_n(&threads_now.count, __ATOMIC_SEQ_CST),
        .changes = __atomic_load_n(&threads_now.changes, __ATOMIC_SEQ_CST),
    };
}

/* The mark: its threads and children are not to have its scheduling, which is an ordinary one. By
 * system calls, since musl refuses the functions. */
static void mark_set(void) {
    const struct sched_param none = {.sched_priority = 0};
    syscall(SYS_sched_setscheduler, 0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

static bool has_mark(pid_t thread) {
    long policy = syscall(SYS_sched_getscheduler, thread);
    return policy >= 0 && policy & SCHED_RESET_ON_FORK;
}

bool spex_service_thread_is(pid_t thread, const char *line) {
    static const char *const lines[] = {"spex-control\n", "spex-collector\n", "spex-looker\n",
                                        "spex-tuner\n"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (strcmp(line, lines[i]) == 0)
            return has_mark(thread);
    return false;
}

bool spex_service_thread_is_this(void) {
    return is_awaited;
}

void spex_service_thread_leave_alone(void) {
    is_awaited = false;
}

static void *thread_begin(void *arg) {
    struct thread_work work = *(struct thread_work *)arg;
    work_give_back(arg);
    prctl(PR_SET_NAME, work.name);
    mark_set();
    threads_now_change(1);
    is_awaited = true;
    spex_fetch_add_release(&threads_starting, -1); /* T1 (T2): its memory and locks */
    void *result = work.run(work.arg);
    threads_now_change(-1);
    return result;
}

/* Gives the thread ordinary scheduling where the starting thread has another one, which may be
 * real-time: it would inherit that. Setting it costs two switches between the threads. */
static void attributes_schedule(pthread_attr_t *attributes) {
    const struct sched_param none = {.sched_priority = 0};
    if (sched_getscheduler(0) == SCHED_OTHER)
        return;
    pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(attributes, SCHED_OTHER);
    pthread_attr_setschedparam(attributes, &none);
}

static int thread_start(pthread_t *thread, size_t stack, struct thread_work *work) {
    pthread_attr_t attributes;
    int err = pthread_attr_init(&attributes);
    if (err)
        return -err;
    attributes_schedule(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    err = -pthread_create(thread, &attributes, thread_begin, work);
    pthread_attr_destroy(&attributes);
    return err;
}

int spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                              void *(*run)(void *), void *arg) {
    sigset_t every, before;
    struct thread_work *work = work_take();
    if (!work)
        return -EAGAIN;
    work->name = name;
    work->run = run;
    work->arg = arg;
    spex_fetch_add_relaxed(&threads_starting, 1);
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    int err = thread_start(thread, stack, work);
    if (err == -EINVAL && stack)
        err = thread_start(thread, 0, work);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        spex_fetch_add_relaxed(&threads_starting, -1);
        work_give_back(work);
    }
    return err;
}

void spex_service_threads_await(struct spex_patience *patience) {
    while (spex_load_acquire(&threads_starting) != 0 && spex_patience_left(patience)) /* T2 (T1) */
        continue;
}

void spex_service_threads_fork_child(void) {
    threads_starting = 0;
    threads_now = (struct spex_service_threads){0};
    is_awaited = false;
    memset(works, 0, sizeof(works));
}

void spex_service_cpu_note(uint64_t *since) {
    uint64_t now = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    /* Relaxed: the sum orders nothing. */
    spex_fetch_add_relaxed(&service_cpu_ns, now - *since);
    *since = now;
}

uint64_t spex_service_cpu_ns(void) {
    return spex_load_relaxed(&service_cpu_ns);
}
