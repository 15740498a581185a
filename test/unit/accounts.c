/* SPDX-License-Identifier: MIT */
/* The controller's accounts alone: clocks, records, executions and costs are told by the test, so
 * that each figure is known. A tick takes half a nanosecond. */
#include "rate/accounts.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <spex/spex.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "rate/controller_state.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/cost.h"

/* MEMBER is a probe in the region GROUP; AGAIN is the second site of the probe LATENCY. */
enum { LATENCY, COUNTER, GROUP, MEMBER, AGAIN, SITES };

enum {
    LAT_RING = __builtin_ctz(SPEX_LAT),
    CNT_RING = __builtin_ctz(SPEX_CNT),
    SPAN_RING = __builtin_ctz(SPEX_SPAN),
    THREADS = 100
};

#define NS 1e-9

struct spex_controller spex_controller;

static struct spex_controlled probes[SITES];
static struct spex_rate_class classes[SITES];
static uint32_t firsts[SITES];
static uint64_t executions[SITES], chosen_executions[SITES], at_rest[SITES];

static const struct spex_site_info infos[SITES] = {
    [LATENCY] = {.probe = LATENCY, .probe_type = SPEX_LAT},
    [COUNTER] = {.probe = COUNTER, .probe_type = SPEX_CNT},
    [GROUP] = {.probe = SPEX_MAX_SITES},
    [MEMBER] = {.probe = MEMBER, .probe_type = SPEX_LAT},
    [AGAIN] = {.probe = LATENCY, .probe_type = SPEX_LAT},
};

#include "made_sites.h"

/* What the accounts are told. */
static struct {
    struct spex_cost lat, cnt;
    double drawn, call, rate;
    uint64_t executions[SITES];
    struct spex_metrics_totals rings[SPEX_PROBE_TYPES];
    double alarms[SPEX_PROBE_TYPES];
    uint64_t monotonic_ns, process_ns, collectors_ns, looker_ns, thread_ns;
    double group_spent, polled;
    uint32_t threads;
    uint64_t threads_cpu_ns, threads_id;
    unsigned chosen;
} told;

int spex_cost_get(uint32_t type, struct spex_cost *cost) {
    *cost = type == SPEX_LAT ? told.lat : told.cnt;
    return type == SPEX_LAT || type == SPEX_CNT ? 0 : -ENOENT;
}

double spex_cost_call(void) {
    return told.call;
}

double spex_cost_drawn(uint32_t type) {
    return type == SPEX_LAT ? told.drawn : 0;
}

uint64_t spex_clock_ns(clockid_t clock) {
    if (clock == CLOCK_THREAD_CPUTIME_ID)
        return told.thread_ns;
    return clock == CLOCK_PROCESS_CPUTIME_ID ? told.process_ns : told.monotonic_ns;
}

void spex_controller_read_clocks(void) {
    spex_controller.collectors_ns = told.collectors_ns;
}

uint64_t spex_collectors_cpu_ns(void) {
    return told.collectors_ns;
}

uint64_t spex_sampling_budget_spent_ns(void) {
    return told.looker_ns;
}

double spex_metrics_tick_rate(void) {
    return told.rate;
}

struct spex_metrics_totals spex_metrics_totals(unsigned type_ring) {
    assert_true(type_ring < SPEX_PROBE_TYPES);
    return told.rings[type_ring];
}

void spex_metrics_executions(uint64_t *counts) {
    memcpy(counts, told.executions, sizeof(told.executions));
}

void spex_rings_alarm_at(unsigned type_ring, double records) {
    told.alarms[type_ring] = records;
}

double spex_polling_execution_cost(void) {
    return told.polled;
}

void spex_groups_count(uint64_t *counts) {
    counts[GROUP] = 77;
}

double spex_groups_spent(uint32_t group) {
    assert_int_equal(group, GROUP);
    return told.group_spent;
}

bool spex_groups_costs(uint32_t group, double *skip, double *report) {
    assert_int_equal(group, GROUP);
    *skip = 3 * NS;
    *report = 4 * NS;
    return true;
}

