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
    /* One for each PERFCNTR: SPEX_COUNTER_PERFCNTR + pcid. */
    SPEX_COUNTER_PERFCNTR,
    SPEX_COUNTERS = SPEX_COUNTER_PERFCNTR + SPEX_PERFCNTRS
};

struct spex_reading {
    /* LLC: references and misses; other counters: one value. */
    uint64_t values[2];
    /* Time that the event was enabled and that it was counted, in ns; 0: this way of reading is
     * never multiplexed. */
    uint64_t enabled;
    uint64_t running;
    /* Number of the opening that was read. Readings of different openings cannot be compared. */
    uint32_t source;
    bool available;
};

/* One counter in one thread. All zero: not open. */
struct spex_event {
    /* Where the kernel keeps the count; NULL: the way of reading is not mapped. */
    const uint64_t *word;
    /* Number of this opening; 0: not open. */
    uint32_t source;
    /* Generation of the plan by which the event was opened. */
    uint32_t generation;
    /* The count is *word >> shift. */
    uint8_t shift;
    /* A value of enum spex_way. */
    uint8_t way;
    /* Number of entries in `ids`, `descriptors` and `pages`: 2 for LLC. */
    uint8_t events;
    /* The way is not the one that the plan prefers. */
    bool fallback;
    /* The event is being opened or closed: signal handlers leave it alone. */
    bool busy;
    /* Readings under way: the thread's and those of signal handlers that interrupt it. */
    uint8_t readers;
    /* descriptors[i] is valid where ids[i] is not 0. */
    int descriptors[2];
    /* The kernel's ids of the events, by which a descriptor is recognised as the library's own. */
    uint64_t ids[2];
    void *pages[2];
    /* Size of each mapping. */
    size_t page_bytes;
};

struct spex_thread_counters {
    struct spex_event events[SPEX_COUNTERS];
};

/* Restricts the ways of reading to a comma-separated list (SPEX_COUNTERS, see spex.h); NULL or
 * empty: all. Before threads open counters. 0, or -EINVAL with one line on standard error. */
int spex_counters_allow(const char *list);

/* Chooses the way of reading a counter: tries each way on the calling thread, compares it with the
 * kernel's own figures, and measures the cost of a read. Later calls return the first result. Takes
 * a lock; not for signal handlers. 0; -ENOENT: no event has been set for a PERFCNTR; or the errno
 * value of a counter that is not available here, with one line on standard error. */
int spex_counters_prepare(enum spex_counter id);

/* Writes one line about how a counter is read and why not in a better way, or why it is not
 * available. */
void spex_counters_describe(enum spex_counter id, char *text, size_t size);

/* Ticks of one read without a probe around it; 0: not prepared or not available. */
uint64_t spex_counter_cost(enum spex_counter id);

/* Number of threads that read in a worse way than the prepared one, or not at all, because they
 * could not open it: no descriptors, or no memory that may be locked (perf_event_mlock_kb). */
uint64_t spex_counter_fallbacks(enum spex_counter counter);

/* Errno value with which the last of these threads failed to open the counter. */
int spex_counter_fallback_error(enum spex_counter counter);

/* Sets the numbers of these threads to 0: in the child of a fork, which has no such thread. */
void spex_counter_fallbacks_forget(void);

/* Opens a counter in the calling thread by system calls. True: it has opened something now; the
 * caller then marks the record, whose time includes the opening. */
bool spex_counter_open(struct spex_thread_counters *counters, enum spex_counter counter);

/* spex_counter_read for ways that are not mapped: by a system call or an instruction. */
void spex_counter_read_slowly(struct spex_thread_counters *counters, enum spex_counter counter,
                              struct spex_reading *reading);

/* The difference of two readings. `*scaled`: the event was counted part of the time only, and the
 * values are extrapolated. False: the readings cannot be compared. */
bool spex_counter_delta(const struct spex_reading *begin, const struct spex_reading *end,
                        uint64_t values[2], bool *scaled);

/* Closes all counters of the calling thread at its end; they are as never opened afterwards. */
void spex_counters_close(struct spex_thread_counters *counters);

/* The lock of all preparation of counters, which is held around a fork. It also serialises calls of
 * libpfm4, which is not safe for threads. */
struct spex_lock *spex_counters_lock(void);

/* In the child of a fork, for the state of every thread of the parent: forgets mappings, which the
 * child does not inherit, and closes inherited descriptors. The child counts from its own
 * openings. */
void spex_thread_counters_fork_child(struct spex_thread_counters *counters);

/* Points to 1 while the mappings of this process exist. In the child of a fork it points to 0 from
 * the first instruction on, since the child does not inherit the mappings. */
extern const uint64_t *spex_counters_mapped;

/* Makes the value that spex_counters_mapped points to 0 in children. Without this call, or where
 * the kernel cannot do it (Linux before 4.14), a child must not read counters before
 * spex_counters_revive. Once in a process. */
void spex_counters_init(void);

/* In the child of a fork, after spex_thread_counters_fork_child for the states of all threads: sets
 * the value to 1 again. */
void spex_counters_revive(void);

/* Unmaps the page that spex_counters_init has mapped. No thread reads a counter again. */
void spex_counters_end(void);

/* Generation of each counter's plan (plan.h); odd while the plan changes. */
extern uint32_t spex_counter_generations[SPEX_COUNTERS];

/* Whether the counter is open in this thread, by the plan in force. */
static inline bool spex_counter_ready(const struct spex_thread_counters *counters,
                                      enum spex_counter counter) {
    const struct spex_event *event = &counters->events[counter];
    /* A mapped way stays open until the thread ends, also when the plan changes. */
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
