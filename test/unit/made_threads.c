/* SPDX-License-Identifier: MIT */
/* What is read of threads' states, and what probes within probes cost by them: with states, clocks
 * and costs of the test's, so that each figure is known. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include <spex/kernel.h>
#include <spex/probe.h>

#include "../check.h"
#include "base/clock.h"
#include "probe/executions.h"
#include "probe/nesting.h"
#include "probe/threads.h"
#include "site/cost.h"

/* Of the first sites; the others are like COUNTER. ABSENT has not been executed, and FREE costs
 * nothing. */
enum { TIMED = 1, COUNTER, APART, KERNEL, ABSENT, FREE, SITES = 200, THREADS = 150, UNUSED = 7 };

static struct spex_thread *states[THREADS];
static struct spex_site_info infos[SITES];
static double costs[SITES];
static uint32_t used, known, capacity;
/* The thread that cannot be read of, and those of which nothing and little is told. */
static uint32_t gone;

uint32_t spex_sites_count(void) {
    return known;
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    assert_true(index < known);
    return &infos[index];
}

double spex_cost_of_site(uint32_t site) {
    assert_true(site < known);
    return costs[site];
}

uint32_t spex_threads_used(void) {
    return used;
}

const struct spex_thread *spex_threads_state(uint32_t index) {
    assert_true(index < used);
    return states[index];
}

/* There is room for all of them. */
uint64_t spex_threads_stateless(uint32_t site) {
    assert_true(site < known);
    return 0;
}

/* The library's own thread makes it at once, where there is room. */
static struct spex_nesting *nesting_make(struct spex_thread *thread) {
    if (capacity) {
        thread->nesting =
            calloc(1, sizeof(*thread->nesting) + capacity * sizeof(thread->nesting->sites[0]));
        assert_non_null(thread->nesting);
        thread->nesting->capacity = capacity;
    }
    return thread->nesting;
}

void spex_thread_nesting_want(struct spex_thread *thread) {
    nesting_make(thread);
}

/* A thread has used as many seconds and nanoseconds as its id says. */
int spex_clock_read(clockid_t clock, uint64_t *ns) {
    uint32_t id = ~(uint32_t)(clock >> 3);
    assert_int_equal(clock & 7, 6); /* what a thread has been scheduled */
    *ns = id * UINT64_C(1000000001);
    return id == gone ? -EINVAL : 0;
}

#include "probe/executions.c"

static int setup(void **state) {
    static const uint32_t types[] = {SPEX_CNT,    SPEX_LAT, SPEX_CNT, SPEX_SPAN,
                                     SPEX_KERNEL, SPEX_LAT, SPEX_LAT};
    (void)state;
    used = THREADS;
    known = capacity = SITES;
    gone = 0;
    for (uint32_t t = 0; t < THREADS; t++)
        if (!(states[t] = calloc(1, sizeof(*states[t]))) ||
            !(states[t]->countdowns[0] = calloc(SPEX_SITE_BLOCK, sizeof(struct spex_countdown))))
            return -1;
    for (uint32_t s = 0; s < SITES; s++) {
        infos[s].probe_type = s < COUNT_OF(types) ? types[s] : SPEX_CNT;
        costs[s] = s == FREE ? 0 : ldexp(1, (int)(s % 8) - 2);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (uint32_t t = 0; t < THREADS; t++) {
        free(states[t]->nesting);
        free(states[t]->countdowns[0]);
        free(states[t]);
    }
    return 0;
}

/* A word that has counted up. */
static uint32_t word_of(uint32_t count) {
    return 3u << SPEX_CONTROL_GENERATION_SHIFT | count;
}

static void execute(uint32_t thread, uint32_t site, uint32_t times) {
    uint32_t *word = &states[thread]->executed[site];
    if (times)
        *word = (*word ? *word : word_of(0)) + times;
}

/* ---- executions ---- */

TEST_WITH(a_word_counts_on_from_its_total, setup, teardown) {
    enum { DOWN = 2u << SPEX_CONTROL_GENERATION_SHIFT };
    static const struct {
        uint32_t word, gap;
        uint64_t total, executions;
    } cases[] = {
        {0, 0, 0, 0},
        {3u << SPEX_CONTROL_GENERATION_SHIFT | 17, 0, 100, 117},
        {3u << SPEX_CONTROL_GENERATION_SHIFT | SPEX_CONTROL_PERIOD_MAX, 0, 1,
         1 + SPEX_CONTROL_PERIOD_MAX},
        {DOWN | (SPEX_CONTROL_COUNTDOWN - 30), 100, 1000, 1070},
        {DOWN | SPEX_CONTROL_COUNTDOWN, 100, UINT64_C(1) << 40, (UINT64_C(1) << 40) + 100},
        {DOWN | (SPEX_CONTROL_COUNTDOWN - 100), 100, 5, 5},
        {DOWN | (SPEX_CONTROL_COUNTDOWN - 101), 100, 5, 5}, /* another gap's */
        {DOWN | (SPEX_CONTROL_COUNTDOWN - 30), SPEX_GAP_CHANGING, 77, 77},
        {3u << SPEX_CONTROL_GENERATION_SHIFT | 9, SPEX_GAP_CHANGING, 77, 77},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        states[0]->executed[COUNTER] = cases[c].word;
        spex_countdown_of(states[0], COUNTER)->gap = cases[c].gap;
        spex_countdown_of(states[0], COUNTER)->total = cases[c].total;
        assert_int_equal(spex_sampler_executions(states[0], COUNTER), cases[c].executions);
        assert_int_equal(spex_threads_executions(COUNTER), cases[c].executions);
    }
}

/* The sums have something before, and end with the sites that are asked for. */
TEST_WITH(all_threads_count, setup, teardown) {
    uint64_t sums[SITES + 1], expected[SITES + 1];
    for (uint32_t s = 0; s <= SITES; s++)
        sums[s] = expected[s] = 1000 * s;
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t s = t % 3; s < SITES; s += 3) {
            execute(t, s, s + t);
            spex_countdown_of(states[t], s)->total = t;
            expected[s] += s + 2 * t;
        }
    for (uint32_t s = 0; s < SITES; s++)
        assert_int_equal(spex_threads_executions(s), expected[s] - 1000 * s);
    spex_threads_add_executions(sums, SITES - 1);
    expected[SITES - 1] = 1000 * (SITES - 1);
    assert_memory_equal(sums, expected, sizeof(sums));
    used = 0;
    assert_int_equal(spex_threads_executions(3), 0);
}