/* Half of it in LAT's ring, and half in that of SPAN. */
void spex_groups_expect(uint32_t group, double records, double factor, double skipping,
                        struct spex_groups_expected *by_ring) {
    assert_int_equal(group, GROUP);
    static const unsigned rings[] = {LAT_RING, SPAN_RING};
    for (unsigned r = 0; r < COUNT_OF(rings); r++) {
        by_ring[rings[r]].records += records / 2;
        by_ring[rings[r]].sum += records / 2 * factor;
        by_ring[rings[r]].skipping += skipping / 2;
    }
}

void spex_threads_choose(struct spex_thread_set *set, uint32_t most, struct spex_random *random) {
    assert_ptr_equal(random, &spex_controller.random);
    set->of = told.threads;
    set->count = told.threads < most ? told.threads : most;
    for (uint32_t i = 0; i < set->count; i++)
        set->ids[i] = told.threads + i;
    told.chosen += most == SPEX_THREADS_CHOSEN;
}

void spex_threads_cpu_ns(const struct spex_thread_set *set, uint64_t *cpu_ns, uint64_t *threads) {
    *cpu_ns = told.threads_cpu_ns * set->count / set->of;
    *threads = told.threads_id;
}

uint64_t spex_threads_executions_of(const struct spex_thread_set *set, uint32_t site) {
    assert_false(site == GROUP);
    return set->count * 1000 + site;
}

/* A skipped execution costs 10 ns, a record 50 more; of CNT 5 and 20. */
static int setup(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    memset(probes, 0, sizeof(probes));
    memset(&told, 0, sizeof(told));
    spex_controller.probes = probes;
    spex_controller.classes = classes;
    spex_controller.firsts = firsts;
    spex_controller.executions = executions;
    spex_controller.at_rest = at_rest;
    for (uint32_t i = 0; i < SITES; i++)
        at_rest[i] = SPEX_NOT_AT_REST;
    spex_controller.chosen_executions = chosen_executions;
    spex_controller.tick_rate = told.rate = 2e9;
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 1;
    told.lat = (struct spex_cost){.skip = 20, .record = 120};
    told.cnt = (struct spex_cost){.skip = 10, .record = 50};
    told.threads = 1;
    told.threads_id = 5;
    probes[GROUP].grouped.group = probes[MEMBER].grouped.group = GROUP + 1;
    return 0;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

typedef bool costs_of(uint32_t first, double *skip, double *report);

static void expect_costs(costs_of *of, uint32_t first, double skip_ns, double report_ns) {
    double skip, report;
    assert_true(of(first, &skip, &report));
    expect_near(skip, skip_ns * NS);
    expect_near(report, report_ns * NS);
}

static void expect_no_costs(costs_of *of, uint32_t first) {
    double skip = 1, report = 1;
    assert_false(of(first, &skip, &report));
    assert_true(skip == 0 && report == 0);
}

static void costs_are_those_of_calibration(void **state) {
    (void)state;
    expect_costs(spex_accounts_type_costs, SPEX_LAT, 10, 50);
    expect_costs(spex_accounts_type_costs, SPEX_CNT, 5, 20);
    expect_costs(spex_accounts_calibrated_costs, COUNTER, 5, 20);
    expect_costs(spex_accounts_calibrated_costs, GROUP, 3, 4);
    told.cnt.record = 4; /* by noise */
    expect_costs(spex_accounts_calibrated_costs, COUNTER, 5, 0);
    expect_no_costs(spex_accounts_type_costs, SPEX_KERNEL);
    spex_controller.tick_rate = 0.5;
    expect_costs(spex_accounts_type_costs, SPEX_LAT, 40e9, 200e9);
    spex_controller.tick_rate = 0;
    expect_no_costs(spex_accounts_type_costs, SPEX_LAT);
    expect_no_costs(spex_accounts_costs_drawn, LATENCY);
}

/* Only where the controller has lengthened the period. */
static void records_by_chance_are_dearer(void **state) {
    (void)state;
    told.drawn = 200;
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 10, 50);
    expect_costs(spex_accounts_costs_drawn, LATENCY, 10, 90);
    probes[LATENCY].period = 2;
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 10, 90);
    probes[LATENCY].selected = 2;
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 10, 50);
    told.drawn = 100;
    expect_costs(spex_accounts_costs_drawn, LATENCY, 10, 50);
}

