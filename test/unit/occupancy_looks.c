/* SPDX-License-Identifier: MIT */
/* When the occupancy sampler looks, what it sees and what it costs: with clocks, sites and threads
 * of the test's, by a model of each figure. */
#include "rate/occupancy_sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/metrics.h"
#include "probe/threads.h"
#include "site/registry.h"

/* Sites 0 and 1 are of one probe, 3 to 5 of another. */
enum { SITES = 7, THREADS = 4, PASSES = 3000 };

static const uint32_t first_sites[SITES] = {0, 0, 2, 3, 3, 3, 6};

static struct {
    struct spex_thread *threads[THREADS];
    bool polled[SITES];
    /* CPU time: so far, and what it takes to read which sites are polled. */
    uint64_t now_ns, cpu_ns, read_ns;
    bool without_metrics;
    int locked;
    uint64_t random;
} world;

uint64_t spex_clock_ns(clockid_t clock) {
    return clock == CLOCK_MONOTONIC ? world.now_ns : world.cpu_ns;
}

void spex_metrics_lock(void) {
    assert_int_equal(world.locked++, 0);
}

void spex_metrics_unlock(void) {
    assert_int_equal(--world.locked, 0);
}

bool spex_metrics_there(void) {
    return !world.without_metrics;
}

uint32_t spex_sites_count(void) {
    return SITES;
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    static struct spex_site_info info;
    assert_true(index < SITES);
    info.probe = (uint16_t)first_sites[index];
    return &info;
}

void spex_sites_polled(struct spex_sites_polled *polled) {
    assert_int_equal(world.locked, 1);
    polled->count = 0;
    for (uint16_t s = 0; s < SITES; s++)
        if (world.polled[s])
            polled->sites[polled->count++] = s;
    world.cpu_ns += world.read_ns;
}

uint32_t spex_threads_used(void) {
    return THREADS;
}

const struct spex_thread *spex_threads_state(uint32_t index) {
    assert_true(index < THREADS);
    return world.threads[index];
}

static int setup(void **state) {
    (void)state;
    memset(&world, 0, sizeof(world));
    for (int t = 0; t < THREADS; t++)
        if (!(world.threads[t] = calloc(1, sizeof(struct spex_thread))) ||
            !(world.threads[t]->countdowns[0] =
                  calloc(SPEX_SITE_BLOCK, sizeof(struct spex_countdown))))
            return -1;
    world.now_ns = 5000000000;
    world.cpu_ns = 1000000;
    spex_occupancy_sampler_begin(100);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int t = 0; t < THREADS; t++) {
        free(world.threads[t]->countdowns[0]);
        free(world.threads[t]);
    }
    return 0;
}

static uint64_t looks_at(uint32_t first) {
    return spex_occupancy_sampler_occupancy(first).looks;
}

/* A pass after so much time. */
static void pass(uint64_t ns) {
    world.now_ns += ns;
    spex_occupancy_sampler_pass();
    assert_int_equal(world.locked, 0);
}

static void expect_interval(double hz) {
    double seconds = (double)spex_occupancy_sampler_wait() / 1e9;
    assert_true(seconds >= 0.5 / hz - 1e-9 && seconds <= 1.5 / hz);
}

/* The first look is an interval after something began to be polled, be it one site or several. */
TEST_WITH(looks_are_due_while_something_is_polled, setup, teardown) {
    pass(1000);
    assert_true(spex_occupancy_sampler_wait() == UINT64_MAX);
    for (uint32_t last = 0; last < SITES; last++) {
        world.polled[last] = true;
        pass(1000);
        expect_interval(100);
        uint64_t looks = looks_at(0), wait = spex_occupancy_sampler_wait();
        pass(wait - 1);
        assert_int_equal(spex_occupancy_sampler_wait(), 1);
        assert_int_equal(looks_at(0), looks);
        world.now_ns += 7; /* what is missed is not made up for */
        assert_int_equal(spex_occupancy_sampler_wait(), 0);
        pass(100000000);
        expect_interval(100);
        pass(0);
        assert_int_equal(looks_at(0), looks + 1);
        memset(world.polled, 0, sizeof(world.polled));
        pass(100000000);
        assert_int_equal(looks_at(0), looks + 1);
        assert_true(spex_occupancy_sampler_wait() == UINT64_MAX);
        for (uint32_t s = 0; s <= last; s++)
            world.polled[s] = true;
    }
    world.without_metrics = true;
    pass(100000000);
    assert_true(spex_occupancy_sampler_wait() == UINT64_MAX);
}

