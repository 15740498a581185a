/* SPDX-License-Identifier: MIT */
/* The parts of the harness: instances of parameters, estimates, and what a batch tells. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../check.h"
#include "base/clock.h"
#include "harness/machine.h"
#include "harness/measure.h"
#include "harness/rounds.h"
#include "harness/settings.h"

enum { SHUFFLED = 3, ROUNDS = 100 };

static uint64_t executed;

static void count(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        executed++;
        spex_bench_clobber();
    }
}

static const int64_t odd[] = {7, -3};

SPEX_BENCHMARK(count, SPEX_BENCH_RANGE("a", 1, 100),
               spex_benchmark_values(spex_benchmark_, "b", 2, odd), SPEX_BENCH_THREADS(1, 3));
SPEX_BENCHMARK_NAMED("ends", count, SPEX_BENCH_RANGE_BY("x", INT64_MAX - 1, INT64_MAX, 2),
                     SPEX_BENCH_STEPS("y", INT64_MIN, INT64_MAX, INT64_MAX));

TEST(test_instances) {
    struct spex_bench_instances instances;
    spex_bench_instances_make(&instances);
    /* 1, 8, 64, 100 and two values in 1, 2 and 3 threads; then 2 values by 3; three; and three. */
    assert_int_equal(instances.count, 4 * 2 * 3 + 2 * 3 + 3 + SHUFFLED);
    assert_string_equal(instances.items[0].name, "count/a:1/b:7/threads:1");
    assert_string_equal(instances.items[5].name, "count/a:1/b:-3/threads:3");
    assert_string_equal(instances.items[23].name, "count/a:100/b:-3/threads:3");
    assert_string_equal(instances.items[24].name,
                        "ends/x:9223372036854775806/y:-9223372036854775808");
    assert_string_equal(instances.items[29].name,
                        "ends/x:9223372036854775807/y:9223372036854775806");
    assert_int_equal(instances.items[29].index, 5);
    assert_int_equal(instances.items[29].family_index, 1);
    assert_int_equal(spex_bench_instances_filter(&instances, "["), -EINVAL);
    assert_int_equal(
        spex_bench_instances_filter(&instances, "-^ends|^warm|^cold|^busy|^noted|a:[16]"), 0);
    assert_int_equal(instances.count, 6);
    assert_string_equal(instances.items[0].name, "count/a:8/b:7/threads:1");
    spex_bench_instances_free(&instances);
}

/* Processes differ by much, their repetitions by little: the interval is that of processes. */
TEST(test_estimates_of_processes) {
    struct spex_bench_figures figures = {.count = 0};
    for (size_t process = 0; process < 8; process++)
        for (int r = 0; r < 3; r++) {
            struct spex_bench_repetition repetition = {
                .time = {.real_ns = 10 + (double)process + r / 100.0, .cpu_ns = 1},
                .process = process};
            assert_int_equal(spex_bench_figures_add(&figures, &repetition), 0);
        }
    assert_int_equal(spex_bench_figures_estimate(&figures), 0);
    assert_true(figures.estimate.low < 11.5 && figures.estimate.high > 15.5);
    for (size_t r = 0; r < figures.count; r++)
        figures.repetitions[r].process = 0;
    assert_int_equal(spex_bench_figures_estimate(&figures), 0);
    assert_true(figures.estimate.low > 11.5 && figures.estimate.high < 15.5);
    /* Each iteration counts as much. */
    figures.repetitions[0].iterations = 1;
    figures.repetitions[0].mean.cpu_ns = 10;
    figures.repetitions[1].iterations = 3;
    figures.repetitions[1].mean.cpu_ns = 20;
    figures.count = 2;
    assert_int_equal(spex_bench_figures_estimate(&figures), 0);
    assert_true(figures.mean.cpu_ns == 17.5);
    figures.count = 5;
    assert_int_equal(spex_bench_figures_estimate(&figures), 0);
    assert_true(isinf(spex_bench_figures_error(&figures)));
    assert_false(spex_bench_figures_precise(&figures, 1));
    figures.count = 8;
    for (size_t r = 0; r < figures.count; r++)
        figures.repetitions[r].time.real_ns = 10;
    assert_int_equal(spex_bench_figures_estimate(&figures), 0);
    assert_true(spex_bench_figures_precise(&figures, 0.01));
    assert_false(spex_bench_figures_precise(&figures, 0));
    spex_bench_figures_free(&figures);
}