static void executions_that_call_the_library_are_dearer(void **state) {
    (void)state;
    told.call = 60;
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 10, 50);
    probes[LATENCY].period = SPEX_SITE_CALLED;
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 40, 50);
    probes[LATENCY].factor = 2;
    expect_costs(spex_accounts_probe_costs, LATENCY, 80, 100);
    told.call = 0;
    expect_costs(spex_accounts_probe_costs, LATENCY, 20, 100);
}

/* For so many slices at most. */
static void caution_in_slices_stays_until_costs_are_found(void **state) {
    (void)state;
    probes[LATENCY] = (struct spex_controlled){.since = 3, .tried = 4, .sliced.begun = 99};
    spex_controller.now = 300;
    expect_costs(spex_accounts_careful_costs, LATENCY, 80, 400);
    spex_controller.found = 2;
    expect_costs(spex_accounts_careful_costs, LATENCY, 80, 400);
    probes[LATENCY].factor = 1.5;
    expect_costs(spex_accounts_careful_costs, LATENCY, 15, 75);
    spex_controller.found = 0;
    probes[LATENCY].factor = 0;
    probes[LATENCY].sliced.begun = 100;
    expect_costs(spex_accounts_careful_costs, LATENCY, 10, 50);
    probes[LATENCY].most = 3; /* what was found is not sure, but a bound */
    expect_costs(spex_accounts_careful_costs, LATENCY, 30, 150);
    probes[LATENCY].sliced.begun = 1;
    expect_costs(spex_accounts_careful_costs, LATENCY, 30, 150);
    probes[LATENCY].most = 20;
    expect_costs(spex_accounts_careful_costs, LATENCY, 80, 400);
    probes[LATENCY].tried = 0;
    expect_costs(spex_accounts_careful_costs, LATENCY, 10, 50);
}

/* By as much as what was found may be too low, a fifth at most. Accounts go by what was found. */
static void plans_go_by_the_error_of_what_was_found(void **state) {
    (void)state;
    probes[LATENCY] = (struct spex_controlled){.factor = 2, .doubt = 0.2};
    expect_costs(spex_accounts_careful_costs, LATENCY, 22, 110);
    expect_costs(spex_accounts_probe_costs, LATENCY, 20, 100);
    probes[LATENCY].doubt = 5;
    expect_costs(spex_accounts_careful_costs, LATENCY, 24, 120);
}

/* 24 ticks are 12 ns. Where it is known what an execution costs they are in that. */
static void what_executes_seldom_misses_the_first_caches(void **state) {
    (void)state;
    spex_controller.now = 300;
    probes[LATENCY].frequency = probes[GROUP].frequency = 20e3;
    expect_costs(spex_accounts_probe_costs, LATENCY, 16, 50);
    expect_costs(spex_accounts_careful_costs, LATENCY, 16, 50);
    expect_costs(spex_accounts_calibrated_costs, LATENCY, 10, 50);
    expect_costs(spex_accounts_probe_costs, GROUP, 3, 4);
    probes[LATENCY].frequency = 2e3;
    expect_costs(spex_accounts_probe_costs, LATENCY, 10 + 12 / 1.01, 50);
    probes[LATENCY].frequency = 200e3;
    expect_costs(spex_accounts_probe_costs, LATENCY, 10 + 12 / 101.0, 50);
    spex_controller.found = 3;
    expect_costs(spex_accounts_probe_costs, LATENCY, 30, 150);
    probes[LATENCY].factor = 0.5;
    expect_costs(spex_accounts_probe_costs, LATENCY, 5, 25);
}

