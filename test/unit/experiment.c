/* SPDX-License-Identifier: MIT */
/* Experiments on a program in virtual time, of which the truth is known: its probes are real sites,
 * which are looked at to see whether they are on; how far it gets is calculated. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>
#include <spex/site.h>

#include "../check.h"
#include "probe/gap.h"
#include "rate/experiment/experiment.h"
#include "site/registry.h"
#include "site/selection/selection.h"

enum { PROBES = 4, STEPS_MAX = 100000, PERIOD = 20, SPARSE_PERIOD = 80 };

#include "counted_sites.h"

/* What the program does for each of its operations, and what that truly takes. */
struct program {
    double rates[PROBES]; /* executions an operation */
    double costs[PROBES]; /* seconds an execution, truly */
    double record;        /* seconds a record of the first probe, which has a period of PERIOD */
    double call;          /* seconds more where executions of it call the library; 0: they do not */
    double operation;     /* seconds without any probe */
    double noise;         /* of a step's speed */
    double drift;         /* it becomes so much slower in a second */
    bool asleep;
};

static struct {
    struct program program;
    struct spex_random random;
    double now, cpu;
    double executions[SPEX_MAX_SITES];
} world;

static double normal(void) {
    double sum = 0; /* of twelve even ones, Irwin and Hall */
    for (int i = 0; i < 12; i++)
        sum += (double)(spex_random_next(&world.random) >> 11) / (double)(UINT64_C(1) << 53);
    return sum - 6;
}

/* Seconds that an execution takes with the period that the site has now. */
static double cost_of(unsigned p) {
    const struct spex_probe_state state = spex_probe_state(first_of(p), 0);
    double record = p == 0 ? world.program.record : 0;
    if (spex_site_info(first_of(p))->sampling.kind == SPEX_SAMPLING_CALLED && state.sites_on)
        return world.program.costs[p] + world.program.call;
    return world.program.costs[p] + record / fmax(state.sampling.period, PERIOD);
}

/* A millisecond or so of a program that is always at work. */
static void run(double seconds) {
    const struct program *program = &world.program;
    double operation = program->operation * (1 + program->drift * world.now);
    for (unsigned p = 0; p < PROBES; p++)
        if (spex_probe_state(first_of(p), 0).sites_on)
            operation += program->rates[p] * cost_of(p);
    double done = seconds / operation * exp(program->noise * normal());
    world.now += seconds;
    if (program->asleep)
        return;
    world.cpu += seconds;
    for (unsigned p = 0; p < PROBES; p++)
        if (spex_probe_state(first_of(p), 0).sites_on)
            world.executions[first_of(p)] += done * program->rates[p];
}

static void begin(struct program program, uint64_t seed) {
    memset(&world, 0, sizeof(world));
    world.program = program;
    spex_random_seed(&world.random, seed, 1);
    spex_experiment_reset(seed);
}

/* `believed`: how much of the truth. */
static bool start(double believed, double share) {
    struct spex_subject subjects[PROBES];
    double operation = world.program.operation;
    for (unsigned p = 0; p < PROBES; p++)
        operation += world.program.rates[p] * cost_of(p);
    for (unsigned p = 0; p < PROBES; p++)
        subjects[p] = (struct spex_subject){.first = first_of(p),
                                            .frequency = world.program.rates[p] / operation,
                                            .on = {0, cost_of(p) * believed}};
    if (world.program.record > 0) {
        spex_probe_throttle(first_of(0), PERIOD);
        subjects[0].on.period = PERIOD;
        subjects[0].dear = subjects[0].cheap = subjects[0].on;
        subjects[0].cheap = (struct spex_subject_state){
            SPARSE_PERIOD,
            (world.program.costs[0] + world.program.record / SPARSE_PERIOD) * believed};
    }
    if (world.program.call > 0) {
        subjects[0].cheap = subjects[0].on;
        subjects[0].dear = (struct spex_subject_state){
            SPEX_SITE_CALLED, (world.program.costs[0] + world.program.call) * believed};
    }
    return spex_experiment_begin(subjects, PROBES, share, 1, world.now);
}

/* Whether the session came to an end. */
static bool finish(struct spex_finding *finding) {
    uint64_t executions[SPEX_MAX_SITES];
    for (int step = 0; step < STEPS_MAX; step++) {
        run(0.001);
        for (uint32_t i = 0; i < spex_sites_count(); i++)
            executions[i] = (uint64_t)world.executions[i];
        const struct spex_progress progress = {
            .part = 1, .cpu_ns = (uint64_t)(world.cpu * 1e9), .executions = executions};
        if (spex_experiment_step(world.now, &progress, finding))
            return true;
    }
    return false;
}

