/* SPDX-License-Identifier: MIT */
/* The controller works in two steps. After each pass it accounts for what was spent since the
 * last one, by the records of each type alone, which is quick (accounts.c). Every so often, or
 * as soon as the budget is overdrawn, it decides anew: how often each probe executes, how many
 * records of each the budget can pay, and with which periods. Between decisions it has
 * experiments (experiments.c). */
#define _GNU_SOURCE
#include "rate/controller.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <spex/rate_policy.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "rate/accounts.h"
#include "rate/budget.h"
#include "rate/collecting_cost.h"
#include "rate/controller_state.h"
#include "rate/experiment.h"
#include "rate/experiments.h"
#include "rate/occupancy_sampler.h"
#include "rate/period.h"
#include "rate/polling.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "text/message.h"

#include "policies/rate/rates.h"

/* Between decisions, in seconds; the second when the budget is overdrawn or a probe is being
 * tried, which may cost more than all that is saved. */
#define INTERVAL      0.1
#define INTERVAL_RUSH 0.002

/* Records a second that a probe gets if it executes so often, before others get more. */
#define RECORDS_LEAST 100.0

/* Or looks, where it is probed: a policy gives all that is left for more. */
#define LOOKS_LEAST 10.0

/* A probe that is probed is not counted: after so long, and after twice as long each time that
 * it comes to the same, it is recorded for a moment. */
#define POLLED_SECONDS     1.0
#define POLLED_SECONDS_MAX 16.0

/* Of a look, in seconds, before there was one. */
#define SAMPLE_COST 5e-6

/* So many executions tell how often there are any, however short the time. */
#define EXECUTIONS_SURE 20.0

/* Counting executions may take so much of one CPU; where it takes long, it is done less often. */
#define COUNTING_SHARE      0.005
#define COUNTING_SHARE_RUSH 0.1

/* In so many seconds half of what a frequency was too high is forgotten: bursts are remembered
 * as long, whether it is measured often or not. */
#define FALL_SECONDS 0.06

/* What executes less often than that does not execute. */
#define FREQUENCY_LEAST 1e-3

/* What executions may take of the budget, so that something is left for records: a little less
 * than policies let them. */
#define DETECTION_MOST 0.94

static void buffers_free(void) {
    free(spex_controller.probes);
    free(spex_controller.classes);
    free(spex_controller.decisions);
    free(spex_controller.subjects);
    free(spex_controller.firsts);
    free(spex_controller.executions);
    free(spex_controller.workspace);
    memset(&spex_controller, 0, sizeof(spex_controller));
}

static int buffers_allocate(void) {
    size_t workspace = spex_controller.policy->workspace_size(SPEX_MAX_SITES);
    spex_controller.probes = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.probes));
    spex_controller.classes = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.classes));
    spex_controller.decisions = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.decisions));
    spex_controller.subjects = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.subjects));
    spex_controller.firsts = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.firsts));
    spex_controller.executions = calloc(SPEX_MAX_SITES, sizeof(*spex_controller.executions));
    spex_controller.workspace = malloc(workspace ? workspace : 1);
    return spex_controller.probes && spex_controller.classes && spex_controller.decisions &&
                   spex_controller.subjects && spex_controller.firsts &&
                   spex_controller.executions && spex_controller.workspace
               ? 0
               : -ENOMEM;
}

static int controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    buffers_free();
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spex_rings_alarm_at(t, INFINITY);
    if (!policy || share <= 0)
        return 0;
    spex_controller.policy = policy;
    if (buffers_allocate() != 0) {
        buffers_free();
        return -ENOMEM;
    }
    spex_budget_begin(&spex_controller.budget, share);
    spex_experiment_reset(spex_clock_ns(CLOCK_MONOTONIC));
    spex_controller.monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_controller.process_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    spex_controller.collectors_ns = spex_collectors_cpu_ns();
    spex_controller.looker_ns = spex_sampling_budget_spent_ns();
    spex_controller.process_collectors_ns = spex_controller.collectors_ns;
    spex_collecting_begin(&spex_controller.collecting, spex_controller.collectors_ns);
    spex_controller.cpus = 1;
    return 0;
}

/* The control thread may be looking at what there was before. */
int spex_controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    spex_metrics_lock();
    int err = controller_begin(share, policy);
    spex_metrics_unlock();
    return err;
}

void spex_controller_end(void) {
    spex_controller_begin(0, NULL);
}

/* What the probe has done since it was last measured. False: of few executions in a short time
 * nothing follows. */
