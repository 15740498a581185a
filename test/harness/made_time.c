/* SPDX-License-Identifier: MIT */
/* Repetitions whose clocks and switches are made: how many iterations and batches they have, and
 * which times they tell, is known exactly. */
#include <math.h>
#include <sys/resource.h>

#include <spex/bench.h>

#include "../check.h"
#include "base/clock.h"
#include "harness/measure.h"
#include "harness/rounds.h"

enum { BATCHES = 128 };

/* The clocks, what each reading of them takes, and how often the thread was switched. */
static uint64_t real_ns, cpu_ns, real_step, cpu_step;
static long preemptions, waits;

/* What an iteration takes, beside its pause, and what the first ones take. */
static struct { uint64_t real_ns, cpu_ns, paused_ns, first, first_ns; } iteration;

/* Executions of the function, and iterations of all. */
static uint64_t calls, executed;

uint64_t __wrap_spex_clock_ns(clockid_t clock);
int __wrap_getrusage(int who, struct rusage *usage);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    real_ns += real_step;
    cpu_ns += cpu_step;
    return clock == CLOCK_THREAD_CPUTIME_ID ? cpu_ns : real_ns;
}

int __wrap_getrusage(int who, struct rusage *usage) {
    (void)who;
    *usage = (struct rusage){.ru_nivcsw = preemptions, .ru_nvcsw = waits};
    return 0;
}

static void iterate(struct spex_bench_state *state) {
    bool first = executed++ < iteration.first;
    real_ns += first ? iteration.first_ns : iteration.real_ns;
    cpu_ns += iteration.cpu_ns;
    if (!iteration.paused_ns)
        return;
    spex_bench_pause(state);
    real_ns += iteration.paused_ns;
    cpu_ns += iteration.paused_ns;
    spex_bench_resume(state);
}

static void steady(struct spex_bench_state *state) {
    calls++;
    SPEX_BENCH_LOOP(state) {
        iterate(state);
    }
}

static const struct spex_benchmark family = {.function = steady};
static const struct spex_bench_events none;

static void begin_at(uint64_t each_ns) {
    memset(&iteration, 0, sizeof(iteration));
    iteration.real_ns = iteration.cpu_ns = each_ns;
    real_ns = cpu_ns = UINT64_C(1) << 40;
    real_step = cpu_step = calls = executed = 0;
    preemptions = waits = 1000;
}

static struct spex_bench_instance measured(const struct spex_bench_manner *manner,
                                           uint64_t *iterations) {
    struct spex_bench_instance instance = {.family = &family, .threads = 1};
    assert_int_equal(spex_bench_measure(&instance, manner, iterations), 0);
    assert_string_equal(instance.figures.error, "");
    assert_int_equal(instance.figures.count, 1);
    return instance;
}

static void expect_found(const struct spex_bench_manner *manner, uint64_t iterations,
                         uint64_t batches, uint64_t before) {
    uint64_t found = 0;
    struct spex_bench_instance instance = measured(manner, &found);
    const struct spex_bench_repetition *repetition = instance.figures.repetitions;
    if (found != iterations || calls != before + batches ||
        repetition->iterations != (double)iterations * (double)batches)
        fail_msg("%u iterations, %u batches, %g iterations counted", (unsigned)found,
                 (unsigned)calls, repetition->iterations);
    spex_bench_figures_free(&instance.figures);
}

/* A batch is to take 1 ms, so that 128 take as long as a repetition. Before them are those of 1,
 * 16, 256 and so on iterations until one takes half of that, one of 1.4 ms, seven more of as
 * many, and a whole batch that does not count. */
TEST(iterations_are_found_by_their_time) {
    static const struct {
        uint64_t each_ns, iterations, before;
    } cases[] = {
        {100, 10000, 4 + 8 + 1}, /* 1, 16, 256, 4096: 0.41 ms */
        {1000, 1000, 3 + 8 + 1}, /* 1, 16, 256 */
        {3000, 333, 2 + 8 + 1},  /* 1, 16, then 256 take 0.77 ms */
        {1, 1000000, 5 + 8 + 1}, /* to 65536 */
        {400000, 2, 1 + 8 + 1},  /* 1, then 3 */
        {500000, 2, 8 + 1},      /* half is enough */
        {499999, 2, 1 + 8 + 1},  /* less is not */
        {600000, 1, 8},          /* no batch of one iteration before them */
        {1000000, 1, 8},
    };
    const struct spex_bench_manner manner = {.seconds = 0.128, .events = &none};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        begin_at(cases[c].each_ns);
        expect_found(&manner, cases[c].iterations, BATCHES, cases[c].before);
    }
}