static void expect_all_on(void) {
    for (unsigned p = 0; p < PROBES; p++)
        assert_int_equal(spex_probe_state(first_of(p), 0).sites_on, 1);
    assert_false(spex_experiment_running());
}

/* One probe takes nearly all, another is executed often enough to be a witness. */
static const struct program busy = {
    .rates = {16, 1, 0.01, 0},
    .costs = {10e-9, 5e-9, 5e-9, 5e-9},
    .operation = 1e-6,
    .noise = 0.02,
};

static void a_factor_is_found(void **state) {
    static const double beliefs[] = {0.1, 0.3, 1, 2};
    (void)state;
    for (size_t b = 0; b < COUNT_OF(beliefs); b++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct spex_finding finding;
            begin(busy, seed);
            assert_true(start(beliefs[b], 0.05));
            assert_true(finish(&finding));
            expect_all_on();
            assert_int_equal(finding.count, 1);
            assert_int_equal(finding.firsts[0], first_of(0));
            assert_true(fabs(finding.factor * beliefs[b] - 1) < 0.25);
        }
    }
}

/* What changes slowly is in both halves of a figure. */
static void drift_does_not_look_like_an_effect(void **state) {
    struct program program = busy;
    (void)state;
    program.drift = 0.1;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct spex_finding finding;
        begin(program, seed);
        assert_true(start(0.5, 0.05));
        assert_true(finish(&finding));
        assert_true(fabs(finding.factor * 0.5 - 1) < 0.25);
    }
}

/* Noise that drowns it leaves what was believed. */
static void of_noise_little_follows(void **state) {
    struct program program = busy;
    double sum = 0;
    (void)state;
    program.noise = 0.3;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct spex_finding finding;
        begin(program, seed);
        assert_true(start(1, 0.05));
        assert_true(finish(&finding));
        assert_true(finding.factor >= 0.5 && finding.factor < 3);
        sum += finding.factor;
    }
    assert_true(fabs(sum / 20 - 1) < 0.5);
}

static void without_a_witness_there_is_none(void **state) {
    struct program program = busy;
    (void)state;
    program.rates[1] = 1e-6;
    program.rates[2] = 0;
    begin(program, 1);
    assert_false(start(1, 0.05));
    expect_all_on();
}

/* One probe alone, by its records; also where another one is executed too seldom. */
static const struct program alone = {
    .rates = {16, 0.0005, 0, 0},
    .costs = {1e-9, 5e-9, 5e-9, 5e-9},
    .record = 60e-9,
    .operation = 1e-6,
    .noise = 0.02,
};

/* The same by executions, which cost more than the records. */
static const struct program hot = {
    .rates = {16, 0.0005, 0, 0},
    .costs = {10e-9, 5e-9, 5e-9, 5e-9},
    .record = 60e-9,
    .call = 20e-9,
    .operation = 1e-6,
    .noise = 0.02,
};

/* Sessions of the first probe alone find the truth, whatever share of it is believed, and leave the
 * probe as it was. `of_calls`: the share of its executions that have called the library. */
static void expect_truth(struct program program, double of_calls) {
    static const double beliefs[] = {0.15, 0.5, 1, 2};
    for (size_t b = 0; b < COUNT_OF(beliefs); b++) {
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct spex_finding finding;
            uint32_t first = 77;
            begin(program, seed);
            assert_true(start(beliefs[b], 0.05));
            assert_true(finish(&finding));
            expect_all_on();
            assert_int_equal(finding.count, 1);
            assert_int_equal(finding.firsts[0], first_of(0));
            assert_true(fabs(finding.factor * beliefs[b] - 1) < 0.35);
            assert_int_equal(spex_site_info(first_of(0))->sampling.period, PERIOD);
            assert_int_equal(spex_site_info(first_of(0))->sampling.kind, SPEX_SAMPLING_GEOMETRIC);
            double executed = world.executions[first_of(0)], extra = spex_experiment_extra(&first);
            double more = (program.call - program.record / PERIOD) * beliefs[b] * executed;
            assert_int_equal(first, first_of(0));
            assert_true(fabs(extra - of_calls * more) <= 0.15 * of_calls * fabs(more));
            spex_probe_throttle(first_of(0), 0);
        }
    }
}

static void a_probe_alone_tells_what_records_cost(void **state) {
    (void)state;
    expect_truth(alone, 0);
}

/* The probe is on as it was, or its executions call the library. */
static void a_probe_alone_tells_what_executions_cost(void **state) {
    (void)state;
    expect_truth(hot, 0.45);
}

