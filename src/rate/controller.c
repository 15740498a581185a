/* SPDX-License-Identifier: MIT */
/* Reads a snapshot of the process (snapshot.h), has a step decide (rate.h), and throttles probes by
 * what was decided. Which budget is kept is the least of the process's own and of those that commands
 * hold by leases, which come and go while collectors run.
 *
 * All runs in the first collector's thread, under the metrics' lock; begin and end run in the
 * thread that starts and stops spex. */
#define _GNU_SOURCE
#include "rate/controller.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "rate/alarms.h"
#include "rate/budget.h"
#include "rate/caches.h"
#include "rate/groups.h"
#include "rate/occupancy_sampler.h"
#include "rate/plan.h"
#include "rate/snapshot.h"
#include "rate/tables.h"
#include "rate/throttle.h"
#include "rate/told.h"
#include "ring/doorbell.h"
#include "ring/reserve.h"
#include "site/registry.h"
#include "text/message.h"

/* So many seconds' worth of the budget that records have taken since a step hurry the next one. */
#define HURRY_SECONDS 0.05

/* So few records cost little beside a step. */
#define RECORDS_FEW 100.0

/* Until it is known what anything costs, steps take such a part of the time at most. */
#define UNKNOWN_SHARE 0.25

/* Caches are measured once executions may cost such a part of the budget: a program that executes few
 * probes does not pay for it. */
#define CACHES_MATTER 0.1

/* Of the budget, steps that new selections ask for may take such a share. */
#define SELECTING_SHARE 0.25

/* And so much reports to commands. */
#define REPORTS_SHARE 0.25

static struct {
    /* NULL: there is no budget. */
    struct spex_rate_tables *tables;
    size_t bytes;
    struct spex_rate rate;
    struct spex_snapshot snapshot;
    struct spex_rate_out out;
    struct spex_rate_alarms alarms;
    /* What has been charged since the last step. */
    double charged;
    /* Since the last step. */
    unsigned passes;
    /* The budget is over that somebody has asked for: nothing is controlled. */
    bool lifted;
    /* The caches are measured. */
    bool caches;
    /* The policy has failed, or there was no memory, and a message has said so. */
    bool failed;
} controller;

/* Under the metrics' lock. `any`, relaxed: others may hold budgets; whoever asks for one rings the
 * doorbell. */
static struct {
    double own;
    /* NULL: none is kept, whatever is asked for. */
    const struct spex_rate_policy_ops *policy;
    /* What is kept. */
    double share;
    struct spex_budgets_asked asked;
    bool any;
} kept;

/* Whether something is controlled. */
static bool works(void) {
    return controller.tables && !controller.lifted;
}

/* Sites have the controller's period also while they are not selected. */
static void periods_end(void) {
    for (uint32_t i = 0; controller.tables && i < spex_sites_count(); i++)
        if (controller.tables->before[i])
            spex_probe_throttle(i, 0);
}

static void tables_free(void) {
    periods_end();
    spex_sites_begin_in_bursts(false);
    spex_groups_begin(NULL);
    spex_pages_give_back(controller.tables, controller.bytes);
    memset(&controller, 0, sizeof(controller));
}

static void clocks_begin(void) {
    const struct spex_rate_in *in = &controller.snapshot.in;
    spex_snapshot_read_clocks(&controller.snapshot);
    controller.rate.now = in->now;
    controller.rate.used = in->used;
    controller.rate.own = in->own;
}

/* Nothing of what has happened so far is booked. */
static void from_now(void) {
    struct spex_snapshot *snapshot = &controller.snapshot;
    spex_metrics_executions(snapshot->executions);
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        controller.rate.known[i].executions = (double)snapshot->executions[i];
    clocks_begin();
    controller.rate.records = snapshot->in.records;
    controller.charged = 0;
}

/* Begins with a share of the budget, or ends without a policy or a share. */
static int controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    tables_free();
    spex_rate_alarms_clear();
    kept.share = share;
    if (!policy || share <= 0)
        return 0;
    controller.tables =
        spex_rate_tables_make(policy, &controller.rate, &controller.snapshot, &controller.bytes);
    if (!controller.tables)
        return -ENOMEM;
    spex_sites_begin_in_bursts(!controller.snapshot.in.overspends);
    spex_rate_begin(&controller.rate, spex_clock_ns(CLOCK_MONOTONIC));
    controller.snapshot.in.share = share;
    clocks_begin();
    return 0;
}

/* The share that is to be kept now. */
static double share_asked(void) {
    bool any;
    double least = spex_budgets_least(&kept.asked, kept.own, spex_clock_ns(CLOCK_BOOTTIME), &any);
    spex_store_relaxed(&kept.any, any);
    return least;
}

