/* SPDX-License-Identifier: MIT */
/* What the files of the controller share: what it knows of each probe, and of the process. In
 * the first collector's thread, under the metrics' lock. */
#ifndef SPEX_RATE_CONTROLLER_STATE_H
#define SPEX_RATE_CONTROLLER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/rate_policy.h>
#include <spex/record.h>

#include "base/hold_off.h"
#include "rate/budget.h"
#include "rate/collecting_cost.h"
#include "rate/experiment.h"
#include "rate/polling.h"

/* What is known of a probe, by the index of its first site. */
struct spex_controlled {
    /* What follows is known. */
    bool seen;
    /* When it last was measured, in seconds. */
    double measured;
    /* Executions, as of then. */
    uint64_t count;
    /* Executions, as of the last decision. */
    uint64_t counted;
    double frequency;
    struct spex_hold_off held;
    /* It was held off, and has not been measured since. */
    bool trying;
    /* What it costs, as a multiple of what calibration says, by experiment; 0: not known. */
    double factor;
    uint32_t period;
    const char *why;
    /* While its period is SPEX_SITE_POLLED: until when it is probed before it is recorded for a
     * moment. */
    struct spex_hold_off polled;
    struct spex_polling_share share;
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
    /* Seconds since it began. */
    double now;
    /* When it last decided, and the tokens that it then had. */
    double decided;
    double decided_tokens;
    /* As of then, a probe that is selected is held off. */
    bool holding;
    /* A probe that was held off is on, and nothing is known of it yet. */
    bool trying;
    /* It is to decide, whatever the interval. */
    bool overdue;
    /* Until when it is not to decide. */
    double waiting_until;
    /* The policy has failed, and that has been told. */
    bool failed;
    /* As of when accounts are, CLOCK_MONOTONIC. */
    uint64_t monotonic_ns;
    /* When the process's CPU time was last asked for, that time, and what collectors had of it. */
    double process_at;
    uint64_t process_ns;
    uint64_t process_collectors_ns;
    uint64_t collectors_ns;
    /* What samples of kernels by their models have cost. */
    uint64_t looker_ns;
    /* 0: not known yet. */
    double tick_rate;
    /* CPUs that the program keeps busy. */
    double cpus;
    /* Of all those CPUs, since it began. */
    double seconds;
    double spent;
    struct spex_collecting collecting;
    /* Records, when last accounted for. */
    uint64_t produced[SPEX_PROBE_TYPES];
    /* Of each probe, by the index of its first site. */
    uint64_t *executions;
    /* Seconds a second that executions took which made no record, when they were last counted. */
    double skipping;
    /* Seconds accounted for by that since then. */
    double skipped;
    /* Seconds that counting executions takes. */
    double counting;
    /* Of records, the mean over probes; 0: 1. */
    double factors[SPEX_PROBE_TYPES];
};

extern struct spex_controller spex_controller;

/* What a probe costs, as a multiple of what calibration says. */
static inline double spex_controlled_factor(const struct spex_controlled *probe) {
    return probe->factor > 0 ? probe->factor : 1;
}

/* Its next measurement is of executions from now on. `count`: of them so far. */
static inline void spex_controlled_measure_from_now(struct spex_controlled *probe, uint64_t count) {
    probe->seen = true;
    probe->count = count;
    probe->measured = spex_controller.now;
}

#endif
