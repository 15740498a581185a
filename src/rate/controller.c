/* SPDX-License-Identifier: MIT */
/* The controller works in two steps. After each pass of the first collector it accounts for what
 * was spent since the last pass, from the number of records of each type, which is quick
 * (accounts.c). Every SPEX_DECISION_SECONDS, or sooner when the budget is overdrawn, it decides: it
 * counts the executions of each probe, makes a class of each (classes.c), has the policy divide the
 * budget among the classes, and sets the sites' periods (modes.c). Between decisions it runs
 * experiments (experiments.c).
 *
 * All runs in the first collector's thread, under the metrics' lock; begin and end run in the
 * thread that starts and stops spex. */
#define _GNU_SOURCE
#include "rate/controller.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <spex/probe.h>
#include <spex/rate_policy.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "collect/metrics.h"
#include "rate/accounts.h"
#include "rate/budget.h"
#include "rate/controller_state.h"
#include "rate/experiment/experiment.h"
#include "rate/experiments.h"
#include "rate/frequency.h"
#include "rate/modes.h"
#include "rate/occupancy_sampler.h"
#include "rate/polling.h"
#include "site/registry.h"
#include "text/message.h"

/* Seconds that a look is taken to cost before the first look. */
#define SAMPLE_COST 5e-6

/* Share of the budget for decisions, and for how many seconds it can be saved: where a decision
 * takes long, as with a thousand probes, they are rarer. */
#define DECIDING_SHARE   0.25
#define DECIDING_SECONDS 0.4

/* Largest share of the budget for executions without a record, so that something is left for
 * records: a little less than policies allow. */
#define DETECTION_MOST 0.94

void spex_controller_charge(uint64_t ns) {
    spex_metrics_lock();
    if (spex_controller_works())
        spex_accounts_charge(ns);
    spex_metrics_unlock();
}

/* Share of the steady rate that executions without records may take in a debt of more than
 * DEEP_SECONDS' worth: by and by half, at twice that, since a debt that they keep up would not
 * end. */
#define DEEP_SECONDS 0.5

static double detection_share(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double owed = -spex_controller.budget.tokens / steady;
    if (spex_polling_policy(spex_controller.policy))
        return 1;
    return 1 - 0.5 * fmin(fmax(owed / DEEP_SECONDS - 1, 0), 1);
}

/* Returns the seconds a second that the policy may spend now. Where the budget is overdrawn, first
 * records are saved: as long as executions without records fit into the steady rate, or in a deep
 * debt into half of it, no probe is held off for their cost. */
static double spending_allowed(size_t count) {
    /* Where probes are polled, the looks' cost includes the collector's passes. */
    double resting =
        spex_polling_policy(spex_controller.policy) ? 0 : spex_controller.collecting.rest;
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus()) - resting;
    double rate = spex_budget_rate(&spex_controller.budget, spex_controlled_cpus()) - resting;
    double detection = 0;
    for (size_t c = 0; c < count && !spex_polling_policy(spex_controller.policy); c++)
        detection += spex_controller.classes[c].frequency * spex_controller.classes[c].detect_cost;
    if (spex_polling_policy(spex_controller.policy))
        detection = spex_polling_base(spex_controller.classes, count);
    steady -= spex_modes_reserved();
    rate -= spex_modes_reserved();
    double least = fmax(fmin(detection / DETECTION_MOST, detection_share() * steady), 0);
    return fmax(rate, least);
}

/* Holds off the probe of a class without asking the policy. Returns the number of classes that are
 * left. */
static size_t hold_class(size_t class, size_t count) {
    uint32_t first = spex_controller.firsts[class];
    spex_mode_hold(first, &spex_controller.probes[first],
                   "held off: its executions alone cost more than the budget");
    spex_probe_throttle(first, SPEX_SITE_HELD);
    spex_controller.classes[class] = spex_controller.classes[count - 1];
    spex_controller.firsts[class] = spex_controller.firsts[count - 1];
    return count - 1;
}

/* Holds off the dearest probes while polling all of them would exceed the budget. Returns the
 * number of classes that are left. */
static size_t hold_dearest_probes(size_t count) {
    double most =
        DETECTION_MOST * spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    while (count > 0 && spex_polling_base(spex_controller.classes, count) > most)
        count = hold_class(spex_polling_dearest(spex_controller.classes, count), count);
    return count;
}

/* Holds off again, after their slices, probes whose executions alone cost more than the budget, so
 * that the policy decides about the others as if these were not there. Returns the number of
 * classes that are left. */
