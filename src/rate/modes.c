/* SPDX-License-Identifier: MIT */
/* Each mode sets the period of a probe, the reason that users read, and how long the mode lasts at
 * least. Times in a mode grow by spex_hold_off while the same decision is made again. */
#include "rate/modes.h"

#include <math.h>

#include <spex/ticks.h>

#include "collect/collector.h"
#include "collect/metrics.h"
#include "rate/accounts.h"
#include "rate/controller.h"
#include "rate/experiments.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "site/registry.h"
#include "spans/open_spans.h"

/* Executions of a polled probe are not counted. So it is recorded for a moment after
 * POLLED_SECONDS, and after twice as long each time that the decision is the same, up to
 * POLLED_SECONDS_MAX. */
#define POLLED_SECONDS     1.0
#define POLLED_SECONDS_MAX 16.0

/* A period changes only when it gets longer, or shorter, by more than this share. */
#define PERIOD_LONGER  0.05
#define PERIOD_SHORTER 0.15

/* A whole period may be so much shorter than the exact one. */
#define PERIOD_SHORT 0.04

/* The period for `records` records a second of a probe that executes `frequency` times: at least
 * 1. */
static double period_exact(double frequency, double records) {
    if (frequency <= records)
        return 1;
    double period = records > 0 ? frequency / records : SPEX_CONTROL_PERIOD_MAX;
    return period < SPEX_CONTROL_PERIOD_MAX ? period : SPEX_CONTROL_PERIOD_MAX;
}

/* The whole period for that: rounded up, since the next shorter one would make too many records,
 * unless that is a little short only. */
static double period_rounded(double exact) {
    return ceil(exact / (1 + PERIOD_SHORT));
}

/* The period as a site has it. 0: every execution makes a record. */
static uint32_t period_whole(double frequency, double records) {
    double period = period_rounded(period_exact(frequency, records));
    return period > 1 ? (uint32_t)period : 0;
}

/* Whether a period (0: all) is to change to `exact`. A period that is a little short stays: the
 * accounts soon show what it costs. A period becomes shorter only by a margin: otherwise short
 * whole periods, which lie far apart in cost, would alternate. */
static bool period_differs(uint32_t period, double exact) {
    double before = period ? period : 1;
    return exact > before * (1 + PERIOD_LONGER) ||
           before > period_rounded(exact) * (1 + PERIOD_SHORTER);
}

void spex_mode_count_again(uint32_t first, struct spex_controlled *probe) {
    spex_controlled_on_trial(probe);
    probe->period = period_whole(probe->frequency, SPEX_RECORDS_LEAST);
    probe->why = "recorded for a moment, as executions that are polled are not counted";
    spex_probe_throttle(first, probe->period);
}

void spex_mode_record_all(uint32_t first, struct spex_controlled *probe) {
    probe->trying = false;
    probe->period = 0;
    probe->why = "traced: it hardly executes";
    spex_probe_throttle(first, 0);
}

/* Share of the budget that probes in slices are given, where all probes are in slices. The rest is
 * for what their switching costs. */
#define SLICES_SHARE 0.9

/* Where collectors alone take nearly all of the budget, such a share of it is for slices all the
 * same. */
#define SLICES_LEAST 0.1

/* So many times what was calibrated the pauses of a probe go by while experiments have told nothing
 * of it: of a thousand that are executed seldom they never tell. */
#define UNKNOWN_TIMES 4.0

/* Slices are at least so long, in seconds, and longer where the pauses between them would be
 * shorter than PAUSE_SECONDS: up to SLICE_SECONDS_MAX. */
#define SLICE_SECONDS      0.002
#define SLICE_SECONDS_MAX  0.05
#define PAUSE_SECONDS      0.02
#define PAUSE_SECONDS_DEAR 0.2
#define PAUSE_SECONDS_MIN  0.002
#define PAUSE_SECONDS_MAX  64.0

/* Pauses are up to PAUSE_SECONDS_DEAR, so that the decisions with which slices begin and end take
 * no more than such a share of the budget. */
#define SLICING_SHARE 0.15

/* Records of a probe in a slice cost such a share of what its executions cost, with what collectors
 * take for them; as much as its executions at most, where they would be fewer than
 * SPEX_RECORDS_LEAST. */