/* ---- threads that are chosen ---- */

static struct spex_thread_set choose(uint32_t most, uint64_t seed) {
    struct spex_thread_set set;
    struct spex_random random;
    memset(&set, 0xff, sizeof(set));
    spex_random_seed(&random, seed, 0);
    spex_threads_choose(&set, most, &random);
    for (uint32_t i = 0; i < set.count; i++) {
        assert_true(set.ids[i] && set.states[i] < used);
        assert_int_equal(set.ids[i], states[set.states[i]]->thread_id);
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(set.states[i], set.states[j]);
    }
    return set;
}

/* One in seven states is free. */
static void ids_give(uint32_t count) {
    used = count;
    for (uint32_t t = 0; t < count; t++)
        states[t]->thread_id = t % UNUSED == 3 ? 0 : 1000 + t;
}

TEST_WITH(all_of_few_and_some_of_many, setup, teardown) {
    for (uint32_t count = 0; count <= THREADS; count++) {
        uint32_t most = count % 2 ? SPEX_THREADS_CHOSEN : SPEX_THREADS_CHOSEN / 2;
        ids_give(count);
        uint32_t there = count - (count + 3) / UNUSED;
        struct spex_thread_set set = choose(most, count);
        assert_int_equal(set.of, there);
        assert_int_equal(set.count, there < most ? there : most);
    }
}

/* Each of 128 threads is one of the 64 in half of the draws, 2000 with a deviation of 32. */
TEST_WITH(all_are_chosen_as_often, setup, teardown) {
    enum { DRAWS = 4000, DEVIATIONS = 5 };
    unsigned chosen[THREADS] = {0};
    ids_give(THREADS - 1);
    assert_int_equal(choose(SPEX_THREADS_CHOSEN, 1).of, 2 * SPEX_THREADS_CHOSEN);
    for (uint64_t d = 0; d < DRAWS; d++) {
        struct spex_thread_set set = choose(SPEX_THREADS_CHOSEN, d);
        for (uint32_t i = 0; i < set.count; i++)
            chosen[set.states[i]]++;
    }
    for (uint32_t t = 0; t < used; t++)
        if (t % UNUSED != 3)
            assert_in_range(chosen[t], 2000 - 32 * DEVIATIONS, 2000 + 32 * DEVIATIONS);
}

/* Also one whose state another thread has meanwhile, and one whose clock cannot be read. */
TEST_WITH(who_has_ended_is_left_out, setup, teardown) {
    uint64_t seconds = 0, cubes = 0, executions = 0, ns, identity;
    ids_give(40);
    struct spex_thread_set set = choose(SPEX_THREADS_CHOSEN, 1);
    states[12]->thread_id = 0;
    states[13]->thread_id = 5000;
    gone = 1016;
    for (uint32_t t = 0; t < used; t++) {
        uint64_t id = states[t]->thread_id;
        execute(t, COUNTER, 1u << t % 16);
        if (!id || t == 13)
            continue;
        executions += 1u << t % 16;
        seconds += id == gone ? 0 : id;
        cubes += id == gone ? 0 : id * id * id;
    }
    spex_threads_cpu_ns(&set, &ns, &identity);
    assert_int_equal(ns, seconds * 1000000001);
    assert_int_equal(identity, cubes);
    assert_int_equal(spex_threads_executions_of(&set, COUNTER), executions);
    set.count = 0;
    spex_threads_cpu_ns(&set, &ns, &identity);
    assert_true(ns == 0 && identity == 0 && spex_threads_executions_of(&set, COUNTER) == 0);
}