static size_t hold_probes_in_slices(size_t count) {
    double most = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    for (size_t c = count; c-- > 0;) {
        const struct spex_rate_class *class = &spex_controller.classes[c];
        const struct spex_controlled *probe = &spex_controller.probes[spex_controller.firsts[c]];
        if (probe->held.until <= 0 && probe->tried > 0 &&
            class->frequency * class->detect_cost > most)
            count = hold_class(c, count);
    }
    return count;
}

/* The problem's sample_cost: seconds a look. */
static double sample_cost(void) {
    double cost = spex_occupancy_sampler_cost();
    return cost > 0 ? cost : SAMPLE_COST;
}

/* Has probes make fewer records whose first measurement takes longer, where all records of these
 * cost more than half of the budget: of a thousand that are executed seldom each makes few, and all
 * make many. */
static void limit_unknown(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double period = ceil(fmin(2 * spex_controller.unknown / steady, SPEX_CONTROL_PERIOD_MAX));
    if (period <= 1)
        return;
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        struct spex_controlled *probe = &spex_controller.probes[i];
        if (!probe->trying || probe->period || !probe->seen || probe->held.until > 0)
            continue;
        probe->period = (uint32_t)period;
        spex_probe_throttle(i, probe->period);
    }
}

/* Decides about all probes. 0, or the policy's error, after which all periods stay. */
static int decide_about_probes(void) {
    double seconds = spex_controller.now - spex_controller.decided;
    spex_accounts_note_cpus();
    spex_accounts_count_executions(seconds);
    spex_accounts_note_collecting();
    spex_controller.beginning = 0;
    spex_controller.beginning_takes = spex_controller.trial_takes;
    spex_controller.holding = spex_controller.trying = spex_controller.overdue = false;
    spex_controller.rising = false;
    spex_controller.slice_due = spex_controller.trial_due = INFINITY;
    spex_controller.trial_takes = spex_controller.unknown = 0;
    spex_controller.sliced = spex_controller.dear = spex_controller.recorded = 0;
    spex_controller.cheap = 0;
    spex_controller.demand = spex_controller.next_weight = 0;
    size_t count = spex_controller_make_classes();
    spex_controller.witness = spex_controller.next_witness;
    limit_unknown();
    count = hold_probes_in_slices(count);
    if (spex_polling_policy(spex_controller.policy))
        count = hold_dearest_probes(count);
    struct spex_rate_problem problem = {.size = sizeof(problem),
                                        .budget = spending_allowed(count),
                                        .sample_cost = sample_cost(),
                                        .class_count = count,
                                        .classes = spex_controller.classes};
    if (spex_polling_policy(spex_controller.policy))
        spex_polling_without_base(&problem, spex_controller.classes);
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = spex_controller.decisions};
    spex_controller.surprise = spex_controller.decided_tokens - spex_controller.budget.tokens;
    spex_controller_decided();
    int err = spex_controller.policy->decide(&problem, spex_controller.workspace, &plan);
    if (err)
        return err;
    for (size_t c = 0; c < count; c++)
        spex_mode_apply(spex_controller.firsts[c], &spex_controller.classes[c],
                        &spex_controller.decisions[c]);
    spex_polling_apply(&plan, count);
    spex_accounts_expect(count);
    spex_experiments_begin(count);
    return 0;
}

/* Seconds a second that decisions may take. */
static double deciding_rate(void) {
    return DECIDING_SHARE * spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
}