/* In no slice it is off. */
static void a_probe_alone_stays_on(void **state) {
    uint64_t executions[SPEX_MAX_SITES];
    struct spex_finding finding = {0};
    unsigned sparse = 0, steps = 0;
    (void)state;
    begin(alone, 1);
    assert_true(start(1, 0.05));
    for (bool ended = false; !ended; steps++) {
        run(0.001);
        for (uint32_t i = 0; i < spex_sites_count(); i++)
            executions[i] = (uint64_t)world.executions[i];
        const struct spex_progress progress = {
            .part = 1, .cpu_ns = (uint64_t)(world.cpu * 1e9), .executions = executions};
        ended = spex_experiment_step(world.now, &progress, &finding);
        assert_int_equal(spex_probe_state(first_of(0), 0).sites_on, 1);
        sparse += spex_probe_state(first_of(0), 0).sampling.period == SPARSE_PERIOD;
    }
    assert_in_range(sparse, steps / 3, steps * 2 / 3);
    spex_probe_throttle(first_of(0), 0);
}

static void what_costs_next_to_nothing_is_not_tried(void **state) {
    (void)state;
    begin(busy, 1);
    assert_false(start(0.001, 0.05));
    expect_all_on();
}

static void a_program_that_falls_asleep_ends_it(void **state) {
    struct spex_finding finding;
    (void)state;
    begin(busy, 1);
    assert_true(start(1, 0.05));
    world.program.asleep = true;
    assert_true(finish(&finding));
    assert_int_equal(finding.count, 0);
    expect_all_on();
}

static void an_abort_leaves_all_on(void **state) {
    (void)state;
    begin(busy, 1);
    assert_true(start(1, 0.05));
    uint64_t executions[SPEX_MAX_SITES] = {0};
    struct spex_finding finding;
    for (int step = 0; step < 30; step++) {
        run(0.001);
        const struct spex_progress progress = {
            .part = 1, .cpu_ns = (uint64_t)(world.cpu * 1e9), .executions = executions};
        spex_experiment_step(world.now, &progress, &finding);
    }
    spex_experiment_abort(world.now);
    expect_all_on();
    assert_false(start(1, 0.05)); /* not at once */
}

/* After an imprecise session the next one begins soon, after a precise one in 2 seconds, then 4. */
static void precise_sessions_are_enough(void **state) {
    struct program noisy = busy;
    struct spex_finding finding;
    (void)state;
    begin(busy, 1);
    for (double pause = 2; pause <= 8; pause *= 2) {
        assert_true(start(1, 0.05));
        assert_true(finish(&finding));
        run(pause - 0.1);
        assert_false(start(1, 0.05));
        run(0.2);
    }
    noisy.noise = 0.3;
    begin(noisy, 1);
    assert_true(start(1, 0.05));
    assert_true(finish(&finding));
    run(0.5);
    assert_true(start(1, 0.05));
    spex_experiment_abort(world.now);
}

static void there_is_one_session_at_a_time(void **state) {
    struct spex_finding finding;
    (void)state;
    begin(busy, 1);
    assert_true(start(1, 0.05));
    assert_false(start(1, 0.05));
    assert_true(finish(&finding));
    assert_int_equal(finding.count, 1);
}

/* Sessions become rare. */
static void sessions_take_little_of_the_time(void **state) {
    double in_sessions = 0;
    (void)state;
    begin(busy, 3);
    while (world.now < 200) {
        struct spex_finding finding;
        double before = world.now;
        if (start(1, 0.05)) {
            assert_true(finish(&finding));
            in_sessions += world.now - before;
        }
        run(0.1);
    }
    assert_true(in_sessions > 0 && in_sessions < 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_is_found),
        cmocka_unit_test(drift_does_not_look_like_an_effect),
        cmocka_unit_test(of_noise_little_follows),
        cmocka_unit_test(without_a_witness_there_is_none),
        cmocka_unit_test(a_probe_alone_tells_what_records_cost),
        cmocka_unit_test(a_probe_alone_tells_what_executions_cost),
        cmocka_unit_test(a_probe_alone_stays_on),
        cmocka_unit_test(what_costs_next_to_nothing_is_not_tried),
        cmocka_unit_test(a_program_that_falls_asleep_ends_it),
        cmocka_unit_test(an_abort_leaves_all_on),
        cmocka_unit_test(precise_sessions_are_enough),
        cmocka_unit_test(there_is_one_session_at_a_time),
        cmocka_unit_test(sessions_take_little_of_the_time),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
