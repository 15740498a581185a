/* SPDX-License-Identifier: MIT */
/* The controller: keeps the cost of probes within the user's budget, by setting the periods of
 * their sites. It runs in the first collector, which calls it after each pass. */
#ifndef SPEX_RATE_CONTROLLER_H
#define SPEX_RATE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "rate/slices.h"
#include "site/registry.h"

/* The controller's view of a probe. */
struct spex_controller_view {
    double frequency; /* executions a second */
    /* The highest frequency when it was held off or polled, so that executions were not counted. */
    double frequency_held;
    uint32_t period; /* as spex_probe_throttle has it */
    double factor;   /* of its calibrated cost, by experiment; 0: not known */
    const char *why; /* reason, a constant; NULL: not decided yet */
};

/* A collection begins. `share`: of the program's CPU time; 0: nothing is controlled, unless somebody
 * holds a budget. `policy`, NULL: nothing is controlled at all, divides the budget, and stays valid
 * until spex_controller_end(). To be called before the metrics begin. Takes the metrics' lock. 0 or
 * -ENOMEM. */
int spex_controller_begin(double share, const struct spex_rate_policy_ops *policy);

/* Frees everything. No collector may run, and nobody may ask for views or totals any more. Also in
 * the child of a fork. */
void spex_controller_end(void);

/* Holds a budget for so long as the lease says, as its holder; 0 ms: until it is ended. The least
 * budget that holds is kept.
 * Takes the metrics' lock. 0; -EUSERS: too many hold one. */
int spex_controller_hold(const struct spex_lease *lease, double share);

/* Has what its holder holds last for so long from now on; 0: ends it. Takes the metrics' lock. */
void spex_controller_renew(const struct spex_lease *lease);

/* Takes CPU time that a thread has spent on a start or a selection from the budget, if there is
 * one. Takes the metrics' lock. */
void spex_controller_charge(uint64_t ns);

/* CPU time a second that reports to commands may take of the budget; INFINITY: there is none. Takes the
 * metrics' lock. */
double spex_controller_reports(void);

/* Accounts, and decides if a decision is due. The first collector alone, after each pass. Takes the
 * metrics' lock. */
void spex_controller_pass(void);

/* The metrics have ended: accounts for the rest, up to `end_ns` (CLOCK_MONOTONIC), when the last
 * collector had ended. Takes the metrics' lock. */
void spex_controller_close_accounts(uint64_t end_ns);

/* Nanoseconds from the last pass after which the next pass is due; UINT64_MAX: at any time. The
 * first collector alone. */
uint64_t spex_controller_due_ns(void);

/* Whether passes are needed though no site is on: a probe that is held off is to be tried again, or a
 * selection waits for its decision. The first collector alone. */
bool spex_controller_holds(void);

/* The view of the probe with the first site `first`. Under the metrics' lock. */
struct spex_controller_view spex_controller_look(uint32_t first);

/* The executions of the probe with the first site `first` while it was held off, by what its slices
 * have counted. `passed`: by its clocks, in ticks. A margin below 0: it was in none. Under the
 * metrics' lock. */
struct spex_held_executions spex_controller_held(uint32_t first, double count,
                                                 const struct spex_slices_time *passed);

struct spex_controller_totals {
    /* Valid as long as the collection; NULL: nothing is controlled. */
    const char *policy;
    /* The budget's share; 0: none. */
    double share;
    /* Time of all CPUs that the program kept busy since the beginning. */
    double seconds;
    /* Estimate of what probes and collectors took of it, in seconds. */
    double spent;
};

/* Under the metrics' lock. */
struct spex_controller_totals spex_controller_totals(void);

#endif