static bool measure_executions(struct spex_controlled *probe, uint64_t count) {
    double executions = (double)spex_grown(probe->count, count);
    if (!probe->seen)
        probe->measured = spex_controller.decided;
    probe->seen = true;
    double seconds = spex_controller.now - probe->measured;
    if (seconds < INTERVAL_RUSH || (seconds < INTERVAL && executions < EXECUTIONS_SURE))
        return false;
    double fresh = executions / seconds;
    /* Quick to rise, slow to fall; but what was before it was held off is no reason to hold it
     * off again. */
    bool rises = fresh > probe->frequency || probe->trying;
    double kept = rises ? 0 : exp2(-seconds / FALL_SECONDS);
    probe->frequency = fresh + (probe->frequency - fresh) * kept;
    if (probe->frequency < FREQUENCY_LEAST)
        probe->frequency = 0;
    probe->count = count;
    probe->measured = spex_controller.now;
    return true;
}

/* Of one that is only probed nothing is counted. */
static bool measure_all(struct spex_controlled *probe, uint32_t first, uint64_t count) {
    bool probed = probe->period == SPEX_SITE_POLLED;
    bool measured = !probed && measure_executions(probe, count);
    if (probed)
        spex_controlled_measure_from_now(probe, count);
    if (spex_polling_policy(spex_controller.policy) && (probed || measured))
        spex_polling_measure(&probe->share, first, probed, probe->frequency);
    return measured;
}

/* Few records for a moment, to see how often it executes. */
static void count_again(uint32_t first, struct spex_controlled *probe) {
    probe->trying = spex_controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, RECORDS_LEAST);
    probe->why = "recorded for a moment, as executions that are probed are not counted";
    spex_probe_throttle(first, probe->period);
}

/* Of what does not execute nothing can be known, but that it costs nothing. */
static void record_all(uint32_t first, struct spex_controlled *probe) {
    probe->trying = false;
    probe->period = 0;
    probe->why = "traced: it hardly executes";
    spex_probe_throttle(first, 0);
}

/* False: nothing is to be decided, as it is off, probed by its user's wish, or still being
 * tried. */
static bool look_at(uint32_t first, struct spex_rate_class *class) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    struct spex_probe_state state = spex_probe_state(first, 0);
    uint64_t count = spex_controller.executions[first];
    if (state.by_hand && probe->period)
        spex_probe_throttle(first, 0);
    if (!state.selected || state.by_hand)
        *probe = (struct spex_controlled){.counted = probe->counted, .factor = probe->factor};
    if (!state.selected || state.by_hand || probe->held.until > 0)
        spex_controlled_measure_from_now(probe, count);
    if (!state.selected || state.by_hand)
        return false;
    if (probe->held.until > spex_controller.now) {
        spex_controller.holding = true;
        spex_probe_throttle(first, SPEX_SITE_HELD);
        return false;
    }
    *class = (struct spex_rate_class){
        .name = spex_site_info(first)->name, .weight = 1, .min_frequency = RECORDS_LEAST};
    if (probe->held.until > 0) /* to be tried again, of which nothing is known beforehand */
        return true;
    if (measure_all(probe, first, count))
        probe->trying = false;
    if (probe->period == SPEX_SITE_POLLED && probe->polled.until <= spex_controller.now) {
        count_again(first, probe);
        return false;
    }
    if (spex_polling_policy(spex_controller.policy) && probe->frequency <= 0) {
        record_all(first, probe);
        return false;
    }
    if (spex_polling_policy(spex_controller.policy)) {
        class->share = probe->share.share;
        class->min_frequency = LOOKS_LEAST;
    }
    class->frequency = probe->frequency;
    class->wanted = probe->frequency / state.selected;
    spex_accounts_probe_costs(first, &class->detect_cost, &class->report_cost);
    class->report_cost += spex_controller.collecting.record;
    spex_controller.trying |= probe->trying;
    return !probe->trying;
}

static size_t look_at_all(void) {
    size_t count = 0;
    for (uint32_t i = spex_profile_next_probe(0); i < spex_sites_count();
         i = spex_profile_next_probe(i + 1))
        if (look_at(i, &spex_controller.classes[count]))
            spex_controller.firsts[count++] = i;
    return count;
}

static void hold_probe(struct spex_controlled *probe, const char *why) {
    spex_hold_off(&probe->held, spex_controller.now, SPEX_HOLD_OFF_SECONDS,
                  SPEX_HOLD_OFF_SECONDS_MAX);
    probe->period = SPEX_SITE_HELD;
    spex_controller.holding = true;
    probe->why = why;
}