/* Every batch executes as many iterations as it says, single ones too. */
TEST(test_repetitions) {
    static const struct spex_bench_events none;
    struct spex_bench_manner manner = {
        .seconds = 1e-3, .singles = true, .ticks_per_second = 1e9, .events = &none};
    struct spex_bench_instances instances;
    uint64_t iterations = 1000;
    spex_bench_clock_measure(&manner);
    spex_bench_instances_make(&instances);
    assert_int_equal(spex_bench_instances_filter(&instances, "a:1/b:7/threads:1"), 0);
    struct spex_bench_instance *instance = &instances.items[0];
    executed = 0;
    assert_int_equal(spex_bench_measure(instance, &manner, &iterations), 0);
    const struct spex_bench_figures *figures = &instance->figures;
    assert_string_equal(figures->error, "");
    assert_int_equal(figures->count, 1);
    assert_int_equal(iterations, 1000);
    /* One batch before those that count. */
    assert_int_equal(executed, figures->repetitions[0].iterations + 1000 + figures->singles->total);
    assert_true(figures->repetitions[0].time.real_ns > 0);
    assert_true(figures->singles->total > 0);
    iterations = 0;
    assert_int_equal(spex_bench_measure(instance, &manner, &iterations), 0);
    assert_true(iterations > 0);
    spex_bench_instances_free(&instances);
}

static bool was_slow;

/* Its first iteration takes 5 ms. */
static void warm(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        uint64_t end = spex_clock_ns(CLOCK_MONOTONIC_RAW) + 5000000;
        while (!was_slow && spex_clock_ns(CLOCK_MONOTONIC_RAW) < end)
            continue;
        was_slow = true;
    }
}

SPEX_BENCHMARK(warm);

/* How many iterations are a batch of 1 ms. */
static uint64_t iterations_found(const char *filter) {
    static const struct spex_bench_events none;
    const struct spex_bench_manner manner = {.seconds = 0.128, .events = &none};
    struct spex_bench_instances instances;
    uint64_t iterations = 0;
    spex_bench_instances_make(&instances);
    assert_int_equal(spex_bench_instances_filter(&instances, filter), 0);
    assert_int_equal(spex_bench_measure(&instances.items[0], &manner, &iterations), 0);
    spex_bench_instances_free(&instances);
    return iterations;
}

/* A first iteration that is slow does not decide it. */
TEST(test_slow_first_iteration) {
    assert_in_range(iterations_found("^warm$"), 2, UINT64_MAX);
    assert_true(was_slow);
}

enum { COLD_ITERATIONS = 16, TRIES = 5 };

static int cold_iterations;

/* The first iterations take 2 ms. */
static void cold(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        uint64_t end = spex_clock_ns(CLOCK_MONOTONIC_RAW) + 2000000;
        while (cold_iterations && spex_clock_ns(CLOCK_MONOTONIC_RAW) < end)
            continue;
        cold_iterations -= cold_iterations > 0;
    }
}

SPEX_BENCHMARK(cold);

/* Nor do the batches that tell it, if all are slow. */
TEST(test_slow_first_batches) {
    uint64_t found = 0;
    /* Where another program has the processor for the length of a batch, that one is slow, too. */
    for (int t = 0; t < TRIES && found < 2; t++) {
        cold_iterations = COLD_ITERATIONS;
        found = iterations_found("^cold$");
        assert_int_equal(cold_iterations, 0);
    }
    assert_in_range(found, 2, UINT64_MAX);
}

/* An iteration takes 10 ms of CPU time. */
static void busy(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        uint64_t end = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) + 10000000;
        while (spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
            continue;
    }
}

SPEX_BENCHMARK(busy);

/* A process that works on the only CPU that it and this one may use. */
static pid_t rival_start(const cpu_set_t *one) {
    pid_t parent = getpid(), rival = fork();
    assert_true(rival >= 0);
    sched_setaffinity(0, sizeof(*one), one);
    if (rival)
        return rival;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        continue;
    _exit(0);
}

/* The wait for the processor is not the benchmark's, also where every batch has one; the mean of
 * all iterations has it. */
TEST(test_every_batch_is_interrupted) {
    static const struct spex_bench_events none;
    const struct spex_bench_manner manner = {.seconds = 0.4, .events = &none};
    struct spex_bench_instances instances;
    uint64_t iterations = 1;
    cpu_set_t before, one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    spex_bench_instances_make(&instances);
    assert_int_equal(spex_bench_instances_filter(&instances, "^busy$"), 0);
    pid_t rival = rival_start(&one);
    assert_int_equal(spex_bench_measure(&instances.items[0], &manner, &iterations), 0);
    assert_int_equal(kill(rival, SIGKILL), 0);
    assert_int_equal(waitpid(rival, NULL, 0), rival);
    sched_setaffinity(0, sizeof(before), &before);
    const struct spex_bench_repetition *repetition = instances.items[0].figures.repetitions;
    assert_in_range(repetition->time.real_ns, 9.9e6, 1.2 * repetition->time.cpu_ns);
    assert_true(repetition->mean.real_ns > 1.05 * repetition->time.real_ns);
    spex_bench_instances_free(&instances);
}

