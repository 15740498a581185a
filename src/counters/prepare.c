/* SPDX-License-Identifier: MIT */
/* Finds how each counter is read here. An event that opens may still count nothing, or cost more to
 * read than a system call: what is used has been tried on the calling thread. */
#define _GNU_SOURCE
#include "prepare.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <spex/probe.h>

#include "../message.h"
#include "event.h"

enum {
    VALIDATION_TRIES = 5, /* a fault or switch between two readings spoils one */
    TOUCHED_PAGES = 16,
    FORCED_SWITCHES = 4,
    SLEEPS_MAX = 64,
    COST_BATCHES = 5,
    COST_READS = 64, /* in a batch */
    CACHE_WORK_BYTES = 4 << 20
};

static const char *const subjects[] = {"page faults", "context switches", "last-level cache"};

struct counter {
    bool prepared;
    bool told; /* that it is not available */
    int result;
    uint64_t cost;
    struct spex_choice choice; /* PERFCNTR: what was set */
    char text[400];
};

static struct counter counters[SPEX_COUNTERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void spex_counters_lock(void) {
    pthread_mutex_lock(&lock);
}

void spex_counters_unlock(void) {
    pthread_mutex_unlock(&lock);
}

__attribute__((format(printf, 2, 3))) static void add_text(struct counter *counter,
                                                           const char *format, ...) {
    size_t length = strlen(counter->text);
    va_list args;
    va_start(args, format);
    vsnprintf(counter->text + length, sizeof(counter->text) - length, format, args);
    va_end(args);
}

/* A way that is being tried, opened on the calling thread. */
struct trial {
    enum spex_counter counter;
    struct spex_plan plan;
    struct spex_thread_counters mine;
    char why[120]; /* not this way */
};

static struct spex_event *trial_event(struct trial *trial) {
    return &trial->mine.events[trial->counter];
}

static int trial_open(struct trial *trial, enum spex_way way) {
    const char *step;
    struct spex_event *event = trial_event(trial);
    *event = (struct spex_event){0};
    trial->plan.way = way;
    int err = spex_event_open(event, &trial->plan, way, &step);
    if (err)
        snprintf(trial->why, sizeof(trial->why), "%s: %s", step, strerror(-err));
    return err;
}

static void trial_close(struct trial *trial) {
    spex_event_release(trial_event(trial));
}

static uint64_t trial_value(struct trial *trial) {
    struct spex_reading reading;
    spex_event_read(trial_event(trial), trial->counter, &reading);
    return reading.values[0];
}

static uint64_t kernels_value(enum spex_counter counter) {
    struct spex_event rusage = {.way = SPEX_WAY_RUSAGE};
    struct spex_reading reading;
    spex_event_read(&rusage, counter, &reading);
    return reading.values[0];
}

static void touch(volatile char *memory, size_t bytes, size_t step) {
    for (size_t i = 0; i < bytes; i += step)
        memory[i] = 1;
}

static void work_with_memory(size_t bytes, size_t step) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    madvise(memory, bytes, MADV_NOHUGEPAGE); /* one fault a page */
    touch(memory, bytes, step);
    munmap(memory, bytes);
}

static void make_faults(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    work_with_memory(TOUCHED_PAGES * page, page);
}

static void make_switches(void) {
    uint64_t before = kernels_value(SPEX_COUNTER_SWITCHES);
    for (int i = 0; i < SLEEPS_MAX; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
        if (kernels_value(SPEX_COUNTER_SWITCHES) - before >= FORCED_SWITCHES)
            return;
    }
}

/* Faults and switches: the way sees what getrusage sees. */
static bool counts_right(struct trial *trial) {
    uint64_t seen = 0, made = 0;
    for (int i = 0; i < VALIDATION_TRIES; i++) {
        uint64_t seen_before = trial_value(trial);
        uint64_t made_before = kernels_value(trial->counter);
        if (trial->counter == SPEX_COUNTER_FAULTS)
            make_faults();
        else
            make_switches();
        made = kernels_value(trial->counter) - made_before;
        seen = trial_value(trial) - seen_before;
        if (made && seen == made)
            return true;
    }
    snprintf(trial->why, sizeof(trial->why), "it counted %llu where getrusage counts %llu",
             (unsigned long long)seen, (unsigned long long)made);
    return false;
}

