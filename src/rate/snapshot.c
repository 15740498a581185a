/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rate/snapshot.h"

#include <math.h>
#include <time.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/grown.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "probe/executions.h"
#include "probe/threads.h"
#include "rate/groups.h"
#include "rate/occupancy_sampler.h"
#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/probe_state.h"
#include "site/registry.h"

/* The program is taken to be slowed down by a probe by such a share of its time at most. */
#define SLOWED_MOST 0.9

/* Seconds that a look at what is polled is taken to cost before the first one. */
#define LOOK_COST 5e-6

/* Of fewer records it is not known how far values spread. */
#define SPREAD_RECORDS 30

/* A record that was measured to cost less than an execution, by noise, adds nothing. */
struct spex_rate_costs spex_snapshot_costs(uint32_t type, double tick_rate) {
    struct spex_cost cost;
    if (tick_rate <= 0 || spex_cost_get(type, &cost) != 0)
        return (struct spex_rate_costs){.skip = 0};
    double record = fmax(cost.record - cost.skip, 0);
    return (struct spex_rate_costs){.skip = cost.skip / tick_rate,
                                    .record = record / tick_rate,
                                    .drawn =
                                        fmax(spex_cost_drawn(type) - cost.skip, record) / tick_rate,
                                    .call = spex_cost_call() / tick_rate,
                                    .polled = spex_cost_polled() / tick_rate};
}

/* Mean number of threads that execute a probe: by looks at it, or the paper's EventTime /
 * EventPeriod. */
static double share_of(uint32_t first, const struct spex_rate_known *known, double tick_rate) {
    const struct spex_site_info *info = spex_site_info(first);
    const struct spex_occupancy looks = spex_occupancy_sampler_occupancy(first);
    if (looks.looks > 0)
        return spex_occupancy_threads(&looks);
    if (!spex_probe_type_ticks(info->probe_type) || tick_rate <= 0)
        return 0;
    const struct spex_metrics_sums sums = spex_metrics_sums(info->probe_id, info->probe_type);
    return sums.weight > 0 ? fmax(known->rate * sums.sum / sums.weight / tick_rate, 0) : 0;
}

/* The relative variance of a probe's values. */
static double spread_of(uint32_t first) {
    const struct spex_site_info *info = spex_site_info(first);
    if (info->probe_type == SPEX_CNT)
        return 0;
    const struct spex_metrics_sums sums = spex_metrics_sums(info->probe_id, info->probe_type);
    if (sums.records < SPREAD_RECORDS || !(sums.weight > 0))
        return NAN;
    double square = sums.sum * sums.sum;
    return square > 0 ? sums.squares * sums.weight / square : INFINITY;
}

/* That of a group is the greatest of its members'. */
static double group_spread(uint32_t group) {
    double most = NAN;
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1))
        most = fmax(most, spread_of(m));
    return most;
}

static struct spex_slices_time passed_of(const struct spex_probe_state *state) {
    return (struct spex_slices_time){(double)state->on_ticks, (double)state->held_ticks};
}

/* Adds a member to the state of its group. That is polled by hand where all members that are
 * selected are; otherwise its period is the shortest of the others'. */
static void group_add(struct spex_probe_state *group, const struct spex_probe_state *member) {
    bool first = !group->selected;
    if (member->on_ticks > group->on_ticks)
        group->on_ticks = member->on_ticks;
    if (!member->selected)
        return;
    if (first || (!member->by_hand && (group->by_hand || member->selected < group->selected)))
        group->selected = member->selected;
    group->by_hand = member->by_hand && (first || group->by_hand);
}

/* Time has passed for a probe's slices: so much CPU time of the program as since the last look at it. */
static void slices_pass(struct spex_snapshot *snapshot, uint32_t index,
                        const struct spex_probe_state *state) {
    struct spex_snapshot_seen *seen = &snapshot->seen[index];
    const struct spex_rate_in *in = &snapshot->in;
    const struct spex_slices_time passed = passed_of(state);
    bool known = seen->now > 0 && in->now > seen->now && in->threads == seen->threads;
    double cpus = known ? fmax(in->running - seen->running, 0) / (in->now - seen->now) : -1;
    spex_slices_pass(&snapshot->slices[index], &passed, cpus);
    *seen = (struct spex_snapshot_seen){in->now, in->running, in->threads};
}

/* The state of a probe or a group. */
static struct spex_probe_state state_of(struct spex_snapshot *snapshot, uint32_t index) {
    struct spex_probe_state state = {0};
    if (!spex_groups_is(index)) {
        state = spex_probe_state(index, spex_ticks());
        slices_pass(snapshot, index, &state);
        return state;
    }
    for (uint32_t m = spex_groups_next(index, 0); m < spex_sites_count();
         m = spex_groups_next(index, m + 1)) {
        const struct spex_probe_state member = spex_probe_state(m, spex_ticks());
        slices_pass(snapshot, m, &member);
        group_add(&state, &member);
    }
    return state;
}

