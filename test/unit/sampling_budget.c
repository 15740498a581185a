/* SPDX-License-Identifier: MIT */
/* The budget of sampling by models alone, in a simulated process whose clocks, executions and costs
 * are the test's. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/collector.h"
#include "kernels/kernels_here.h"
#include "kernels/sampling_budget.h"
#include "probe/contexts.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "site/cost.h"
#include "site/registry.h"

enum { KERNELS = 3, THREADS = 3 };

/* The contexts of the kernels, and one of a kernel that has no site. */
static const uint32_t contexts[KERNELS + 1] = {63, 64, SPEX_CONTEXTS_MAX, 65};

#define SHARE 0.02

/* Ticks are nanoseconds. An execution costs 60 + 40 ticks, a record 1000. */
#define EXECUTION_TICKS  60
#define POLLED_TICKS     40
#define EXECUTION_SECOND 100e-9
#define RECORD_TICKS     1000

static struct {
    uint64_t now_ns, process_ns, sampler_ns, collectors_ns, records;
    /* What a pass itself takes of its thread. */
    uint64_t pass_ns;
    uint32_t throttled[KERNELS];
    unsigned throttles;
    bool by_hand[KERNELS], cost_unknown;
    struct spex_thread threads[THREADS];
    struct spex_samples *samples[2];
    struct spex_sampling_budget budget;
    struct spex_sampling_plan *plan;
} world;

/* ---- the process ---- */

uint64_t spex_clock_ns(clockid_t clock) {
    return clock == CLOCK_MONOTONIC            ? world.now_ns
           : clock == CLOCK_PROCESS_CPUTIME_ID ? world.process_ns
                                               : world.sampler_ns;
}

uint64_t spex_collectors_cpu_ns(void) {
    return world.collectors_ns;
}

struct spex_ring_counts spex_rings_totals_of(unsigned type_ring) {
    (void)type_ring;
    return (struct spex_ring_counts){.produced = world.records};
}

/* Of three threads, the second has executed no kernel. */
uint32_t spex_threads_used(void) {
    return THREADS;
}

const struct spex_thread *spex_threads_state(uint32_t index) {
    assert_true(index < THREADS);
    return &world.threads[index];
}

uint32_t spex_sites_count(void) {
    return KERNELS;
}

bool spex_context_node(uint64_t number, struct spex_context_node *node) {
    for (size_t k = 0; k < COUNT_OF(contexts); k++)
        if (contexts[k] == number) {
            *node = (struct spex_context_node){1, (uint16_t)(100 + k)};
            return true;
        }
    return false;
}

uint32_t spex_kernels_here_site(uint16_t kernel) {
    return kernel - 100u;
}

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    assert_int_equal(until, 0);
    assert_true(first < KERNELS);
    return (struct spex_probe_state){.by_hand = world.by_hand[first]};
}

void spex_probe_throttle(uint32_t first, uint32_t period) {
    assert_true(first < KERNELS);
    world.throttled[first] = period;
    world.throttles++;
}

int spex_cost_get(uint32_t type, struct spex_cost *cost) {
    assert_int_equal(type, SPEX_KERNEL);
    if (world.cost_unknown)
        return -ENODATA;
    *cost = (struct spex_cost){.record = RECORD_TICKS};
    return 0;
}

double spex_cost_polled(void) {
    world.sampler_ns += world.pass_ns;
    return POLLED_TICKS;
}

/* ---- steps ---- */

static void begin(double share, bool alone) {
    free(world.plan);
    free(world.samples[0]);
    free(world.samples[1]);
    memset(&world, 0, sizeof(world));
    memset(&world.budget, 0x7f, sizeof(world.budget));
    world.plan = calloc(1, sizeof(*world.plan));
    for (size_t t = 0; t < 2; t++) {
        world.samples[t] = calloc(1, sizeof(*world.samples[t]));
        assert_non_null(world.samples[t]);
        world.threads[2 * t].samples = world.samples[t];
    }
    assert_non_null(world.plan);
    world.now_ns = world.process_ns = 1000000000;
    world.sampler_ns = world.collectors_ns = 500000000;
    world.records = 1000000;
    *world.plan = (struct spex_sampling_plan){
        .ticks_per_second = 1e9, .execution_ticks = EXECUTION_TICKS, .stretch = 1};
    for (uint32_t k = 0; k < COUNT_OF(contexts); k++)
        world.plan->asked[contexts[k] / 64] |= UINT64_C(1) << contexts[k] % 64;
    for (uint32_t k = 0; k < KERNELS; k++)
        world.by_hand[k] = true;
    spex_sampling_budget_begin(&world.budget, share, alone);
    /* There is no such kernel. */
    world.budget.held[KERNELS].until = world.budget.rates[KERNELS] = 1e9;
}

static void execute(uint32_t kernel, uint32_t times) {
    world.samples[0]->nodes[contexts[kernel]].executions += times / 2;
    world.samples[1]->nodes[contexts[kernel]].executions += times - times / 2;
}

