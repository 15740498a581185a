/* SPDX-License-Identifier: MIT */
/* The controller works in two steps. After each pass of the first collector it accounts for what
 * was spent since the last pass, from the number of records of each type, which is quick
 * (accounts.c). Every SPEX_DECISION_SECONDS, or sooner when the budget is overdrawn, it decides: it
 * counts the executions of each probe, makes a class of each, has the policy divide the budget
 * among the classes, and sets the sites' periods (modes.c). Between decisions it runs experiments
 * (experiments.c).
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
#include "base/grown.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "rate/accounts.h"
#include "rate/budget.h"
#include "rate/controller_state.h"
#include "rate/experiment/experiment.h"
#include "rate/experiments.h"
#include "rate/frequency.h"
#include "rate/modes.h"
#include "rate/occupancy_sampler.h"
#include "rate/polling.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "text/message.h"

#include "policies/rate/rates.h"

/* Looks a second that a polled probe needs. A policy spends all that is left on more looks. */
#define LOOKS_LEAST 10.0

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

/* Measures the frequency, and the share where the policy polls. Executions of a polled probe are
 * not counted. Returns whether a frequency was measured. */
static bool measure_probe(struct spex_controlled *probe, uint32_t first, uint64_t count) {
    bool polled = probe->period == SPEX_SITE_POLLED;
    bool measured = !polled && spex_frequency_measure(first, probe, count);
    if (polled)
        spex_controlled_measure_from_now(probe, count);
    if (spex_polling_policy(spex_controller.policy) && (polled || measured))
        spex_polling_measure(&probe->share, first, polled, probe->frequency);
    return measured;
}

/* Notes when to look at a probe on trial again: after as long as it has been on, so that the looks
 * at a rare probe cost little, or when its slice is over. */
static void note_trial(const struct spex_controlled *probe) {
    double on = spex_controller.now - probe->measured;
    double end = on < probe->slice ? probe->slice : SPEX_DECISION_SECONDS;
    spex_controller.trying = true;
    spex_controller.trial_due =
        fmin(spex_controller.trial_due, probe->measured + fmin(2 * on, end));
    spex_controller.trial_takes += spex_controlled_takes(probe);
    spex_modes_note_sliced(probe->taken);
}

/* The most frequent probe that is recorded, not in slices itself, is the witness of slices. That of
 * the last decision stays unless another is twice as frequent: two may execute equally often.
 * Passes through regions are not counted well enough. */
static void note_witness(uint32_t first, const struct spex_controlled *probe) {
    double weight = probe->frequency * (first == spex_controller.witness ? 2 : 1);
    if (probe->tried > 0 || weight <= spex_controller.next_weight || spex_groups_is(first))
        return;
    spex_controller.next_weight = weight;
    spex_controller.next_witness = first;
}

/* Notes what a probe that is recorded demands of the budget. */
static void note_demand(uint32_t first, struct spex_controlled *probe,
                        const struct spex_rate_class *class) {
    probe->demand = class->frequency * class->detect_cost + class->wanted * class->report_cost;
    spex_controller.demand += probe->demand;
    spex_controller.recorded++;
    note_witness(first, probe);
}

/* Notes what the records of a probe cost whose first measurement takes longer. Before it begins
 * nothing is known. */
static void note_unknown(const struct spex_controlled *probe, uint64_t count, double cost) {
    double seconds = spex_controller.now - probe->measured;
    if (seconds > 0)
        spex_controller.unknown += (double)spex_grown(probe->count, count) / seconds * cost;
}

/* Whether nothing is to be decided about the probe until it is executed. */
static bool is_at_rest(const struct spex_controlled *probe) {
    return !probe->trying && probe->tried <= 0 && !probe->period && probe->frequency <= 0 &&
           !spex_polling_policy(spex_controller.policy);
}

/* Whether a probe has not been executed since it was switched on. Of a thousand most are not, and to
 * look at each again and again took a collector 4 ms at the start. */
static bool is_unexecuted(const struct spex_controlled *probe, uint64_t count) {
    return probe->trying && probe->tried <= 0 && !probe->period && probe->count == count &&
           probe->measured < spex_controller.now && !spex_polling_policy(spex_controller.policy);
}

static void set_at_rest(uint32_t index, bool rests) {
    spex_controller.at_rest[index] = rests ? spex_controller.executions[index] : SPEX_NOT_AT_REST;
}

