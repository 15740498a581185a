/* SPDX-License-Identifier: MIT */
/* How the controller reacts when rates change a hundredfold: in virtual time, on a simulated
 * program (plant.h). What is asserted is what was truly spent.
 *
 * With an argument it prints the figures of all scenarios. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "plant.h"
#include "site/registry.h"

/* Of the interval, in seconds: rates change at CHANGE for the first time. */
#define CHANGE 4.0
#define END    14.0
#define FACTOR 100.0

/* The final value of a period is the median of this time before the end. */
#define FINAL_SECONDS 3.0

/* Where executions that make no record take more than that of the budget, little is left to
 * control: it is kept, but periods may take longer to settle. */
#define DETECTION_MOST 0.75

enum shape { UP, DOWN, IDLE, SQUARE, RAMP, BURSTS };

struct scenario {
    const char *name;
    enum shape shape;
    double length; /* of a change and the way back, or of a ramp */
    unsigned probes, changing;
};

static const struct scenario scenarios[] = {
    {"up", UP, 0, 1, 1},
    {"down", DOWN, 0, 1, 1},
    {"after idling", IDLE, 0, 1, 1},
    {"one of ten", UP, 0, 10, 1},
    {"all ten", UP, 0, 10, 10},
    {"ten down", DOWN, 0, 10, 10},
    {"square 0.2 s", SQUARE, 0.2, 1, 1},
    {"square 1 s", SQUARE, 1, 1, 1},
    {"square 3 s", SQUARE, 3, 1, 1},
    {"one of ten square 1 s", SQUARE, 1, 10, 1},
    {"ramp 2 s", RAMP, 2, 1, 1},
    {"bursts", BURSTS, 0.1, 1, 1},
};

struct run {
    const struct scenario *scenario;
    double low; /* executions a second of a probe, before the change */
    double share;
    unsigned cpus;
    double skip_ns, record_ns, late;
};

static double level(const struct scenario *scenario, double seconds) {
    double since = seconds - CHANGE;
    if (scenario->shape == DOWN)
        return since < 0 ? FACTOR : 1;
    if (since < 0)
        return scenario->shape == IDLE ? 0 : 1;
    double part = scenario->length > 0 ? fmod(since, scenario->length) / scenario->length : 0;
    switch (scenario->shape) {
    case SQUARE:
        return part < 0.5 ? FACTOR : 1;
    case BURSTS:
        return part < 0.1 ? FACTOR : 1;
    case RAMP:
        return since < scenario->length ? pow(FACTOR, part) : FACTOR;
    default:
        return FACTOR;
    }
}

static double rate(const void *context, unsigned probe, double seconds) {
    const struct run *run = context;
    return run->low * (probe < run->scenario->changing ? level(run->scenario, seconds) : 1);
}

struct figures {
    double worst;      /* of any second, over the budget */
    double mean;       /* from the change on */
    double used;       /* in the end, over the budget */
    double usable;     /* of the budget: what is known to be spendable then */
    bool could_before; /* no probe had to be held off before the change */
};

/* Frequencies are estimated: more than such a share of the budget may be judged to be above it. */
#define SURELY_BELOW 0.9

/* What records cost that could surely be had with a period that is a whole number; shares of the
 * budget. */
static double usable_at(double all, double none) {
    double least = SURELY_BELOW - none;
    return all <= SURELY_BELOW ? all : none + (all - none) / ceil((all - none) / least);
}

/* On average of an interval. 0 where executions alone take most of it. */
static double usable(double from, double to, double allowed) {
    enum { SAMPLES = 3000 };
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double at = from + (to - from) * i / SAMPLES;
        double all = plant_demand(at, true) / allowed, none = plant_demand(at, false) / allowed;
        if (none > DETECTION_MOST)
            return 0;
        sum += usable_at(all, none);
    }
    return sum / SAMPLES;
}

static struct figures figures_of(const struct run *run) {
    const struct plant_options options = {.share = run->share,
                                          .cpus = run->cpus,
                                          .probes = run->scenario->probes,
                                          .skip_ns = run->skip_ns,
                                          .record_ns = run->record_ns,
                                          .late = run->late,
                                          .seconds = END,
                                          .rate = rate,
                                          .scenario = run};
    plant_run(&options);
    double allowed = run->share * run->cpus;
    return (struct figures){
        .worst = plant_worst(0, END, 1),
        .mean = plant_mean(CHANGE, END),
        .used = plant_mean(END - FINAL_SECONDS, END),
        .could_before = usable(0, CHANGE, allowed) > 0 || run->scenario->shape == IDLE,
        .usable = usable(END - FINAL_SECONDS, END, allowed),
    };
}