/* Which benchmark was measured when: order[round][place]. */
static struct spex_bench_instances shuffled;
static size_t order[ROUNDS][SHUFFLED], places[ROUNDS];

static void noted(struct spex_bench_state *state) {
    size_t self = (size_t)spex_bench_arg(state, 0);
    size_t round = shuffled.items[self].figures.count;
    size_t *place = &places[round];
    if (round < ROUNDS && (*place == 0 || order[round][*place - 1] != self))
        order[round][(*place)++ % SHUFFLED] = self;
    SPEX_BENCH_LOOP(state) {
        executed++;
    }
}

SPEX_BENCHMARK(noted, SPEX_BENCH_STEPS("self", 0, SHUFFLED - 1, 1));

static void measure_rounds(const struct spex_bench_settings *settings) {
    static const struct spex_bench_events none;
    struct spex_bench_manner manner = {.seconds = 1e-7, .events = &none};
    memset(places, 0, sizeof(places));
    spex_bench_instances_make(&shuffled);
    assert_int_equal(spex_bench_instances_filter(&shuffled, "^noted/"), 0);
    assert_int_equal(shuffled.count, SHUFFLED);
    assert_int_equal(spex_bench_rounds(&shuffled, &manner, settings), 0);
}

/* From one round to the next the order changes in each of the six ways, none included. */
TEST(test_rounds_are_shuffled) {
    bool changes[SHUFFLED][SHUFFLED][SHUFFLED] = {0};
    size_t different = 0;
    measure_rounds(
        &(struct spex_bench_settings){.repetitions = ROUNDS, .interleave = true, .seed = 1});
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t to[SHUFFLED];
        assert_int_equal(places[round], SHUFFLED);
        for (size_t i = 0; round && i < SHUFFLED; i++)
            for (size_t before = 0; before < SHUFFLED; before++)
                if (order[round - 1][before] == order[round][i])
                    to[i] = before;
        if (round && !changes[to[0]][to[1]][to[2]])
            different += changes[to[0]][to[1]][to[2]] = true;
    }
    assert_int_equal(different, 6);
    spex_bench_instances_free(&shuffled);
}

/* As many repetitions as are asked for, until the time is over, or of which there is an interval. */
TEST(test_rounds_end) {
    static const struct {
        struct spex_bench_settings settings;
        size_t count;
    } cases[] = {{{.repetitions = 2}, 2},
                 {{.max_seconds = 0, .precision = 0.01}, 1},
                 {{.max_seconds = 1e9, .precision = 1e9}, 6}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        measure_rounds(&cases[c].settings);
        for (size_t i = 0; i < SHUFFLED; i++) {
            assert_int_equal(shuffled.items[i].figures.count, cases[c].count);
            assert_int_equal(order[0][i], i);
        }
        spex_bench_instances_free(&shuffled);
    }
}

/* Counts the doubts; there are none behind the last. */
static size_t doubts_of(const struct spex_bench_machine *machine, const char *first) {
    char text[160];
    const char *doubt;
    size_t count = 0;
    while ((doubt = spex_bench_machine_doubt(machine, count, text, sizeof(text))))
        if (count++ == 0)
            assert_non_null(strstr(doubt, first));
    assert_null(spex_bench_machine_doubt(machine, count + 1, text, sizeof(text)));
    return count;
}

/* A machine that is fit has none; each reason makes one. */
TEST(test_doubts) {
    static const struct spex_bench_machine fit = {.cpus = 4, .invariant_ticks = true};
    struct spex_bench_machine machine = fit;
    assert_int_equal(doubts_of(&machine, ""), 0);
    machine.scaling = true;
    assert_int_equal(doubts_of(&machine, "scaling governor"), 1);
    machine = fit;
    machine.load[0] = 4;
    assert_int_equal(doubts_of(&machine, "a load of 4.00 on 4 CPUs"), 1);
    machine.load[0] = 2;
    assert_int_equal(doubts_of(&machine, ""), 0);
    machine.load[0] = 2.01;
    assert_int_equal(doubts_of(&machine, "a load of 2.01 on 4 CPUs"), 1);
    machine = fit;
    machine.cpus = 1;
    assert_int_equal(doubts_of(&machine, "there is one CPU"), 1);
    machine = fit;
    machine.invariant_ticks = false;
    assert_int_equal(doubts_of(&machine, "the time stamp counter is not invariant"), 1);
    machine.virtual = true;
    assert_int_equal(doubts_of(&machine, "this virtual machine has no invariant"), 1);
    machine.scaling = true;
    machine.load[0] = 9;
    machine.cpus = 1;
    assert_int_equal(doubts_of(&machine, "scaling governor"), 4);
}