/* ---- which site is looked at ---- */

static void expect_armed(const struct spex_thread *thread, uint32_t site) {
    for (uint32_t s = 0; s < SITES; s++)
        assert_int_equal(spex_nesting_is_armed(thread, s), s == site);
}

/* One after the other, those with an END on the thread that have been executed and cost something,
 * each after as much time as there are sites. */
TEST_WITH(timed_sites_have_their_turn, setup, teardown) {
    struct spex_thread *thread = states[0];
    uint64_t now = UINT64_MAX - 1000; /* the ticks begin anew soon */
    known = 8;
    for (uint32_t s = 0; s < known; s++)
        if (s != ABSENT)
            execute(0, s, s + 1);
    thread->executed[ABSENT] = 0;
    nesting_make(thread)->due = now;
    for (int turn = 0; turn < 6; turn++) {
        uint32_t site = turn % 2 ? KERNEL : TIMED, word = thread->executed[site];
        spex_nesting_look(thread, now - 1);
        expect_armed(thread, SITES);
        thread->nesting->sites[site].passed = 500;
        spex_nesting_look(thread, now);
        expect_armed(thread, site);
        assert_int_equal(thread->nesting->sites[site].passed, 0);
        assert_int_equal(thread->executed[site], word | SPEX_SAMPLE_NOTE);
        assert_int_equal(thread->nesting->due, now + (UINT64_C(24) << 17));
        spex_nesting_disarm(thread, site);
        assert_int_equal(thread->executed[site], word);
        now = thread->nesting->due;
    }
    /* A site that has come since, behind what there is room for. */
    thread->nesting->capacity = KERNEL;
    spex_nesting_look(thread, now);
    expect_armed(thread, TIMED);
    spex_nesting_disarm(thread, TIMED);
    spex_nesting_look(thread, thread->nesting->due);
    expect_armed(thread, TIMED);
}

/* All of them are gone through, once. */
TEST_WITH(of_no_timed_site_none_has_its_turn, setup, teardown) {
    known = 8;
    execute(0, COUNTER, 1);
    execute(0, FREE, 1);
    nesting_make(states[0]);
    spex_nesting_look(states[0], 1);
    assert_int_equal(states[0]->nesting->armed, 0);
    expect_armed(states[0], SITES);
}

/* At most 64 sites are gone through at once. */
TEST_WITH(a_look_takes_no_longer_than_it_may, setup, teardown) {
    enum { FAR = 100, TRIED = 64 };
    struct spex_thread *thread = states[0];
    infos[FAR].probe_type = SPEX_TPT;
    execute(0, FAR, 1);
    spex_nesting_look(thread, 1); /* asks for memory */
    assert_int_equal(thread->nesting->due, 0);
    spex_nesting_look(thread, 1);
    expect_armed(thread, SITES);
    assert_int_equal(thread->nesting->armed, TRIED);
    spex_nesting_look(thread, thread->nesting->due);
    expect_armed(thread, FAR);
    spex_nesting_disarm(thread, FAR);
    spex_nesting_look(thread, thread->nesting->due);
    assert_int_equal(thread->nesting->armed, FAR + TRIED);
    spex_nesting_look(thread, thread->nesting->due);
    assert_int_equal(thread->nesting->armed, FAR + 2 * TRIED - SITES);
    expect_armed(thread, SITES);
}

TEST_WITH(without_memory_nothing_is_looked_at, setup, teardown) {
    capacity = 0;
    execute(0, TIMED, 1);
    spex_nesting_look(states[0], 1);
    spex_nesting_begin(states[0], TIMED);
    spex_nesting_end(states[0], TIMED, 5);
    spex_nesting_forget(states[0], TIMED);
    spex_nesting_pass(states[0], TIMED);
    assert_null(states[0]->nesting);
    expect_armed(states[0], SITES);
}

/* An armed site stays armed for 1023 executions that cannot be looked at. */
TEST_WITH(a_site_passes_its_turn, setup, teardown) {
    struct spex_thread *thread = states[0];
    execute(0, TIMED, 1);
    nesting_make(thread);
    spex_nesting_look(thread, 1);
    for (int passed = 1; passed <= 1024; passed++) {
        expect_armed(thread, TIMED);
        spex_nesting_disarm(thread, TIMED);
        spex_nesting_pass(thread, TIMED);
    }
    expect_armed(thread, SITES);
}