#define SLICE_RECORDS_SHARE 0.1

/* Most records of a probe in a slice, so that its ring holds them. */
#define SLICE_RECORDS_MOST 1000.0

/* Of how much longer than planned slices were, such a share is forgotten with each shorter one. */
#define LONGER_FORGOTTEN 0.2

/* The program is taken to keep so many CPUs busy at least, and to be slowed down by a probe by such
 * a share of its time at most. */
#define CPUS_LEAST  0.05
#define SLOWED_MOST 0.9

/* What collectors take without records is not for slices. */
static double slices_most(void) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    return SLICES_SHARE * fmax(steady - spex_controller.collecting.rest, SLICES_LEAST * steady);
}

bool spex_modes_note_sliced(double cost) {
    bool dear = cost * (spex_controller.dear + 1) > slices_most() - spex_controller.cheap;
    spex_controller.sliced++;
    spex_controller.dear += dear;
    spex_controller.cheap += dear ? 0 : cost;
    return dear;
}

/* Notes a probe in slices, and returns what it may cost: an equal part, or all that it costs. */
static double slices_part(double cost) {
    bool dear = spex_modes_note_sliced(cost);
    double reserved = spex_modes_reserved(), equal = reserved / spex_controller.sliced;
    double left = dear ? (reserved - spex_controller.cheap) / spex_controller.dear : cost;
    return fmax(left, equal);
}

double spex_modes_reserved(void) {
    unsigned all = spex_controller.sliced + spex_controller.recorded;
    double most = slices_most();
    return spex_controller.sliced
               ? most - fmin(spex_controller.demand, most * spex_controller.recorded / all)
               : 0;
}

/* Seconds that a record costs beyond an execution, with what collectors take for it. */
static double record_cost(uint32_t first, double report) {
    return report + spex_controller.collecting.record * spex_groups_recorded(first);
}

/* Seconds that an execution costs on average with the present period. */
static double execution_cost(uint32_t first, const struct spex_controlled *probe) {
    double skip, report;
    spex_accounts_probe_costs(first, &skip, &report);
    return skip + report / spex_controlled_period(probe);
}

double spex_mode_cost(uint32_t first, const struct spex_controlled *probe) {
    return probe->fresh * execution_cost(first, probe);
}

/* CPUs that the program has used while the probe was on. Where it waits for them that is another
 * number than on average. */
static double cpus_while_on(const struct spex_slices *slices) {
    bool known = slices->passed.on > 0 && slices->used.on > 0;
    double cpus = known ? slices->used.on / slices->passed.on : spex_controller.cpus;
    return fmax(cpus, CPUS_LEAST);
}

/* The share of the program's CPU time that the probe takes while it is on. By executions in CPU
 * time: the frequency is the highest lately. Those of a group are not counted well enough. */
static double share_taken(uint32_t first, const struct spex_slices *slices,
                          const struct spex_slices_reading *now) {
    const struct spex_controlled *probe = &spex_controller.probes[first];
    bool is_on = probe->selected && probe->held.until <= 0;
    double taken = is_on ? probe->frequency * execution_cost(first, probe) : probe->taken_mean;
    if (spex_groups_is(first) || !(now->on > 0) || !(probe->frequency > 0))
        return taken / cpus_while_on(slices);
    return now->count / now->on * spex_controller.tick_rate * taken / probe->frequency;
}

/* Returns how much faster the program executes the probe while that is held off. Its cost as
 * calibrated may be anything from nothing to twice as much, and is that of one thread at least.
 * `by`: the index by which is decided about the probe. */
static struct spex_speedup speedup_of(uint32_t by, const struct spex_slices *slices,
                                      const struct spex_slices_reading *now) {
    double share = share_taken(by, slices, now), cpus = cpus_while_on(slices);
    return (struct spex_speedup){1, 1 / (1 - fmin(share, SLOWED_MOST)),
                                 1 / (1 - fmin(2 * share * fmax(cpus, 1), SLOWED_MOST))};
}

