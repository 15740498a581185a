/* SPDX-License-Identifier: MIT */
/* Threads of the library in the program: how they are started, how they sleep, their memory, and
 * the CPU time that they take. */
#ifndef SPEX_BASE_SERVICE_THREAD_H
#define SPEX_BASE_SERVICE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

#include "base/deadline.h"

/* Bytes of stack that are enough for spex's own code. The usual 8 MiB are memory at once where the
 * process locks its memory, and address space everywhere. */
#define SPEX_SERVICE_STACK ((size_t)1 << 20)

/* Starts a thread with this name (at most 15 bytes, constant) that runs `run`. It has ordinary
 * priority, also when a real-time thread starts it, and all its signals are blocked, because
 * signals are for the program's threads. `stack` is the size of its stack; 0, or where the
 * program's thread-local variables leave no room in it: the program's default. Returns 0 or a
 * negative errno value. */
int spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                              void *(*run)(void *), void *arg);

/* Whether a thread of this process is a service thread of some copy of spex. `line` is its name as
 * the kernel has it. Threads that a service thread makes inherit the name, but not its mark. */
bool spex_service_thread_is(pid_t thread, const char *line);

struct spex_service_threads {
    unsigned count;
    /* Grows by each that begins or ends. */
    unsigned changes;
};

/* Returns how many service threads there are, without those that are just beginning or ending. */
struct spex_service_threads spex_service_threads(void);

/* Whether the calling thread is one that spex_stop waits for: what the program does there must not
 * wait for a stop. */
bool spex_service_thread_is_this(void);

/* spex_stop does not wait for the calling thread, though it is a service thread. */
void spex_service_thread_leave_alone(void);

/* Waits until all started threads run their functions, as long as there is patience. To be called
 * before a fork, because the start of a thread holds locks of the C library, which the child would
 * inherit. */
void spex_service_threads_await(struct spex_patience *patience);

/* To be called in the child of a fork, which has no service threads. */
void spex_service_threads_fork_child(void);

/* Sleeps while *futex is `value`: until spex_futex_wake, a signal, or the end of `limit` (NULL: no
 * limit). libc has no function for this system call. */
static inline void spex_futex_wait(int32_t *futex, int32_t value, const struct timespec *limit) {
    syscall(SYS_futex, futex, FUTEX_WAIT, value, limit, NULL, 0);
}

/* Wakes at most `threads` threads that sleep at `futex`. */
static inline void spex_futex_wake(int32_t *futex, int threads) {
    syscall(SYS_futex, futex, FUTEX_WAKE, threads, NULL, NULL, 0);
}

/* Memory of zeros for what a service thread allocates itself; NULL without memory. For memory of
 * the heap glibc would reserve 64 MiB of address space for the thread. */
static inline void *spex_pages_take(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* `bytes`: as they were taken. Does nothing where `memory` is NULL. */
static inline void spex_pages_give_back(void *memory, size_t bytes) {
    if (memory)
        munmap(memory, bytes);
}

/* Notes that the CPU time of this thread since *since (0: since its start) was the library's. Sets
 * *since to the present. Nanoseconds. Any thread. */
void spex_service_cpu_note(uint64_t *since);

/* Returns the sum of what all threads have noted. */
uint64_t spex_service_cpu_ns(void);

#endif
