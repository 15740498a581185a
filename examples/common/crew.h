/* SPDX-License-Identifier: MIT */
/* The threads that do a program's work until a signal or a time ends it. */
#ifndef EXAMPLES_CREW_H
#define EXAMPLES_CREW_H

#include <stdatomic.h>
#include <stdbool.h>

/* Before the first thread: SIGTERM and SIGINT are for crew_wait() alone. */
void crew_prepare(void);

/* Starts one more thread, 512 at most; ends the program with one line when there cannot be one. */
void crew_add(void *(*work)(void *), void *argument);

/* Returns at a signal, or after so many seconds unless they are 0; crew_ends() is true then. */
void crew_wait(double seconds);

/* After crew_wait(): waits until every thread has returned. */
void crew_join(void);

extern atomic_bool crew_has_ended;

/* Threads return soon after it has become true. Relaxed: nothing is handed over with it. */
static inline bool crew_ends(void) {
    return atomic_load_explicit(&crew_has_ended, memory_order_relaxed);
}

#endif