static void what_experiments_have_found_counts(void **state) {
    (void)state;
    probes[LATENCY].factor = 0.5;
    expect_costs(spex_accounts_probe_costs, LATENCY, 5, 25);
    assert_true(spex_accounts_record_factor(LATENCY) == 0.5);
    expect_costs(spex_accounts_probe_costs, COUNTER, 5, 20);
    spex_controller.found = 3; /* also of others */
    expect_costs(spex_accounts_probe_costs, COUNTER, 15, 60);
    expect_costs(spex_accounts_probe_costs, LATENCY, 5, 25);
    told.drawn = 200;
    probes[LATENCY].period = 7;
    expect_near(spex_accounts_record_factor(LATENCY), 0.5 * 90 / 50);
    told.lat.record = 20;
    assert_true(spex_accounts_record_factor(LATENCY) == 1);
}

/* Half of it is given up in 0.15 s, so that nothing is left 1.05 s after it was switched on. */
static void caution_is_given_up(void **state) {
    static const struct {
        double left, times;
    } at[] = {{1.05, 8}, {0.46, 8}, {0.3, 4}, {0.15, 2}, {0.075, M_SQRT2}, {0, 1}, {-5, 1}};
    (void)state;
    for (size_t a = 0; a < COUNT_OF(at); a++) {
        double times = at[a].times, records = fmin(times, 2);
        probes[LATENCY] = (struct spex_controlled){.since = 3};
        spex_controller.now = 3 + 1.05 - at[a].left;
        expect_costs(spex_accounts_careful_costs, LATENCY, 10 * times, 50 * records);
        probes[LATENCY].tried = 1; /* in slices, long since */
        probes[LATENCY].sliced.begun = 100;
        expect_costs(spex_accounts_careful_costs, LATENCY, 10 * times, 50 * times);
        spex_controller.found = 2;
        double more = fmax(times / 2, 1);
        expect_costs(spex_accounts_careful_costs, LATENCY, 20 * more, 100 * more);
        spex_controller.found = 0;
        probes[LATENCY].factor = 1.5;
        expect_costs(spex_accounts_careful_costs, LATENCY, 15, 75);
    }
}

static void records_and_collectors_are_paid(void **state) {
    (void)state;
    told.monotonic_ns = spex_controller.monotonic_ns = 5000000000;
    told.monotonic_ns += 500000000;
    told.collectors_ns = 6000000;
    spex_controller.collectors_ns = 1000000;
    told.looker_ns = 700000;
    spex_controller.looker_ns = 200000;
    told.rings[LAT_RING].produced = 1000;
    spex_controller.produced[LAT_RING] = 400;
    told.rings[CNT_RING].produced = 50;
    spex_controller.factors[CNT_RING] = 3;
    spex_controller.collecting.record = 40 * NS;
    /* A budget is a share of the program's CPU time, whatever time has passed. */
    spex_controller.used_ns = 30000000;
    told.process_ns = 30000000 + told.collectors_ns + 400000000;
    spex_accounts_advance(told.monotonic_ns);
    double spent = 5e-3 + 0.5e-3 + 600 * 50 * NS + 50 * 60 * NS;
    expect_near(spex_controller.spent, spent);
    expect_near(spex_controller.budget.tokens, 0.02 * 0.4 - spent);
    expect_near(spex_controller.now, 0.5);
    expect_near(spex_controller.seconds, 0.4);
    expect_near(told.alarms[LAT_RING], 0.05 * 0.02 / (90 * NS));
    expect_near(told.alarms[CNT_RING], 0.05 * 0.02 / (100 * NS));
    assert_true(told.alarms[spex_probe_type_ring(SPEX_KERNEL)] == 0); /* it costs nothing known */
    /* Nothing is paid twice; and the time of all threads counts, also of those that have ended. */
    spex_controller.cpus = 3;
    told.process_ns += 750000000;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    expect_near(spex_controller.spent, spent);
    expect_near(spex_controller.now, 0.75);
    expect_near(spex_controller.seconds, 0.4 + 0.75);
    expect_near(spex_controller.budget.tokens, 0.02 * (0.4 + 0.75) - spent);
    /* Collectors note theirs late: what was taken for the program's is not taken twice. */
    told.process_ns += 5000000;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    told.collectors_ns += 5000000;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    told.process_ns += 7000000;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    expect_near(spex_controller.seconds, 0.4 + 0.75 + 0.007);
    spent += 5e-3;
    expect_near(spex_controller.spent, spent);
    /* As long as costs are not known, records wait to be paid. */
    told.rate = 0;
    told.rings[LAT_RING].produced += 10;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    expect_near(spex_controller.spent, spent);
    told.rate = 2e9;
    spex_accounts_advance(told.monotonic_ns + 250000000);
    expect_near(spex_controller.spent, spent + 10 * 50 * NS);
    spex_accounts_charge(5000000);
    expect_near(spex_controller.spent, spent + 10 * 50 * NS + 5e-3);
}

