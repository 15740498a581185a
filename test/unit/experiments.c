/* SPDX-License-Identifier: MIT */
/* When experiments run and what becomes of their findings: sessions, slices, costs and clocks are
 * those that the test tells. */
#include "rate/experiments.h"

#include <math.h>
#include <string.h>

#include "../check.h"
#include "collect/metrics.h"
#include "rate/accounts.h"
#include "rate/controller_state.h"
#include "rate/experiment/experiment.h"
#include "rate/experiment/sliced.h"
#include "ring/probe_type.h"

/* UNSEEN has not been measured yet. */
enum { DEAR, CHEAP, GROUP, UNSEEN, SITES };

#define NS 1e-9

struct spex_controller spex_controller;

static struct spex_controlled probes[SITES + 1];
static struct spex_subject subjects[SITES];
static uint32_t firsts[SITES];
static uint64_t executions[SITES + 1];

static const struct spex_site_info infos[SITES] = {
    [DEAR] = {.probe = DEAR, .probe_type = SPEX_LAT},
    [CHEAP] = {.probe = CHEAP, .probe_type = SPEX_LAT},
    [GROUP] = {.probe = SPEX_MAX_SITES},
    [UNSEEN] = {.probe = UNSEEN, .probe_type = SPEX_LAT},
};

#include "made_sites.h"

/* What the session is, and what has been asked of it. */
static struct {
    bool running, begins, over, all_threads, costs_known;
    double due, rest, part;
    struct spex_finding finding;
    unsigned counted, stepped, aborted, begun;
    /* The arguments of the last begin. */
    size_t subjects;
    double share;
    double skip, report, skip_drawn, report_drawn;
    /* What a session has cost more, and what has been charged for it. */
    double extra;
    uint64_t charged;
    bool called;
    /* Of slices: the finding, if there is one, and the last arguments. */
    bool found;
    uint32_t witness;
    enum spex_slice_over slice_over;
    struct spex_subject subject;
    unsigned slices;
} told;

bool spex_accounts_choose_threads(void) {
    return told.all_threads;
}

void spex_accounts_count_all(void) {
    told.counted++;
}

void spex_accounts_read_progress(struct spex_progress *progress) {
    *progress = (struct spex_progress){.part = told.part, .threads = 3};
}

double spex_accounts_part_chosen(void) {
    return told.part;
}

double spex_accounts_call_cost(void) {
    return 25 * NS;
}

void spex_accounts_charge(uint64_t ns) {
    told.charged += ns;
}

bool spex_experiment_saved(void) {
    return !told.called;
}

double spex_experiment_extra(uint32_t *first) {
    *first = DEAR;
    return told.extra;
}

bool spex_accounts_calibrated_costs(uint32_t first, double *skip, double *report) {
    *skip = told.skip * (first + 1);
    *report = told.report;
    return told.costs_known;
}

bool spex_accounts_costs_drawn(uint32_t first, double *skip, double *report) {
    *skip = told.skip_drawn * (first + 1);
    *report = told.report_drawn;
    return true;
}

bool spex_experiment_running(void) {
    return told.running;
}

double spex_experiment_due(double now) {
    assert_true(now == spex_controller.now);
    return told.due;
}

void spex_experiment_rest(double until) {
    told.rest = until;
}

void spex_experiment_abort(double now) {
    assert_true(now == spex_controller.now);
    told.running = false;
    told.aborted++;
}

bool spex_experiment_step(double now, const struct spex_progress *progress,
                          struct spex_finding *finding) {
    assert_true(now == spex_controller.now);
    assert_int_equal(progress->threads, 3);
    told.stepped++;
    if (told.over)
        *finding = told.finding;
    told.running = !told.over;
    return told.over;
}

bool spex_experiment_begin(const struct spex_subject *of, size_t count, double share, double part,
                           double now) {
    assert_ptr_equal(of, subjects);
    assert_true(part == told.part && now == spex_controller.now);
    told.subjects = count;
    told.share = share;
    told.begun++;
    return told.begins;
}

bool spex_experiment_sliced(struct spex_sliced *sliced, const struct spex_subject *subject,
                            uint32_t witness, enum spex_slice_over over,
                            const struct spex_progress *progress, struct spex_finding *finding) {
    assert_ptr_equal(sliced, &probes[subject->first].sliced);
    assert_ptr_equal(progress, &spex_controller.progress);
    told.subject = *subject;
    told.witness = witness;
    told.slice_over = over;
    told.slices++;
    if (told.found)
        *finding = told.finding;
    return told.found;
}