/* Hardware: the processor's counter really runs and, for the cache, moves. */
static bool counts_something(struct trial *trial) {
    struct spex_reading before, after;
    struct spex_event *event = trial_event(trial);
    spex_event_read(event, trial->counter, &before);
    work_with_memory(CACHE_WORK_BYTES, 64);
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

/* With the page's leave only: without it the instruction is a fault. */
static bool instruction_works(struct trial *trial) {
    struct spex_event *event = trial_event(trial);
    for (int i = 0; i < event->events; i++) {
        const struct perf_event_mmap_page *page = event->pages[i];
        if (!page->cap_user_rdpmc) {
            snprintf(trial->why, sizeof(trial->why), "the kernel does not allow it for this event");
            return false;
        }
    }
    /* Between two readings by the system call lies the one by instruction. */
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

static bool instruction_works(struct trial *trial) {
    snprintf(trial->why, sizeof(trial->why), "not on this architecture");
    return false;
}

#endif

static bool way_works(struct trial *trial, enum spex_way way) {
    if (way == SPEX_WAY_RDPMC && !instruction_works(trial))
        return false;
    return way == SPEX_WAY_RDPMC || way == SPEX_WAY_READ ? counts_something(trial)
                                                         : counts_right(trial);
}

/* As a probe reads it. */
static uint64_t trial_cost(struct trial *trial) {
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

/* Tries one way. Its cost; 0: it does not work, trial->why. */
static uint64_t try_way(struct trial *trial, enum spex_way way, int *err) {
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

static bool lacks_privilege(int err) {
    return err == -EACCES || err == -EPERM;
}

static bool excludes_kernel(const struct trial *trial) {
    return trial->plan.codes[0].exclude & SPEX_EXCLUDE_KERNEL;
}

static void exclude_kernel(struct trial *trial) {
    for (uint32_t i = 0; i < trial->plan.events; i++)
        trial->plan.codes[i].exclude |= SPEX_EXCLUDE_KERNEL;
}

/* All of the event, or what happens in user mode if no more is permitted. */
static uint64_t try_way_as_permitted(struct trial *trial, enum spex_way way, int *err) {
    uint64_t cost = try_way(trial, way, err);
    if (cost || !lacks_privilege(*err) || !spex_way_allowed(way) || excludes_kernel(trial) ||
        way == SPEX_WAY_SWITCH_COUNT || way == SPEX_WAY_SWITCH_RECORDS)
        return cost;
    const struct spex_plan all = trial->plan;
    exclude_kernel(trial);
    cost = try_way(trial, way, err);
    if (!cost)
        trial->plan = all;
    return cost;
}

static void add_refusal(char *text, size_t size, enum spex_way way, const char *why,
                        const char *last_why) {
    size_t length = strlen(text);
    if (strcmp(why, last_why) == 0)
        snprintf(text + length, size - length, "; nor by %s", spex_way_text(way));
    else
        snprintf(text + length, size - length, "; not by %s: %s", spex_way_text(way), why);
}

/* The best way of those that work: the first, except that hardware is read by whichever of
 * instruction and system call is cheaper. */
static int try_ways(struct trial *trial, struct counter *counter, char *others, size_t size) {
    struct spex_plan best = {.way = SPEX_WAY_NONE};
    char last_why[sizeof(trial->why)] = "";
    int err = -ENOENT;
    counter->cost = 0;
    for (const enum spex_way *way = spex_ways_of(trial->counter); *way != SPEX_WAY_NONE; way++) {
        uint64_t cost = try_way_as_permitted(trial, *way, &err);
        if (!cost) {
            add_refusal(others, size, *way, trial->why, last_why);
            snprintf(last_why, sizeof(last_why), "%s", trial->why);
            continue;
        }
        trial->plan.way = *way;
        if (!counter->cost || cost < counter->cost) {
            best = trial->plan;
            counter->cost = cost;
        }
        if (*way != SPEX_WAY_RDPMC)
            break;
    }
    if (best.way == SPEX_WAY_NONE)
        return err ? err : -ENOENT;
    trial->plan = best;
    return 0;
}

static int prepare_choice(struct counter *counter, enum spex_counter id,
                          const struct spex_choice *choice) {
    struct trial trial = {.counter = id, .plan = {.events = choice->events}};
    memcpy(trial.plan.codes, choice->codes, sizeof(choice->codes));
    char others[280] = "";
    counter->text[0] = '\0';
    int err = try_ways(&trial, counter, others, sizeof(others));
    if (id < SPEX_COUNTER_PERFCNTR)
        add_text(counter, "%s", subjects[id]);
    else
        add_text(counter, "performance counter %u", (unsigned)id - SPEX_COUNTER_PERFCNTR);
    if (err)
        add_text(counter, " not available here");
    if (choice->text[0])
        add_text(counter, ": %s", choice->text);
    if (!err) {
        if (excludes_kernel(&trial) && trial.plan.way != SPEX_WAY_RUSAGE)
            add_text(counter, ", in user mode only,");
        add_text(counter, " by %s", spex_way_text((enum spex_way)trial.plan.way));
        spex_plan_write(id, &trial.plan);
    }
    add_text(counter, "%s", others);
    return err;
}

static int prepare_llc(struct counter *counter) {
    struct spex_choice choice;
    unsigned position = 0;
    int err = -ENOENT;
    snprintf(counter->text, sizeof(counter->text),
             "%s not available here: no events known for this processor",
             subjects[SPEX_COUNTER_LLC]);
    while (err && spex_llc_next(&position, &choice))
        err = prepare_choice(counter, SPEX_COUNTER_LLC, &choice);
    return err;
}

static int prepare(enum spex_counter id) {
    static const struct spex_choice faults = {
        .events = 1,
        .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}},
    };
    static const struct spex_choice switches = {
        .events = 1,
        .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES}},
    };
    struct counter *counter = &counters[id];
    if (id == SPEX_COUNTER_FAULTS)
        return prepare_choice(counter, id, &faults);
    if (id == SPEX_COUNTER_SWITCHES)
        return prepare_choice(counter, id, &switches);
    if (id == SPEX_COUNTER_LLC)
        return prepare_llc(counter);
    if (counter->choice.events)
        return prepare_choice(counter, id, &counter->choice);
    snprintf(counter->text, sizeof(counter->text),
             "performance counter %u not available: no event has been set for it",
             (unsigned)id - SPEX_COUNTER_PERFCNTR);
    return -ENOENT;
}

