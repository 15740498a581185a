/* SPDX-License-Identifier: MIT */
/* A thread of the library's own in somebody else's program. */
#ifndef SPEX_BASE_SERVICE_THREAD_H
#define SPEX_BASE_SERVICE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts one that is called `name`, runs at ordinary priority, also where a real-time one starts
 * it, and takes no signals, which are for the program's threads. 0 or a negative errno value. */
int spex_service_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/* Waits until all that have been started run their function, until_ns of CLOCK_REALTIME at most:
 * before a fork, whose child must not inherit what a thread's start has locked. */
void spex_service_threads_await(uint64_t until_ns);
void spex_service_threads_fork_child(void);

/* CPU time of this thread since *since (0: since its start) was spex's, not the program's.
 * *since gets the present. */
void spex_service_cpu_note(uint64_t *since);

/* What has been noted, of all threads. */
uint64_t spex_service_cpu_ns(void);

#endif
