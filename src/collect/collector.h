/* SPDX-License-Identifier: MIT */
/* Collectors: threads that move records from the rings into the sinks, in batches. */
#ifndef SPEX_COLLECT_COLLECTOR_H
#define SPEX_COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deadline.h"
#include "wire/stream_format.h"

/* Starts `threads` collectors; each owns some of the rings, and takes at most `batch` records
 * from one ring before it goes to the next. They read nothing before spex_collectors_begin, and
 * with all sites off sleep until the doorbell rings (doorbell.h). 0 or a negative errno value. */
int spex_collectors_start(unsigned threads, unsigned batch);

/* Work that the first collector does beside its rings, in its thread. */
struct spex_chore {
    /* Called after each pass over the rings. */
    void (*pass)(void);
    /* Returns in how many nanoseconds `pass` is to be called next, at the latest; UINT64_MAX: at
     * any time. NULL: always at any time. */
    uint64_t (*due_ns)(void);
    /* Returns whether `pass` is to be called though no site is on. NULL: never. */
    bool (*holds)(void);
    /* `pass` is called when it is due also while no site is on. */
    bool timed;
};

/* The sinks are there: collectors begin to read, and the first does the `count` chores, in this
 * order. `chores` stays until the collectors have stopped. */
void spex_collectors_begin(const struct spex_chore *chores, size_t count);

/* Reads the rings empty, if collectors have begun to read, and joins the threads. No site may be
 * on, nor be switched on meanwhile. */
void spex_collectors_stop(void);

/* The number of collector threads. Any thread. */
unsigned spex_collectors_running(void);

/* CPU time of all collectors of this process, ended ones included. Any thread. Collectors note
 * theirs only every few passes. */
uint64_t spex_collectors_cpu_ns(void);

/* Has the first collector note its own now; for its chores. */
void spex_collectors_note_cpu(void);

/* Asks for this pause between passes, while rings are far from full and nobody waits for records. It
 * may be longer than the usual sleep; 0: the usual one. Any thread. */
void spex_collectors_rest(uint64_t ns);

/* Somebody is about to look at figures: where collectors rest for longer than usual, they make a pass
 * now. Whether they do. Any thread. */
bool spex_collectors_hurry(void);

/* Around a fork: waits, as long as there is patience, until no collector is in a pass, and keeps
 * them out until the fork is done. The child has no collectors. */
void spex_collectors_fork_prepare(struct spex_patience *patience);
void spex_collectors_fork_parent(void);
void spex_collectors_fork_child(void);

#endif
