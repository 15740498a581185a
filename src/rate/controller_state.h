/* SPDX-License-Identifier: MIT */
/* State that the controller's files share: of each probe, and of the process. Written by the first
 * collector's thread, under the metrics' lock; read under that lock. */
#ifndef SPEX_RATE_CONTROLLER_STATE_H
#define SPEX_RATE_CONTROLLER_STATE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <spex/rate_policy.h>
#include <spex/record.h>

#include "base/hold_off.h"
#include "base/random.h"
#include "probe/executions.h"
#include "rate/budget.h"
#include "rate/experiment/sliced.h"
#include "rate/polling.h"
#include "rate/slices.h"
#include "site/probe_state.h"
#include "site/registry.h"

/* Sums over intervals with hardly any records, of which older ones count exponentially less: CPU
 * time, the time that went by, and passes. Intervals have about the same CPU time and are of
 * different length: the mean of their rates would be that of the busy ones. */
struct spex_collecting_rest {
    double seconds, elapsed, passes;
};

/* The collectors' cost per record, and per second with hardly any records, in which passes still
 * cost something. Both are moving averages, over which records that are still in rings, and CPU
 * time that collectors have not noted yet, even out. */
struct spex_collecting {
    double record;    /* seconds a record */
    double rest;      /* seconds a second without records */
    double pass;      /* seconds a pass without records */
    double at;        /* time of the last note, in seconds */
    uint64_t records; /* at the last note */
    uint64_t passes;
    uint64_t ns; /* CPU time at the last note */
    struct spex_collecting_rest resting;
    /* Sums over intervals with records. */
    double sum_seconds, sum_records;
};

/* What is known of groups (groups.c): of a group, of a region and of a member, by their indices. A
 * group has that of one of its regions. */
struct spex_grouped {
    /* Of a region or member: its group + 1; 0: it is in none. */
    uint32_t group;
    /* A region or member when it was last counted. */
    uint64_t executions;
    double passes;
    uint32_t calls;
    bool known;
    /* A member's executions so far, and 1. */
    double weight;
    /* The rest is of the group. Passes and executions so far; what they cost in ticks, and how much
     * of that has been booked. */
    double units, ticks, booked;
    /* Sums since the last count, and sums in which older counts have less weight: passes and
     * executions, the latter alone, ticks that they took, and ticks that calls of the library would
     * take in a period of all passes. */
    double fresh_units, fresh_recorded, fresh_ticks, fresh_calls;
    double mean_units, mean_recorded, mean_ticks, mean_calls;
    /* The state of all its members. */
    struct spex_probe_state state;
};

/* State of a probe, by the index of its first site, or of a group. */
struct spex_controlled {
    /* The period of the user's selection when something was last decided about it; 0: nothing is. */
    uint32_t selected;
    /* `measured` and `count` are set. */
    bool seen;
    /* Set before anything is read: a page that is read before it is written costs two faults, and
     * the second interrupts other CPUs. */
    bool met;
    /* When the probe's frequency was last measured, in seconds since the controller began. */
    double measured;
    /* Executions at that time. */
    uint64_t count;
    /* Executions a second: by the last measurement alone, and as decisions go by. */
    double fresh;
    double frequency;
    struct spex_hold_off held;
    /* It is on after it was held off or polled, and has not been measured since. */
    bool trying;
    /* When it was switched on, in seconds since the controller began. */
    double since;
    /* When its last slice began; 0: it is not in slices. */
    double tried;
    /* Planned length of the next slice, or of the one under way; and how many times as long slices
     * were as planned, at most lately: the collector waits for a processor. 0 stands for 1. */
    double slice, longer;
    /* Seconds before the next slice with records for which there was none. */
    double unrecorded;
    /* Seconds a second that its executions and all records that are wanted of it cost. */
    double demand;
    /* Seconds a second that it cost when it was last on, and that it may have cost. */
    double taken, may_take;
    uint32_t period;
    const char *why;
    /* The time for which the probe is polled before it is recorded for a moment to count its
     * executions. Used while its period is SPEX_SITE_POLLED. */
    struct spex_hold_off polled;
    struct spex_polling_share share;
    /* Seconds for which it was not selected up to the last look at it. */
    double off;
    /* The rest stays where nothing is decided about the probe any more (spex_controlled_leave): what
     * was found and counted of it. Executions that the accounts have taken in. */
    uint64_t counted;
    /* The last look at it, in seconds since the controller began, and the ticks for which it had been
     * selected by then. 0: none has been. */
    double looked;
    uint64_t selected_ticks;
    /* The highest frequency when it was held off, also for an experiment, or polled. */
    double frequency_held;
    /* Seconds a second that it cost by its mean frequency when it was last on, and the period that it
     * had then; 0: as selected. What its slices have counted. */
    double taken_mean;
    uint32_t last_period;
    struct spex_slices slices;
    struct spex_sliced sliced;
    /* The cost of an execution by experiment, as a multiple of the calibrated cost; 0: not known.
     * The standard error of what was found last. Where nothing is known for sure: what it hardly
     * exceeds by what was found; 0: nothing was. */
    double factor, doubt, most;
    struct spex_grouped grouped;
};