static bool has_rested(uint32_t index) {
    return spex_controller.at_rest[index] != SPEX_NOT_AT_REST;
}

/* Begins the first measurement of a probe that has been switched on. Passes come soon until it is
 * over, since nothing is known of its cost. */
static void probe_first_measured(struct spex_controlled *probe, uint64_t count) {
    spex_controlled_measure_from_now(probe, count);
    probe->trying = true;
    probe->since = spex_controller.now;
}

/* The probe was left alone until now: its executions are those since the last decision. If it was
 * never executed before, it was selected at an earlier one. A first measurement ends after the
 * interval of decisions. */
static void probe_wake(struct spex_controlled *probe, uint32_t selected) {
    probe->measured = fmax(probe->measured, spex_controller.decided);
    if (!probe->selected && selected && spex_controller.reselected < spex_controller.now) {
        probe->seen = probe->trying = true;
        probe->since = spex_controller.reselected;
        probe->selected = selected;
    }
    if (spex_controller.now - probe->since >= SPEX_DECISION_SECONDS)
        probe->trying = false;
}

/* Slices that begin at one decision take together at most so many times the budget, and none begin
 * in debt; but some may in any case. */
#define SLICES_AT_ONCE_TIMES 2.0
#define SLICES_AT_ONCE       8

/* Whether a probe that is held off is on from now. Of a thousand in slices most are due where
 * decisions are too dear to be made in time: the others wait for the next one. */
static bool may_begin_slice(const struct spex_controlled *probe) {
    if (probe->held.until > spex_controller.now)
        return false;
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double most = spex_controller.budget.tokens > 0 ? SLICES_AT_ONCE_TIMES * steady : 0;
    if (spex_controller.beginning >= SLICES_AT_ONCE && spex_controller.beginning_takes > most)
        return false;
    spex_controller.beginning++;
    spex_controller.beginning_takes += fmax(probe->taken, probe->taken_mean);
    return true;
}

/* Fills in the class of a probe for the policy. False: there is nothing to decide, since the probe
 * is off, polled by the user's selection, held off, or on for a trial. */
static bool probe_make_class(uint32_t first, struct spex_probe_state state,
                             struct spex_rate_class *class) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    uint64_t count = spex_controller.executions[first];
    if (has_rested(first))
        probe_wake(probe, state.by_hand ? 0 : state.selected);
    set_at_rest(first, !state.selected);
    if (state.by_hand && probe->period)
        spex_probe_throttle(first, 0);
    if (!state.selected || state.by_hand) {
        spex_mode_leave_slices(first, probe);
        spex_controlled_leave(probe);
    }
    if (!state.selected || state.by_hand || probe->held.until > 0)
        spex_controlled_measure_from_now(probe, count);
    if (!state.selected || state.by_hand)
        return false;
    if (!probe->selected)
        probe_first_measured(probe, count);
    probe->selected = state.selected;
    if (probe->held.until > 0 && !may_begin_slice(probe)) {
        spex_controlled_is_held(probe);
        spex_modes_note_sliced(probe->taken);
        spex_probe_throttle(first, SPEX_SITE_HELD);
        return false;
    }
    *class = (struct spex_rate_class){
        .name = spex_site_info(first)->name, .weight = 1, .min_frequency = SPEX_RECORDS_LEAST};
    /* A probe that is to be tried again: its frequency is not known. */
    if (probe->held.until > 0) {
        spex_modes_note_slice(first);
        probe->demand = 0;
        spex_modes_note_sliced(probe->taken);
        return true;
    }
    if (is_unexecuted(probe, count)) {
        set_at_rest(first, true);
        return false;
    }
    if (measure_probe(probe, first, count))
        probe->trying = false;
    if (probe->period == SPEX_SITE_POLLED && probe->polled.until <= spex_controller.now) {
        spex_mode_count_again(first, probe);
        return false;
    }
    if (spex_polling_policy(spex_controller.policy) && probe->frequency <= 0) {
        spex_mode_record_all(first, probe);
        return false;
    }
    if (spex_polling_policy(spex_controller.policy)) {
        class->share = probe->share.share;
        class->min_frequency = LOOKS_LEAST;
    }
    class->frequency = probe->frequency;
    class->wanted = probe->frequency / state.selected;
    spex_accounts_careful_costs(first, &class->detect_cost, &class->report_cost);
    class->report_cost += spex_controller.collecting.record * spex_groups_recorded(first);
    if (probe->trying)
        note_trial(probe);
    else
        note_demand(first, probe, class);
    if (probe->trying && !probe->period)
        note_unknown(probe, count, class->report_cost);
    set_at_rest(first, is_at_rest(probe));
    return !probe->trying;
}

