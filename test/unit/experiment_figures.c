/* SPDX-License-Identifier: MIT */
/* What experiments conclude, to the digit: slices have the lengths and counts that chance gives
 * them, and the finding is calculated a second time here. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>
#include <spex/site.h>

#include "../check.h"
#include "base/random.h"
#include "rate/experiment.h"
#include "site/registry.h"
#include "site/selection/selection.h"

enum { PROBES = 24, FIGURES_LEAST = 8, SESSIONS = 12, PERIOD = 20, SPARSE_PERIOD = 80 };

static const double SHARE = 0.05;

static const char name_text[] = "experiment_figures.c";
static struct spex_site sites[PROBES];
static struct spex_subject subjects[PROBES];

static struct {
    struct spex_random random;
    double now;
    uint64_t cpu_ns, threads;
    uint64_t executions[SPEX_MAX_SITES];
} program;

static int enter(void **state) {
    (void)state;
    for (unsigned p = 0; p < PROBES; p++)
        sites[p] =
            (struct spex_site){.subsample = 1,
                               .line = p,
                               .probe_id = (uint16_t)(p + 1),
                               .type_number = SPEX_TYPE_NUMBER_(SPEX_CNT),
                               .file_offset = name_text - (const char *)&sites[p].file_offset};
    spex_module_register(sites, sites + PROBES, NULL, NULL);
    struct spex_selection selection;
    struct spex_error error;
    return spex_selection_parse("*", &selection, &error) || spex_sites_select(selection) != PROBES;
}

static int leave(void **state) {
    (void)state;
    spex_module_unregister(sites);
    return 0;
}

static uint32_t first_of(unsigned p) {
    return spex_site_info(sites[p].index)->probe;
}

static bool is_on(unsigned p) {
    return spex_probe_state(first_of(p), 0).sites_on;
}

static uint32_t period_of(unsigned p) {
    return spex_probe_state(first_of(p), 0).sampling.period;
}

/* Between 0 and 1. */
static double even(void) {
    return (double)(spex_random_next(&program.random) >> 11) / (double)(UINT64_C(1) << 53);
}

static void begin(uint64_t seed) {
    spex_experiment_abort(program.now);
    memset(&program, 0, sizeof(program));
    spex_random_seed(&program.random, seed, 2);
    spex_experiment_reset(seed);
    for (unsigned p = 0; p < PROBES; p++)
        subjects[p] = (struct spex_subject){.first = first_of(p)};
}

static void subject(unsigned p, double frequency, double cost) {
    subjects[p].frequency = frequency;
    subjects[p].cost = cost;
}

static bool start(void) {
    return spex_experiment_begin(subjects, PROBES, SHARE, 1, program.now);
}

/* `part`: of the threads. True: the session is over. */
static bool step(double part, struct spex_finding *finding) {
    const struct spex_progress progress = {part, program.cpu_ns, program.threads,
                                           program.executions};
    double due = spex_experiment_due(program.now);
    assert_true(fabs(due - 0.01) < 1e-9);
    assert_false(spex_experiment_step(program.now + due * 0.9, &progress, finding));
    assert_true(fabs(spex_experiment_due(program.now + due * 0.9) - due * 0.1) < 1e-9);
    program.now += due * 1.0000001;
    assert_true(spex_experiment_due(program.now) == 0);
    return spex_experiment_step(program.now, &progress, finding);
}

static void work(double seconds, unsigned p, uint64_t count) {
    program.cpu_ns += (uint64_t)(seconds * 1e9);
    program.executions[first_of(p)] += count;
}

/* What former sessions and this one know. */
struct result {
    double weight, sum;
};

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A fifth of the figures is left out at each end of the mean; the variance has the outermost figures
 * that are left in their places. */
static void trimmed(const double *figures, size_t n, double *mean, double *error) {
    double sorted[SPEX_FIGURES_MOST];
    size_t out = n / 5, left = n - 2 * out;
    memcpy(sorted, figures, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), ascending);
    *mean = 0;
    for (size_t f = out; f < n - out; f++)
        *mean += sorted[f] / (double)left;
    for (size_t f = 0; f < out; f++) {
        sorted[f] = sorted[out];
        sorted[n - 1 - f] = sorted[n - 1 - out];
    }
    double sum = 0, squares = 0;
    for (size_t f = 0; f < n; f++)
        sum += sorted[f];
    for (size_t f = 0; f < n; f++)
        squares += pow(sorted[f] - sum / (double)n, 2);
    *error = sqrt(squares / (double)(n - 1)) * sqrt((double)n) / (double)left;
}

static double factor_of(const struct result *known) {
    return fmin(fmax((known->sum + 0.25) / (known->weight + 0.25), 0.5), 50);
}

/* A session of two probes and a witness, in which probes cost `truth` times what is believed, with
 * this noise. */