struct spex_controller {
    struct spex_budget budget;
    /* SPEX_MAX_SITES of them; NULL: there is no budget. */
    struct spex_controlled *probes;
    const struct spex_rate_policy_ops *policy;
    void *workspace;
    struct spex_rate_class *classes;
    struct spex_rate_decision *decisions;
    struct spex_subject *subjects;
    /* First sites of the classes. */
    uint32_t *firsts;
    /* Seconds since the controller began. */
    double now;
    /* The time of the last decision, and the budget's tokens at that time. */
    double decided;
    double decided_tokens;
    /* CPU time of collectors, and what had been spent, at that time. */
    uint64_t decided_ns;
    double decided_spent;
    /* Tokens that were spent between the last two decisions, beyond those earned. */
    double surprise;
    /* A selected probe was held off at the last decision. */
    bool holding;
    /* When the first of the held probes is due for a slice; INFINITY: none is held. */
    double slice_due;
    /* Probes in slices at the last decision, and probes that were recorded with what they demand
     * together. */
    unsigned sliced, recorded;
    /* Of those in slices: how many cost more than an equal part of what slices may cost, and what
     * the others cost together, in seconds a second. */
    unsigned dear;
    double cheap;
    double demand;
    /* Probes whose slices begin at this decision, and what they take, in seconds a second. */
    unsigned beginning;
    double beginning_takes;
    /* The witness of slices, and the one of the next decision, with its weight; 0: there is
     * none. */
    uint32_t witness, next_witness;
    double next_weight;
    /* What the program had done at the last decision; `cpu_ns` 0: it is not known. */
    struct spex_progress progress;
    /* The threads that tell it, which are chosen anew when there are more than those and the time
     * is over; and what these have executed. */
    struct spex_thread_set threads;
    double chosen_until;
    uint64_t *chosen_executions;
    /* CPUs that the program's threads with probes have used between the last two decisions;
     * negative: not known. */
    double running;
    struct spex_random random;
    /* A probe is on for a trial, and has not been measured yet; the time of the next look at it. */
    bool trying;
    double trial_due;
    /* What probes on trial take, in seconds a second; INFINITY: of one of them nothing is known. */
    double trial_takes;
    /* Of probes in their first measurement, of which all is recorded: what their records cost, in
     * seconds a second. */
    double unknown;
    /* A probe that costs much was found to execute far more often than before. Its frequency is
     * still too low if it rose in the middle of the measurement, so it is measured again soon. */
    bool rising;
    /* spex_sites_selections at the last decision, and when that was new. */
    uint32_t selections;
    double reselected;
    /* The next pass decides, whatever the interval. */
    bool overdue;
    /* No decision before this time. */
    double waiting_until;
    /* The policy has failed, or there was no memory, and a message has said so. */
    bool failed;
    /* The budget is over that somebody has asked for: nothing is controlled. */
    bool lifted;
    /* The time up to which accounts are complete, CLOCK_MONOTONIC. */
    uint64_t monotonic_ns;
    /* The time at which busy CPUs were last measured, and the CPU times of the process and of
     * collectors then. */
    double process_at;
    uint64_t process_ns;
    uint64_t process_collectors_ns;
    uint64_t collectors_ns;
    /* The CPU time of the process without that of collectors which is in the accounts. */
    uint64_t used_ns;
    /* CPU time of collectors when the last session of experiments began. */
    uint64_t session_ns;
    /* CPU time that the sampling of kernels by their models has cost. */
    uint64_t looker_ns;
    /* Ticks a second; 0: not known yet. */
    double tick_rate;
    /* CPUs that the program keeps busy on average. */
    double cpus;
    /* CPU time that the program has used since the controller began, of which the budget is a
     * share, and the time that probes and collectors took. */
    double seconds;
    double spent;
    struct spex_collecting collecting;
    /* Passes of the controller so far. */
    uint64_t passes;
    /* Records of each type that the accounts have taken in. */
    uint64_t produced[SPEX_PROBE_TYPES];
    /* Executions of each probe, by the index of its first site, when last counted; and those of a
     * probe about which there is nothing to decide while they are as many and the selection does
     * not change: it is off, or recorded and not executed. SPEX_NOT_AT_REST of others. */
    uint64_t *executions;
    uint64_t *at_rest;
    /* Cost of executions without a record, in seconds a second, when they were last counted. */
    double skipping;
    /* Seconds since then; what records since then imply that such executions cost; and seconds
     * accounted for them. */
    double uncounted;
    double implied;
    double skipped;
    /* CPU seconds that the last decision took, and those that decisions may take now. */
    double deciding;
    double deciding_tokens;
    /* The factor that was found last; 0: none. */
    double found;
    /* What the records of each type cost on average, as a multiple of a calibrated one; 0 stands
     * for 1. */
    double factors[SPEX_PROBE_TYPES];
    /* Cost of the executions without a record that a record of each type stands for, by the last
     * decision. */
    double implies[SPEX_PROBE_TYPES];
};

