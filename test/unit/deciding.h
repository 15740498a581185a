/* SPDX-License-Identifier: MIT */
/* What the controller asks when it decides, and does then: the test tells it and sees it. */
#ifndef SPEX_TEST_DECIDING_H
#define SPEX_TEST_DECIDING_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <spex/ticks.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/metrics.h"
#include "policies/rate/rates.h"
#include "rate/accounts.h"
#include "rate/controller.h"
#include "rate/controller_state.h"
#include "rate/experiment/experiment.h"
#include "rate/experiments.h"
#include "rate/frequency.h"
#include "rate/modes.h"
#include "rate/occupancy_sampler.h"
#include "text/message.h"

/* AGAIN is the second site of FIRST. */
enum { FIRST, SECOND, AGAIN, GROUP, MEMBER, OTHER, SITES };

#define NS 1e-9

struct spex_controller spex_controller;

static struct spex_controlled probes[SITES];
static struct spex_rate_class classes[SITES];
static struct spex_rate_decision decisions[SITES];
static uint32_t firsts[SITES];
static uint64_t executions[SITES], at_rest[SITES];

static struct spex_site_info infos[SITES] = {
    [FIRST] = {.probe = FIRST, .probe_type = SPEX_LAT, .name = (char[]){"first"}},
    [SECOND] = {.probe = SECOND, .probe_type = SPEX_CNT, .name = (char[]){"second"}},
    [AGAIN] = {.probe = FIRST, .probe_type = SPEX_LAT},
    [GROUP] = {.probe = SPEX_MAX_SITES},
    [MEMBER] = {.probe = MEMBER, .probe_type = SPEX_LAT},
    [OTHER] = {.probe = OTHER, .probe_type = SPEX_LAT},
};

#include "made_sites.h"

/* What is so, and what was done. */
static struct {
    struct spex_probe_state states[SITES];
    bool measured, asked, busy, rush, overdrawn, session;
    double session_due, reserved, sample_cost, base;
    uint32_t selections;
    uint64_t thread_ns, deciding_ns;
    double advances;
    int adapted, error;
    uint32_t throttled[SITES];
    unsigned locked, decided, advanced, counted, from_now, passes, polling_applied, begun;
    double counted_seconds, charged;
    size_t expected;
    bool polled[SITES];
    char done[SITES][16];
    double sliced_costs;
    unsigned sliced, noted_slices;
    /* The problem of the last decision. */
    struct spex_rate_problem problem;
    struct spex_rate_class classes[SITES];
    char message[128];
} told;

void spex_metrics_lock(void) {
    assert_int_equal(told.locked++, 0);
}

void spex_metrics_unlock(void) {
    assert_int_equal(told.locked--, 1);
}

uint64_t spex_clock_ns(clockid_t clock) {
    return clock == CLOCK_THREAD_CPUTIME_ID ? told.thread_ns : 99;
}

uint32_t spex_sites_selections(void) {
    return told.selections;
}

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    assert_true(until <= spex_ticks());
    return told.states[first];
}

void spex_probe_throttle(uint32_t first, uint32_t period) {
    told.throttled[first] = period;
}

void spex_slices_pass(struct spex_slices *slices, const struct spex_slices_time *passed,
                      double cpus) {
    slices->passed = *passed;
    slices->used.on = cpus;
    told.passes++;
}

void spex_accounts_charge(uint64_t ns) {
    told.charged += (double)ns;
}

double spex_accounts_decision_cost(void) {
    return spex_controller.deciding;
}

void spex_accounts_note_cpus(void) {
}

void spex_accounts_note_collecting(void) {
}

void spex_accounts_advance(uint64_t ns) {
    assert_int_equal(ns, 99);
    spex_controller.now += told.advances;
    told.advanced++;
}

void spex_accounts_count_executions(double seconds) {
    told.counted++;
    told.counted_seconds = seconds;
}

void spex_accounts_expect(size_t count) {
    told.expected = count;
}

void spex_accounts_from_now(void) {
    told.from_now++;
}

bool spex_accounts_careful_costs(uint32_t first, double *skip, double *report) {
    *skip = (first + 1) * 100 * NS;
    *report = (first + 1) * 1000 * NS;
    return true;
}

double spex_groups_recorded(uint32_t index) {
    return index == GROUP ? 0.25 : 1;
}

bool spex_frequency_measure(uint32_t first, struct spex_controlled *probe, uint64_t count) {
    assert_ptr_equal(probe, &probes[first]);
    assert_int_equal(count, executions[first]);
    return told.measured;
}

void spex_polling_measure(struct spex_polling_share *share, uint32_t first, bool polled,
                          double frequency) {
    assert_ptr_equal(share, &probes[first].share);
    assert_true(frequency == probes[first].frequency);
    told.polled[first] = polled;
    share->share = 0.125;
}

double spex_polling_base(const struct spex_rate_class *of, size_t count) {
    (void)of;
    return told.base * (double)count;
}

void spex_polling_without_base(struct spex_rate_problem *problem, struct spex_rate_class *of) {
    assert_ptr_equal(problem->classes, of);
    problem->budget /= 2;
}