/* Locks, since the control thread may read the former collection's state. */
int spex_controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    spex_metrics_lock();
    kept.own = share;
    kept.policy = policy;
    int err = controller_begin(share_asked(), policy);
    spex_metrics_unlock();
    return err;
}

void spex_controller_end(void) {
    spex_controller_begin(0, NULL);
}

int spex_controller_hold(const struct spex_lease *lease, double share) {
    uint64_t now_ns = spex_clock_ns(CLOCK_BOOTTIME);
    uint64_t until_ns = lease->ms ? now_ns + lease->ms * UINT64_C(1000000) : UINT64_MAX;
    spex_metrics_lock();
    int err = spex_budgets_hold(&kept.asked, lease->holder, share, until_ns);
    spex_store_relaxed(&kept.any, true);
    spex_metrics_unlock();
    spex_doorbell_ring();
    return err;
}

void spex_controller_renew(const struct spex_lease *lease) {
    uint64_t until_ns = spex_clock_ns(CLOCK_BOOTTIME) + lease->ms * UINT64_C(1000000);
    if (!spex_load_relaxed(&kept.any))
        return;
    spex_metrics_lock();
    spex_budgets_renew(&kept.asked, lease->holder, lease->ms ? until_ns : 0);
    spex_metrics_unlock();
    spex_doorbell_ring();
}

void spex_controller_charge(uint64_t ns) {
    spex_metrics_lock();
    if (works())
        controller.charged += (double)ns / 1e9;
    spex_metrics_unlock();
}

double spex_controller_reports(void) {
    spex_metrics_lock();
    double share = controller.snapshot.in.share;
    double most = works() ? REPORTS_SHARE * spex_rate_budget(&controller.rate, share) : INFINITY;
    spex_metrics_unlock();
    return most;
}

/* Nothing is controlled any more: each probe is as selected. What is known of its executions while
 * it was held off stays, as its count needs that. */
static void controller_lift(void) {
    spex_sites_begin_in_bursts(false);
    periods_end();
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        spex_metrics_slice(i, 1);
        controller.tables->before[i] = 0;
        controller.rate.known[i].state = SPEX_RATE_IDLE;
        controller.rate.known[i].period = SPEX_RATE_FIRST;
    }
    spex_occupancy_sampler_set(0);
    spex_collectors_rest(0);
    spex_rate_alarms_clear();
    controller.lifted = true;
}

/* Goes over to the budget that is to be kept now. 0 or -ENOMEM. */
static int adapt(void) {
    double share = spex_load_relaxed(&kept.any) ? share_asked() : kept.own;
    if (share == kept.share || !kept.policy)
        return 0;
    bool late = !works();
    int err = share > 0 && !controller.tables ? controller_begin(share, kept.policy) : 0;
    kept.share = share;
    if (err)
        return err;
    if (share <= 0) {
        if (works())
            controller_lift();
        return 0;
    }
    controller.lifted = false;
    spex_sites_begin_in_bursts(!controller.snapshot.in.overspends);
    controller.snapshot.in.share = share;
    controller.out.due = 0;
    if (late)
        from_now();
    return 0;
}

/* The next step knows them. */
static void caches_measure(void) {
    struct spex_rate *rate = &controller.rate;
    const struct spex_rate_in *in = &controller.snapshot.in;
    double most = 0;
    for (size_t s = 0; s < in->count; s++)
        most += rate->known[in->subjects[s].index].most;
    if (controller.caches || most <= CACHES_MATTER * spex_rate_budget(rate, in->share))
        return;
    rate->caches = *spex_caches();
    controller.caches = true;
}

static int step(void) {
    struct spex_rate *rate = &controller.rate;
    struct spex_snapshot *snapshot = &controller.snapshot;
    spex_collectors_note_cpu();
    spex_snapshot_read(snapshot, rate->known);
    snapshot->in.charged = controller.charged;
    controller.charged = 0;
    /* Where there are hardly any records, a step costs at least what a pass has cost since the last
     * one. */
    bool few = controller.passes && snapshot->in.records - rate->records < RECORDS_FEW;
    double of_pass = few ? (snapshot->in.own - rate->own) / controller.passes : 0;
    controller.passes = 0;
    int err = spex_rate_step(rate, &snapshot->in, &controller.out);
    for (size_t s = 0; s < snapshot->in.count; s++) {
        const struct spex_rate_subject *of = &snapshot->in.subjects[s];
        spex_rate_throttle(snapshot, rate, of, &controller.tables->before[of->index]);
    }
    /* The length of a tick, and so all costs, are known in a few milliseconds. */
    if (snapshot->tick_rate <= 0)
        controller.out.due = rate->now + fmax(SPEX_RATE_FIRST_SECONDS, rate->step / UNKNOWN_SHARE);
    caches_measure();
    spex_collectors_rest((uint64_t)(controller.out.rest * 1e9));
    spex_occupancy_sampler_set(fmin(controller.out.looks, SPEX_POLLING_HZ_MAX));
    spex_rate_alarms_set(&controller.alarms, rate, &snapshot->in, snapshot->tick_rate);
    spex_collectors_note_cpu();
    spex_rate_note_step(rate,
                        fmax(of_pass, (double)spex_collectors_cpu_ns() / 1e9 - snapshot->in.own));
    return err;
}