/* They are tried as often as a repetition has time for, twice at least, and so are batches of
 * one. */
TEST(long_iterations_are_few) {
    static const struct {
        uint64_t each_ns, batches, before;
    } cases[] = {{100000000, 4, 4},  {150000000, 3, 3}, {200000000, 2, 2},
                 {1000000000, 1, 2}, {50000000, 8, 8},  {10000000, 40, 8}};
    const struct spex_bench_manner manner = {.seconds = 0.4, .events = &none};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        begin_at(cases[c].each_ns);
        expect_found(&manner, 1, cases[c].batches, cases[c].before);
    }
}

/* What was slow at first is measured again with more iterations: 1, 16, 256, and then as many as
 * take the time; the batches that were too short do not count. */
TEST(too_short_a_repetition_is_made_again) {
    const struct spex_bench_manner manner = {.seconds = 0.128, .events = &none};
    begin_at(1000);
    iteration.first = 8;
    iteration.first_ns = 1000000;
    expect_found(&manner, 1000, BATCHES, 8 + 3 * BATCHES);
    /* Half the time is enough: 128 batches of 500 µs. */
    begin_at(500000);
    iteration.first = 8;
    iteration.first_ns = 1000000;
    expect_found(&manner, 1, BATCHES, 8);
    begin_at(499999);
    iteration.first = 8;
    iteration.first_ns = 1000000;
    expect_found(&manner, 2, BATCHES, 8 + BATCHES);
    /* Later ones have as many iterations, whatever time they take. */
    begin_at(1000);
    uint64_t iterations = 5;
    struct spex_bench_instance instance = measured(&manner, &iterations);
    assert_int_equal(iterations, 5);
    assert_int_equal(executed, 5 * (BATCHES + 1));
    spex_bench_figures_free(&instance.figures);
}

/* A pause counts for a sixteenth, so that no repetition takes more than sixteen times as long. */
TEST(pauses_do_not_take_for_ever) {
    const struct spex_bench_manner manner = {.seconds = 0.128, .events = &none};
    begin_at(1000);
    iteration.paused_ns = 31000; /* 2 µs count */
    expect_found(&manner, 500, BATCHES, 2 + 8 + 1);
    begin_at(1000);
    iteration.paused_ns = 15000; /* as long as the iteration */
    expect_found(&manner, 1000, BATCHES, 3 + 8 + 1);
    /* Too short for its time, and long for that of its pauses: it is left so. */
    begin_at(1000);
    iteration.paused_ns = 16000000;
    expect_found(&manner, 1, BATCHES, 8);
}

TEST(a_warm_up_takes_its_time) {
    struct spex_bench_manner manner = {.seconds = 0.128, .warmup_seconds = 0.0095, .events = &none};
    begin_at(100);
    expect_found(&manner, 10000, BATCHES, 4 + 8 + 10);
    begin_at(1000000);
    expect_found(&manner, 1, BATCHES, 8 + 10);
    /* Before the first repetition alone. */
    begin_at(100);
    uint64_t iterations = 10000;
    struct spex_bench_instance instance = measured(&manner, &iterations);
    assert_int_equal(calls, 1 + BATCHES);
    spex_bench_figures_free(&instance.figures);
}

/* ---- times of batches ---- */

/* What each batch does, but for the one before them. */
struct batch {
    unsigned real_ns, cpu_ns;
    bool preempted, waited;
};

enum { ITERATIONS = 7, CLOCK_REAL = 30, CLOCK_CPU = 20 };

static struct batch batches[BATCHES];

static void changing(struct spex_bench_state *state) {
    const struct batch *batch = &batches[(calls++ + BATCHES - 1) % BATCHES];
    bool told = false;
    SPEX_BENCH_LOOP(state) {
        real_ns += batch->real_ns;
        cpu_ns += batch->cpu_ns;
        preemptions += !told && batch->preempted;
        waits += !told && batch->waited;
        told = true;
    }
}

static void expect_near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-9 * expected))
        fail_msg("%.17g, not %.17g", value, expected);
}

static double less(double time, double clock) {
    return time > clock ? time - clock : 0;
}

/* Those that were not preempted, if they are enough; else all, and where one was preempted and did
 * not wait by itself its CPU time for its real time. */
