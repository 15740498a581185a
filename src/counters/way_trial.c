/* SPDX-License-Identifier: MIT */
/* Faults and context switches are compared with getrusage, which is exact. For hardware events
 * there is nothing exact: they must run, the instruction must agree with read(), and the cache's
 * events must count while memory is used. */
#define _GNU_SOURCE
#include "counters/way_trial.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/ticks.h>

#include "counters/event.h"
#include "text/waits.h"

enum {
    /* A fault or switch between two readings spoils a try. */
    VALIDATION_TRIES = 5,
    /* Events of one try. Switches are forced by sleeping; some sleeps do not switch. */
    TOUCHED_PAGES = 16,
    FORCED_SWITCHES = 4,
    SLEEPS_MAX = 64,
    COST_BATCHES = 5,
    /* Reads in a batch. */
    COST_READS = 64,
    CACHE_WORK_BYTES = 4 << 20
};

static struct spex_event *trial_event(struct spex_way_trial *trial) {
    return &trial->mine.events[trial->counter];
}

/* Opens the event in this way, as the trial's own. 0, or a negative errno value with the reason. */
static int trial_open(struct spex_way_trial *trial, enum spex_way way) {
    const char *step;
    struct spex_event *event = trial_event(trial);
    *event = (struct spex_event){0};
    trial->plan.way = way;
    int err = spex_event_open(event, &trial->plan, way, &step);
    if (err)
        snprintf(trial->why, sizeof(trial->why), "%s: %s", step, strerror(-err));
    return err;
}

/* Releases the event. Its fields stay, until the next trial clears them. */
static void trial_close(struct spex_way_trial *trial) {
    spex_event_release(trial_event(trial));
}

/* The first value of the trial's event now. */
static uint64_t trial_value(struct spex_way_trial *trial) {
    struct spex_reading reading;
    spex_event_read(trial_event(trial), trial->counter, &reading);
    return reading.values[0];
}

/* The kernel's own count, with which ways are compared. */
static uint64_t getrusage_value(enum spex_counter counter) {
    struct spex_event rusage = {.way = SPEX_WAY_RUSAGE};
    struct spex_reading reading;
    spex_event_read(&rusage, counter, &reading);
    return reading.values[0];
}

/* Writes a byte at each step; volatile keeps the compiler from leaving it out. */
static void memory_touch(volatile char *memory, size_t bytes, size_t step) {
    for (size_t i = 0; i < bytes; i += step)
        memory[i] = 1;
}

/* Maps fresh memory and touches it. Without memory nothing happens, and the way fails for
 * counting nothing. */
static void memory_use(size_t bytes, size_t step) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    /* One fault for each page. */
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memory_touch(memory, bytes, step);
    munmap(memory, bytes);
}

static void make_faults(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    memory_use(TOUCHED_PAGES * page, page);
}

/* Sleeps until getrusage has counted enough context switches, or after SLEEPS_MAX sleeps. */
static void make_switches(void) {
    uint64_t before = getrusage_value(SPEX_COUNTER_SWITCHES);
    for (int i = 0; i < SLEEPS_MAX; i++) {
        spex_wait_ns(1000);
        if (getrusage_value(SPEX_COUNTER_SWITCHES) - before >= FORCED_SWITCHES)
            return;
    }
}

/* Faults and switches: the way must count as many events as getrusage. */
static bool way_counts_right(struct spex_way_trial *trial) {
    uint64_t seen = 0, made = 0;
    for (int i = 0; i < VALIDATION_TRIES; i++) {
        uint64_t seen_before = trial_value(trial);
        uint64_t made_before = getrusage_value(trial->counter);
        if (trial->counter == SPEX_COUNTER_FAULTS)
            make_faults();
        else
            make_switches();
        made = getrusage_value(trial->counter) - made_before;
        seen = trial_value(trial) - seen_before;
        if (made && seen == made)
            return true;
    }
    snprintf(trial->why, sizeof(trial->why), "it counted %llu where getrusage counts %llu",
             (unsigned long long)seen, (unsigned long long)made);
    return false;
}