struct session {
    double truth, noise;
    /* Slices in which the group was on. */
    double believed, on_seconds;
    double least;
    double figures[SPEX_FIGURES_MOST];
    size_t count;
};

/* Runs one slice. Returns the logarithm of the time of an execution of the witness. */
static double slice(struct session *session) {
    bool on = is_on(0);
    uint64_t counts[2] = {on ? (uint64_t)(30000 * (0.7 + even())) : 7,
                          on ? (uint64_t)(9000 * (0.7 + even())) : 5};
    uint64_t witnessed = (uint64_t)(200 * (0.7 + 0.6 * even()));
    double believed = (double)counts[0] * 100e-9 + (double)counts[1] * 200e-9;
    double seconds = 4e-5 * (double)witnessed * (1 + session->noise * (even() - 0.5)) +
                     (on ? believed * session->truth : 0);
    assert_int_equal(is_on(1), on);
    assert_true(is_on(2) && is_on(3));
    work(seconds, 0, counts[0]);
    work(0, 1, counts[1]);
    work(0, 2, witnessed);
    seconds = (double)(uint64_t)(seconds * 1e9) / 1e9;
    session->least = fmin(session->least, (double)witnessed);
    session->believed += on ? believed : 0;
    session->on_seconds += on ? seconds : 0;
    return log(seconds / (double)witnessed);
}

/* Whether the figures so far are enough; *now: joined with `before`. */
static bool is_enough(const struct session *session, const struct result *before,
                      struct result *now, bool *precise) {
    double mean, error;
    if (session->count < FIGURES_LEAST)
        return false;
    trimmed(session->figures, session->count, &mean, &error);
    error = hypot(error, 0.4 / session->least);
    double measured = exp(mean) - 1, believed = session->believed / session->on_seconds * exp(mean);
    double weight = pow(believed / error, 2);
    now->weight = 0.85 * before->weight + weight;
    now->sum = 0.85 * before->sum + weight * measured / believed;
    *precise = believed / sqrt(now->weight) <= 0.12 * fmax(measured, SHARE);
    return *precise || session->count == SPEX_FIGURES_MOST;
}

/* True: the session was precise. */
static bool session_runs(double truth, double noise, struct result *known) {
    struct session session = {.truth = truth, .noise = noise, .least = INFINITY};
    struct spex_finding finding;
    struct result before = *known;
    bool precise = false, over;
    assert_true(start());
    assert_true(is_on(0) && is_on(1));
    work(0.5, 2, 7); /* before the first slice: of no figure */
    over = step(1, &finding);
    while (!over) {
        double figure = 0;
        bool first_on = is_on(0), on[4];
        for (int s = 0; s < 4; s++) {
            assert_false(over);
            on[s] = is_on(0);
            assert_int_equal(on[s], first_on == (s == 0 || s == 3));
            figure += slice(&session) * (on[s] ? 0.5 : -0.5);
            over = step(1, &finding);
        }
        session.figures[session.count++] = figure;
        assert_int_equal(over, is_enough(&session, &before, known, &precise));
        assert_int_equal(spex_experiment_running(), !over);
    }
    assert_true(is_on(0) && is_on(1));
    assert_int_equal(finding.count, 2);
    assert_int_equal(finding.firsts[0], first_of(0));
    assert_int_equal(finding.firsts[1], first_of(1));
    assert_true(fabs(finding.factor / factor_of(known) - 1) < 1e-7);
    assert_true(fabs(finding.error * sqrt(known->weight) - 1) < 1e-7);
    return precise;
}

/* The pause is `seconds` long. */
static void expect_pause(double seconds) {
    double end = program.now;
    program.now = end + seconds - 1e-6;
    assert_false(start());
    program.now = end + seconds + 1e-6;
}

/* After a precise session the pause doubles, up to a minute. After others it is short, but not
 * after each eighth. */
static void expect_sessions(double truth, double noise, uint64_t seed, unsigned precise_least,
                            unsigned precise_most) {
    struct result known = {0, 0};
    double pause = 2;
    unsigned imprecise = 0, precise_count = 0;
    begin(seed);
    subject(0, 3e6, 100e-9);
    subject(1, 0.9e6, 200e-9);
    subject(2, 20000, 1e-9);
    subject(3, 19000, 1e-9);
    for (int s = 0; s < SESSIONS; s++) {
        bool precise = session_runs(truth, noise, &known);
        precise_count += precise;
        if (precise || ++imprecise % 8 == 0) {
            expect_pause(pause);
            pause = fmin(2 * pause, 60);
        } else {
            expect_pause(0.4);
        }
    }
    assert_in_range(precise_count, precise_least, precise_most);
}