/* Until they are counted, as much is paid as the last time, or more if records imply it. */
static void executions_are_paid_in_advance(void **state) {
    double spent = 0;
    (void)state;
    spex_controller.skipping = 0.01;
    spex_controller.implies[LAT_RING] = 1000 * NS;
    spex_accounts_advance(100000000);
    expect_near(spex_controller.spent, spent = 1e-3);
    told.rings[LAT_RING].produced = 1000; /* these imply 1 ms */
    spex_accounts_advance(100000000);
    expect_near(spex_controller.spent, spent += 1000 * 50 * NS);
    expect_near(told.alarms[LAT_RING], 0.05 * 0.02 / (1050 * NS));
    told.rings[LAT_RING].produced = 3000; /* and these 2 more */
    spex_accounts_advance(200000000);
    expect_near(spex_controller.spent, spent += 2e-3 + 2000 * 50 * NS);
    spex_accounts_advance(250000000); /* 2.5 ms, which have been paid */
    expect_near(spex_controller.spent, spent);
    expect_near(spex_controller.skipped, 3e-3);
    expect_near(spex_controller.implied, 3e-3);
    expect_near(spex_controller.uncounted, 0.25);
    spex_accounts_advance(500000000);
    expect_near(spex_controller.spent, spent += 2e-3);
}

/* In place of what was paid in advance. */
static void executions_are_counted(void **state) {
    (void)state;
    spex_controller.skipped = 3e-3;
    spex_controller.implied = spex_controller.uncounted = 1;
    told.executions[LATENCY] = 1000000;
    told.executions[COUNTER] = 500000;
    told.executions[MEMBER] = told.executions[AGAIN] = 0;
    probes[LATENCY].counted = 400000;
    probes[COUNTER].factor = 2;
    probes[COUNTER].period = SPEX_SITE_POLLED;
    probes[COUNTER].frequency = 10000;
    told.polled = 100 * NS;
    told.group_spent = 1e-3;
    double cost = 600000 * 10 * NS + 500000 * 10 * NS + 10000 * 0.5 * 100 * NS + 1e-3;
    spex_accounts_count_executions(0.5);
    expect_near(spex_controller.spent, cost - 3e-3);
    expect_near(spex_controller.skipping, cost / 0.5);
    assert_true(spex_controller.skipped == 0 && spex_controller.implied == 0);
    assert_true(spex_controller.uncounted == 0);
    assert_int_equal(probes[LATENCY].counted, 1000000);
    assert_int_equal(executions[COUNTER], 500000);
    assert_int_equal(executions[GROUP], 77);
    assert_int_equal(probes[GROUP].counted, 0);
    /* Nothing is paid twice, and members are their group's. */
    probes[COUNTER].period = 0;
    told.group_spent = 0;
    told.executions[MEMBER] = 1000;
    double spent = spex_controller.spent;
    spex_accounts_count_executions(0);
    assert_true(spex_controller.spent == spent && spex_controller.skipping == 0);
    /* What costs are not known yet waits. */
    told.executions[LATENCY] += 100;
    spex_controller.tick_rate = 0;
    spex_accounts_count_executions(1);
    assert_true(spex_controller.spent == spent);
    spex_controller.tick_rate = 2e9;
    spex_accounts_count_executions(1);
    expect_near(spex_controller.spent, spent + 1000 * NS);
}