TEST_WITH(intervals_are_even_around_their_mean, setup, teardown) {
    double sum = 0, squares = 0, mean = 1 / 200.0;
    world.polled[2] = true;
    spex_occupancy_sampler_set(200);
    pass(0);
    for (int i = 0; i < PASSES; i++) {
        expect_interval(200);
        uint64_t wait = spex_occupancy_sampler_wait();
        double off = (double)wait / 1e9 / mean - 1;
        sum += off;
        squares += off * off;
        pass(wait);
    }
    assert_int_equal(looks_at(2), PASSES);
    assert_true(fabs(sum / PASSES) < 4 * sqrt(1 / 12.0 / PASSES));
    assert_true(fabs(squares / PASSES * 12 - 1) < 0.1);
    spex_occupancy_sampler_set(0); /* that of the beginning */
    pass(20000000);
    expect_interval(100);
    spex_occupancy_sampler_set(2000);
    pass(20000000);
    expect_interval(2000);
    spex_occupancy_sampler_set(0.5);
    pass(20000000);
    expect_interval(0.5);
    spex_occupancy_sampler_begin(10);
    assert_true(looks_at(2) == 0 && spex_occupancy_sampler_wait() == UINT64_MAX);
    pass(0);
    expect_interval(10);
}

/* Threads in a probe's sites, each once, and pairs of looks that follow each other. */
TEST_WITH(looks_see_the_threads_in_each_probe, setup, teardown) {
    struct spex_occupancy expected[SITES] = {{0}};
    uint64_t last[SITES] = {0};
    uint32_t seen[SITES] = {0};
    for (uint64_t look = 1; look <= PASSES; look++) {
        bool polled[SITES] = {false};
        uint32_t in[SITES] = {0};
        for (uint32_t s = 0; s < SITES; s++) {
            world.polled[s] = random_below(&world.random, 8) > 0;
            polled[first_sites[s]] |= world.polled[s];
        }
        for (int t = 0; t < THREADS; t++) {
            bool active[SITES] = {false};
            for (uint32_t s = 0; s < SITES; s++) {
                bool is = random_below(&world.random, 4) == 0;
                spex_countdown_of(world.threads[t], s)->active = is;
                active[first_sites[s]] |= is && world.polled[s];
            }
            for (uint32_t s = 0; s < SITES; s++)
                in[s] += active[s];
        }
        spex_metrics_lock();
        spex_occupancy_sampler_look();
        spex_metrics_unlock();
        for (uint32_t s = 0; s < SITES; s++) {
            if (!polled[s])
                continue;
            bool pair = last[s] && last[s] + 1 == look;
            spex_occupancy_add(&expected[s], in[s], pair ? (int64_t)seen[s] : -1);
            last[s] = look;
            seen[s] = in[s];
        }
    }
    for (uint32_t s = 0; s < SITES; s++) {
        struct spex_occupancy is = spex_occupancy_sampler_occupancy(s);
        assert_memory_equal(&is, &expected[s], sizeof(is));
    }
}

/* Of looks, a moving average; of passes the mean since the last look, which may rise by a twentieth
 * only. */
TEST_WITH(costs_are_those_of_looks_and_passes, setup, teardown) {
    double look = 0, passed = 0, since = 0;
    unsigned passes = 0;
    bool looked = false;
    world.polled[0] = true;
    pass(0);
    passes = 1;
    for (int i = 0; i < PASSES; i++) {
        uint64_t taken = 1000 + random_below(&world.random, i % 100 < 50 ? 500 : 50000);
        uint64_t before = looks_at(0);
        world.cpu_ns += taken;
        world.read_ns = 40 + random_below(&world.random, 100);
        since += (double)(taken + world.read_ns);
        passes++;
        pass(random_below(&world.random, 5000000));
        if (looks_at(0) > before) {
            double seconds = since / passes / 1e9;
            if (looked)
                passed = passed > 0 && seconds > passed * 1.05 ? passed * 1.05 : seconds;
            look += ((double)world.read_ns / 1e9 - look) / (look > 0 ? 8 : 1);
            looked = true;
            passes = 0;
            since = 0;
        }
        assert_true(fabs(spex_occupancy_sampler_cost() - look - passed) < 1e-15);
    }
    assert_true(looks_at(0) > PASSES / 10 && passed > 0);
    spex_occupancy_sampler_begin(100);
    assert_true(spex_occupancy_sampler_cost() == 0);
}