/* Under the lock. */
static int prepare_once(enum spex_counter id) {
    struct counter *counter = &counters[id];
    if (!counter->prepared) {
        counter->result = prepare(id);
        counter->prepared = true;
        if (counter->result) {
            spex_plan_write(id, &(struct spex_plan){.way = SPEX_WAY_NONE});
            counter->cost = 0;
        }
    }
    return counter->result;
}

static int prepare_and_tell(enum spex_counter id) {
    int err = prepare_once(id);
    if (err && !counters[id].told)
        spex_message("%s", counters[id].text);
    counters[id].told = err != 0;
    return err;
}

static void prepare_again(struct counter *counter) {
    counter->prepared = false;
    counter->told = false;
}

int spex_counters_prepare(enum spex_counter id) {
    spex_counters_lock();
    int err = prepare_and_tell(id);
    spex_counters_unlock();
    return err;
}

static bool same_codes(const struct spex_choice *a, const struct spex_choice *b) {
    return a->events == b->events && memcmp(a->codes, b->codes, sizeof(a->codes)) == 0;
}

int spex_perfcntr_replace(unsigned pcid, const struct spex_choice *choice) {
    enum spex_counter id = (enum spex_counter)(SPEX_COUNTER_PERFCNTR + pcid);
    struct counter *counter = &counters[id];
    int err = 0;
    spex_counters_lock();
    if (!same_codes(&counter->choice, choice)) {
        bool prepared = counter->prepared;
        counter->choice = *choice;
        prepare_again(counter);
        err = prepared ? prepare_and_tell(id) : 0;
    } else if (counter->prepared) {
        err = counter->result;
    }
    spex_counters_unlock();
    return err;
}

void spex_counters_describe(enum spex_counter id, char *text, size_t size) {
    spex_counters_lock();
    const struct counter *counter = &counters[id];
    prepare_once(id); /* a question alone is not told on standard error */
    uint64_t threads = spex_counter_fallbacks(id);
    if (threads)
        snprintf(text, size, "%s; %llu threads fell back: %s", counter->text,
                 (unsigned long long)threads, strerror(spex_counter_fallback_error(id)));
    else
        snprintf(text, size, "%s", counter->text);
    spex_counters_unlock();
}

uint64_t spex_counter_cost(enum spex_counter id) {
    spex_counters_lock();
    uint64_t cost = counters[id].cost;
    spex_counters_unlock();
    return cost;
}

int spex_counters_allow(const char *list) {
    uint32_t allowed;
    if (!spex_ways_parse(list, &allowed)) {
        spex_message(
            "SPEX_COUNTERS=%s: names of fault-records, switch-count, switch-records, rdpmc, "
            "read, rusage, none were expected",
            list);
        return -EINVAL;
    }
    spex_counters_lock();
    bool changed = spex_ways_allow(allowed);
    for (enum spex_counter id = 0; changed && id < SPEX_COUNTERS; id++)
        prepare_again(&counters[id]);
    spex_counters_unlock();
    return 0;
}

void spex_counters_fork_prepare(void) {
    spex_counters_lock();
}

void spex_counters_fork_parent(void) {
    spex_counters_unlock();
}

void spex_counters_fork_child(void) {
    spex_counter_fallbacks_forget();
    spex_counters_unlock();
}