static void expect_times(const struct spex_bench_repetition *repetition) {
    double real[BATCHES], cpu[BATCHES], sum_real = 0, sum_cpu = 0;
    size_t calm = 0, count = 0;
    for (int b = 0; b < BATCHES; b++)
        calm += !batches[b].preempted;
    for (int b = 0; b < BATCHES; b++) {
        double r = less(ITERATIONS * (double)batches[b].real_ns, CLOCK_REAL) / ITERATIONS;
        double c = less(ITERATIONS * (double)batches[b].cpu_ns, CLOCK_CPU) / ITERATIONS;
        sum_real += r;
        sum_cpu += c;
        if (calm >= 8 && batches[b].preempted)
            continue;
        real[count] = batches[b].preempted && !batches[b].waited && r > c ? c : r;
        cpu[count++] = c;
    }
    expect_near(repetition->mean.real_ns, sum_real / BATCHES);
    expect_near(repetition->mean.cpu_ns, sum_cpu / BATCHES);
    expect_near(repetition->time.real_ns, spex_bench_undisturbed(real, count));
    expect_near(repetition->time.cpu_ns, spex_bench_undisturbed(cpu, count));
    assert_true(repetition->iterations == ITERATIONS * BATCHES);
}

static void draw_batches(uint64_t *random, unsigned calm) {
    for (unsigned b = 0; b < BATCHES; b++)
        batches[b] = (struct batch){.real_ns = (unsigned)random_below(random, 1000),
                                    .cpu_ns = (unsigned)random_below(random, 1000),
                                    .preempted = b >= calm,
                                    .waited = random_below(random, 2)};
    for (unsigned b = BATCHES - 1; b > 0; b--) {
        unsigned other = (unsigned)random_below(random, b + 1);
        struct batch batch = batches[b];
        batches[b] = batches[other];
        batches[other] = batch;
    }
}

TEST(times_are_those_of_undisturbed_batches) {
    static const unsigned calm[] = {0, 1, 7, 8, 9, 60, 127, 128};
    static const struct spex_benchmark changes = {.function = changing};
    const struct spex_bench_manner manner = {
        .seconds = 1, .clock = {CLOCK_REAL, CLOCK_CPU, 0}, .events = &none};
    uint64_t random = 1;
    for (int round = 0; round < 40; round++) {
        struct spex_bench_instance instance = {.family = &changes, .threads = 1};
        uint64_t iterations = ITERATIONS;
        begin_at(0);
        draw_batches(&random, calm[(unsigned)round % COUNT_OF(calm)]);
        assert_int_equal(spex_bench_measure(&instance, &manner, &iterations), 0);
        assert_int_equal(calls, BATCHES + 1);
        expect_times(instance.figures.repetitions);
        spex_bench_figures_free(&instance.figures);
    }
}

/* ---- clocks, and rounds ---- */

/* Of each clock the median of what empty batches tell: from one reading to the next, and over all
 * of them. */
TEST(what_the_clocks_take_is_told) {
    struct spex_bench_manner manner = {.events = &none};
    begin_at(0);
    real_step = 25;
    cpu_step = 10;
    spex_bench_clock_measure(&manner);
    assert_true(manner.clock.real_ns == 25);
    assert_true(manner.clock.cpu_ns == 30);
    assert_true(manner.clock.ticks > 0);
}

/* 136 ms for the first repetition, and 128 ms for each other. */
TEST(rounds_end_with_the_time) {
    static const struct {
        double seconds;
        size_t repetitions;
    } cases[] = {{0.1, 1},   {0.135, 1}, {0.137, 2}, {0.263, 2},
                 {0.265, 3}, {0.5, 4},   {0.53, 5},  {2, 16}};
    struct spex_bench_manner manner = {.seconds = 0.128, .events = &none};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_bench_instance items[] = {{.family = &family, .threads = 1},
                                              {.family = &family, .threads = 1}};
        struct spex_bench_instances instances = {items, COUNT_OF(items)};
        const struct spex_bench_settings settings = {.max_seconds = cases[c].seconds};
        begin_at(1000000);
        assert_int_equal(spex_bench_rounds(&instances, &manner, &settings), 0);
        for (size_t i = 0; i < COUNT_OF(items); i++) {
            assert_int_equal(items[i].figures.count, cases[c].repetitions);
            spex_bench_figures_free(&items[i].figures);
        }
    }
}