/* So many milliseconds in which the program uses one CPU, and the sampling thread some microseconds
 * of it, all for samples. */
static void run(uint64_t ms, uint64_t sampler_us) {
    world.now_ns += ms * 1000000;
    world.process_ns += ms * 1000000 + sampler_us * 1000;
    world.sampler_ns += sampler_us * 1000;
    world.budget.rounds = world.budget.samples = sampler_us;
}

static void pass(void) {
    spex_sampling_budget_pass(&world.budget, world.plan);
}

static void expect_stretch(double stretch) {
    if (fabs(world.plan->stretch / stretch - 1) > 1e-9)
        fail_msg("stretch %g, not %g", world.plan->stretch, stretch);
}

/* ---- when there is a pass ---- */

TEST(passes_ten_times_a_second) {
    begin(SHARE, false);
    uint64_t before = spex_sampling_budget_spent_ns();
    run(99, 50);
    pass();
    assert_int_equal(spex_sampling_budget_spent_ns(), before);
    run(1, 0);
    pass();
    assert_int_equal(spex_sampling_budget_spent_ns() - before, 50000);
    run(99, 50);
    pass();
    assert_int_equal(spex_sampling_budget_spent_ns() - before, 50000);
}

/* A pass of 1 ms may be there every 200 ms. */
TEST(long_passes_are_rarer) {
    begin(SHARE, false);
    world.pass_ns = 1000000;
    run(100, 0);
    pass();
    uint64_t before = spex_sampling_budget_spent_ns();
    run(199, 0);
    pass();
    assert_int_equal(spex_sampling_budget_spent_ns(), before);
    run(1, 0);
    pass();
    assert_true(spex_sampling_budget_spent_ns() > before);
}

/* The thread's time and every execution, also without a limit and across 2^32 executions. */
TEST(all_that_is_spent_counts) {
    for (int limited = 0; limited < 2; limited++) {
        begin(limited ? SHARE : 0, false);
        world.samples[0]->nodes[contexts[0]].executions = UINT32_MAX - 10;
        world.samples[1]->nodes[contexts[2]].executions = 12345;
        spex_sampling_budget_begin(&world.budget, limited ? SHARE : 0, false);
        uint64_t before = spex_sampling_budget_spent_ns();
        run(100, 300);
        execute(0, 1000);
        execute(2, 500);
        pass();
        assert_in_range(spex_sampling_budget_spent_ns() - before, 449999, 450001);
        before = spex_sampling_budget_spent_ns();
        run(100, 10);
        execute(0, 20);
        pass();
        assert_in_range(spex_sampling_budget_spent_ns() - before, 11999, 12001);
    }
}

/* ---- intervals ---- */

/* 2 % of 100 ms is 2 ms. */
TEST(intervals_follow_the_cost_of_samples) {
    static const struct {
        uint64_t sampler_us;
        uint64_t records;
        double factor;
    } steps[] = {
        {4000, 0, 2},      /* twice as long for twice the budget */
        {2000, 0, 1},      /* what costs all of the budget stays */
        {1000, 2000, 1.5}, /* records cost 1 µs each */
        {20000, 0, 4},     /* 4 times as long at most */
        {1900, 0, 1},      /* hardly less than all */
        {1000, 0, 0.55},   /* half the budget, and a tenth to spare */
        {0, 0, 0.5},       /* half as long at most */
    };
    double stretch = 1;
    begin(SHARE, false);
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        run(100, steps[s].sampler_us);
        world.records += steps[s].records;
        pass();
        stretch *= steps[s].factor;
        expect_stretch(stretch);
    }
    assert_int_equal(world.throttles, 0);
}

TEST(records_of_unknown_cost_cost_nothing) {
    begin(SHARE, false);
    world.cost_unknown = true;
    run(100, 4000);
    world.records += 100000;
    pass();
    expect_stretch(2);
}

TEST(intervals_have_bounds) {
    begin(SHARE, false);
    run(100, 0);
    pass();
    expect_stretch(1);
    for (int i = 0; i < 12; i++) {
        run(100, 50000);
        pass();
    }
    expect_stretch(1e5);
    for (int i = 0; i < 20; i++) {
        run(100, 0);
        pass();
    }
    expect_stretch(1);
    /* A program that does nothing has nothing to spend: no interval changes for that. */
    world.plan->stretch = 8;
    world.now_ns += 100000000;
    pass();
    expect_stretch(8);
}

TEST(without_a_limit_intervals_stay) {
    begin(0, false);
    run(100, 50000);
    execute(0, 100000000);
    pass();
    expect_stretch(1);
    assert_int_equal(world.throttles, 0);
}

/* Of no time there is no share, which says nothing of the intervals. */
TEST(while_the_program_does_nothing_intervals_stay) {
    begin(SHARE, false);
    run(100, 6000);
    pass();
    expect_stretch(3);
    run(100, 1000);
    world.process_ns -= 100000000;
    pass();
    expect_stretch(3);
}