/* What is said of a run that is not as it should be; NULL: it is. */
static const char *fault_of(const struct run *run, const struct figures *figures) {
    if (figures->worst > (run->scenario->shape == IDLE ? 3 : 1.75))
        return "a second took three quarters more than the budget";
    /* Over 10 s, of which 0.4 may have been saved before. */
    if (figures->mean > 1.06)
        return "more was spent than the budget";
    /* Where a probe has to be held off, or had to be, it takes its time to come back. */
    if (figures->usable <= 0 || !figures->could_before)
        return NULL;
    if (figures->used < 0.1 * figures->usable)
        return "there might have been more records";
    return NULL;
}

static void print(FILE *file, const struct run *run, const struct figures *figures) {
    fprintf(file,
            "%-22s %6.0f/s %4.1f %% %u CPUs %4.0f ns: worst %.3f mean %.3f used %.3f of %.3f\n",
            run->scenario->name, run->low, run->share * 100, run->cpus, run->record_ns,
            figures->worst, figures->mean, figures->used, figures->usable);
}

/* No more than fifty million executions a second. */
static const double lows[] = {1e4, 5e5, 10, 1e3, 1e5};
static const double shares[] = {0.005, 0.02, 0.01, 0.05};
static const unsigned cpus[] = {1, 8, 2};
static const double records_ns[] = {24, 2000};

/* Those of the run with this number, of the first so many of each. */
static struct run run_of(const struct scenario *scenario, size_t number, const size_t *counts) {
    struct run run = {.scenario = scenario, .skip_ns = 1.6};
    run.low = lows[number % counts[0]] / scenario->probes;
    run.share = shares[(number /= counts[0]) % counts[1]];
    run.cpus = cpus[(number /= counts[1]) % counts[2]];
    run.record_ns = records_ns[number / counts[2]];
    return run;
}

static void run_all(const struct scenario *scenario, const size_t *counts, bool all) {
    size_t runs = counts[0] * counts[1] * counts[2] * COUNT_OF(records_ns);
    for (size_t r = 0; r < runs; r++) {
        struct run run = run_of(scenario, r, counts);
        struct figures figures = figures_of(&run);
        const char *fault = fault_of(&run, &figures);
        if (all)
            print(stdout, &run, &figures);
        if (all && fault)
            printf("  %s\n", fault);
        if (!all && fault) {
            print(stderr, &run, &figures);
            fail_msg("%s", fault);
        }
    }
}

static void the_budget_is_kept_and_used(void **state) {
    static const size_t counts[] = {2, 2, 2};
    for (size_t s = 0; s < COUNT_OF(scenarios); s++)
        run_all(&scenarios[s], counts, false);
    (void)state;
}

/* A collector that is woken up to 2 ms late, as on a busy machine. */
static void a_collector_may_be_late(void **state) {
    (void)state;
    for (size_t s = 0; s < COUNT_OF(scenarios); s++) {
        const struct run run = {.scenario = &scenarios[s],
                                .low = 5e5 / scenarios[s].probes,
                                .share = 0.02,
                                .cpus = 2,
                                .skip_ns = 1.6,
                                .record_ns = 24,
                                .late = 2e-3};
        struct figures figures = figures_of(&run);
        const char *fault = fault_of(&run, &figures);
        if (fault)
            print(stderr, &run, &figures);
        assert_null(fault);
    }
}

static double steady_rate(const void *context, unsigned probe, double seconds) {
    (void)probe;
    (void)seconds;
    return *(const double *)context;
}

static void in_the_long_run_it_is_the_budget(void **state) {
    static const double rates[] = {1e6, 5e6, 2e7, 5e6};
    /* Last: records that chance chooses cost more, and no experiment can tell. */
    static const double drawn_ns[] = {24, 24, 24, 100};
    static const unsigned probes[] = {2, 2, 2, 1};
    (void)state;
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        const struct plant_options options = {.share = 0.02,
                                              .cpus = 2,
                                              .probes = probes[r],
                                              .skip_ns = 0.8,
                                              .record_ns = 24,
                                              .drawn_ns = drawn_ns[r],
                                              .seconds = 120,
                                              .rate = steady_rate,
                                              .scenario = &rates[r]};
        plant_run(&options);
        assert_true(plant_mean(20, 120) <= 1.02);
        assert_true(plant_mean(20, 120) >= (rates[r] > 1e7 ? 0.05 : 0.5));
    }
}