/* With few records, so that it costs no more than it must. Collectors may be asleep for want of
 * any. */
static void try_again(struct spex_controlled *probe) {
    probe->held.until = 0;
    probe->trying = spex_controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, RECORDS_LEAST);
    probe->why = "tried again";
}

static void give_period(struct spex_controlled *probe, const struct spex_rate_class *class,
                        const struct spex_rate_decision *decision) {
    bool all = decision->frequency >= spex_rate_most(class);
    double exact = all ? 1 : spex_period_exact(class->frequency, decision->frequency);
    if (spex_period_differs(probe->period, exact))
        probe->period = all ? 0 : spex_period_whole(class->frequency, decision->frequency);
    probe->held.length = 0;
    probe->polled.length = 0;
    probe->why = decision->reason;
}

static void leave_to_prober(struct spex_controlled *probe, const char *why) {
    if (probe->period != SPEX_SITE_POLLED)
        spex_hold_off(&probe->polled, spex_controller.now, POLLED_SECONDS, POLLED_SECONDS_MAX);
    probe->period = SPEX_SITE_POLLED;
    probe->held.length = 0;
    probe->why = why;
}

/* What was decided becomes the probe's period. It is said again when it is the same: sites may
 * have been off by selection in between, or have been loaded since. */
static void apply_decision(uint32_t first, const struct spex_rate_class *class,
                           const struct spex_rate_decision *decision) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    uint32_t before = probe->period;
    if (probe->held.until > 0)
        try_again(probe);
    else if (decision->mode == SPEX_RATE_OFF)
        hold_probe(probe, decision->reason);
    else if (decision->mode == SPEX_RATE_PROBED &&
             !spex_probe_type_lasts(spex_site_info(first)->probe_type))
        hold_probe(probe, "held off: it is not worth its records, and takes no time to be probed");
    else if (decision->mode == SPEX_RATE_PROBED)
        leave_to_prober(probe, decision->reason);
    else if (probe->period != SPEX_SITE_POLLED) /* until it is counted again */
        give_period(probe, class, decision);
    spex_probe_throttle(first, probe->period);
    if (before == SPEX_SITE_HELD && probe->period != SPEX_SITE_HELD)
        spex_doorbell_ring();
}

/* What may be spent at present; but debts are paid by records alone: no probe goes off for want
 * of what its executions cost, when that is within the budget in the long run. */
static double allowed(size_t count) {
    /* Where looks wake the collector, they are charged for it. */
    double resting =
        spex_polling_policy(spex_controller.policy) ? 0 : spex_controller.collecting.rest;
    double steady = spex_budget_steady(&spex_controller.budget, spex_controller.cpus) - resting;
    double rate = spex_budget_rate(&spex_controller.budget, spex_controller.cpus) - resting;
    double detection = 0;
    for (size_t c = 0; c < count && !spex_polling_policy(spex_controller.policy); c++)
        detection += spex_controller.classes[c].frequency * spex_controller.classes[c].detect_cost;
    if (spex_polling_policy(spex_controller.policy))
        detection = spex_polling_base(spex_controller.classes, count);
    double least = detection / DETECTION_MOST;
    if (least > steady)
        least = steady;
    if (least < 0)
        least = 0;
    return rate > least ? rate : least;
}

/* What records cost of each type, by how many each probe is believed to make. */
static void note_factors(size_t count) {
    double records[SPEX_PROBE_TYPES] = {0}, sums[SPEX_PROBE_TYPES] = {0};
    for (size_t c = 0; c < count; c++) {
        const struct spex_controlled *probe = &spex_controller.probes[spex_controller.firsts[c]];
        unsigned ring = spex_probe_type_ring(spex_site_info(spex_controller.firsts[c])->probe_type);
        double made = probe->frequency / (probe->period ? probe->period : 1);
        records[ring] += made;
        sums[ring] += made * spex_controlled_factor(probe);
    }
    for (unsigned ring = 0; ring < SPEX_PROBE_TYPES; ring++)
        spex_controller.factors[ring] = records[ring] > 0 ? sums[ring] / records[ring] : 1;
}

