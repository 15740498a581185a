/* SPDX-License-Identifier: MIT */
/* Finds out how each counter is read on this machine and keeps the result for the process, under
 * spex_counters_lock. Each way is tried (way_trial.h) before it is used: an event that can be
 * opened may still count nothing, or cost more to read than a system call. */
#include "counters/prepare.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "counters/way_trial.h"
#include "text/message.h"

/* Names in messages; a PERFCNTR has a number instead. */
static const char *const counter_names[] = {"page faults", "context switches", "last-level cache"};

struct counter {
    bool prepared;
    /* A message has said that the counter is not available. */
    bool told;
    int result;
    /* Ticks of a read; 0: not available. */
    uint64_t cost;
    /* PERFCNTR: the event that was set. */
    struct spex_choice choice;
    char text[400];
};

/* The states of all counters, under spex_counters_lock. */
static struct counter counter_states[SPEX_COUNTERS];

/* Appends to the line that describes the counter. */
__attribute__((format(printf, 2, 3))) static void counter_add_text(struct counter *counter,
                                                                   const char *format, ...) {
    size_t length = strlen(counter->text);
    va_list args;
    va_start(args, format);
    vsnprintf(counter->text + length, sizeof(counter->text) - length, format, args);
    va_end(args);
}

/* Whether opening has failed for want of a privilege, so that less may be permitted. */
static bool lacks_privilege(int err) {
    return err == -EACCES || err == -EPERM;
}

/* Whether events in the kernel are not counted. */
static bool excludes_kernel(const struct spex_way_trial *trial) {
    return trial->plan.codes[0].exclude & SPEX_EXCLUDE_KERNEL;
}

/* Restricts the trial's events to user mode. */
static void exclude_kernel(struct spex_way_trial *trial) {
    for (uint32_t i = 0; i < trial->plan.events; i++)
        trial->plan.codes[i].exclude |= SPEX_EXCLUDE_KERNEL;
}

/* Tries to count the event in user and kernel mode. Where that is not permitted, tries user mode
 * alone. Context switches happen in the kernel, so their ways are not tried in user mode. */
static uint64_t try_way_as_permitted(struct spex_way_trial *trial, enum spex_way way, int *err) {
    uint64_t cost = spex_way_try(trial, way, err);
    if (cost || !lacks_privilege(*err) || !spex_way_allowed(way) || excludes_kernel(trial) ||
        way == SPEX_WAY_SWITCH_COUNT || way == SPEX_WAY_SWITCH_RECORDS)
        return cost;
    const struct spex_counter_plan all = trial->plan;
    exclude_kernel(trial);
    cost = spex_way_try(trial, way, err);
    if (!cost)
        trial->plan = all;
    return cost;
}

/* Adds why a way is not used; equal reasons in a row are said once. */
static void add_refusal(char *text, size_t size, enum spex_way way, const char *why,
                        const char *last_why) {
    size_t length = strlen(text);
    if (strcmp(why, last_why) == 0)
        snprintf(text + length, size - length, "; nor by %s", spex_way_text(way));
    else
        snprintf(text + length, size - length, "; not by %s: %s", spex_way_text(way), why);
}

/* Finds the best way that works: the first one. For hardware counters it is the cheaper one of
 * instruction and system call. */
static int counter_try_ways(struct spex_way_trial *trial, struct counter *counter, char *others,
                            size_t size) {
    struct spex_counter_plan best = {.way = SPEX_WAY_NONE};
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

/* Prepares a counter with these events, and writes the line that describes the result. */
static int counter_prepare_choice(struct counter *counter, enum spex_counter id,
                                  const struct spex_choice *choice) {
    struct spex_way_trial trial = {.counter = id, .plan = {.events = choice->events}};
    memcpy(trial.plan.codes, choice->codes, sizeof(choice->codes));
    char others[280] = "";
    counter->text[0] = '\0';
    int err = counter_try_ways(&trial, counter, others, sizeof(others));
    if (id < SPEX_COUNTER_PERFCNTR)
        counter_add_text(counter, "%s", counter_names[id]);
    else
        counter_add_text(counter, "performance counter %u", (unsigned)id - SPEX_COUNTER_PERFCNTR);
    if (err)
        counter_add_text(counter, " not available here");
    if (choice->text[0])
        counter_add_text(counter, ": %s", choice->text);
    if (!err) {
        if (excludes_kernel(&trial) && trial.plan.way != SPEX_WAY_RUSAGE)
            counter_add_text(counter, ", in user mode only,");
        counter_add_text(counter, " by %s", spex_way_text((enum spex_way)trial.plan.way));
        spex_counter_plan_write(id, &trial.plan);
    }
    counter_add_text(counter, "%s", others);
    return err;
}

/* Prepares the first candidate for the last-level cache that works. Where none does, the text is
 * that of the last one. */
static int counter_prepare_llc(struct counter *counter) {
    const struct spex_processor here = spex_processor_here();
    struct spex_choice choice;
    unsigned position = 0;
    int err = -ENOENT;
    snprintf(counter->text, sizeof(counter->text),
             "%s not available here: no events known for this processor",
             counter_names[SPEX_COUNTER_LLC]);
    while (err && spex_llc_next(&here, &position, &choice))
        err = counter_prepare_choice(counter, SPEX_COUNTER_LLC, &choice);
    return err;
}

/* Prepares a counter, whatever was found before. The caller holds the lock. */
static int counter_prepare(enum spex_counter id) {
    static const struct spex_choice faults = {
        .events = 1,
        .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}},
    };
    static const struct spex_choice switches = {
        .events = 1,
        .codes = {{.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES}},
    };
    struct counter *counter = &counter_states[id];
    if (id == SPEX_COUNTER_FAULTS)
        return counter_prepare_choice(counter, id, &faults);
    if (id == SPEX_COUNTER_SWITCHES)
        return counter_prepare_choice(counter, id, &switches);
    if (id == SPEX_COUNTER_LLC)
        return counter_prepare_llc(counter);
    if (counter->choice.events)
        return counter_prepare_choice(counter, id, &counter->choice);
    snprintf(counter->text, sizeof(counter->text),
             "performance counter %u not available: no event has been set for it",
             (unsigned)id - SPEX_COUNTER_PERFCNTR);
    return -ENOENT;
}