/* Passes as dear as in a virtual machine, and hardly a record to take. */
static void a_collector_at_rest_takes_little(void **state) {
    static const double rate = 1000;
    const struct plant_options options = {.share = 0.01,
                                          .cpus = 1,
                                          .probes = 1,
                                          .skip_ns = 1.6,
                                          .record_ns = 24,
                                          .pass_ns = 50e3,
                                          .seconds = 20,
                                          .rate = steady_rate,
                                          .scenario = &rate};
    (void)state;
    plant_run(&options);
    assert_true(plant_mean(2, 20) < 0.12);
}

/* Sessions follow each other as long as they are not precise. */
static double busy_and_witness(const void *context, unsigned probe, double seconds) {
    (void)context;
    (void)seconds;
    return probe ? 5e3 : 5e5;
}

/* As passes are dear, which sessions need every 10 ms: the share of the executions while the busy
 * probe was held off. */
static void experiments_take_a_small_part_of_the_budget(void **state) {
    const struct plant_options options = {.share = 0.01,
                                          .cpus = 1,
                                          .probes = 2,
                                          .skip_ns = 1.6,
                                          .record_ns = 24,
                                          .pass_ns = 80e3,
                                          .seconds = 60,
                                          .rate = busy_and_witness};
    (void)state;
    plant_run(&options);
    assert_true(plant_held(0).truth < 0.1 * 5e5 * 60);
    assert_true(plant_worst(0, 60, 1) <= 1.5);
}

/* Records are `dearer` than calibrated, by what a session finds. */
static struct plant_options dear_records(double dearer, unsigned probes, uint32_t threads,
                                         uint64_t seed) {
    static const double rate = 2e5;
    return (struct plant_options){.share = 0.01,
                                  .cpus = 1,
                                  .probes = probes,
                                  .skip_ns = 1,
                                  .record_ns = 40 * dearer,
                                  .drawn_ns = 60 * dearer,
                                  .dearer = dearer,
                                  .seed = seed,
                                  .seconds = 40,
                                  .rate = probes > 1 ? busy_and_witness : steady_rate,
                                  .scenario = &rate,
                                  .threads = threads};
}

/* By the times without records. Also of one probe alone. */
static void records_may_be_dearer(void **state) {
    static const double dearers[] = {1, 4, 8};
    (void)state;
    for (size_t d = 0; d < COUNT_OF(dearers); d++)
        for (unsigned probes = 1; probes <= 2; probes++)
            for (uint64_t seed = 1; seed <= 5; seed++) {
                const struct plant_options options = dear_records(dearers[d], probes, 1, seed);
                plant_run(&options);
                assert_true(plant_worst(10, 40, 1) < 1.2);
                assert_true(plant_mean(10, 40) > 0.1);
                assert_true(dearers[d] > 1 || plant_held(0).truth <= 0);
            }
}

/* Those of which the mean needs more records for the same error have more, in proportion. */
static void records_go_where_values_differ(void **state) {
    static const double spreads[] = {1, 8, 0.5, 0}, expected[] = {1, 8, 0.5, 0.1};
    static const double rate = 2e5;
    const struct plant_options options = {.share = 0.005,
                                          .cpus = 1,
                                          .probes = 4,
                                          .skip_ns = 1,
                                          .record_ns = 40,
                                          .seconds = END,
                                          .rate = steady_rate,
                                          .scenario = &rate,
                                          .spreads = spreads};
    (void)state;
    plant_run(&options);
    double each = 1.0 / plant_period(0, END);
    for (unsigned p = 0; p < 4; p++)
        assert_true(fabs(1.0 / plant_period(p, END) / each / expected[p] - 1) < 0.2);
}

/* The share of the time for which the processor is there. */
#define PRESENT 0.3

static double present(const void *context, double seconds) {
    (void)context;
    (void)seconds;
    return PRESENT;
}

/* The budget is a share of the CPU time: a program that has its processor for a part of the time,
 * since it sleeps, or waits for others, pays by that part. */
static void who_uses_less_pays_less(void **state) {
    static const double rate = 2e7;
    struct plant_options options = {.share = 0.02,
                                    .cpus = 1,
                                    .probes = 2,
                                    .skip_ns = 1,
                                    .record_ns = 24,
                                    .seconds = 20,
                                    .rate = steady_rate,
                                    .runs = present,
                                    .scenario = &rate};
    (void)state;
    plant_run(&options);
    assert_true(plant_mean(2, 20) < PRESENT * 1.06 && plant_mean(2, 20) > PRESENT * 0.1);
    assert_true(plant_worst(1, 20, 1) < PRESENT * 1.5);
}

