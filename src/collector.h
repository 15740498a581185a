/* SPDX-License-Identifier: MIT */
/* Collectors: threads that empty the rings, in batches, into the sinks. */
#ifndef SPEX_COLLECTOR_H
#define SPEX_COLLECTOR_H

#include <stdint.h>

#include "stream_format.h"

/* Starts `threads` collectors; each owns some of the rings, and takes at
 * most `batch` records from one ring before it goes to the next. They read nothing before
 * spex_collectors_begin. 0 or a negative errno value. */
int spex_collectors_start(unsigned threads, unsigned batch);

/* The sinks are there. */
void spex_collectors_begin(void);

/* Sites were switched on or off: with none on, collectors sleep until the next call. */
void spex_collectors_wake(void);

/* A ring is due: collectors that rest go to work now. Any thread, signal handlers. */
void spex_collectors_alarm(void);

/* Reads what is in the rings (if it has begun), ends the threads. Nothing may be switched on meanwhile. */
void spex_collectors_stop(void);

unsigned spex_collectors_running(void);

/* CPU time that collectors have used in this process, those that have ended included. */
uint64_t spex_collectors_cpu_ns(void);

/* Around a fork, so that it comes between the collectors' passes if that is before until_ns of CLOCK_REALTIME. In the
 * child there are none. */
void spex_collectors_fork_prepare(uint64_t until_ns);
void spex_collectors_fork_parent(void);
void spex_collectors_fork_child(void);

#endif