static void findings_are_what_the_figures_tell(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        expect_sessions(2, 0.05, seed, SESSIONS, SESSIONS);
        expect_sessions(0.3, 0.6, seed, 1, SESSIONS);
        expect_sessions(1e-3, 1.5, seed, 0, SESSIONS - 1);
        expect_sessions(0, 1.9, seed, 0, SESSIONS - 8);
        expect_sessions(90, 0.1, seed, 1, SESSIONS);
    }
}

/* Begins a session that is about the first probe, up to the first slice of a figure. */
static void start_figures(void) {
    struct spex_finding finding;
    begin(1);
    subject(0, 3e6, 100e-9);
    subject(1, 20000, 1e-9);
    assert_true(start());
    work(0.01, 1, 200);
    assert_false(step(1, &finding));
}

/* Whether a slice in which the group is on or off, as wanted, ends the session without a finding. */
static bool slice_spoils(bool on, double part, uint64_t executions, uint64_t witnessed, double cpu,
                         uint64_t threads) {
    struct spex_finding finding;
    start_figures();
    while (is_on(0) != on) {
        work(0.01, 0, is_on(0) ? 30000 : 0);
        work(0, 1, 200);
        assert_false(step(1, &finding));
    }
    program.threads += threads;
    work(cpu, 0, executions);
    work(0, 1, witnessed);
    bool over = step(part, &finding);
    assert_int_equal(finding.count, 0);
    assert_int_equal(spex_experiment_running(), !over);
    if (over) {
        assert_true(is_on(0));
        expect_pause(0.4);
        assert_true(start());
    }
    return over;
}

/* A slice has 30000 executions of the first probe, and 200 of the witness. */
static void what_has_changed_ends_a_session(void **state) {
    static const struct {
        double part;
        uint64_t executions, witnessed;
        double cpu;
        uint64_t threads;
        bool on, off; /* whether it ends then */
    } cases[] = {
        {1, 30000, 200, 0.01, 0, false, false}, {1, 90100, 200, 0.01, 0, true, false},
        {1, 89900, 200, 0.01, 0, false, false}, {1, 9900, 200, 0.01, 0, true, false},
        {1, 10100, 200, 0.01, 0, false, false}, {1, 30000, 612, 0.01, 0, true, true},
        {1, 30000, 608, 0.01, 0, false, false}, {1, 30000, 56, 0.01, 0, true, true},
        {1, 30000, 58, 0.01, 0, false, false},  {0.5, 30, 58, 0.01, 0, false, false},
        {0.5, 30000, 0, 0.01, 0, true, true},   {0.5, 30000, 1, 0.01, 0, false, false},
        {1, 30000, 200, 0, 0, true, true},      {1, 30000, 200, 1e-8, 0, false, false},
        {1, 30000, 200, 0.01, 1, true, true},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int on = 0; on < 2; on++)
            assert_int_equal(slice_spoils(on, cases[c].part, cases[c].executions,
                                          cases[c].witnessed, cases[c].cpu, cases[c].threads),
                             on ? cases[c].on : cases[c].off);
}

/* Runs until the group is off, or in a session of one probe sparse; how many probes are in it. */
static unsigned switched_off(bool *in_group) {
    unsigned found = 0;
    for (int steps = 0; steps < 6 && !found; steps++) {
        struct spex_finding finding;
        work(0.01, 0, 30000);
        for (unsigned p = 1; p < PROBES; p++)
            work(0, p, (uint64_t)(subjects[p].frequency * 0.01) + 1);
        assert_false(step(0.5, &finding));
        for (unsigned p = 0; p < PROBES; p++)
            found += in_group[p] = !is_on(p) || period_of(p) == SPARSE_PERIOD;
    }
    spex_experiment_abort(program.now);
    for (unsigned p = 0; p < PROBES; p++)
        assert_true(is_on(p) && period_of(p) != SPARSE_PERIOD);
    return found;
}

/* Probes that are equally dear are a group up to the share of 85 %. */
static void expect_group(unsigned count, double frequency, unsigned expected) {
    bool in_group[PROBES];
    begin(1);
    for (unsigned p = 0; p < count; p++)
        subject((5 * p + 3) % PROBES, frequency, 1e-4);
    assert_int_equal(start(), expected > 0);
    if (expected)
        assert_int_equal(switched_off(in_group), expected);
}

static void groups_have_most_of_the_cost(void **state) {
    (void)state;
    expect_group(1, 400, 0); /* no witness */
    expect_group(2, 400, 1);
    expect_group(4, 400, 3);
    expect_group(10, 400, 9);
    expect_group(15, 400, 13);
    expect_group(24, 400, 16);
    expect_group(4, 300, 3);
    expect_group(4, 299, 0); /* too seldom for a witness */
}

/* The dearest come first, whatever their order, and the most frequent of the rest is the witness.
 */
