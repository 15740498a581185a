/* SPDX-License-Identifier: MIT */
/* Counters of the calling thread: page faults, context switches, references to and misses of the
 * last-level cache, and events of the developer's choice.
 *
 *     spex_counters_prepare(counter);           once, before probes go on: finds the way of reading
 *     if (!spex_counter_ready(mine, counter))   in the thread, at each probe
 *         spex_counter_open(mine, counter);
 *     spex_counter_read(mine, counter, &begin);
 *     …
 *     spex_counter_delta(&begin, &end, values, &scaled);
 *
 * Where the kernel lets it, faults and switches are read from memory that the kernel keeps up to
 * date, with no system call. `struct spex_thread_counters` belongs to one thread; only that thread
 * and its signal handlers use it. Ready, open, read, delta and close are safe in signal handlers
 * and leave errno alone; a handler that interrupts an opening or closing of the same counter reads
 * "unavailable". */
#ifndef SPEX_COUNTERS_COUNTERS_H
#define SPEX_COUNTERS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/atomic.h>
#include <spex/compiler.h>
#include <spex/record.h>

enum spex_counter {
    SPEX_COUNTER_FAULTS,
    SPEX_COUNTER_SWITCHES,
    SPEX_COUNTER_LLC,
    SPEX_COUNTER_PERFCNTR, /* + pcid */
    SPEX_COUNTERS = SPEX_COUNTER_PERFCNTR + SPEX_PERFCNTRS
};

struct spex_reading {
    uint64_t values[2]; /* LLC: references, misses; others: one value */
    uint64_t enabled;   /* ns; 0: this way of reading was never multiplexed */
    uint64_t running;
    uint32_t source; /* the opening it was read from: others' values are not comparable */
    bool available;
};

/* One counter in one thread. All zero: not open. */
struct spex_event {
    const uint64_t *word; /* where the kernel keeps the count; NULL for ways that are not mapped */
    uint32_t source;      /* number of this opening; 0: not open */
    uint32_t generation;  /* of the plan it was opened by */
    uint8_t shift;        /* count = *word >> shift */
    uint8_t way;          /* enum spex_way */
    uint8_t events;       /* in `ids`, `descriptors` and `pages`: 2 for LLC */
    bool fallback;        /* not the way that the plan prefers */
    bool busy;            /* being opened or closed */
    uint8_t readers;      /* readings under way: this thread's, and its handlers' in their midst */
    int descriptors[2];   /* valid where ids[i] != 0 */
    uint64_t ids[2];      /* the kernel's, by which a descriptor is known to be ours still */
    void *pages[2];
    size_t page_bytes; /* of each mapping */
};

struct spex_thread_counters {
    struct spex_event events[SPEX_COUNTERS];
};

/* Restricts the ways of reading to a comma-separated list (SPEX_COUNTERS, see spex.h); NULL or
 * empty: all. Before threads open counters. 0, or -EINVAL with one line on standard error. */
int spex_counters_allow(const char *list);

/* Chooses the way of reading: tries each on the calling thread, against the kernel's own figures,
 * and takes the cost of a read. Later calls return what the first found. Not for signal handlers.
 * 0; -ENOENT when no event has been set for a PERFCNTR; or why the counter is not available here,
 * with one line on standard error. */
int spex_counters_prepare(enum spex_counter id);

/* One line about how a counter is read, and why not in a better way, or why not at all. */
void spex_counters_describe(enum spex_counter id, char *text, size_t size);

/* Ticks for one bare read; 0 when not prepared or not available. */
uint64_t spex_counter_cost(enum spex_counter id);

/* Threads that now read by a worse way than the prepared one, or not at all, because they could not
 * open it: no descriptors, or no memory that may be locked (perf_event_mlock_kb). */
uint64_t spex_counter_fallbacks(enum spex_counter counter);

/* Why the last of these threads could not open the counter: an errno value. */
int spex_counter_fallback_error(enum spex_counter counter);

/* Sets the numbers of such threads to 0: in the child of a fork. */
void spex_counter_fallbacks_forget(void);

/* Opens a counter in the calling thread; slow. True when it opened something now, so that the
 * caller can mark the record that this falls into. */
bool spex_counter_open(struct spex_thread_counters *counters, enum spex_counter counter);

void spex_counter_read_slowly(struct spex_thread_counters *counters, enum spex_counter counter,
                              struct spex_reading *reading);

/* What happened between two readings. `*scaled`: the event was counted part of the time only, and
 * the values are extrapolated. False when they cannot be told. */
bool spex_counter_delta(const struct spex_reading *begin, const struct spex_reading *end,
                        uint64_t values[2], bool *scaled);

/* The thread ends; in that thread. All counters are as never opened afterwards. */
void spex_counters_close(struct spex_thread_counters *counters);

/* Around fork, so that the child finds the library's own state whole. */
void spex_counters_fork_prepare(void);
void spex_counters_fork_parent(void);
void spex_counters_fork_child(void);

/* In the child, for the state of every thread of the parent: forgets mappings, which are not there,
 * and closes inherited descriptors. The child's own counts begin at its own opening. */
void spex_thread_counters_fork_child(struct spex_thread_counters *counters);

/* Whether the mappings are there: 0 in the child of a fork, which does not inherit them, from its
 * first instruction on. */
extern const uint64_t *spex_counters_mapped;

/* Makes it so; without it, or where the kernel cannot (Linux before 4.14), a child must not read
 * before spex_counters_revive. Once a process. */
void spex_counters_init(void);

/* In the child, when the states of all threads have been through spex_thread_counters_fork_child.
 * */
void spex_counters_revive(void);

/* Of the plan for each counter; odd while it changes. */
extern uint32_t spex_counter_generations[SPEX_COUNTERS];

static inline bool spex_counter_ready(const struct spex_thread_counters *counters,
                                      enum spex_counter counter) {
    const struct spex_event *event = &counters->events[counter];
    /* A mapped way stays as long as the thread. */
    return *spex_counters_mapped &&
           (event->word ||
            (event->source &&
             event->generation == spex_load_relaxed(&spex_counter_generations[counter])));
}

static inline void spex_counter_read(struct spex_thread_counters *counters,
                                     enum spex_counter counter, struct spex_reading *reading) {
    const struct spex_event *event = &counters->events[counter];
    const uint64_t *word = event->word;
    if (SPEX_UNLIKELY(!word || !*spex_counters_mapped)) {
        spex_counter_read_slowly(counters, counter, reading);
        return;
    }
    /* One aligned word, which the kernel writes while this thread is in the kernel: there is
     * nothing for the page's sequence lock to protect. */
    reading->values[0] = spex_load_relaxed(word) >> event->shift;
    reading->values[1] = 0;
    reading->enabled = 0;
    reading->running = 0;
    reading->source = event->source;
    reading->available = true;
}

#endif