/* Prepares the counter, or returns the result of the first time. The caller holds the lock. */
static int counter_prepare_once(enum spex_counter id) {
    struct counter *counter = &counter_states[id];
    if (!counter->prepared) {
        counter->result = counter_prepare(id);
        counter->prepared = true;
        if (counter->result) {
            spex_counter_plan_write(id, &(struct spex_counter_plan){.way = SPEX_WAY_NONE});
            counter->cost = 0;
        }
    }
    return counter->result;
}

/* Says once on standard error why the counter is not available. The caller holds the lock. */
static int counter_prepare_and_report(enum spex_counter id) {
    int err = counter_prepare_once(id);
    if (err && !counter_states[id].told) {
        spex_message("%s", counter_states[id].text);
        counter_states[id].told = true;
    }
    return err;
}

/* Makes the next use prepare the counter again, and say again what does not work. */
static void counter_forget_result(struct counter *counter) {
    counter->prepared = false;
    counter->told = false;
}

int spex_counters_prepare(enum spex_counter id) {
    spex_lock_take(spex_counters_lock());
    int err = counter_prepare_and_report(id);
    spex_lock_give(spex_counters_lock());
    return err;
}

static bool choices_equal(const struct spex_choice *a, const struct spex_choice *b) {
    return a->events == b->events && memcmp(a->codes, b->codes, sizeof(a->codes)) == 0;
}

/* A counter that is in use is prepared at once, so that the error reaches the caller; else its
 * first use prepares it. */
int spex_perfcntr_replace(unsigned pcid, const struct spex_choice *choice) {
    enum spex_counter id = (enum spex_counter)(SPEX_COUNTER_PERFCNTR + pcid);
    struct counter *counter = &counter_states[id];
    int err = 0;
    spex_lock_take(spex_counters_lock());
    if (!choices_equal(&counter->choice, choice)) {
        bool was_prepared = counter->prepared;
        counter->choice = *choice;
        counter_forget_result(counter);
        err = was_prepared ? counter_prepare_and_report(id) : 0;
    } else if (counter->prepared) {
        err = counter->result;
    }
    spex_lock_give(spex_counters_lock());
    return err;
}

/* Prepares the counter if nobody has, so that the text is never missing. */
void spex_counters_describe(enum spex_counter id, char *text, size_t size) {
    spex_lock_take(spex_counters_lock());
    const struct counter *counter = &counter_states[id];
    /* This prints no message: the caller shows the text. */
    counter_prepare_once(id);
    uint64_t threads = spex_counter_fallbacks(id);
    if (threads)
        snprintf(text, size, "%s; %llu threads fell back: %s", counter->text,
                 (unsigned long long)threads, strerror(spex_counter_fallback_error(id)));
    else
        snprintf(text, size, "%s", counter->text);
    spex_lock_give(spex_counters_lock());
}

uint64_t spex_counter_cost(enum spex_counter id) {
    spex_lock_take(spex_counters_lock());
    uint64_t cost = counter_states[id].cost;
    spex_lock_give(spex_counters_lock());
    return cost;
}

/* A change makes the next use of each counter prepare it anew. */
int spex_counters_allow(const char *list) {
    uint32_t allowed;
    if (!spex_ways_parse(list, &allowed)) {
        spex_message(
            "SPEX_COUNTERS=%s: names of fault-records, switch-count, switch-records, rdpmc, "
            "read, rusage, none were expected",
            list);
        return -EINVAL;
    }
    spex_lock_take(spex_counters_lock());
    bool changed = spex_ways_allow(allowed);
    for (enum spex_counter id = 0; changed && id < SPEX_COUNTERS; id++)
        counter_forget_result(&counter_states[id]);
    spex_lock_give(spex_counters_lock());
    return 0;
}
