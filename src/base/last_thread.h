/* SPDX-License-Identifier: MIT */
/* A process ends with its last thread: with status 0, and after the program's exit handlers. The
 * library's threads would keep it alive. Where the program's first thread has left by pthread_exit,
 * they look whether any thread but theirs is left, and end the process as its last thread's end
 * would. */
#ifndef SPEX_BASE_LAST_THREAD_H
#define SPEX_BASE_LAST_THREAD_H

#include <stdint.h>

/* Returns the number of the process's threads; 0: not known. */
unsigned spex_process_threads(void);

/* Looks. A service thread calls it. */
void spex_last_thread_look(void);

/* Looks where that is due, for a thread that comes often. */
void spex_last_thread_look_if_due(void);

/* Nanoseconds until the next look is due. */
uint64_t spex_last_thread_wait_ns(void);

/* The first thread will call spex_last_thread_leaves, or leaves by the system call: looks are rare until then. */
void spex_last_thread_is_told(void);

/* The first thread calls it when it is about to leave: looks are frequent from now on, and service threads are
 * woken. */
void spex_last_thread_leaves(void);

/* Another thread calls it when it is about to leave: once the first one has left, looks are frequent again. */
void spex_last_thread_another_leaves(void);

/* Sets what wakes the threads that look. */
void spex_last_thread_wake_by(void (*wake)(void));

#endif