extern struct spex_controller spex_controller;

/* A probe's cost as a multiple of the calibrated cost. A probe of which nothing is known is taken
 * to be as dear as the one of which something was found last. */
static inline double spex_controlled_factor(const struct spex_controlled *probe) {
    return probe->factor > 0           ? probe->factor
           : spex_controller.found > 1 ? spex_controller.found
                                       : 1;
}

/* CPUs of whose time the budget is a share: those that the program keeps busy. One that does nothing
 * is taken to do a little, so that there are rates to divide by. */
static inline double spex_controlled_cpus(void) {
    static const double least = 0.01;
    return spex_controller.cpus > least ? spex_controller.cpus : least;
}

/* The period in force while the probe is on. */
static inline uint32_t spex_controlled_period(const struct spex_controlled *probe) {
    uint32_t longer = probe->period > probe->selected ? probe->period : probe->selected;
    return longer ? longer : 1;
}

/* Whether chance chooses records, as where the controller has lengthened a period. */
static inline bool spex_controlled_is_drawn(const struct spex_controlled *probe) {
    return probe->period > 1 && probe->period > probe->selected;
}

/* Notes the time and the accounts of a decision. */
static inline void spex_controller_decided(void) {
    spex_controller.decided = spex_controller.now;
    spex_controller.decided_tokens = spex_controller.budget.tokens;
    spex_controller.decided_ns = spex_controller.collectors_ns;
    spex_controller.decided_spent = spex_controller.spent;
}

#define SPEX_NOT_AT_REST UINT64_MAX

/* Whether there is nothing to decide about a probe. Most of a thousand are so, and what is known of
 * them is in no cache. */
static inline bool spex_controlled_rests(uint32_t index) {
    return spex_controller.at_rest[index] == spex_controller.executions[index];
}

/* Whether a group has the index. Known once executions have been counted. */
static inline bool spex_groups_is(uint32_t index) {
    return spex_site_is_region(spex_site_info(index)) &&
           spex_controller.probes[index].grouped.group == index + 1;
}

/* The index by which is decided about a probe: that of its group, if it is in one. */
static inline uint32_t spex_controlled_by(uint32_t first) {
    uint32_t group = spex_controller.probes[first].grouped.group;
    return group ? group - 1 : first;
}

/* Notes that the probe's executions are not counted for a while. */
static inline void spex_controlled_uncounted(struct spex_controlled *probe) {
    if (probe->frequency > probe->frequency_held)
        probe->frequency_held = probe->frequency;
}

/* Notes that the probe is held off until its next slice. */
static inline void spex_controlled_is_held(const struct spex_controlled *probe) {
    spex_controller.holding = true;
    if (probe->held.until < spex_controller.slice_due)
        spex_controller.slice_due = probe->held.until;
}

/* What a probe takes while it is on, in seconds a second: by the slice before, which may have met no
 * burst, or on average. */
static inline double spex_controlled_taken(const struct spex_controlled *probe) {
    return fmax(probe->taken, probe->taken_mean);
}

/* What a probe on trial takes, or may take as long as nothing is found of its cost: INFINITY where
 * there was no slice before. */
static inline double spex_controlled_takes(const struct spex_controlled *probe) {
    double taken = spex_controlled_taken(probe);
    return probe->held.length <= 0 ? INFINITY
           : probe->factor > 0     ? taken
                                   : fmax(taken, probe->may_take);
}

/* Notes that the probe is on for a trial, which is looked at as soon as decisions may follow. */
static inline void spex_controlled_on_trial(struct spex_controlled *probe) {
    probe->trying = spex_controller.trying = true;
    spex_controller.trial_due = spex_controller.now;
    spex_controller.trial_takes += spex_controlled_takes(probe);
}

/* Begins a new measurement of the frequency now, at `count` executions so far. */
static inline void spex_controlled_measure_from_now(struct spex_controlled *probe, uint64_t count) {
    probe->seen = true;
    probe->count = count;
    probe->measured = spex_controller.now;
}

/* Nothing is decided about the probe any more. */
static inline void spex_controlled_leave(struct spex_controlled *probe) {
    memset(probe, 0, offsetof(struct spex_controlled, counted));
    probe->sliced.cpu_ns = 0; /* What runs is not the next part. */
}

/* Whether something is controlled. */
static inline bool spex_controller_works(void) {
    return spex_controller.probes && !spex_controller.lifted;
}

/* Time that has been used up to now is in no account. */
void spex_controller_read_clocks(void);

/* Goes over to the budget that is to be kept now. The first collector, under the metrics' lock. 1:
 * a budget begins, long after the collection (spex_accounts_from_now); 0; or -ENOMEM: none is
 * kept. */
int spex_controller_adapt(void);

/* Makes the classes of all probes about which there is something to decide, with their first sites;
 * returns how many there are. */
size_t spex_controller_make_classes(void);

/* Whether somebody may hold a budget. */
bool spex_controller_is_asked(void);

#endif