/* Notes the slice of a probe that is decided about by the index `by`. */
static void note_slice(uint32_t first, uint32_t by) {
    const struct spex_probe_state state = spex_probe_state(first, spex_ticks());
    const struct spex_slices_time passed = {(double)state.on_ticks, (double)state.held_ticks};
    struct spex_slices *slices = &spex_controller.probes[first].slices;
    double count = (double)spex_controller.executions[first] + spex_metrics_in_regions(first);
    const struct spex_slices_reading reading = spex_slices_read(slices, count, &passed);
    const struct spex_speedup speedup = speedup_of(by, slices, &reading);
    spex_slices_note(slices, &reading, &speedup);
}

/* Returns the next probe, at or after `from`, about which is decided by the index;
 * spex_sites_count() at the end. */
static uint32_t next_decided(uint32_t index, uint32_t from) {
    if (spex_groups_is(index))
        return spex_groups_next(index, from);
    return from <= index ? index : spex_sites_count();
}

void spex_modes_note_slice(uint32_t index) {
    for (uint32_t i = next_decided(index, 0); i < spex_sites_count();
         i = next_decided(index, i + 1))
        note_slice(i, index);
}

/* Executions a tick on one CPU: no program executes a probe more often. Where slices do not tell
 * how often a probe was executed, this is all that is known. */
#define EXECUTIONS_MOST 1.0

/* Where no slices tell, a program without its probe may be three times as fast: own_profile.c
 * counts with that. With a probe that takes at most this share of its time it is not faster. */
#define KNOWN_SHARE (2 / 3.0)

/* Before so many seconds all executions may have made records when their frequency was measured. */
#define SETTLED_SECONDS 1.0

/* Whether a hold-off for an experiment tells nothing of how often the program would have executed
 * the probe. Costs may be twice what is known. */
static bool may_be_far_faster(uint32_t by, const struct spex_controlled *probe) {
    double skip, report, frequency = fmax(probe->frequency, probe->frequency_held);
    double period =
        spex_controller.now < SETTLED_SECONDS ? 1 : (double)spex_controlled_period(probe);
    spex_accounts_probe_costs(by, &skip, &report);
    return !(frequency > 0) ||
           2 * frequency * (skip + report / period) > KNOWN_SHARE * fmax(spex_controller.cpus, 1);
}

struct spex_held_executions spex_controller_held(uint32_t first, double count,
                                                 const struct spex_slices_time *passed) {
    if (!spex_controller.probes)
        return (struct spex_held_executions){0, -1};
    uint32_t by = spex_controlled_by(first);
    const struct spex_controlled *probe = &spex_controller.probes[by];
    const struct spex_slices *slices = &spex_controller.probes[first].slices;
    const struct spex_slices_reading now = spex_slices_read(slices, count, passed);
    const struct spex_speedup speedup = speedup_of(by, slices, &now);
    struct spex_held_executions held = spex_slices_estimate(slices, &now, &speedup);
    double weight = by != first && probe->last_period ? probe->last_period : 1;
    /* So many executions, or records in a region, may have been expected where there was none. */
    if (held.margin >= 0 && now.on > 0)
        held.margin += SPEX_UNSEEN_95 * weight * now.held / now.on;
    else if (slices->slices || probe->tried > 0 || probe->held.until > 0 ||
             may_be_far_faster(by, probe))
        held = (struct spex_held_executions){0, EXECUTIONS_MOST * fmax(spex_controller.cpus, 1) *
                                                    passed->held};
    return held;
}

/* Notes how long the slice was that is over: longer ones at once, shorter ones by and by. */
static void slice_note_length(struct spex_controlled *probe, double seconds) {
    double longer = probe->slice > 0 ? seconds / probe->slice : 1;
    probe->longer = fmax(longer, probe->longer + (longer - probe->longer) * LONGER_FORGOTTEN);
}

/* Returns the cost by which pauses go, in seconds a second, of a probe that may cost `most`. Not so
 * much of a group: without a witness its slices never tell, and it would use two fifths of the
 * budget for ever. */
static double cost_for_pauses(uint32_t first, const struct spex_controlled *probe, double most) {
    double times = fmax(UNKNOWN_TIMES / spex_controlled_factor(probe), 1);
    if (probe->factor > 0 || spex_groups_is(first))
        return probe->taken;
    return probe->most > 0 ? most : fmin(times * probe->taken, most);
}

/* How long pauses are to be, where slices can be as long as that makes them. Until slices have told
 * what the probe costs they are short: it takes some of them to tell. */