static void the_dearest_are_the_group(void **state) {
    static const double costs[] = {1, 50, 3, 20, 2, 10};
    bool in_group[PROBES];
    (void)state;
    begin(1);
    for (unsigned p = 0; p < COUNT_OF(costs); p++)
        subject(p, p == 4 ? 2000 : 1000 + p, costs[p] * 1e-6 / (p == 4 ? 2 : 1));
    assert_true(start());
    assert_int_equal(switched_off(in_group), 3); /* 80 of 86 */
    assert_true(in_group[1] && in_group[3] && in_group[5]);

    /* Of equally frequent ones the dearest is the witness: that its count changes ends a session. */
    for (unsigned changes = 0; changes <= 4; changes += 2) {
        struct spex_finding finding;
        begin(1);
        for (unsigned p = 0; p < COUNT_OF(costs); p++)
            subject(p, 1000, costs[p] * 1e-6);
        assert_true(start());
        assert_false(step(1, &finding));
        work(0.01, changes, 1000);
        for (unsigned p = 0; p < COUNT_OF(costs); p++)
            work(0, p, 10);
        assert_int_equal(step(1, &finding), changes == 2);
    }
}

/* A session must be about a tenth of the budget, in all and for the group. */
static void what_is_cheap_is_no_group(void **state) {
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        begin(1);
        subject(0, 1000, (dear ? 1.01 : 0.99) * SHARE * 0.1 / 1000);
        subject(1, 1000, 1e-12);
        assert_int_equal(start(), dear);
        /* In all it is enough, but without the witness it is not. */
        begin(1);
        subject(0, 1000, (dear ? 1.01 : 0.99) * SHARE * 0.1 / 1000);
        subject(1, 1000, 0.9 * SHARE * 0.1 / 1000);
        assert_int_equal(start(), dear);
        assert_int_equal(spex_experiment_running(), dear);
        if (!dear)
            expect_pause(0.4);
        else
            spex_experiment_abort(program.now);
        subject(0, 1000, 1);
        assert_int_equal(start(), !dear);
    }
}

static void pauses_last_as_long_as_is_said(void **state) {
    (void)state;
    start_figures();
    spex_experiment_rest(program.now + 3);
    spex_experiment_rest(program.now + 2);
    assert_true(spex_experiment_running());
    spex_experiment_abort(program.now);
    assert_false(spex_experiment_running());
    program.now += 0.39;
    assert_false(start());
    program.now += 0.02;
    assert_true(start());
    spex_experiment_abort(program.now);
    spex_experiment_rest(program.now + 3);
    program.now += 2.99;
    spex_experiment_abort(program.now); /* there is none */
    program.now += 0.02;
    assert_true(start());
}

/* Of one probe that has a longer period: what that saves must be worth it, and the probe must be
 * executed often. With a witness that is as frequent, or precise enough, it is not alone. */
static void one_probe_is_tried_by_its_records(void **state) {
    static const struct {
        double frequency, cost, sparse_cost, witness;
        uint32_t sparse_period;
        bool starts, alone;
    } cases[] = {
        {1000, 8e-6, 2.9e-6, 0, SPARSE_PERIOD, true, true},
        {1000, 8e-6, 3.1e-6, 0, SPARSE_PERIOD, false, false},
        {1000, 8e-6, 2.9e-6, 0, 0, false, false},
        {299, 80e-6, 0, 0, SPARSE_PERIOD, false, false},
        {300, 80e-6, 0, 0, SPARSE_PERIOD, true, true},
        {10000, 8e-6, 0, 6600, SPARSE_PERIOD, true, true},
        {10000, 8e-6, 0, 6700, SPARSE_PERIOD, true, false},
        {6000, 8e-6, 0, 6600, SPARSE_PERIOD, true, false},
        {10000, 8e-6, 0, 6600, 0, true, false},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        bool in_group[PROBES];
        begin(1);
        spex_probe_throttle(first_of(0), PERIOD);
        subject(0, cases[c].frequency, cases[c].cost);
        subject(1, cases[c].witness, 1e-12);
        subjects[0].period = PERIOD;
        subjects[0].sparse_period = cases[c].sparse_period;
        subjects[0].sparse_cost = cases[c].sparse_cost;
        assert_int_equal(start(), cases[c].starts);
        if (!cases[c].starts)
            continue;
        assert_true(is_on(0));
        assert_int_equal(switched_off(in_group), 1);
        assert_true(in_group[0]);
        assert_int_equal(period_of(0), PERIOD);
    }
    spex_probe_throttle(first_of(0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_what_the_figures_tell),
        cmocka_unit_test(what_has_changed_ends_a_session),
        cmocka_unit_test(groups_have_most_of_the_cost),
        cmocka_unit_test(the_dearest_are_the_group),
        cmocka_unit_test(what_is_cheap_is_no_group),
        cmocka_unit_test(pauses_last_as_long_as_is_said),
        cmocka_unit_test(one_probe_is_tried_by_its_records),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