/* Hardware events: the processor's counter must run and, for the cache, count while memory is read.
 * There is no exact figure to compare with. */
static bool way_counts_something(struct spex_way_trial *trial) {
    struct spex_reading before, after;
    struct spex_event *event = trial_event(trial);
    spex_event_read(event, trial->counter, &before);
    memory_use(CACHE_WORK_BYTES, 64);
    spex_event_read(event, trial->counter, &after);
    const char *why = NULL;
    if (!before.available || !after.available)
        why = "it cannot be read";
    else if (after.enabled && after.running == before.running)
        why = "it is not scheduled";
    else if (trial->counter == SPEX_COUNTER_LLC && after.values[0] == before.values[0])
        why = "it stands still while memory is read";
    if (why)
        snprintf(trial->why, sizeof(trial->why), "%s", why);
    return !why;
}

#if defined(__x86_64__)

/* Returns whether rdpmc reads the counter. The instruction raises a signal where the event's page
 * does not allow it, so the page is asked first. */
static bool instruction_works(struct spex_way_trial *trial) {
    struct spex_event *event = trial_event(trial);
    for (int i = 0; i < event->events; i++) {
        const struct perf_event_mmap_page *page = event->pages[i];
        if (!page->cap_user_rdpmc) {
            snprintf(trial->why, sizeof(trial->why), "the kernel does not allow it for this event");
            return false;
        }
    }
    /* The instruction's value must lie between those of a system call before it and one after
     * it. */
    struct spex_event by_call = *event;
    by_call.way = SPEX_WAY_READ;
    struct spex_reading before, between, after;
    spex_event_read(&by_call, trial->counter, &before);
    spex_event_read(event, trial->counter, &between);
    spex_event_read(&by_call, trial->counter, &after);
    if (between.available && !between.enabled &&
        between.values[0] - before.values[0] <= after.values[0] - before.values[0])
        return true;
    snprintf(trial->why, sizeof(trial->why), "it does not agree with read()");
    return false;
}

#else

static bool instruction_works(struct spex_way_trial *trial) {
    snprintf(trial->why, sizeof(trial->why), "not on this architecture");
    return false;
}

#endif

/* Whether the opened way counts what it should. */
static bool way_works(struct spex_way_trial *trial, enum spex_way way) {
    if (way == SPEX_WAY_RDPMC && !instruction_works(trial))
        return false;
    return way == SPEX_WAY_RDPMC || way == SPEX_WAY_READ ? way_counts_something(trial)
                                                         : way_counts_right(trial);
}

/* Ticks of one read as a probe reads: the least of some batches. */
static uint64_t trial_cost(struct spex_way_trial *trial) {
    struct spex_event *event = trial_event(trial);
    event->source = 1;
    event->generation = spex_load_relaxed(&spex_counter_generations[trial->counter]);
    uint64_t best = UINT64_MAX;
    for (int batch = 0; batch < COST_BATCHES; batch++) {
        uint64_t begin = spex_ticks();
        for (int i = 0; i < COST_READS; i++) {
            struct spex_reading reading;
            spex_counter_read(&trial->mine, trial->counter, &reading);
            __asm__ volatile("" : : "r"(&reading) : "memory");
        }
        uint64_t ticks = (spex_ticks() - begin) / COST_READS;
        if (ticks < best)
            best = ticks;
    }
    return best ? best : 1;
}

uint64_t spex_way_try(struct spex_way_trial *trial, enum spex_way way, int *err) {
    *err = -EPERM;
    snprintf(trial->why, sizeof(trial->why), "SPEX_COUNTERS does not allow it");
    if (!spex_way_allowed(way))
        return 0;
    *err = trial_open(trial, way);
    if (*err)
        return 0;
    uint64_t cost = 0;
    if (way_works(trial, way))
        cost = trial_cost(trial);
    else
        *err = -ENODATA;
    trial_close(trial);
    return cost;
}