static double pause_wanted(const struct spex_controlled *probe, double steady) {
    if (probe->factor <= 0)
        return PAUSE_SECONDS;
    double decisions = 2 * spex_controller.sliced * spex_accounts_decision_cost();
    return fmin(fmax(decisions / (SLICING_SHARE * steady), PAUSE_SECONDS), PAUSE_SECONDS_DEAR);
}

/* Sets the length of the next slice and returns the time until it begins. That is random, so that
 * slices do not fall into step with the program, and on average such that the slice that is over
 * costs what slices may; where that is for want of knowledge, until there is no more caution. A
 * debt is paid back first, and so is what the probe took by surprise; several do not begin all at
 * once when it is. */
static double slice_plan(uint32_t first, struct spex_controlled *probe) {
    double steady = spex_budget_steady(&spex_controller.budget, spex_controlled_cpus());
    double skip, report;
    spex_accounts_careful_costs(first, &skip, &report);
    double cost = probe->fresh * (skip + report / spex_controlled_period(probe));
    probe->taken = spex_mode_cost(first, probe);
    probe->may_take = cost;
    double allowed = slices_part(cost);
    probe->taken_mean = probe->frequency * execution_cost(first, probe);
    double last = probe->tried > 0 ? spex_controller.now - probe->tried : SLICE_SECONDS;
    slice_note_length(probe, last);
    double dearer = fmax(cost / allowed - 1, PAUSE_SECONDS_MIN);
    double likely = fmax(cost_for_pauses(first, probe, cost) / allowed - 1, PAUSE_SECONDS_MIN);
    double even = (double)(spex_random_next(&spex_controller.random) >> 11) * 0x1p-53;
    double careful = probe->since + SPEX_CAUTION_SECONDS - spex_controller.now;
    double times = last * (0.5 + even);
    double pause = fmin(times * dearer, fmax(times * likely, careful));
    probe->slice =
        fmin(fmax(pause_wanted(probe, steady) / dearer, SLICE_SECONDS), SLICE_SECONDS_MAX);
    if (probe->tried <= 0)
        pause = fmax(pause, spex_controller.surprise / steady);
    double debt = -spex_controller.budget.tokens / steady;
    pause = fmax(pause, spex_controller.sliced > 1 ? debt * (1 + even) : debt);
    return fmin(fmax(pause, PAUSE_SECONDS_MIN), PAUSE_SECONDS_MAX);
}

/* Returns the period in a slice. One with calls of the library is shorter, as it costs more. */
static uint32_t slice_period(uint32_t first, struct spex_controlled *probe) {
    double skip, report, call = spex_accounts_call_cost() * spex_controlled_factor(probe);
    uint32_t period = period_whole(probe->frequency, SPEX_RECORDS_LEAST);
    if (!spex_accounts_probe_costs(first, &skip, &report) || skip <= 0)
        return period;
    if (probe->sliced.called && call > 0) {
        probe->slice = fmax(probe->slice * skip / (skip + call), SLICE_SECONDS);
        return SPEX_SITE_CALLED;
    }
    double executions = probe->frequency * probe->slice * fmax(probe->longer, 1);
    double equal = ceil(record_cost(first, report) / skip);
    double dense = ceil(fmax(equal / SLICE_RECORDS_SHARE, executions / SLICE_RECORDS_MOST));
    double sparse = fmax(fmin(dense, fmax(period, equal)), 1);
    return (uint32_t)fmin(sparse, SPEX_CONTROL_PERIOD_MAX);
}

/* Tells the metrics that records are of a new slice from now on; `scale`: see spex_tracer_slice. */
static void slice_begin_records(uint32_t index, double scale) {
    for (uint32_t i = next_decided(index, 0); i < spex_sites_count();
         i = next_decided(index, i + 1))
        spex_metrics_slice(i, scale);
}

/* The records of a slice stand for the hold-off of `held` seconds before it, whose length does not
 * depend on what they tell, and for slices without records before that. */
static void slice_weigh(uint32_t first, struct spex_controlled *probe, double held) {
    double length = probe->slice * fmax(probe->longer, 1);
    probe->unrecorded += held;
    if (probe->period == SPEX_SITE_CALLED) {
        probe->unrecorded += length;
        return;
    }
    slice_begin_records(first, 1 + probe->unrecorded / length);
    probe->unrecorded = 0;
}

