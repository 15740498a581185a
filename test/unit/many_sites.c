/* SPDX-License-Identifier: MIT */
/* A program with tens of thousands of sites, of which some come while threads are in others: each
 * execution is counted. And the numbers by which records name threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "probe/executions.h"
#include "probe/threads.h"
#include "ring/record_layout.h"
#include "ring/rings.h"
#include "site/registry.h"

/* Sites of two modules share a block of 256. */
enum { MODULES = 40, SITES = 1500, ALL = MODULES * SITES, THREADS = 4 };

/* The file, and what the brackets of the macro have. */
static const char text[] = "made.c\0"
                           "1";

static struct spex_site sites[MODULES][SITES];
static pthread_barrier_t turn;
static unsigned loaded;

static void site_make(struct spex_site *site, uint32_t number) {
    *site = (struct spex_site){.subsample = 1,
                               .line = number,
                               .probe_id = (uint16_t)(1 + number),
                               .type_number = SPEX_TYPE_NUMBER_(SPEX_CNT)};
    site->file_offset = (int64_t)((uintptr_t)text - (uintptr_t)&site->file_offset);
}

static void module_load(unsigned module) {
    for (size_t s = 0; s < SITES; s++)
        site_make(&sites[module][s], (uint32_t)(module * SITES + s));
    spex_module_register(sites[module], sites[module] + SITES, NULL, NULL);
}

/* Before the first site, and between modules, all threads wait. Thread t executes each t + 1 times. */
static void *execute(void *number) {
    const size_t times = 1 + (size_t)number;
    for (unsigned module = 0; module < MODULES; module++) {
        pthread_barrier_wait(&turn);
        for (size_t e = 0; e < times; e++)
            for (size_t s = 0; s < SITES; s++)
                spex_cnt_end_(&sites[module][s], spex_cnt_begin_(spex_sample_(&sites[module][s])));
        pthread_barrier_wait(&turn);
    }
    pthread_barrier_wait(&turn); /* their counts are looked at */
    return NULL;
}

/* A thread that gets its state while there are sites that have never been on has no countdowns for
 * them. */
static void *execute_one(void *site) {
    spex_cnt_end_(site, spex_cnt_begin_(spex_sample_(site)));
    return NULL;
}

TEST(sites_that_are_off_need_no_memory) {
    static struct spex_site alone;
    const struct spex_options options = {
        .size = sizeof(options), .probes = "60001", .out = "/dev/null", .no_calibration = true};
    pthread_t thread;
    site_make(&alone, ALL);
    spex_module_register(&alone, &alone + 1, NULL, NULL);
    assert_int_equal(spex_start(&options), 0);
    assert_int_equal(spex_sites_on(), 1);
    module_load(loaded++);
    module_load(loaded++);
    assert_int_equal(spex_sites_on(), 1);
    assert_int_equal(pthread_create(&thread, NULL, execute_one, &alone), 0);
    pthread_join(thread, NULL);
    assert_int_equal(spex_threads_executions(alone.index), 1);
    assert_int_equal(spex_stop(), 0);
}

TEST(each_execution_is_counted) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*@3", .out = "/dev/null", .no_calibration = true};
    pthread_t threads[THREADS];
    pthread_barrier_init(&turn, NULL, THREADS + 1);
    assert_int_equal(spex_start(&options), 0);
    for (size_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, execute, (void *)t), 0);
    for (unsigned module = 0; module < MODULES; module++) {
        pthread_barrier_wait(&turn);
        pthread_barrier_wait(&turn);
        if (loaded < MODULES)
            module_load(loaded++);
    }
    struct spex_status status = {.size = sizeof(status)};
    assert_int_equal(spex_status_get(&status), 0);
    assert_int_equal(status.sites_on, ALL + 1);
    assert_int_equal(status.unrecorded, 0);
    for (unsigned module = 0; module < MODULES; module++)
        for (size_t s = 0; s < SITES; s++)
            if (spex_threads_executions(sites[module][s].index) != THREADS * (THREADS + 1) / 2)
                fail_msg("site %zu of module %u: %llu", s, module,
                         (unsigned long long)spex_threads_executions(sites[module][s].index));
    assert_int_equal(sites[MODULES - 1][SITES - 1].index, spex_sites_count() - 1);
    pthread_barrier_wait(&turn);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(spex_stop(), 0);
}

/* A number comes again when all have been given out, but none of a thread that lives. */
TEST(threads_have_numbers_of_their_own) {
    const uint32_t first = spex_rings_thread_begin(4000001), second = spex_rings_thread_begin(77);
    assert_int_not_equal(first, second);
    assert_int_equal(spex_rings_thread_id(&spex_rings, first), 4000001);
    assert_int_equal(spex_rings_thread_id(&spex_rings, second), 77);
    spex_rings_thread_end(second);
    assert_int_equal(spex_rings_thread_id(&spex_rings, second), 77);
    bool again = false;
    for (uint32_t n = 0; n < SPEX_THREAD_NUMBERS + 10; n++) {
        uint32_t number = spex_rings_thread_begin(1000 + n % 1000);
        assert_true(number < SPEX_THREAD_NUMBERS - 1);
        assert_int_not_equal(number, first);
        again |= number == second;
        spex_rings_thread_end(number);
    }
    assert_true(again);
    assert_int_equal(spex_rings_thread_id(&spex_rings, first), 4000001);
    spex_rings_thread_end(first);
    spex_rings_thread_end(SPEX_THREAD_NUMBERS - 1); /* nobody's */
}