static int controller_decide(void) {
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int err = decide_about_probes();
    spex_controller.deciding = (double)(spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e9;
    spex_controller.deciding_tokens -= spex_accounts_decision_cost();
    return err;
}

/* Seconds until decisions that nothing hurries may be paid for. */
static double decisions_wait(void) {
    return fmax(-spex_controller.deciding_tokens / deciding_rate(), 0);
}

/* Says once in a collection what fails. Not under the lock: the message may block. */
static void report_failure(int err) {
    if (err && !spex_controller.failed && !spex_controller.probes)
        spex_message("the budget that a command has asked for is not kept: %s", strerror(-err));
    else if (err && !spex_controller.failed)
        spex_message("the rate policy %s cannot decide: %s; periods stay as they are",
                     spex_controller.policy->name, strerror(err < 0 ? -err : err));
    spex_controller.failed |= err != 0;
}

/* The time at which a slice is to begin, or a probe on trial is to be looked at. A look that cannot
 * be paid for waits, but no longer than until the probes on trial have taken as much. */
static double next_look(void) {
    double paid = spex_controller.now + decisions_wait();
    double dearer =
        spex_controller.trial_due + spex_accounts_decision_cost() / spex_controller.trial_takes;
    return fmin(fmax(spex_controller.slice_due, paid),
                fmax(spex_controller.trial_due, fmin(paid, dearer)));
}

/* Accounts after every pass. */
static void controller_account(void) {
    double before = spex_controller.now, rate;
    spex_controller.passes++;
    spex_accounts_advance(spex_clock_ns(CLOCK_MONOTONIC));
    rate = deciding_rate();
    spex_controller.deciding_tokens =
        fmin(spex_controller.deciding_tokens + rate * (spex_controller.now - before),
             rate * DECIDING_SECONDS);
}

/* Whether another selection is to be decided about. */
static bool is_reselected(void) {
    return spex_sites_selections() != spex_controller.selections;
}

/* Decides when the interval is over, unless a session runs or decisions have taken too much. */
static int controller_pass(void) {
    controller_account();
    bool busy = spex_experiments_pass(), rush = spex_experiments_rush();
    double since = spex_controller.now - spex_controller.decided;
    int err = 0;
    bool paid = decisions_wait() <= 0;
    bool due = rush || spex_controller.rising || spex_controller.now >= next_look() ||
               (paid && spex_experiments_overdrawn());
    spex_controller.overdue |= paid && is_reselected();
    bool over = due ? since >= SPEX_DECISION_SECONDS_RUSH : since >= SPEX_DECISION_SECONDS && paid;
    if (!busy && (spex_controller.overdue || over))
        err = controller_decide();
    return err;
}

/* `probes` is set by the first collector alone, once it runs. */
void spex_controller_pass(void) {
    if (!spex_controller.probes && !spex_controller_is_asked())
        return;
    spex_metrics_lock();
    int err = spex_controller_adapt();
    if (err > 0)
        spex_accounts_from_now();
    if (err >= 0)
        err = spex_controller_works() ? controller_pass() : 0;
    spex_metrics_unlock();
    report_failure(err);
}

/* The last executions are counted, so that the totals have no assumed cost in them. */
void spex_controller_close_accounts(uint64_t end_ns) {
    if (!spex_controller_works())
        return;
    spex_metrics_lock();
    spex_accounts_advance(end_ns);
    spex_accounts_count_executions(spex_controller.now - spex_controller.decided);
    spex_metrics_unlock();
}

/* 1 ns more, so that a slice is over when the pass comes. */
uint64_t spex_controller_due_ns(void) {
    if (!spex_controller_works())
        return UINT64_MAX;
    if (spex_experiment_running())
        return (uint64_t)(spex_experiment_due(spex_controller.now) * 1e9) + 1;
    if (spex_controller.overdue || spex_controller.rising)
        return (uint64_t)(SPEX_DECISION_SECONDS_RUSH * 1e9);
    if (is_reselected())
        return (uint64_t)(fmax(decisions_wait(), SPEX_DECISION_SECONDS_RUSH) * 1e9);
    if (!spex_controller.holding && !spex_controller.trying)
        return UINT64_MAX;
    double rest = next_look() - spex_controller.now;
    return (uint64_t)(fmin(fmax(rest, SPEX_DECISION_SECONDS_RUSH), SPEX_DECISION_SECONDS) * 1e9) +
           1;
}

/* A selection that waits until its decision can be paid may have all its probes held off. */
bool spex_controller_holds(void) {
    return spex_controller.holding || spex_experiment_running() ||
           (spex_controller_works() && is_reselected());
}

struct spex_controller_view spex_controller_look(uint32_t first) {
    if (!spex_controller_works())
        return (struct spex_controller_view){.why = NULL};
    uint32_t by = spex_controlled_by(first);
    const struct spex_controlled *probe = &spex_controller.probes[by];
    return (struct spex_controller_view){
        .frequency = by == first ? probe->frequency : 0,
        .frequency_held = by == first ? probe->frequency_held : 0,
        .period = probe->period,
        .factor = probe->factor,
        .why = probe->why,
    };
}

struct spex_controller_totals spex_controller_totals(void) {
    return (struct spex_controller_totals){
        .policy = spex_controller_works() ? spex_controller.policy->name : NULL,
        .share = spex_controller_works() ? spex_controller.budget.share : 0,
        .seconds = spex_controller.seconds,
        .spent = spex_controller.spent,
    };
}