/* When another selection is decided about: soon, if that can be paid. */
static double selected_due(void) {
    const struct spex_rate *rate = &controller.rate;
    if (spex_sites_selections() == controller.snapshot.selections)
        return INFINITY;
    double budget = spex_rate_budget(rate, controller.snapshot.in.share);
    double between = fmax(SPEX_RATE_FIRST_SECONDS, rate->step / (SELECTING_SHARE * budget));
    return rate->now + fmin(between, SPEX_RATE_STEP_SECONDS);
}

/* Whether records have taken much of the budget since the last step, with the executions that they
 * stand for. */
static bool hurries(double now) {
    double budget = spex_rate_budget(&controller.rate, controller.snapshot.in.share);
    double cost = spex_rate_alarms_cost(&controller.alarms);
    return cost > (HURRY_SECONDS + now - controller.rate.now) * budget;
}

static int pass(void) {
    double now = (double)spex_clock_ns(CLOCK_MONOTONIC) / 1e9;
    controller.passes++;
    if (now < fmin(controller.out.due, selected_due()) && !hurries(now))
        return 0;
    return step();
}

/* Says once in a collection what fails. Not under the lock: the message may block. */
static void report_failure(int err) {
    if (err && !controller.failed && !controller.tables)
        spex_message("the budget that a command has asked for is not kept: %s", strerror(-err));
    else if (err && !controller.failed)
        spex_message("the rate policy %s cannot decide: %s; periods stay as they are",
                     controller.snapshot.in.policy->name, strerror(err < 0 ? -err : err));
    controller.failed |= err != 0;
}

/* `tables` is set by the first collector alone, once it runs. */
void spex_controller_pass(void) {
    if (!controller.tables && !spex_load_relaxed(&kept.any))
        return;
    spex_metrics_lock();
    int err = adapt();
    if (!err && works())
        err = pass();
    spex_metrics_unlock();
    report_failure(err);
}

/* The last executions are counted, so that the totals have no assumed cost in them. */
void spex_controller_close_accounts(uint64_t end_ns) {
    if (!works())
        return;
    spex_metrics_lock();
    spex_snapshot_read(&controller.snapshot, controller.rate.known);
    controller.snapshot.in.now = fmin(controller.snapshot.in.now, (double)end_ns / 1e9);
    controller.snapshot.in.charged = controller.charged;
    spex_rate_account(&controller.rate, &controller.snapshot.in);
    spex_metrics_unlock();
}

/* 1 ns more, so that a slice is over when the pass comes. */
uint64_t spex_controller_due_ns(void) {
    if (!works())
        return UINT64_MAX;
    double due = fmin(controller.out.due, selected_due());
    double left = due - (double)spex_clock_ns(CLOCK_MONOTONIC) / 1e9;
    return (uint64_t)(fmin(fmax(left, 0), 1e9) * 1e9) + 1;
}

/* Whether a slice is to begin, or another selection waits for its decision: no site may be on. */
bool spex_controller_holds(void) {
    return works() && (controller.rate.slices.of || selected_due() < INFINITY);
}

struct spex_controller_view spex_controller_look(uint32_t first) {
    return works() ? spex_rate_look(&controller.rate, first)
                   : (struct spex_controller_view){.why = NULL};
}

struct spex_held_executions spex_controller_held(uint32_t first, double count,
                                                 const struct spex_slices_time *passed) {
    return controller.tables
               ? spex_rate_held(&controller.rate, &controller.snapshot, first, count, passed)
               : (struct spex_held_executions){0, -1, 0};
}

struct spex_controller_totals spex_controller_totals(void) {
    return (struct spex_controller_totals){
        .policy = works() ? controller.snapshot.in.policy->name : NULL,
        .share = works() ? controller.snapshot.in.share : 0,
        .seconds = controller.rate.worked,
        .spent = controller.rate.spent + controller.charged,
    };
}