/* ---- what executions cost that are looked at ---- */

static struct spex_line_sums sums_of(uint32_t site) {
    struct spex_line_sums sums = {0};
    spex_nesting_add_sums(&sums, site);
    return sums;
}

static void expect_sums(uint32_t site, const struct spex_line_sums *expected) {
    struct spex_line_sums sums = sums_of(site);
    assert_memory_equal(&sums, expected, sizeof(sums));
}

/* Looks at an execution of so many ticks that contains these of the other sites. */
static void look_at(uint32_t thread, uint32_t site, uint64_t ticks, uint32_t counters,
                    uint32_t kernels) {
    spex_nesting_begin(states[thread], site);
    assert_true(states[thread]->nesting->sites[site].begin > 0);
    execute(thread, 0, counters);
    execute(thread, COUNTER, counters);
    execute(thread, KERNEL, kernels);
    execute(thread, FREE, 3);
    spex_nesting_end(states[thread], site, states[thread]->nesting->sites[site].begin + ticks);
}

TEST_WITH(executions_are_compared_with_what_was_within, setup, teardown) {
    struct spex_line_sums expected = {0};
    for (uint32_t t = 0; t < THREADS; t += 2) {
        double cost = (costs[0] + costs[COUNTER]) * (3 + t) + costs[KERNEL] * 2;
        execute(t, TIMED, 1000); /* before */
        execute(t, 0, 100);
        execute(t, COUNTER, 100);
        execute(t, SITES, 100); /* there is no such site */
        execute(t, KERNEL, 10);
        execute(t, FREE, 10);
        nesting_make(states[t]);
        look_at(t, TIMED, 10000 + t, 3 + t, 2);
        spex_line_add(&expected, 10000 + t, cost);
        look_at(t, TIMED, 1, 3 + t, 2); /* what has cost more than there was time */
        spex_line_add(&expected, 1, 1);
        look_at(t, TIMED, 0, 1, 0); /* by a coarse clock */
        spex_line_add(&expected, 0, costs[0] + costs[COUNTER]);
        look_at(t, TIMED, 50, 0, 0);
        spex_line_add(&expected, 50, 0);
    }
    expect_sums(TIMED, &expected);
    expect_sums(KERNEL, &(struct spex_line_sums){0});
    /* The first thread has no room for the site. */
    states[0]->nesting->capacity = TIMED;
    struct spex_line_sums others = sums_of(TIMED);
    assert_true(others.count == expected.count - 4);
    spex_nesting_begin(states[0], TIMED);
    spex_nesting_end(states[0], TIMED, UINT64_MAX);
    expect_sums(TIMED, &others);
    states[0]->nesting->capacity = SITES;
    expect_sums(TIMED, &expected);
}

/* The clock went back; what costs have changed; counts that have been read amid a change; an
 * execution within that began as one that is looked at; and an END without BEGIN. */
TEST_WITH(what_cannot_be_compared_is_left_out, setup, teardown) {
    struct spex_thread *thread = states[0];
    struct spex_line_sums expected = {0};
    execute(0, TIMED, 1);
    execute(0, 0, 100);
    execute(0, COUNTER, 100);
    struct spex_nesting_site *element = &nesting_make(thread)->sites[TIMED];
    look_at(0, TIMED, (uint64_t)-1, 2, 0);
    spex_line_add(&expected, 0, 2 * (costs[0] + costs[COUNTER]));
    expect_sums(TIMED, &expected);
    spex_nesting_end(thread, TIMED, UINT64_MAX);
    expect_sums(TIMED, &expected);
    spex_nesting_begin(thread, TIMED);
    costs[COUNTER] *= 2;
    spex_nesting_end(thread, TIMED, element->begin + 100);
    expect_sums(TIMED, &expected);
    spex_nesting_begin(thread, TIMED);
    thread->executed[COUNTER]--;
    spex_nesting_end(thread, TIMED, element->begin + 100);
    expect_sums(TIMED, &expected);
    assert_int_equal(element->begin, 0);
    spex_nesting_begin(thread, TIMED);
    spex_nesting_forget(thread, TIMED);
    spex_nesting_end(thread, TIMED, UINT64_MAX);
    expect_sums(TIMED, &expected);
    /* Without a time the clock is read, which has gone on. */
    spex_nesting_begin(thread, TIMED);
    execute(0, COUNTER, 1);
    element->begin--;
    spex_nesting_end(thread, TIMED, 0);
    struct spex_line_sums sums = sums_of(TIMED);
    assert_true(sums.count == 2 && sums.x >= 1 && sums.y <= sums.x + expected.y);
}
