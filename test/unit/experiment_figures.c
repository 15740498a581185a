/* SPDX-License-Identifier: MIT */
/* What experiments conclude, to the digit: slices have the lengths and counts that chance gives
 * them, and the finding is calculated a second time here. */
#include "experiment_program.h"
#include "trimmed.h"

enum { FIGURES_LEAST = 8, SESSIONS = 12 };

/* What former sessions and this one know. */
struct result {
    double weight, sum;
};

static double factor_of(const struct result *known) {
    return fmin(fmax((known->sum + 0.25) / (known->weight + 0.25), 0.5), 50);
}

/* A session of two probes and a witness, in which probes cost `truth` times what is believed, with
 * this noise. */
struct session {
    unsigned base; /* the number of the first probe */
    double truth, noise;
    /* Slices in which the group was on. */
    double believed, on_seconds;
    double least;
    double figures[SPEX_FIGURES_MOST];
    size_t count;
};

/* Runs one slice. Returns the logarithm of the time of an execution of the witness. */
static double slice(struct session *session) {
    unsigned base = session->base;
    bool on = is_on(base);
    uint64_t counts[2] = {on ? (uint64_t)(30000 * (0.7 + even())) : 7,
                          on ? (uint64_t)(9000 * (0.7 + even())) : 5};
    uint64_t witnessed = (uint64_t)(200 * (0.7 + 0.6 * even()));
    double believed = (double)counts[0] * 100e-9 + (double)counts[1] * 200e-9;
    double seconds = 4e-5 * (double)witnessed * (1 + session->noise * (even() - 0.5)) +
                     (on ? believed * session->truth : 0);
    assert_int_equal(is_on(base + 1), on);
    assert_true(is_on(base + 2) && is_on(base + 3));
    work(seconds, base, counts[0]);
    work(0, base + 1, counts[1]);
    work(0, base + 2, witnessed);
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
static bool session_runs(unsigned base, double truth, double noise, struct result *known) {
    struct session session = {.base = base, .truth = truth, .noise = noise, .least = INFINITY};
    struct spex_finding finding;
    struct result before = *known;
    bool precise = false, over;
    assert_true(start());
    assert_true(is_on(base) && is_on(base + 1));
    work(0.5, base + 2, 7); /* before the first slice: of no figure */
    over = step(1, &finding);
    while (!over) {
        double figure = 0;
        bool first_on = is_on(base), on[4];
        for (int s = 0; s < 4; s++) {
            assert_false(over);
            on[s] = is_on(base);
            assert_int_equal(on[s], first_on == (s == 0 || s == 3));
            figure += slice(&session) * (on[s] ? 0.5 : -0.5);
            over = step(1, &finding);
        }
        session.figures[session.count++] = figure;
        assert_int_equal(over, is_enough(&session, &before, known, &precise));
        assert_int_equal(spex_experiment_running(), !over);
    }
    assert_true(is_on(base) && is_on(base + 1));
    assert_int_equal(finding.count, 2);
    assert_int_equal(finding.firsts[0], first_of(base));
    assert_int_equal(finding.firsts[1], first_of(base + 1));
    assert_true(fabs(finding.factor / factor_of(known) - 1) < 1e-7);
    assert_true(fabs(finding.error * sqrt(known->weight) - 1) < 1e-7);
    return precise;
}

static void subjects_from(unsigned base) {
    for (unsigned p = 0; p < PROBES; p++)
        subject(p, 0, 0);
    subject(base, 3e6, 100e-9);
    subject(base + 1, 0.9e6, 200e-9);
    subject(base + 2, 20000, 1e-9);
    subject(base + 3, 19000, 1e-9);
}

/* After a precise session the pause doubles, up to a minute. After others it is short, but not
 * after each eighth. */
static void expect_sessions(double truth, double noise, uint64_t seed, unsigned precise_least,
                            unsigned precise_most) {
    struct result known = {0, 0};
    double pause = 2;
    unsigned imprecise = 0, precise_count = 0;
    begin(seed);
    subjects_from(0);
    for (int s = 0; s < SESSIONS; s++) {
        bool precise = session_runs(0, truth, noise, &known);
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

/* What is known of one group tells nothing about another. */
static void another_group_begins_anew(void **state) {
    static const unsigned bases[] = {0, 8, 9, 8, 0};
    (void)state;
    begin(7);
    for (size_t b = 0; b < COUNT_OF(bases); b++) {
        struct result known = {0, 0};
        subjects_from(bases[b]);
        for (int s = 0; s < 2; s++) {
            session_runs(bases[b], 2, 0.1, &known);
            program.now += 61;
        }
    }
}

/* Runs a session of a probe alone, whose execution takes `cheap` and `dear` seconds in turn. */
static void expect_alone(double cheap, double dear, double believed) {
    struct spex_finding finding;
    const struct spex_site_info *site = spex_site_info(first_of(6));
    assert_true(start());
    do {
        bool is_cheap = subjects[6].dear.period == SPEX_SITE_CALLED
                            ? site->sampling.kind != SPEX_SAMPLING_CALLED
                            : period_of(6) == SPARSE_PERIOD;
        work(200 * (is_cheap ? cheap : dear), 6, 200);
    } while (!step(1, &finding));
    assert_int_equal(finding.count, 1);
    assert_int_equal(finding.firsts[0], first_of(6));
    double weight = pow(believed / cheap * 200 / 0.4, 2), factor = (dear - cheap) / believed;
    assert_true(fabs(finding.factor / ((factor * weight + 0.25) / (weight + 0.25)) - 1) < 1e-6);
    assert_true(fabs(finding.error * sqrt(weight) - 1) < 1e-6);
}

/* A probe alone saves 5 µs of 50 by its records, which truly are 10. Executions that call the
 * library take 4 µs more, and truly 12: that is not put together with what records cost. */
static void what_a_probe_alone_costs(void **state) {
    (void)state;
    begin(1);
    subject(6, 20000, 8e-6);
    subjects[6].cheap = (struct spex_subject_state){SPARSE_PERIOD, 3e-6};
    expect_alone(40e-6, 50e-6, 5e-6);
    program.now += 61;
    program.slice = 0.002;
    subject(6, 100000, 8e-6);
    subjects[6].dear = (struct spex_subject_state){SPEX_SITE_CALLED, 12e-6};
    expect_alone(50e-6, 62e-6, 4e-6);
    assert_int_not_equal(spex_site_info(first_of(6))->sampling.kind, SPEX_SAMPLING_CALLED);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(findings_are_what_the_figures_tell),
        cmocka_unit_test(another_group_begins_anew),
        cmocka_unit_test(what_a_probe_alone_costs),
        cmocka_unit_test(what_has_changed_ends_a_session),
        cmocka_unit_test(pauses_last_as_long_as_is_said),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