/* CPUs in use are known where probes are in slices or on trial, and between two such counts. */
static void what_the_program_uses_is_noted(void **state) {
    (void)state;
    told.threads_cpu_ns = 1000000000;
    spex_accounts_count_executions(0.5);
    assert_true(spex_controller.running == -1);
    assert_ptr_equal(spex_controller.progress.executions, executions);
    assert_int_equal(spex_controller.progress.cpu_ns, 0);
    assert_int_equal(told.chosen, 0);
    spex_controller.sliced = 1;
    spex_accounts_count_executions(0.5);
    assert_true(spex_controller.running == -1);
    assert_int_equal(spex_controller.progress.cpu_ns, 1000000000);
    assert_true(spex_controller.progress.part == 1);
    told.threads_cpu_ns += 750000000;
    spex_accounts_count_executions(0.5);
    expect_near(spex_controller.running, 1.5);
    spex_controller.sliced = 0;
    spex_controller.trying = true;
    told.threads_cpu_ns += 100000000;
    spex_accounts_count_executions(0.5);
    expect_near(spex_controller.running, 0.2);
    told.threads_cpu_ns += 100000000;
    spex_accounts_count_executions(0);
    assert_true(spex_controller.running == -1);
    told.threads_id++; /* others */
    told.threads_cpu_ns += 100000000;
    spex_accounts_count_executions(0.5);
    assert_true(spex_controller.running == -1);
    spex_controller.trying = false;
    spex_accounts_count_executions(0.5);
    assert_true(spex_controller.running == -1);
}

/* Of many threads 64 are chosen for ten seconds. */
static void some_threads_tell_the_progress(void **state) {
    struct spex_progress progress;
    (void)state;
    assert_true(spex_accounts_part_chosen() == 1);
    told.threads = 64;
    assert_true(spex_accounts_choose_threads());
    assert_true(spex_accounts_part_chosen() == 1);
    spex_controller.now = 1;
    told.threads = THREADS; /* one that has come is noticed at once */
    assert_false(spex_accounts_choose_threads());
    assert_int_equal(told.chosen, 2);
    expect_near(spex_accounts_part_chosen(), 0.64);
    spex_controller.now = 10.99;
    assert_false(spex_accounts_choose_threads());
    assert_int_equal(told.chosen, 2);
    told.threads_cpu_ns = 1000;
    memset(chosen_executions, 0xff, sizeof(chosen_executions));
    spex_accounts_read_progress(&progress);
    assert_ptr_equal(progress.executions, chosen_executions);
    /* Both of the probe's sites. */
    assert_int_equal(chosen_executions[LATENCY], 64000 + LATENCY + 64000 + AGAIN);
    assert_int_equal(chosen_executions[COUNTER], 64000 + COUNTER);
    assert_int_equal(chosen_executions[MEMBER], 64000 + MEMBER);
    assert_int_equal(chosen_executions[GROUP], 0);
    assert_int_equal(chosen_executions[AGAIN], 0);
    assert_int_equal(progress.cpu_ns, 640);
    assert_int_equal(progress.threads, 5);
    expect_near(progress.part, 0.64);
    spex_controller.now = 11;
    assert_false(spex_accounts_choose_threads());
    assert_int_equal(told.chosen, 3);
    /* What these have used is a part of what all have. */
    spex_controller.sliced = 1;
    told.threads_cpu_ns = 1000000000;
    spex_accounts_count_executions(1);
    told.threads_cpu_ns += 2000000000;
    spex_accounts_count_executions(1);
    expect_near(spex_controller.running, 2);
}

/* The program's without the collectors', over a twentieth of a second or more. */
static void busy_cpus_are_noted(void **state) {
    (void)state;
    told.process_ns = 1000000000;
    spex_controller.process_ns = 400000000;
    spex_controller.collectors_ns = 150000000;
    spex_controller.process_collectors_ns = 50000000;
    spex_controller.process_at = 7;
    spex_controller.now = 7.0499;
    spex_accounts_note_cpus();
    assert_true(spex_controller.cpus == 1);
    spex_controller.now = 7.25;
    spex_accounts_note_cpus();
    expect_near(spex_controller.cpus, 0.5 / 0.25);
    spex_controller.now += 0.05;
    spex_accounts_note_cpus();
    assert_true(spex_controller.cpus == 2);
    spex_controller.now += 0.05;
    told.process_ns += 1000000;
    spex_controller.collectors_ns += 2000000; /* noted later than they were */
    spex_accounts_note_cpus();
    assert_true(spex_controller.cpus == 0);
    assert_int_equal(spex_controller.process_ns, told.process_ns);
    assert_int_equal(spex_controller.process_collectors_ns, 152000000);
    expect_near(spex_controller.process_at, 7.35);
}