/* Rounds without a sample, and executions, are paid first: 1 of 2 ms is left, and 0.5 ms of the
 * thread's 1.5 ms are for samples. */
TEST(what_is_not_for_samples_is_paid_first) {
    begin(SHARE, false);
    run(100, 600);
    world.budget.rounds = 300;
    world.budget.samples = 100;
    execute(0, 6000);
    world.records += 1800; /* 200 + 1800 µs for samples, of 2000 - 400 - 600 */
    pass();
    expect_stretch(2);
    assert_true(world.budget.rounds == 0 && world.budget.samples == 0);
}

/* Collectors count where no controller counts them: 1 of 2 ms is left. In any case their time is
 * not the program's. */
TEST(collectors_count_for_one_budget) {
    for (int alone = 0; alone < 2; alone++) {
        begin(SHARE, alone);
        run(100, 3000);
        world.collectors_ns += 1000000;
        world.process_ns += 1000000;
        pass();
        expect_stretch(alone ? 3 : 1.5);
    }
}

/* A tenth of 2 ms, however much the rest costs. */
TEST(samples_keep_a_tenth) {
    begin(SHARE, true);
    world.collectors_ns += 50000000;
    world.process_ns += 50000000;
    run(100, 400);
    pass();
    expect_stretch(2);
}

/* ---- kernels that are held off ---- */

static void expect_held(bool first, bool second, bool third) {
    const bool held[] = {first, second, third};
    for (size_t k = 0; k < KERNELS; k++)
        assert_int_equal(world.throttled[k], held[k] ? SPEX_SITE_HELD : 0);
}

/* Executions may cost 1.8 of 2 ms; beyond that, the most frequent are held off until the others
 * cost less than 1.2 ms. */
TEST(the_most_frequent_kernels_are_held_off) {
    static const struct {
        uint32_t executions[KERNELS];
        bool held[KERNELS];
    } cases[] = {
        {{5000, 6000, 6900}, {false, false, false}}, /* 1.79 ms */
        {{5000, 6000, 7100}, {false, false, true}},  /* 1.81 ms, 1.10 without the third */
        {{6500, 6000, 8000}, {true, false, true}},   /* 1.25 ms without the third */
        {{11000, 11000, 0}, {true, false, false}},   /* one of them is enough */
        {{100000, 11000, 900}, {true, false, false}}, {{30000, 30000, 30000}, {true, true, true}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin(SHARE, false);
        run(100, 0);
        for (uint32_t k = 0; k < KERNELS; k++)
            execute(k, cases[i].executions[k]);
        pass();
        expect_held(cases[i].held[0], cases[i].held[1], cases[i].held[2]);
    }
}

/* The controller switches those that are not polled by hand. */
TEST(the_controllers_kernels_are_left_alone) {
    begin(SHARE, false);
    world.by_hand[1] = false;
    run(100, 0);
    execute(0, 20000);
    execute(1, 50000);
    pass();
    expect_held(true, false, false);
}

/* Its executions cost what the others have less, but there is nothing to hold off. */
TEST(a_kernel_without_a_site_is_not_held_off) {
    begin(SHARE, false);
    run(100, 0);
    execute(0, 5000);
    execute(KERNELS, 50000);
    pass();
    expect_held(true, false, false);
    assert_int_equal(world.throttles, 1);
}

/* For a second, then for two, up to 64. */
TEST(they_come_back) {
    static const unsigned seconds[] = {1, 2, 4, 8, 16, 32, 64, 64};
    begin(SHARE, false);
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        run(100, 0);
        execute(0, 20000);
        pass();
        expect_held(true, false, false);
        run(seconds[i] * 1000 - 100, 0);
        pass();
        expect_held(true, false, false);
        run(100, 0);
        pass();
        expect_held(false, false, false);
    }
    assert_int_equal(world.throttles, 2 * COUNT_OF(seconds));
}

/* By what they have executed since the last pass alone. */
TEST(what_was_frequent_before_does_not_count) {
    begin(SHARE, false);
    run(100, 0);
    execute(0, 5000);
    execute(1, 15000);
    execute(2, 6000);
    pass();
    expect_held(false, true, false);
    run(100, 0);
    execute(0, 20000);
    execute(2, 3000);
    pass();
    expect_held(true, true, false);
    assert_int_equal(world.throttles, 2);
}

/* Also those whose user has put them under the controller, and all of them at the end. */
TEST(they_come_back_before_their_time) {
    begin(SHARE, false);
    run(100, 0);
    for (uint32_t k = 0; k < KERNELS; k++)
        execute(k, 20000);
    pass();
    expect_held(true, true, true);
    world.by_hand[2] = false;
    run(100, 0);
    pass();
    expect_held(true, true, false);
    world.budget.held[KERNELS].until = 0;
    spex_sampling_budget_end(&world.budget);
    expect_held(false, false, false);
    assert_int_equal(world.throttles, 6);
}
