/* SPDX-License-Identifier: MIT */
/* Collectors: threads that empty the rings, in batches, into the sinks. */
#ifndef SPEX_COLLECT_COLLECTOR_H
#define SPEX_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/stream_format.h"

/* Starts `threads` collectors; each owns some of the rings, and takes at most `batch` records
 * from one ring before it goes to the next. They read nothing before spex_collectors_begin, and
 * with all sites off sleep until the doorbell rings (doorbell.h). 0 or a negative errno value. */
int spex_collectors_start(unsigned threads, unsigned batch);

/* Work that the first collector does beside its rings, in its thread. */
struct spex_chore {
    /* Called after each pass over the rings. */
    void (*pass)(void);
    /* In how many nanoseconds `pass` is to be called next, at the latest; UINT64_MAX: at any time.
     * NULL: always at any time. */
    uint64_t (*due_ns)(void);
    /* Whether `pass` is to be called though no site is on. NULL: never. */
    bool (*holds)(void);
};

/* The sinks are there: collectors begin to read, and the first does the `count` chores, in this
 * order. `chores` stays until the collectors have stopped. */
void spex_collectors_begin(const struct spex_chore *chores, size_t count);

/* Reads what is in the rings (if it has begun), ends the threads. Nothing may be switched on
 * meanwhile. */
void spex_collectors_stop(void);

unsigned spex_collectors_running(void);

/* CPU time that collectors have used in this process, those that have ended included. */
uint64_t spex_collectors_cpu_ns(void);

/* Around a fork, so that it comes between the collectors' passes if that is before until_ns of
 * CLOCK_REALTIME. In the child there are none. */
void spex_collectors_fork_prepare(uint64_t until_ns);
void spex_collectors_fork_parent(void);
void spex_collectors_fork_child(void);

#endif