double spex_accounts_decision_cost(void) {
    return spex_controller.deciding;
}

/* 2 % of two CPUs. */
static int setup(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    memset(probes, 0, sizeof(probes));
    memset(&told, 0, sizeof(told));
    memset(subjects, 0, sizeof(subjects));
    for (uint32_t i = 0; i <= SITES; i++)
        executions[i] = 1000 + i;
    spex_controller.probes = probes;
    spex_controller.subjects = subjects;
    spex_controller.firsts = firsts;
    spex_controller.executions = executions;
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 2;
    spex_controller.now = 10;
    probes[GROUP].grouped.group = GROUP + 1;
    told.part = 1;
    told.costs_known = told.all_threads = true;
    told.skip = 10 * NS;
    told.report = 60 * NS;
    told.skip_drawn = 10 * NS;
    told.report_drawn = 80 * NS;
    return 0;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* Where a fiftieth of a second's worth was lost in debt, or a tenth that was not planned; and as
 * much as a decision takes. What collectors took is not lost by that. */
static void debts_and_surprises_are_urgent(void **state) {
    (void)state;
    assert_false(spex_experiments_rush());
    spex_controller.budget.tokens = -0.04 * 0.0199;
    assert_false(spex_experiments_rush());
    spex_controller.budget.tokens = -0.04 * 0.0201;
    assert_true(spex_experiments_rush());
    spex_controller.decided_tokens = -0.04 * 0.0002; /* it was decided in debt */
    assert_false(spex_experiments_rush());
    spex_controller.budget.tokens = -0.04 * 0.0203;
    assert_true(spex_experiments_rush());
    spex_controller.collectors_ns = 9000; /* 0.04 * 0.000225 */
    assert_false(spex_experiments_rush());
    spex_controller.decided_ns = 9000;
    assert_true(spex_experiments_rush());
    spex_controller.deciding = 0.04 * 0.0202;
    assert_false(spex_experiments_rush());
    spex_controller.deciding = 0.04 * 0.02;
    assert_true(spex_experiments_rush());
    spex_controller.decided_tokens = 0.04 * 0.2;
    spex_controller.budget.tokens = 0.04 * 0.101;
    assert_false(spex_experiments_rush());
    spex_controller.budget.tokens = 0.04 * 0.099;
    assert_true(spex_experiments_rush());
}

/* The budget has no greater debt, but all that is spent beyond what is earned is lost. */
static void what_is_lost_in_the_deepest_debt_is_urgent(void **state) {
    (void)state;
    spex_controller.decided_tokens = spex_controller.budget.tokens = -0.04 * 5;
    spex_controller.decided = spex_controller.now - 1;
    spex_controller.decided_spent = 3;
    spex_controller.spent = 3 + 0.04 * 1.0199;
    assert_false(spex_experiments_rush());
    spex_controller.spent = 3 + 0.04 * 1.0201;
    assert_true(spex_experiments_rush());
    spex_controller.collectors_ns = 9000; /* 0.04 * 0.000225 */
    assert_false(spex_experiments_rush());
}

static void without_a_session_decisions_wait_a_little(void **state) {
    (void)state;
    assert_false(spex_experiments_pass());
    spex_controller.waiting_until = 10.001;
    assert_true(spex_experiments_pass());
    spex_controller.now = 10.001;
    assert_false(spex_experiments_pass());
    assert_true(told.stepped == 0 && told.counted == 0 && told.aborted == 0);
}

static void a_session_goes_on_when_it_is_due(void **state) {
    (void)state;
    told.running = true;
    told.due = 0.001;
    assert_true(spex_experiments_pass());
    assert_true(told.stepped == 0 && told.counted == 0);
    told.due = 0;
    assert_true(spex_experiments_pass());
    assert_true(told.stepped == 1 && told.counted == 1);
    told.due = -0.001;
    told.all_threads = false; /* all are counted at the end alone */
    assert_true(spex_experiments_pass());
    assert_true(told.stepped == 2 && told.counted == 1);
    assert_false(spex_controller.overdue);
    told.over = true;
    assert_true(spex_experiments_pass());
    assert_true(told.stepped == 3 && told.counted == 2);
    assert_true(spex_controller.overdue);
    told.running = told.all_threads = true;
    assert_true(spex_experiments_pass());
    assert_true(told.stepped == 4 && told.counted == 3);
    assert_int_equal(told.aborted, 0);
}

/* The passes' time, over a tenth of the budget, is for others; and all is measured anew. */
static void after_a_session_all_is_measured_anew(void **state) {
    (void)state;
    told.running = told.over = true;
    spex_controller.session_ns = 1000000;
    spex_controller.collectors_ns = 3000000;
    for (uint32_t i = 0; i <= SITES; i++)
        probes[i] = (struct spex_controlled){
            .seen = i != UNSEEN, .measured = 1, .count = 5, .sliced.cpu_ns = 7};
    assert_true(spex_experiments_pass());
    expect_near(told.rest, 10 + 2e-3 / (0.1 * 0.04));
    expect_near(spex_controller.waiting_until, 10.005);
    assert_true(spex_controller.overdue);
    for (uint32_t i = 0; i <= SITES; i++) {
        bool anew = i != UNSEEN && i < SITES;
        assert_true(probes[i].measured == (anew ? 10 : 1));
        assert_int_equal(probes[i].count, anew ? 1000 + i : 5);
        assert_int_equal(probes[i].sliced.cpu_ns, anew ? 0 : 7);
    }
}

/* In one whose executions call the library the probe is counted as ever. */
static void a_session_of_calls_leaves_frequencies(void **state) {
    (void)state;
    told.running = told.over = told.called = true;
    probes[DEAR] =
        (struct spex_controlled){.seen = true, .measured = 1, .count = 5, .sliced.cpu_ns = 7};
    assert_true(spex_experiments_pass());
    assert_true(probes[DEAR].measured == 1 && probes[DEAR].count == 5);
    assert_int_equal(probes[DEAR].sliced.cpu_ns, 0);
}

/* What a session saves is not spent before a decision is urgent. */
static void savings_of_a_session_are_kept(void **state) {
    (void)state;
    told.running = true;
    told.due = 1;
    spex_controller.decided_tokens = 0.001;
    spex_controller.budget.tokens = 0.009;
    assert_true(spex_experiments_pass());
    assert_int_equal(told.aborted, 0);
    spex_controller.budget.tokens = 0.0051; /* a tenth of a second's worth less, nearly */
    assert_true(spex_experiments_pass());
    assert_int_equal(told.aborted, 0);
    spex_controller.budget.tokens = 0.0049;
    assert_true(spex_experiments_pass());
    assert_int_equal(told.aborted, 1);
}

static void a_rush_ends_the_session(void **state) {
    (void)state;
    for (int trying = 0; trying < 2; trying++) {
        setup(NULL);
        told.running = true;
        told.due = 1;
        probes[DEAR].seen = true;
        spex_controller.trying = trying;
        spex_controller.budget.tokens = trying ? 0 : -1;
        assert_true(spex_experiments_pass());
        assert_true(told.aborted == 1 && told.stepped == 0 && told.counted == 1);
        assert_true(spex_controller.overdue && probes[DEAR].measured == 10);
        assert_true(told.rest == 10);
        assert_true(probes[DEAR].factor == 0);
    }
}

/* Ends a session with a finding about the dear probe, whose factor was `before` (0: none). */
static double factor_after(double before, double factor, double error) {
    static const uint32_t first = DEAR;
    probes[DEAR].factor = before;
    spex_controller.found = 0;
    told.finding = (struct spex_finding){&first, 1, factor, error};
    told.running = told.over = true;
    assert_true(spex_experiments_pass());
    assert_true(probes[CHEAP].factor == 0);
    assert_true(spex_controller.found == probes[DEAR].factor);
    return probes[DEAR].factor;
}

/* Of errors of a tenth or more the new factor has a weight of 0.6, but for the first. */
static void factors_that_differ_surely_are_taken_over(void **state) {
    (void)state;
    expect_near(factor_after(2, 4, 0.399), 4);
    expect_near(factor_after(2, 4, 0.401), 3.2);
    expect_near(factor_after(2, 4, 1.99), 3.2);
    expect_near(factor_after(2, 4, 2.01), 2); /* dearer by less than an error */
    assert_true(probes[DEAR].doubt == 2.01);
    expect_near(probes[DEAR].most, 4 + 1.64 * 2.01);
    expect_near(factor_after(4, 2, 0.199), 2);
    expect_near(factor_after(4, 2, 0.201), 2.8);
    expect_near(factor_after(4, 2, 0.99), 2.8);
    expect_near(factor_after(4, 2, 1.01), 4); /* cheaper by less than two */
    expect_near(factor_after(4, 5.01, 0.1), 5.01);
    expect_near(factor_after(4, 4.99, 0.1), 4); /* by less than a quarter */
    expect_near(factor_after(5, 3.99, 0.1), 3.99);
    expect_near(factor_after(5, 4.01, 0.1), 5);
    expect_near(factor_after(0, 3, 1.9), 3);
    /* Below what was calibrated only where it is precise. */
    expect_near(factor_after(0, 0.4, 0.039), 0.4);
    expect_near(factor_after(0, 0.4, 0.041), 1);
    expect_near(factor_after(3, 0.4, 0.041), 3 - 2 * 0.6);
}

/* What calls of the library cost more than calibrated, other executions cost by half as much again,
 * and by more where that is more than twice: 2.4 times what calls do at most. */
static void calls_tell_of_other_executions(void **state) {
    (void)state;
    told.called = true;
    expect_near(factor_after(0, 1.8, 0.3), 2.2);
    expect_near(factor_after(0, 2, 0.3), 2.5);
    expect_near(factor_after(0, 2.5, 0.3), 2.5 + 2);
    expect_near(factor_after(0, 4, 0.3), 2.4 * 4);
    expect_near(factor_after(2, 4, 0.37), 2 + (9.6 - 2) * 0.6);
    expect_near(factor_after(2, 0.8, 0.01), 0.8);
    expect_near(factor_after(2, 40, 0.1), 50);
}

/* It is known then that it is as dear as calibrated, or as the one before. */
static void a_small_error_makes_a_factor_known(void **state) {
    (void)state;
    assert_true(factor_after(0, 1.1, 0.99) == 1);
    assert_true(factor_after(0, 1.1, 1) == 0);
    assert_true(factor_after(0, 2, 1.1) == 0);
    assert_true(factor_after(3, 3, 2) == 3);
}

/* A finding is that of all probes of its session. */
static void findings_are_of_several_probes(void **state) {
    static const uint32_t several[] = {DEAR, UNSEEN};
    (void)state;
    told.finding = (struct spex_finding){several, 2, 4, 0.1};
    told.running = told.over = true;
    assert_true(spex_experiments_pass());
    assert_true(probes[DEAR].factor == 4 && probes[UNSEEN].factor == 4);
    assert_true(probes[CHEAP].factor == 0 && spex_controller.found == 4);
}

static void subjects_are_what_is_recorded(void **state) {
    (void)state;
    firsts[0] = DEAR;
    firsts[1] = GROUP;
    firsts[2] = CHEAP;
    firsts[3] = UNSEEN;
    probes[DEAR].frequency = 5000;
    probes[DEAR].period = 8;
    probes[CHEAP].frequency = 100;
    probes[CHEAP].frequency_held = 300;
    probes[GROUP].frequency = 7;
    told.begins = true;
    spex_controller.collectors_ns = 12345;
    spex_controller.chosen_until = 4;
    spex_experiments_begin(3);
    assert_int_equal(told.subjects, 3);
    expect_near(told.share, 0.04);
    assert_int_equal(spex_controller.session_ns, 12345);
    assert_true(spex_controller.chosen_until == 0);
    assert_int_equal(subjects[0].first, DEAR);
    assert_int_equal(subjects[0].on.period, 8);
    assert_true(subjects[0].frequency == 5000);
    expect_near(subjects[0].on.cost, (10 + 60 / 8.0) * NS);
    assert_true(subjects[0].cheap.cost == subjects[0].on.cost);
    assert_int_equal(subjects[0].dear.period, SPEX_SITE_CALLED);
    expect_near(subjects[0].dear.cost, (10 + 25) * NS);
    assert_int_equal(subjects[1].first, GROUP);
    expect_near(subjects[1].on.cost, (30 + 60) * NS);
    assert_true(subjects[1].cheap.cost == subjects[1].dear.cost);
    assert_int_equal(subjects[2].first, CHEAP);
    assert_int_equal(subjects[2].cheap.period, 4);
    expect_near(subjects[2].cheap.cost, (20 + 80 / 4.0) * NS);
    assert_true(subjects[2].dear.cost == subjects[2].on.cost);
    /* They are not counted meanwhile. */
    assert_true(probes[DEAR].frequency_held == 5000 && probes[CHEAP].frequency_held == 300);
    assert_true(probes[UNSEEN].frequency_held == 0);
}

static void what_is_not_recorded_is_no_subject(void **state) {
    (void)state;
    firsts[0] = DEAR;
    firsts[1] = GROUP;
    firsts[2] = CHEAP;
    told.part = 0.9; /* passes are known of all threads together */
    probes[DEAR].held.until = 0.5;
    spex_experiments_begin(3);
    assert_int_equal(told.subjects, 1);
    assert_int_equal(subjects[0].first, CHEAP);
    assert_true(probes[GROUP].frequency_held == 0);
    probes[DEAR].held.until = 0;
    probes[DEAR].trying = true;
    probes[CHEAP].period = SPEX_SITE_POLLED;
    spex_experiments_begin(3);
    assert_int_equal(told.subjects, 0);
    probes[DEAR].trying = false;
    told.costs_known = false;
    spex_experiments_begin(1);
    assert_int_equal(told.subjects, 0);
}

/* Where records cost more than executions, and the period is not too long for a site. */
static void what_dominates_is_compared(void **state) {
    (void)state;
    firsts[0] = DEAR;
    probes[DEAR].period = SPEX_GAP_PERIOD_MAX / 4;
    told.report = 600000000 * NS;
    spex_experiments_begin(1);
    assert_int_equal(subjects[0].cheap.period, SPEX_GAP_PERIOD_MAX);
    assert_int_equal(subjects[0].dear.period, SPEX_GAP_PERIOD_MAX / 4);
    probes[DEAR].period++;
    spex_experiments_begin(1);
    assert_int_equal(subjects[0].cheap.period, probes[DEAR].period);
    assert_int_equal(subjects[0].dear.period, SPEX_SITE_CALLED);
    probes[DEAR].period = 10;
    told.report = 101 * NS;
    spex_experiments_begin(1);
    assert_int_equal(subjects[0].cheap.period, 40);
    told.report = 99 * NS;
    spex_experiments_begin(1);
    assert_int_equal(subjects[0].dear.period, SPEX_SITE_CALLED);
    expect_near(subjects[0].dear.cost, 35 * NS);
}

/* By the factor of its probe, and of all threads where some tell the progress. */
static void calls_of_a_session_are_charged(void **state) {
    (void)state;
    told.extra = 2e-3;
    probes[DEAR].factor = 3;
    told.part = 0.5;
    told.running = told.over = true;
    assert_true(spex_experiments_pass());
    assert_in_range(told.charged, 12e6 - 1, 12e6 + 1);
}

static void sessions_need_quiet(void **state) {
    (void)state;
    firsts[0] = DEAR;
    told.begins = true;
    spex_controller.chosen_until = 4;
    spex_controller.budget.tokens = -1e-9;
    spex_experiments_begin(1);
    spex_controller.budget.tokens = 0;
    spex_controller.trying = true;
    spex_experiments_begin(1);
    assert_int_equal(told.begun, 0);
    spex_controller.trying = false;
    told.begins = false;
    spex_experiments_begin(1);
    assert_int_equal(told.begun, 1);
    assert_true(spex_controller.chosen_until == 4);
}

static void expect_slice(uint32_t first, bool on, uint32_t witness, enum spex_slice_over over) {
    unsigned before = told.slices;
    spex_experiments_slice(first, on);
    assert_int_equal(told.slices, before + 1);
    assert_int_equal(told.subject.first, first);
    assert_int_equal(told.witness, witness);
    assert_int_equal(told.slice_over, over);
}

/* 60 of its executions may come in a slice, by twice its frequency. */
static void slices_have_a_witness(void **state) {
    (void)state;
    spex_controller.witness = CHEAP;
    spex_controller.next_weight = 6000;
    probes[DEAR].slice = 0.01;
    expect_slice(DEAR, true, CHEAP, SPEX_SLICE_CHEAP);
    assert_int_equal(probes[DEAR].sliced.alone, 0);
    expect_slice(DEAR, false, CHEAP, SPEX_SLICE_DEAR);
    spex_controller.next_weight = 5999;
    expect_slice(DEAR, true, DEAR, SPEX_SLICE_NEITHER);
    /* One in regions cannot be its own. */
    expect_slice(GROUP, true, CHEAP, SPEX_SLICE_CHEAP);
}

/* In one of two slices executions call the library; once a factor is known, of twelve. */
static void slices_alone_alternate(void **state) {
    (void)state;
    for (unsigned s = 0; s < 12; s++) {
        expect_slice(DEAR, true, DEAR, SPEX_SLICE_NEITHER);
        assert_int_equal(probes[DEAR].sliced.called, s % 2 == 1);
        expect_slice(DEAR, false, DEAR, s % 2 ? SPEX_SLICE_DEAR : SPEX_SLICE_CHEAP);
    }
    probes[DEAR].factor = 1;
    for (unsigned s = 12; s < 36; s++) {
        expect_slice(DEAR, true, DEAR, SPEX_SLICE_NEITHER);
        assert_int_equal(probes[DEAR].sliced.called, s % 12 == 1);
    }
    assert_int_equal(probes[DEAR].sliced.alone, 36);
    spex_controller.next_weight = 1e9;
    probes[DEAR].slice = 1;
    probes[DEAR].sliced.called = true;
    probes[DEAR].sliced.alone = 1;
    spex_experiments_slice(DEAR, true); /* with a witness */
    assert_false(probes[DEAR].sliced.called);
    assert_int_equal(probes[DEAR].sliced.alone, 1);
}

/* Alone, an error is taken to be twice as great. What calls cost more tells of other executions, as
 * in sessions. */
static void findings_of_slices_are_taken_over(void **state) {
    static const uint32_t first = DEAR;
    (void)state;
    told.found = true;
    told.finding = (struct spex_finding){&first, 1, 4, 0.21};
    probes[DEAR].factor = 2;
    spex_experiments_slice(DEAR, false);
    expect_near(probes[DEAR].factor, 2 + (9.6 - 2) * 0.6);
    spex_controller.next_weight = 1e9;
    probes[DEAR].slice = 1;
    probes[DEAR].factor = 2;
    spex_experiments_slice(DEAR, false);
    expect_near(probes[DEAR].factor, 4);
    /* Beside slices of others none is below what was calibrated. */
    told.finding = (struct spex_finding){&first, 1, 0.6, 0.01};
    for (spex_controller.sliced = 1; spex_controller.sliced <= 2; spex_controller.sliced++) {
        probes[DEAR].factor = 2;
        spex_experiments_slice(DEAR, false);
        expect_near(probes[DEAR].factor, spex_controller.sliced > 1 ? 1 : 0.6);
    }
    told.costs_known = false;
    probes[DEAR].factor = 2;
    probes[DEAR].sliced.cpu_ns = 5;
    spex_experiments_slice(DEAR, false);
    assert_true(probes[DEAR].factor == 2 && probes[DEAR].sliced.cpu_ns == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(debts_and_surprises_are_urgent, setup),
        cmocka_unit_test_setup(what_is_lost_in_the_deepest_debt_is_urgent, setup),
        cmocka_unit_test_setup(without_a_session_decisions_wait_a_little, setup),
        cmocka_unit_test_setup(a_session_goes_on_when_it_is_due, setup),
        cmocka_unit_test_setup(after_a_session_all_is_measured_anew, setup),
        cmocka_unit_test_setup(a_session_of_calls_leaves_frequencies, setup),
        cmocka_unit_test_setup(savings_of_a_session_are_kept, setup),
        cmocka_unit_test_setup(a_rush_ends_the_session, setup),
        cmocka_unit_test_setup(factors_that_differ_surely_are_taken_over, setup),
        cmocka_unit_test_setup(calls_tell_of_other_executions, setup),
        cmocka_unit_test_setup(a_small_error_makes_a_factor_known, setup),
        cmocka_unit_test_setup(findings_are_of_several_probes, setup),
        cmocka_unit_test_setup(subjects_are_what_is_recorded, setup),
        cmocka_unit_test_setup(what_is_not_recorded_is_no_subject, setup),
        cmocka_unit_test_setup(what_dominates_is_compared, setup),
        cmocka_unit_test_setup(calls_of_a_session_are_charged, setup),
        cmocka_unit_test_setup(sessions_need_quiet, setup),
        cmocka_unit_test_setup(slices_have_a_witness, setup),
        cmocka_unit_test_setup(slices_alone_alternate, setup),
        cmocka_unit_test_setup(findings_of_slices_are_taken_over, setup),
    };
    return cmocka_run_group_tests_name("experiments", tests, NULL, NULL);
}
