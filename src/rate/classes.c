/* SPDX-License-Identifier: MIT */
/* What a decision is about: a class for each probe that is on, with how often it executes and what
 * that costs. Others are held off or on trial, or rest: of a thousand probes most are not executed,
 * and a decision does not look at them. */
#define _GNU_SOURCE
#include "rate/controller_state.h"

#include <math.h>
#include <stdbool.h>

#include <spex/probe.h>
#include <spex/rate_policy.h>

#include "base/grown.h"
#include "rate/accounts.h"
#include "rate/budget.h"
#include "rate/frequency.h"
#include "rate/modes.h"
#include "rate/polling.h"
#include "rate/slices.h"
#include "site/probe_state.h"
#include "site/registry.h"

/* Looks a second that a polled probe needs. A policy spends all that is left on more looks. */
#define LOOKS_LEAST 10.0

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

/* Whether this decision is the first one about the selection. */
static bool is_new_selection(void) {
    return spex_controller.reselected >= spex_controller.now;
}

/* The probe was left alone until now: its executions are those since the last decision. If it was
 * never executed before, it was selected at an earlier one. A first measurement ends after the
 * interval of decisions. */
static void probe_wake(struct spex_controlled *probe, uint32_t selected) {
    probe->measured = fmax(probe->measured, spex_controller.decided);
    if (!probe->selected && selected && !is_new_selection()) {
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
    spex_controller.beginning_takes += spex_controlled_taken(probe);
    return true;
}

/* For so many seconds in which a probe is not selected what is known of it holds. Who switches it
 * off and on again has one budget: each time that it begins anew it is recorded in full until the
 * first decision. With 1 % and a selection that changed every 3 ms a program paid 6.3 %. */
#define KEPT_SECONDS 10.0

/* The probe's time stands still for so many seconds. A pause ends no later by that. */
static void probe_pass_off(struct spex_controlled *probe, double off) {
    probe->off += off;
    probe->sliced.cpu_ns = 0;
    probe->measured = fmin(probe->measured + off, spex_controller.now);
    probe->since += off;
    if (probe->tried > 0)
        probe->tried += off;
    if (probe->held.until <= 0)
        return;
    double begin = probe->held.until - probe->held.length + off;
    probe->held.until = fmax(probe->held.until, begin + SPEX_DECISION_SECONDS_RUSH);
    probe->held.length = probe->held.until - begin;
}

/* Returns whether the probe was selected since the last look at it, be it for some of the time.
 * Where the selection has changed, notes for how long it was not; and what runs tells no cost, as
 * executions were not counted meanwhile, be it those of a witness. */
static bool probe_note_selected(struct spex_controlled *probe,
                                const struct spex_probe_state *state) {
    double rate = spex_controller.tick_rate, elapsed = spex_controller.now - probe->looked;
    uint64_t ticks = state->on_ticks + state->held_ticks;
    uint64_t grown = spex_grown(probe->selected_ticks, ticks);
    if (is_new_selection() && probe->looked > 0 && rate > 0)
        probe_pass_off(probe, fmax(elapsed - (double)grown / rate, 0));
    probe->looked = spex_controller.now;
    probe->selected_ticks = ticks;
    return grown > 0;
}

/* The probe was off for long, or is polled by the user's selection: nothing that was decided holds. */
static void probe_let_go(uint32_t first, struct spex_controlled *probe) {
    if (probe->period)
        spex_probe_throttle(first, 0);
    spex_mode_leave_slices(first, probe);
    spex_controlled_leave(probe);
}

/* Whether there is something to decide about the probe. */
static bool probe_is_decided(uint32_t first, struct spex_controlled *probe,
                             const struct spex_probe_state *state) {
    if (state->by_hand || (state->selected && probe->off > KEPT_SECONDS))
        probe_let_go(first, probe);
    if (state->by_hand || !state->selected)
        return false;
    probe->off = 0;
    return true;
}

/* Fills in the class of a probe for the policy. False: there is nothing to decide, since the probe
 * is off, polled by the user's selection, held off, or on for a trial. */
static bool probe_make_class(uint32_t first, struct spex_probe_state state,
                             struct spex_rate_class *class) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    uint64_t count = spex_controller.executions[first];
    bool was_selected = probe_note_selected(probe, &state);
    if (has_rested(first))
        probe_wake(probe, state.by_hand ? 0 : state.selected);
    /* Selections may change faster than decisions are made. */
    if (!state.selected && was_selected)
        state.selected = probe->selected ? probe->selected : 1;
    bool decided = probe_is_decided(first, probe, &state);
    set_at_rest(first, !state.selected);
    if (!decided || probe->held.until > 0)
        spex_controlled_measure_from_now(probe, count);
    if (!decided)
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
 * selected are; otherwise its period is the shortest of the others'. Its time is the sum of theirs. */
static void group_add(struct spex_probe_state *group, const struct spex_probe_state *member) {
    bool first = !group->selected;
    group->on_ticks += member->on_ticks;
    group->held_ticks += member->held_ticks;
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

size_t spex_controller_make_classes(void) {
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
