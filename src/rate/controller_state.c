/* SPDX-License-Identifier: MIT */
/* Begin and end of the controller's state, and which budget is kept: the least of the process's own
 * and of those that commands hold by leases. These come and go while collectors run. */
#define _GNU_SOURCE
#include "rate/controller_state.h"

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
#include "kernels/sampling_budget.h"
#include "rate/controller.h"
#include "rate/experiment/experiment.h"
#include "rate/occupancy_sampler.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/registry.h"

struct spex_controller spex_controller;

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

/* What the state points to, for the most sites that a process can have, as libraries may be loaded
 * at any time. A mapping of its own, of which a process has the pages that are written: the heap
 * would clear all of what it has had before, which took a second start 3 ms. */
struct tables {
    struct spex_controlled probes[SPEX_MAX_SITES];
    struct spex_rate_class classes[SPEX_MAX_SITES];
    struct spex_rate_decision decisions[SPEX_MAX_SITES];
    struct spex_subject subjects[SPEX_MAX_SITES];
    uint64_t executions[SPEX_MAX_SITES], at_rest[SPEX_MAX_SITES], chosen_executions[SPEX_MAX_SITES];
    uint32_t firsts[SPEX_MAX_SITES];
    max_align_t workspace[];
};

static struct tables *tables;
static size_t tables_bytes;

/* What slices and sessions have told of a probe. It outlives a collection: a program that is
 * measured for some seconds at a time, and seldom costs much of its budget, would else never know
 * what its probes cost. By index; a site that has come in the place of another has another name, or
 * its probe another id or type. */
struct found {
    const char *name;
    uint32_t type, id;
    double factor, doubt;
    struct spex_sliced sliced;
};

static struct found *found;

static void found_keep(struct found *of, uint32_t index) {
    const struct spex_site_info *info = spex_site_info(index);
    const struct spex_controlled *probe = &spex_controller.probes[index];
    *of = (struct found){info->name,    info->probe_type, info->probe_id,
                         probe->factor, probe->doubt,     probe->sliced};
    of->sliced.cpu_ns = 0; /* What runs is not the next part. */
}

static void findings_keep(void) {
    for (uint32_t i = 0; spex_controller.probes && i < spex_sites_count(); i++) {
        const struct spex_controlled *probe = &spex_controller.probes[i];
        if (!spex_controller.executions[i] || (probe->factor <= 0 && !probe->sliced.count))
            continue;
        found = found ? found : spex_pages_take(SPEX_MAX_SITES * sizeof(*found));
        if (found)
            found_keep(&found[i], i);
    }
}

static void findings_recall(void) {
    for (uint32_t i = 0; found && i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        if (found[i].name != info->name || found[i].type != info->probe_type ||
            found[i].id != info->probe_id)
            continue;
        spex_controller.probes[i].factor = found[i].factor;
        spex_controller.probes[i].doubt = found[i].doubt;
        spex_controller.probes[i].sliced = found[i].sliced;
        spex_controller.found = fmax(found[i].factor, spex_controller.found);
    }
}

/* Sites have the controller's period also while they are not selected. */
static void periods_end(void) {
    for (uint32_t i = 0; spex_controller.probes && i < spex_sites_count(); i++)
        if (spex_controller.probes[i].period)
            spex_probe_throttle(i, 0);
}

/* Gives the tables back and clears the whole state: without `probes` nothing is controlled. */
static void tables_free(void) {
    findings_keep();
    periods_end();
    spex_pages_give_back(tables, tables_bytes);
    tables = NULL;
    memset(&spex_controller, 0, sizeof(spex_controller));
}

static int tables_make(void) {
    size_t workspace = spex_controller.policy->workspace_size(SPEX_MAX_SITES);
    if (workspace > PTRDIFF_MAX - sizeof(*tables))
        return -ENOMEM;
    tables_bytes = sizeof(*tables) + workspace;
    tables = spex_pages_take(tables_bytes);
    if (!tables)
        return -ENOMEM;
    spex_controller.probes = tables->probes;
    spex_controller.classes = tables->classes;
    spex_controller.decisions = tables->decisions;
    spex_controller.subjects = tables->subjects;
    spex_controller.executions = tables->executions;
    spex_controller.at_rest = tables->at_rest;
    spex_controller.chosen_executions = tables->chosen_executions;
    spex_controller.firsts = tables->firsts;
    spex_controller.workspace = tables->workspace;
    findings_recall();
    return 0;
}

/* Until the costs are known only a ring that is half full alarms a collector. */
static void alarms_clear(void) {
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spex_rings_alarm_at(t, INFINITY);
}

void spex_controller_read_clocks(void) {
    spex_controller.monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spex_controller.process_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    spex_controller.looker_ns = spex_sampling_budget_spent_ns();
    spex_controller.collectors_ns = spex_controller.process_collectors_ns =
        spex_collectors_cpu_ns();
    spex_controller.used_ns = spex_grown(spex_controller.collectors_ns, spex_controller.process_ns);
}

/* Begins with a share of the budget, or ends without a policy or a share. */
static int controller_begin(double share, const struct spex_rate_policy_ops *policy) {
    tables_free();
    alarms_clear();
    kept.share = share;
    if (!policy || share <= 0)
        return 0;
    spex_controller.policy = policy;
    if (tables_make() != 0) {
        tables_free();
        return -ENOMEM;
    }
    spex_budget_begin(&spex_controller.budget, share);
    spex_controller.slice_due = spex_controller.trial_due = INFINITY;
    spex_random_seed(&spex_controller.random, spex_clock_ns(CLOCK_MONOTONIC), 0);
    spex_experiment_reset(spex_clock_ns(CLOCK_MONOTONIC));
    spex_controller_read_clocks();
    spex_controller.collecting = (struct spex_collecting){.ns = spex_controller.collectors_ns};
    spex_controller.cpus = 1;
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
    uint64_t until_ns = spex_clock_ns(CLOCK_BOOTTIME) + lease->ms * UINT64_C(1000000);
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

/* Nothing is controlled any more: each probe is as selected. What is known of its executions while
 * it was held off stays, as its count needs that. */
static void controller_lift(void) {
    if (spex_experiment_running())
        spex_experiment_abort(spex_controller.now);
    periods_end();
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        spex_metrics_slice(i, 1);
        spex_controlled_leave(&spex_controller.probes[i]);
    }
    spex_occupancy_sampler_set(0);
    alarms_clear();
    spex_controller.holding = spex_controller.trying = false;
    spex_controller.lifted = true;
}

/* As spex_controller_adapt. */
static int controller_share(double share) {
    bool late = !spex_controller.probes || spex_controller.lifted;
    int err = spex_controller.probes ? 0 : controller_begin(share, kept.policy);
    kept.share = share;
    if (err)
        return err;
    spex_controller.lifted = false;
    spex_controller.budget.share = share;
    spex_controller.overdue = true;
    return late;
}

int spex_controller_adapt(void) {
    double share = spex_load_relaxed(&kept.any) ? share_asked() : kept.own;
    if (share == kept.share || !kept.policy)
        return 0;
    if (share > 0)
        return controller_share(share);
    kept.share = 0;
    if (spex_controller.probes)
        controller_lift();
    return 0;
}

bool spex_controller_is_asked(void) {
    return spex_load_relaxed(&kept.any);
}