static void subject_add(struct spex_snapshot *snapshot, const struct spex_rate_known *known,
                        uint32_t index) {
    const struct spex_probe_state state = state_of(snapshot, index);
    bool group = spex_groups_is(index);
    uint32_t type = spex_site_info(index)->probe_type;
    double rate = snapshot->tick_rate;
    bool bursts = state.sampling.kind == SPEX_SAMPLING_BURSTY && state.selected == 1;
    struct spex_rate_subject *of = &snapshot->subjects[snapshot->in.count++];
    *of = (struct spex_rate_subject){
        .index = index,
        .selected = state.by_hand ? 0 : state.selected,
        .executions = (double)snapshot->executions[index],
        .on = rate > 0 ? (double)(state.on_ticks - state.polled_ticks) / rate : 0,
        .recorded = group ? spex_groups_recorded(index) : 1,
        .first = bursts ? SPEX_FIRST_BURST * (double)spex_threads_used() : 0,
        .cost = group ? spex_groups_costs(index, rate) : spex_snapshot_costs(type, rate),
        .spread = group ? group_spread(index) : spread_of(index),
        .pollable = !group && spex_probe_type_lasts(type),
    };
    if (snapshot->in.polls)
        of->share = share_of(index, known, rate);
}

/* Whether nothing is to be decided about it: it is not selected, or was never executed; most of a
 * thousand are so. */
static bool rests(const struct spex_snapshot *snapshot, const struct spex_rate_known *known,
                  uint32_t index) {
    bool same = known->executions >= (double)snapshot->executions[index];
    return same && (known->state == SPEX_RATE_IDLE ||
                    (known->state == SPEX_RATE_COUNTED && known->rate <= 0));
}

/* Reads the clocks of threads, if these are not too many; of others nothing is known. */
static void read_running(struct spex_snapshot *snapshot) {
    struct spex_thread_set set;
    uint64_t ns, threads;
    spex_threads_choose(&set, SPEX_THREADS_CHOSEN, &snapshot->random);
    spex_threads_cpu_ns(&set, &ns, &threads);
    if (set.count < set.of || threads != snapshot->threads)
        snapshot->in.threads++;
    snapshot->threads = threads;
    snapshot->in.running = (double)ns / 1e9;
}

void spex_snapshot_read_clocks(struct spex_snapshot *snapshot) {
    struct spex_rate_in *in = &snapshot->in;
    uint64_t collectors = spex_collectors_cpu_ns();
    in->now = (double)spex_clock_ns(CLOCK_MONOTONIC) / 1e9;
    uint64_t all = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    in->used = (double)spex_grown(spex_service_cpu_ns(), all) / 1e9;
    in->own = (double)(collectors + spex_sampling_budget_spent_ns()) / 1e9;
    read_running(snapshot);
    snapshot->tick_rate = spex_metrics_tick_rate();
    in->records = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        in->records += (double)spex_metrics_totals(t).produced;
}

void spex_snapshot_read(struct spex_snapshot *snapshot, const struct spex_rate_known *known) {
    struct spex_rate_in *in = &snapshot->in;
    uint32_t selections = spex_sites_selections();
    bool selected_anew = selections != snapshot->selections;
    bool regions = spex_sites_of_probes() != spex_sites_count();
    spex_metrics_executions(snapshot->executions);
    spex_groups_count(snapshot->executions);
    spex_snapshot_read_clocks(snapshot);
    double look = spex_occupancy_sampler_cost();
    in->look = look > 0 ? look : LOOK_COST;
    in->count = 0;
    in->subjects = snapshot->subjects;
    snapshot->selections = selections;
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        bool group = regions && spex_groups_is(i);
        bool probe = info->probe == i && !spex_site_is_region(info) && spex_groups_by(i) == i;
        if ((group || probe) && (selected_anew || !rests(snapshot, &known[i], i)))
            subject_add(snapshot, &known[i], i);
    }
}

/* By what executions of all that were on in the last slice have cost of the program's time, or by how
 * often the slice had it execute in CPU time and what each execution costs: nothing, what is likely, or
 * twice as much. Bursts are slowed down more than the mean. What is in a group is slowed down by all of
 * it. */
struct spex_speedup spex_snapshot_speedup(const struct spex_snapshot *snapshot,
                                          const struct spex_rate_known *known,
                                          const struct spex_slices *slices,
                                          const struct spex_slices_reading *now, bool in_group,
                                          double cpus) {
    double on = now->on - slices->last.on, count = fmax(now->count - slices->last.count, 0);
    double rate = spex_slices_is(now, on) ? count / on : slices->rate;
    double likely = rate * snapshot->tick_rate * known->each_likely;
    if (in_group)
        likely = known->likely / fmax(cpus, 1);
    likely = fmax(likely, known->slowed);
    double most = 2 * likely;
    return (struct spex_speedup){1, 1 / (1 - fmin(likely, SLOWED_MOST)),
                                 1 / (1 - fmin(most, SLOWED_MOST))};
}

static void note_slice(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                       const struct spex_rate_known *known, uint32_t first) {
    const struct spex_probe_state state = spex_probe_state(first, spex_ticks());
    const struct spex_slices_time passed = passed_of(&state);
    struct spex_slices *slices = &snapshot->slices[first];
    double count = (double)snapshot->executions[first] + spex_metrics_in_regions(first);
    const struct spex_slices_reading reading = spex_slices_read(slices, count, &passed);
    const struct spex_speedup speedup = spex_snapshot_speedup(
        snapshot, known, slices, &reading, known != &rate->known[first], rate->cpus);
    spex_slices_note(slices, &reading, &speedup);
}

void spex_snapshot_note_slice(struct spex_snapshot *snapshot, const struct spex_rate *rate,
                              uint32_t index) {
    const struct spex_rate_known *known = &rate->known[index];
    if (!spex_groups_is(index)) {
        note_slice(snapshot, rate, known, index);
        return;
    }
    for (uint32_t m = spex_groups_next(index, 0); m < spex_sites_count();
         m = spex_groups_next(index, m + 1))
        note_slice(snapshot, rate, known, m);
}