/* Where it costs too much even to be probed, the dearest are held off. How many are left. */
static size_t hold_dearest_probes(size_t count) {
    double most =
        DETECTION_MOST * spex_budget_steady(&spex_controller.budget, spex_controller.cpus);
    while (count > 0 && spex_polling_base(spex_controller.classes, count) > most) {
        size_t dearest = spex_polling_dearest(spex_controller.classes, count);
        uint32_t first = spex_controller.firsts[dearest];
        hold_probe(&spex_controller.probes[first],
                   "held off: its executions alone cost more than the budget");
        spex_probe_throttle(first, SPEX_SITE_HELD);
        count--;
        spex_controller.classes[dearest] = spex_controller.classes[count];
        spex_controller.firsts[dearest] = spex_controller.firsts[count];
    }
    return count;
}

static double sample_cost(void) {
    double cost = spex_occupancy_sampler_cost();
    return cost > 0 ? cost : SAMPLE_COST;
}

/* 0, or what the policy failed with. */
static int decide(void) {
    double seconds = spex_controller.now - spex_controller.decided;
    spex_accounts_note_cpus();
    spex_accounts_count_executions(seconds);
    spex_accounts_note_collecting();
    spex_controller.holding = spex_controller.trying = spex_controller.overdue = false;
    size_t count = look_at_all();
    if (spex_polling_policy(spex_controller.policy))
        count = hold_dearest_probes(count);
    struct spex_rate_problem problem = {.size = sizeof(problem),
                                        .budget = allowed(count),
                                        .sample_cost = sample_cost(),
                                        .class_count = count,
                                        .classes = spex_controller.classes};
    if (spex_polling_policy(spex_controller.policy))
        spex_polling_without_base(&problem, spex_controller.classes);
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = spex_controller.decisions};
    spex_controller.decided = spex_controller.now;
    spex_controller.decided_tokens = spex_controller.budget.tokens;
    int err = spex_controller.policy->decide(&problem, spex_controller.workspace, &plan);
    if (err)
        return err; /* the periods stay */
    for (size_t c = 0; c < count; c++)
        apply_decision(spex_controller.firsts[c], &spex_controller.classes[c],
                       &spex_controller.decisions[c]);
    spex_polling_apply(&plan, count);
    note_factors(count);
    spex_experiments_begin(count);
    return 0;
}

/* Once in a collection. */
static void tell_failure(int err) {
    if (err && !spex_controller.failed)
        spex_message("the rate policy %s cannot decide: %s; periods stay as they are",
                     spex_controller.policy->name, strerror(err < 0 ? -err : err));
    spex_controller.failed |= err != 0;
}

void spex_controller_pass(void) {
    if (!spex_controller.probes)
        return;
    spex_metrics_lock();
    spex_accounts_advance(spex_clock_ns(CLOCK_MONOTONIC));
    bool busy = spex_experiments_pass(), rush = spex_experiments_rush();
    double since = spex_controller.now - spex_controller.decided;
    int err = 0;
    double least = spex_controller.counting / (rush ? COUNTING_SHARE_RUSH : COUNTING_SHARE);
    double interval = rush ? INTERVAL_RUSH : INTERVAL;
    if (!busy && (spex_controller.overdue || since >= (least > interval ? least : interval)))
        err = decide();
    spex_metrics_unlock();
    tell_failure(err);
}

void spex_controller_close_accounts(uint64_t end_ns) {
    if (!spex_controller.probes)
        return;
    spex_metrics_lock();
    spex_accounts_advance(end_ns);
    spex_accounts_count_executions(spex_controller.now - spex_controller.decided);
    spex_metrics_unlock();
}

uint64_t spex_controller_due_ns(void) {
    if (!spex_controller.probes)
        return UINT64_MAX;
    if (spex_experiment_running())
        return (uint64_t)(spex_experiment_due(spex_controller.now) * 1e9) + 1;
    return spex_controller.trying || spex_controller.overdue ? (uint64_t)(INTERVAL_RUSH * 1e9)
                                                             : UINT64_MAX;
}

bool spex_controller_holds(void) {
    return spex_controller.holding || spex_experiment_running();
}

struct spex_controller_view spex_controller_look(uint32_t first) {
    if (!spex_controller.probes)
        return (struct spex_controller_view){.why = NULL};
    const struct spex_controlled *probe = &spex_controller.probes[first];
    return (struct spex_controller_view){
        .frequency = probe->frequency,
        .period = probe->period,
        .why = probe->why,
    };
}

struct spex_controller_totals spex_controller_totals(void) {
    return (struct spex_controller_totals){
        .policy = spex_controller.probes ? spex_controller.policy->name : NULL,
        .share = spex_controller.probes ? spex_controller.budget.share : 0,
        .seconds = spex_controller.seconds,
        .spent = spex_controller.spent,
    };
}