size_t spex_polling_dearest(const struct spex_rate_class *of, size_t count) {
    (void)of;
    (void)count;
    return 0;
}

void spex_polling_apply(const struct spex_rate_plan *plan, size_t count) {
    assert_ptr_equal(plan->decisions, decisions);
    assert_int_equal(count, told.problem.class_count);
    told.polling_applied++;
}

double spex_occupancy_sampler_cost(void) {
    return told.sample_cost;
}

static void done(uint32_t first, const char *what) {
    snprintf(told.done[first], sizeof(told.done[first]), "%s", what);
}

void spex_mode_apply(uint32_t first, const struct spex_rate_class *class,
                     const struct spex_rate_decision *decision) {
    size_t c = (size_t)(class - classes);
    assert_int_equal(firsts[c], first);
    assert_ptr_equal(decision, &decisions[c]);
    done(first, "applied");
}

void spex_mode_hold(uint32_t first, struct spex_controlled *probe, const char *why) {
    assert_ptr_equal(probe, &probes[first]);
    assert_non_null(strstr(why, "cost more than the budget"));
    done(first, "held");
}

void spex_mode_count_again(uint32_t first, struct spex_controlled *probe) {
    (void)probe;
    done(first, "counted");
}

void spex_mode_record_all(uint32_t first, struct spex_controlled *probe) {
    (void)probe;
    done(first, "recorded");
}

void spex_mode_leave_slices(uint32_t first, struct spex_controlled *probe) {
    (void)first;
    probe->tried = 0;
}

void spex_modes_note_slice(uint32_t index) {
    (void)index;
    told.noted_slices++;
}

bool spex_modes_note_sliced(double cost) {
    told.sliced++;
    told.sliced_costs += cost;
    return false;
}

double spex_modes_reserved(void) {
    return told.reserved;
}

bool spex_experiments_rush(void) {
    return told.rush;
}

bool spex_experiments_overdrawn(void) {
    return told.overdrawn;
}

bool spex_experiments_pass(void) {
    return told.busy;
}

void spex_experiments_begin(size_t count) {
    assert_int_equal(count, told.problem.class_count);
    told.begun++;
}

bool spex_experiment_running(void) {
    return told.session;
}

double spex_experiment_due(double now) {
    assert_true(now == spex_controller.now);
    return told.session_due;
}

int spex_controller_adapt(void) {
    return told.adapted;
}

bool spex_controller_is_asked(void) {
    return told.asked;
}

void spex_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(told.message, sizeof(told.message), format, arguments);
    va_end(arguments);
}

static int decide(const struct spex_rate_problem *problem, void *workspace,
                  struct spex_rate_plan *plan) {
    assert_ptr_equal(workspace, &told);
    assert_ptr_equal(plan->decisions, decisions);
    assert_int_equal(problem->size, sizeof(*problem));
    assert_int_equal(plan->size, sizeof(*plan));
    assert_int_equal(told.locked, 1);
    told.problem = *problem;
    memcpy(told.classes, problem->classes, sizeof(told.classes));
    told.decided++;
    told.thread_ns += told.deciding_ns;
    return told.error;
}

static int combine(const struct spex_rate_problem *problem, void *workspace,
                   struct spex_rate_combination *best, size_t count) {
    (void)problem;
    (void)workspace;
    (void)best;
    (void)count;
    return 0;
}

static const struct spex_rate_policy_ops policy = {.name = "made", .decide = decide},
                                         polling = {.name = "polls",
                                                    .decide = decide,
                                                    .combinations = combine};

/* 2 % of two CPUs; both probes are selected and have been for long. */
static int setup(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    memset(probes, 0, sizeof(probes));
    memset(&told, 0, sizeof(told));
    memset(told.throttled, 0xee, sizeof(told.throttled));
    spex_controller.probes = probes;
    spex_controller.classes = classes;
    spex_controller.decisions = decisions;
    spex_controller.firsts = firsts;
    spex_controller.executions = executions;
    spex_controller.at_rest = at_rest;
    spex_controller.workspace = &told;
    spex_controller.policy = &policy;
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 2;
    spex_controller.now = 10;
    spex_controller.decided = 9.75;
    spex_controller.slice_due = spex_controller.trial_due = INFINITY;
    for (uint32_t i = 0; i < SITES; i++) {
        executions[i] = 1000 + i;
        at_rest[i] = SPEX_NOT_AT_REST;
        probes[i].factor = 1;
    }
    for (uint32_t i = FIRST; i <= SECOND; i++) {
        probes[i].selected = i + 1;
        probes[i].frequency = 1000 * (i + 1);
        told.states[i] =
            (struct spex_probe_state){.selected = i + 1, .on_ticks = 50 + i, .held_ticks = 60 + i};
        probes[i].selected_ticks = 110 + 2 * i;
    }
    for (uint32_t i = GROUP; i < SITES; i++)
        probes[i].grouped.group = GROUP + 1;
    return 0;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* Has it decide about all. */
static void pass(void) {
    told.selections++;
    spex_controller_pass();
    assert_int_equal(told.locked, 0);
}

static void expect_done(uint32_t first, const char *what) {
    assert_string_equal(told.done[first], what);
    told.done[first][0] = '\0';
}

#endif