/* In ten passes. */
static void note_collecting(double seconds, uint64_t records, uint64_t ns) {
    spex_controller.now += seconds;
    spex_controller.passes += 10;
    told.rings[LAT_RING].records += records / 2;
    told.rings[SPAN_RING].records += records - records / 2;
    spex_controller.collectors_ns += ns;
    spex_accounts_note_collecting();
}

/* From intervals of half a millisecond of CPU time: with fewer than 100 records they tell the cost
 * of waking, otherwise that of records. */
static void collecting_is_noted(void **state) {
    const struct spex_collecting *is = &spex_controller.collecting;
    (void)state;
    note_collecting(0.1, 99, 499999);
    assert_true(is->rest == 0 && is->at == 0 && is->ns == 0);
    note_collecting(0, 0, 1);
    expect_near(is->rest, 0.0005 / 0.1);
    expect_near(is->pass, 0.0005 / 20);
    expect_near(is->at, 0.1);
    assert_int_equal(is->records, 99);
    assert_int_equal(is->ns, 500000);
    /* Of intervals with the same CPU time the longer one counts more. */
    note_collecting(0.2, 0, 500000);
    expect_near(is->rest, (0.0005 * 0.75 + 0.0005) / (0.1 * 0.75 + 0.2));
    expect_near(is->pass, (0.0005 * 0.75 + 0.0005) / (20 * 0.75 + 10));
    double rest = is->rest;
    spex_controller.deciding = is->pass * 0.9;
    assert_true(spex_accounts_decision_cost() == is->pass);
    spex_controller.deciding = is->pass * 1.1;
    assert_true(spex_accounts_decision_cost() == is->pass * 1.1);
    assert_true(is->record == 0);
    note_collecting(0.1, 100, 1000000);
    double seconds = 1e-3 - rest * 0.1, records = 100;
    expect_near(is->record, seconds / records);
    assert_true(is->rest == rest);
    note_collecting(0.1, 10000, 3000000);
    seconds += 3e-3 - rest * 0.1 - seconds / 4;
    records += 10000 - records / 4;
    expect_near(is->record, seconds / records);
    note_collecting(1, 1000, 1000000); /* less than waking alone */
    expect_near(is->record, (seconds * 3 / 4) / (records * 3 / 4 + 1000));
    note_collecting(0, 1000, 1000000); /* in no time */
    assert_int_equal(is->records, 99 + 100 + 10000 + 1000);
}

/* The means of what a second's records cost and imply. */
static void records_to_come_are_expected(void **state) {
    (void)state;
    firsts[0] = LATENCY;
    classes[0] = (struct spex_rate_class){.frequency = 1000, .detect_cost = 30 * NS};
    probes[LATENCY].frequency = 1200;
    probes[LATENCY].period = 4;
    probes[LATENCY].factor = 2;
    firsts[1] = COUNTER;
    classes[1] = (struct spex_rate_class){.frequency = 500, .detect_cost = 10 * NS};
    probes[COUNTER].frequency = 500;
    probes[COUNTER].selected = 5;
    firsts[2] = GROUP;
    classes[2] = (struct spex_rate_class){.frequency = 100, .detect_cost = 7 * NS};
    probes[GROUP].frequency = 200;
    probes[GROUP].factor = 3;
    spex_accounts_expect(3);
    double of_lat = 300 * 2 + 100 * 3, lat = 300 + 100;
    double lat_skips = 1000 * 30 * NS + 100 * 7 * NS / 2;
    expect_near(spex_controller.factors[LAT_RING], of_lat / lat);
    expect_near(spex_controller.implies[LAT_RING], lat_skips / lat);
    expect_near(spex_controller.factors[SPAN_RING], 3);
    expect_near(spex_controller.implies[SPAN_RING], 100 * 7 * NS / 2 / 100);
    expect_near(spex_controller.factors[CNT_RING], 1);
    expect_near(spex_controller.implies[CNT_RING], 500 * 10 * NS / 100);
    unsigned kernel = spex_probe_type_ring(SPEX_KERNEL);
    assert_true(spex_controller.factors[kernel] == 1 && spex_controller.implies[kernel] == 0);
    /* Records of slices imply nothing. */
    spex_controller.sliced = 1;
    spex_accounts_expect(3);
    expect_near(spex_controller.factors[LAT_RING], of_lat / lat);
    assert_true(spex_controller.implies[LAT_RING] == 0);
}