/* Mostly asleep, until it has work. */
enum { WORK_FROM = 15 };
#define AWAKE 0.03

static double awake(const void *context, double seconds) {
    (void)context;
    return seconds < WORK_FROM ? AWAKE : 1;
}

static double rate_of_work(const void *context, unsigned probe, double seconds) {
    (void)context, (void)probe;
    return seconds < WORK_FROM ? 3000 : 2e6;
}

/* Passes of a collector that find hardly a record are as rare as the program's few CPU seconds allow,
 * and work that comes is noticed all the same. */
static void who_hardly_runs_pays_hardly_anything(void **state) {
    struct plant_options options = {.share = 0.02,
                                    .cpus = 1,
                                    .probes = 1,
                                    .skip_ns = 1,
                                    .record_ns = 24,
                                    .pass_ns = 50e3,
                                    .seconds = 20,
                                    .rate = rate_of_work,
                                    .runs = awake};
    (void)state;
    plant_run(&options);
    assert_true(plant_mean(2, WORK_FROM) < AWAKE);
    assert_true(plant_worst(WORK_FROM - 1, 20, 1) < 1.5);
    assert_true(plant_mean(WORK_FROM + 1, 20) < 1.06);
}

/* Half of the time, in turns of so many seconds. */
static bool in_turns(const void *scenario, unsigned probe, double seconds) {
    double turn = *(const double *)scenario;
    (void)probe;
    return fmod(seconds / turn, 2) >= 1;
}

static double hot_rate(const void *scenario, unsigned probe, double seconds) {
    (void)scenario, (void)probe, (void)seconds;
    return 2e7;
}

/* By tools that look at a program for moments, or by whoever means harm. What is known of the probe
 * stays. */
static void a_selection_may_change_all_the_time(void **state) {
    static const double turns[] = {1e-3, 1.5e-3, 4e-3, 20e-3, 0.15, 1};
    static const double skips[] = {0.05, 3};
    (void)state;
    for (size_t t = 0; t < COUNT_OF(turns) * COUNT_OF(skips); t++) {
        struct plant_options options = {.share = 0.01,
                                        .cpus = 1,
                                        .probes = 1,
                                        .skip_ns = skips[t % COUNT_OF(skips)],
                                        .record_ns = 30,
                                        .rate = hot_rate,
                                        .selected = in_turns,
                                        .scenario = &turns[t / COUNT_OF(skips)],
                                        .seconds = END,
                                        .seed = t};
        plant_run(&options);
        assert_true(plant_worst(0, 2, 1) < 2);
        assert_true(plant_worst(1, END, 1) < 1.25);
        assert_true(plant_mean(1, END) > 0.05);
    }
}

static double rate_given(const void *scenario, unsigned probe, double seconds) {
    (void)probe, (void)seconds;
    return *(const double *)scenario;
}

/* Once, and not for what costs next to nothing at most. */
static void caches_are_measured_when_they_matter(void **state) {
    static const struct {
        double rate;
        unsigned measured;
    } cases[] = {{0, 0}, {10, 0}, {1e3, 0}, {1e6, 1}, {1e8, 1}};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct plant_options options = {.share = 0.02,
                                        .cpus = 1,
                                        .probes = 2,
                                        .skip_ns = 2,
                                        .record_ns = 30,
                                        .rate = rate_given,
                                        .scenario = &cases[c].rate,
                                        .seconds = END};
        plant_run(&options);
        assert_int_equal(plant_caches_measured(), cases[c].measured);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_budget_is_kept_and_used),
        cmocka_unit_test(a_collector_may_be_late),
        cmocka_unit_test(in_the_long_run_it_is_the_budget),
        cmocka_unit_test(a_collector_at_rest_takes_little),
        cmocka_unit_test(experiments_take_a_small_part_of_the_budget),
        cmocka_unit_test(records_may_be_dearer),
        cmocka_unit_test(records_go_where_values_differ),
        cmocka_unit_test(who_uses_less_pays_less),
        cmocka_unit_test(who_hardly_runs_pays_hardly_anything),
        cmocka_unit_test(a_selection_may_change_all_the_time),
        cmocka_unit_test(caches_are_measured_when_they_matter),
    };
    static const size_t counts[] = {COUNT_OF(lows), COUNT_OF(shares), COUNT_OF(cpus)};
    (void)argv;
    for (size_t s = 0; argc > 1 && s < COUNT_OF(scenarios); s++)
        run_all(&scenarios[s], counts, true);
    return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