/* Adds a member to the state of its group. That is polled by hand where all members that are
 * selected are; otherwise its period is the shortest of the others'. */
static void group_add(struct spex_probe_state *group, const struct spex_probe_state *member) {
    bool first = !group->selected;
    if (!member->selected)
        return;
    if (first || (!member->by_hand && (group->by_hand || member->selected < group->selected)))
        group->selected = member->selected;
    group->by_hand = member->by_hand && (first || group->by_hand);
}

/* What may have something to decide about it: what is not at rest; where others were selected, also
 * what rests, but no probe that has never been executed, unless it may stand in a region. */
enum scope { AWAKE, EXECUTED, ALL };

static bool is_in_scope(uint32_t index, enum scope scope) {
    return scope == ALL || !spex_controlled_rests(index) ||
           (scope == EXECUTED && spex_controller.executions[index]);
}

/* Returns the first probe from `index` on about which there may be something to decide: most of a
 * thousand are at rest, and what is known of them is in no cache, or in no memory yet. */
static uint32_t next_probe(uint32_t index, enum scope scope) {
    uint32_t sites = spex_sites_count();
    for (;;) {
        while (index < sites && !is_in_scope(index, scope))
            index++;
        uint32_t next = spex_profile_next_probe(index);
        for (; index < next && index < sites; index++)
            set_at_rest(index, !spex_site_is_region(spex_site_info(index)));
        if (index >= sites || is_in_scope(index, scope))
            return index;
    }
}

/* Makes the classes of all probes; returns how many there are. */
static size_t make_classes(void) {
    uint32_t selections = spex_sites_selections();
    size_t count = 0;
    bool regions = spex_sites_of_probes() != spex_sites_count();
    enum scope scope = regions ? ALL : EXECUTED;
    if (selections == spex_controller.selections)
        scope = AWAKE;
    else
        spex_controller.reselected = spex_controller.now;
    for (uint32_t i = 0; regions && i < spex_sites_count(); i++)
        if (spex_groups_is(i))
            spex_controller.probes[i].grouped.state = (struct spex_probe_state){0};
    spex_controller.selections = selections;
    for (uint32_t i = next_probe(0, scope); i < spex_sites_count(); i = next_probe(i + 1, scope)) {
        const struct spex_probe_state state = spex_probe_state(i, spex_ticks());
        const struct spex_slices_time passed = {(double)state.on_ticks, (double)state.held_ticks};
        struct spex_controlled *probe = &spex_controller.probes[i];
        spex_slices_pass(&probe->slices, &passed, has_rested(i) ? -1 : spex_controller.running);
        uint32_t by = spex_controlled_by(i);
        if (by != i) {
            group_add(&spex_controller.probes[by].grouped.state, &state);
            set_at_rest(i, false);
        } else if (probe_make_class(i, state, &spex_controller.classes[count])) {
            spex_controller.firsts[count++] = i;
        }
    }
    for (uint32_t i = 0; regions && i < spex_sites_count(); i++)
        if (spex_groups_is(i) && probe_make_class(i, spex_controller.probes[i].grouped.state,
                                                  &spex_controller.classes[count]))
            spex_controller.firsts[count++] = i;
    return count;
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
    size_t count = make_classes();
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

/* Decides when the interval is over, unless a session runs or decisions have taken too much. */
static int controller_pass(void) {
    controller_account();
    spex_controller.overdue |= spex_sites_selections() != spex_controller.selections;
    bool busy = spex_experiments_pass(), rush = spex_experiments_rush();
    double since = spex_controller.now - spex_controller.decided;
    int err = 0;
    bool paid = decisions_wait() <= 0;
    bool due = rush || spex_controller.rising || spex_controller.now >= next_look() ||
               (paid && spex_experiments_overdrawn());
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
    if (!spex_controller.holding && !spex_controller.trying)
        return UINT64_MAX;
    double rest = next_look() - spex_controller.now;
    return (uint64_t)(fmin(fmax(rest, SPEX_DECISION_SECONDS_RUSH), SPEX_DECISION_SECONDS) * 1e9) +
           1;
}

bool spex_controller_holds(void) {
    return spex_controller.holding || spex_experiment_running();
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