static void what_was_before_is_not_paid(void **state) {
    uint64_t records = 0;
    (void)state;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        told.rings[t] = (struct spex_metrics_totals){.produced = 100 + t, .records = 90 + t};
        records += 90 + t;
    }
    told.executions[LATENCY] = 5000;
    told.executions[AGAIN] = 6000;
    told.collectors_ns = 4000;
    spex_controller.now = 9;
    spex_controller.skipped = spex_controller.implied = spex_controller.uncounted = 1;
    spex_controller.skipping = spex_controller.decided_tokens = spex_controller.decided_spent = 1;
    spex_controller.budget.tokens = 0.5;
    spex_controller.collecting.rest = 1;
    spex_controller.passes = 77;
    spex_accounts_from_now();
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        assert_int_equal(spex_controller.produced[t], 100 + t);
    assert_int_equal(probes[LATENCY].counted, 5000);
    assert_int_equal(probes[AGAIN].counted, 6000);
    assert_int_equal(spex_controller.collecting.records, records);
    assert_int_equal(spex_controller.collecting.ns, 4000);
    assert_int_equal(spex_controller.collecting.passes, 77);
    assert_true(spex_controller.collecting.at == 9 && spex_controller.collecting.rest == 0);
    assert_true(spex_controller.process_at == 9 && spex_controller.decided == 9);
    assert_true(spex_controller.skipped == 0 && spex_controller.implied == 0);
    assert_true(spex_controller.uncounted == 0 && spex_controller.skipping == 0);
    assert_true(spex_controller.decided_tokens == 0 && spex_controller.budget.tokens == 0);
    assert_true(spex_controller.decided_spent == spex_controller.spent);
    assert_true(spex_controller.budget.share == 0.02);
    spex_accounts_advance(0);
    spex_accounts_count_executions(1);
    assert_true(spex_controller.spent == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(costs_are_those_of_calibration, setup),
        cmocka_unit_test_setup(records_by_chance_are_dearer, setup),
        cmocka_unit_test_setup(executions_that_call_the_library_are_dearer, setup),
        cmocka_unit_test_setup(plans_go_by_the_error_of_what_was_found, setup),
        cmocka_unit_test_setup(what_executes_seldom_misses_the_first_caches, setup),
        cmocka_unit_test_setup(what_experiments_have_found_counts, setup),
        cmocka_unit_test_setup(caution_is_given_up, setup),
        cmocka_unit_test_setup(caution_in_slices_stays_until_costs_are_found, setup),
        cmocka_unit_test_setup(records_and_collectors_are_paid, setup),
        cmocka_unit_test_setup(executions_are_paid_in_advance, setup),
        cmocka_unit_test_setup(executions_are_counted, setup),
        cmocka_unit_test_setup(what_the_program_uses_is_noted, setup),
        cmocka_unit_test_setup(some_threads_tell_the_progress, setup),
        cmocka_unit_test_setup(busy_cpus_are_noted, setup),
        cmocka_unit_test_setup(collecting_is_noted, setup),
        cmocka_unit_test_setup(records_to_come_are_expected, setup),
        cmocka_unit_test_setup(what_was_before_is_not_paid, setup),
    };
    return cmocka_run_group_tests_name("accounts", tests, NULL, NULL);
}