void spex_mode_leave_slices(uint32_t first, struct spex_controlled *probe) {
    if (probe->tried > 0)
        slice_begin_records(first, 1);
    probe->tried = probe->unrecorded = 0;
}

/* What its executions cost is no longer to be expected until they are counted again. */
static void expect_none_of(uint32_t first, const struct spex_controlled *probe) {
    double skip, report;
    spex_accounts_probe_costs(first, &skip, &report);
    spex_controller.skipping = fmax(spex_controller.skipping - probe->fresh * skip, 0);
}

void spex_mode_hold(uint32_t first, struct spex_controlled *probe, const char *why) {
    spex_experiments_slice(first, false);
    expect_none_of(first, probe);
    spex_controlled_uncounted(probe);
    spex_controller.recorded -= spex_controller.recorded > 0;
    spex_controller.demand -= probe->demand;
    probe->held.length = slice_plan(first, probe);
    probe->held.until = spex_controller.now + probe->held.length;
    probe->last_period = probe->period;
    probe->period = SPEX_SITE_HELD;
    spex_controlled_is_held(probe);
    probe->why = why;
}

/* Switches a probe on after it was held off, with few records, so that the trial costs little. */
static void probe_try_again(uint32_t first, struct spex_controlled *probe) {
    double held = spex_controller.now - (probe->held.until - probe->held.length);
    probe->held.until = 0;
    spex_experiments_slice(first, true);
    spex_controlled_on_trial(probe);
    probe->tried = spex_controller.now;
    probe->period = slice_period(first, probe);
    if (spex_site_info(first)->probe_type == SPEX_SPAN)
        spex_open_spans_renew();
    slice_weigh(first, probe, held);
    probe->why = "on for a slice of the time, as its executions alone cost more than the budget";
}

/* Sets the period for the records that the decision allows. A period that is nearly right stays.
 * The next time that the probe is held off, or polled, begins at the shortest again. */
static void probe_set_period(uint32_t first, struct spex_controlled *probe,
                             const struct spex_rate_class *class,
                             const struct spex_rate_decision *decision) {
    bool all = decision->frequency >= spex_rate_most(class);
    double exact = all ? 1 : period_exact(class->frequency, decision->frequency);
    if (period_differs(probe->period, exact))
        probe->period = all ? 0 : period_whole(class->frequency, decision->frequency);
    probe->held.length = 0;
    probe->polled.length = 0;
    spex_mode_leave_slices(first, probe);
    /* The slice goes on, with another period. */
    probe->sliced.cpu_ns = 0;
    probe->why = decision->reason;
}

/* Has a probe polled. The time until it is recorded again for a moment grows only if it was
 * recorded in between. */
static void probe_poll(struct spex_controlled *probe, const char *why) {
    spex_controlled_uncounted(probe);
    if (probe->period != SPEX_SITE_POLLED)
        spex_hold_off(&probe->polled, spex_controller.now, POLLED_SECONDS, POLLED_SECONDS_MAX);
    probe->period = SPEX_SITE_POLLED;
    probe->held.length = 0;
    probe->why = why;
}

void spex_mode_apply(uint32_t first, const struct spex_rate_class *class,
                     const struct spex_rate_decision *decision) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    uint32_t before = probe->period;
    if (probe->held.until > 0)
        probe_try_again(first, probe);
    else if (decision->mode == SPEX_RATE_OFF)
        spex_mode_hold(first, probe, decision->reason);
    else if (decision->mode == SPEX_RATE_PROBED &&
             !spex_probe_type_lasts(spex_site_info(first)->probe_type))
        spex_mode_hold(first, probe, "held off: it is not worth its records, and cannot be polled");
    else if (decision->mode == SPEX_RATE_PROBED)
        probe_poll(probe, decision->reason);
    /* A polled probe stays polled until its executions are counted again. */
    else if (probe->period != SPEX_SITE_POLLED)
        probe_set_period(first, probe, class, decision);
    spex_probe_throttle(first, probe->period);
    /* Other collectors may sleep until a probe is on. */
    if (before == SPEX_SITE_HELD && probe->period != SPEX_SITE_HELD &&
        spex_collectors_running() > 1)
        spex_doorbell_ring();
}
