/* SPDX-License-Identifier: MIT */
/* Threads that are chosen of many: each once and with the same probability, and the time of
 * these, without those that have ended since. */
#define _GNU_SOURCE
#include "probe/executions.h"

#include <pthread.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "base/clock.h"
#include "probe/threads.h"

enum { FEW = 20, MANY = 200, DRAWS = 400 };

static pthread_t threads[MANY];
static pthread_barrier_t begun, over;
static unsigned together;

static void *thread_run(void *unused) {
    CNT_PROBE_BEGIN(1, 1);
    CNT_PROBE_END(1);
    pthread_barrier_wait(&begun);
    pthread_barrier_wait(&over);
    return unused;
}

static void threads_begin(unsigned count) {
    together = count;
    pthread_barrier_init(&begun, NULL, count + 1);
    pthread_barrier_init(&over, NULL, count + 1);
    for (size_t t = 0; t < count; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, thread_run, NULL), 0);
    pthread_barrier_wait(&begun);
}

static void threads_end(void) {
    pthread_barrier_wait(&over);
    for (unsigned t = 0; t < together; t++)
        pthread_join(threads[t], NULL);
}

static uint32_t site(void) {
    uint32_t index = 0;
    while (spex_threads_executions(index) == 0)
        index++;
    return index;
}

static int enter(void **state) {
    (void)state;
    return spex_start(&(struct spex_options){.size = sizeof(struct spex_options), .probes = "*"});
}

static int leave(void **state) {
    (void)state;
    return spex_stop() < 0;
}

static struct spex_random random_of(uint64_t seed) {
    struct spex_random random;
    spex_random_seed(&random, seed, 0);
    return random;
}

TEST(of_few_threads_all_are_chosen) {
    struct spex_random random = random_of(1);
    struct spex_thread_set set;
    uint64_t ns, identity;
    threads_begin(FEW);
    uint64_t cpu_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    spex_threads_choose(&set, SPEX_THREADS_CHOSEN, &random);
    assert_int_equal(set.count, set.of);
    assert_in_range(set.count, FEW, FEW + 1); /* this thread may have executed probes, too */
    spex_threads_cpu_ns(&set, &ns, &identity);
    assert_true(ns > 0 && ns < cpu_ns + spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    assert_true(identity > 0);
    threads_end();
}

/* In each draw there are as many as there may be, none of them twice. */
static void note_chosen(const struct spex_thread_set *set, unsigned *chosen) {
    assert_int_equal(set->count, SPEX_THREADS_CHOSEN);
    for (uint32_t i = 0; i < set->count; i++) {
        chosen[set->states[i]]++;
        assert_int_equal(set->ids[i], spex_threads_state(set->states[i])->thread_id);
        for (uint32_t j = 0; j < i; j++)
            assert_int_not_equal(set->states[i], set->states[j]);
    }
}

TEST(of_many_threads_some_are_chosen) {
    static unsigned chosen[SPEX_MAX_THREADS];
    struct spex_random random = random_of(2);
    struct spex_thread_set set;
    threads_begin(MANY);
    for (int d = 0; d < DRAWS; d++) {
        spex_threads_choose(&set, SPEX_THREADS_CHOSEN, &random);
        note_chosen(&set, chosen);
    }
    double expected = (double)DRAWS * SPEX_THREADS_CHOSEN / set.of, squares = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        if (spex_threads_state(t)->thread_id)
            squares += (chosen[t] - expected) * (chosen[t] - expected) / expected;
    /* Of 200 counts with the variance of drawing without putting back, 0.68 of a Poisson's: 136 with a
     * standard deviation of 14. */
    assert_true(squares > 80 && squares < 200);
    threads_end();
}

TEST(who_has_ended_is_left_out) {
    struct spex_random random = random_of(3);
    struct spex_thread_set set;
    uint64_t ns, identity, ns_later, identity_later;
    threads_begin(MANY);
    spex_threads_choose(&set, SPEX_THREADS_CHOSEN, &random);
    spex_threads_cpu_ns(&set, &ns, &identity);
    spex_threads_cpu_ns(&set, &ns_later, &identity_later);
    assert_int_equal(identity, identity_later);
    assert_true(ns_later >= ns);
    threads_end();
    spex_threads_cpu_ns(&set, &ns_later, &identity_later);
    assert_int_not_equal(identity, identity_later);
    set.count = 0;
    spex_threads_cpu_ns(&set, &ns, &identity);
    assert_true(ns == 0 && identity == 0);
}

/* Each state, and what threads have made beside it, once, however often they ask for it. */
TEST(states_tell_their_bytes) {
    struct spex_thread *thread = spex_thread_attach();
    assert_non_null(thread);
    threads_begin(FEW);
    struct spex_nesting *nesting = spex_thread_nesting_make(thread);
    struct spex_samples *samples = NULL;
    while (!samples) { /* another thread may be providing */
        spex_threads_provide_samples();
        samples = spex_thread_samples_assign(thread);
    }
    assert_true(nesting && nesting == spex_thread_nesting(thread));
    assert_true(samples == spex_thread_samples(thread));
    assert_true(nesting->capacity > site());
    size_t bytes = sizeof(*nesting) + nesting->capacity * sizeof(nesting->sites[0]);
    assert_in_range(bytes, 4096 - sizeof(nesting->sites[0]), 4096);
    bytes += sizeof(*samples);
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_nesting *other = spex_thread_nesting(spex_threads_state(t));
        bytes += sizeof(*thread);
        if (other && other != nesting)
            bytes += sizeof(*other) + other->capacity * sizeof(other->sites[0]);
        assert_true(t == thread->index || !spex_thread_samples(spex_threads_state(t)));
    }
    assert_int_equal(spex_threads_bytes(), bytes);
    assert_ptr_equal(spex_thread_nesting_make(thread), nesting);
    assert_ptr_equal(spex_thread_samples_assign(thread), samples);
    assert_int_equal(spex_threads_bytes(), bytes);
    assert_in_range(spex_threads_used(), FEW, SPEX_MAX_THREADS);
    threads_end();
}

int main(void) {
    return tests_run(enter, leave);
}
