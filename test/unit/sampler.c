/* SPDX-License-Identifier: MIT */
/* Every execution of a sampled site is counted, whichever ones make a record: while selections
 * change, where records are lost, in threads, in signal handlers and after a fork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../children.h"
#include "collect/metrics.h"
#include "counted.h"
#include "probe/threads.h"
#include "sampled_sites.h"

/* Counts. */

struct worker {
    pthread_t thread;
    uint64_t times;
};

static void *worker_run(void *argument) {
    work(((const struct worker *)argument)->times);
    return NULL;
}

/* Each so often, and by threads that end; returns how often in all. */
static uint64_t work_in_threads(uint64_t each) {
    struct worker workers[THREADS];
    uint64_t all = 0;
    for (unsigned w = 0; w < THREADS; w++) {
        workers[w].times = each + w;
        all += workers[w].times;
        assert_int_equal(pthread_create(&workers[w].thread, NULL, worker_run, &workers[w]), 0);
    }
    for (unsigned w = 0; w < THREADS; w++)
        pthread_join(workers[w].thread, NULL);
    return all;
}

TEST_WITH(counts_are_exact, start, stop) {
    double executed = 0;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        set(selections[s]);
        executed += (double)work_in_threads(12345);
        work(77);
        assert_true(counted(COUNTED_ID) == executed + 77);
        executed += (double)work_in_threads(1) + 77;
        assert_true(counted(COUNTED_ID) == executed);
    }
    set("off");
    work(1000);
    assert_true(counted(COUNTED_ID) == executed);
}

TEST_WITH(counts_are_exact_while_selections_change, start, stop) {
    uint64_t random = 3;
    double executed = 0;
    set("7");
    for (unsigned change = 0; change < 3000; change++) {
        size_t choice = random_below(&random, COUNT_OF(selections) + 3);
        bool on = choice < COUNT_OF(selections);
        set(on ? selections[choice] : "off");
        uint64_t times = random_below(&random, 1u << random_below(&random, 12));
        work(times);
        executed += on ? (double)times : 0;
        if (change % 100 == 0)
            assert_true(counted(COUNTED_ID) == executed);
    }
    assert_true(counted(COUNTED_ID) == executed);
}

/* Also when generations have come round since the thread last looked. */
TEST_WITH(counts_are_exact_after_any_number_of_changes, start, stop) {
    double executed = 0;
    for (unsigned changes = 0; changes < 300; changes++) {
        set(changes % 2 ? "7@~1000000" : "7@1000000");
        work(3);
        for (unsigned change = 0; change < changes; change++)
            set(change % 2 ? "7@~1000" : "7@64x8");
        set(changes % 2 ? "7@5" : "7@~5");
        work(2);
        executed += 5;
        assert_true(counted(COUNTED_ID) == executed);
    }
}

/* The site that this thread has executed. */
static const struct spex_site *counted_site(void) {
    uint32_t index = 0;
    while (spex_site_info(index)->probe_id != COUNTED_ID || !spex_executed[index])
        index++;
    return spex_site_info(index)->site;
}

/* Sets the bit with which the next execution calls the library (nesting.h). */
static void arm(void) {
    uint32_t *word = &spex_executed[counted_site()->index];
    spex_store_relaxed(word, *word | SPEX_SAMPLE_NOTE);
}

static void assert_word_is_of_now(void) {
    const struct spex_site *site = counted_site();
    assert_int_equal((site->control ^ spex_executed[site->index]) & ~SPEX_CONTROL_PERIOD_MASK, 0);
}

/* In whichever generations the site is before and after: an armed count of the former one is taken
 * for none of the present one. */
TEST_WITH(an_armed_count_of_another_generation_ends, start, stop) {
    double executed = 0;
    for (size_t pair = 0; pair < COUNT_OF(selections) * COUNT_OF(selections); pair++)
        for (unsigned changes = 0; changes < 3; changes++) {
            set(selections[pair % COUNT_OF(selections)]);
            work(9);
            arm();
            for (unsigned change = 0; change < changes; change++)
                set(change % 2 ? "7@~7" : "7@poll");
            set(selections[pair / COUNT_OF(selections)]);
            work(1);
            assert_word_is_of_now();
            work(300);
            executed += 310;
            assert_true(counted(COUNTED_ID) == executed);
        }
}

/* Each way in which the controller asks what executions cost, after each selection. */
TEST_WITH(executions_without_records_are_counted, start, stop) {
    static const uint32_t ways[] = {SPEX_SITE_CALLED, SPEX_SITE_COUNTED};
    double executed = 0;
    for (size_t s = 0; s < 2 * COUNT_OF(selections); s++) {
        set(selections[s / 2]);
        work(5);
        uint32_t first = spex_site_info(counted_site()->index)->probe;
        const struct spex_sampling before = spex_probe_state(first, 0).sampling;
        bool polled = before.kind == SPEX_SAMPLING_POLLING;
        spex_probe_throttle(first, ways[s % 2]);
        uint64_t records = totals(SPEX_CNT).produced;
        /* Some are more than the longest period, after which chance would have made a record. */
        uint32_t more = s < 2 ? 8 * SPEX_GAP_PERIOD_MAX : 77;
        executed += (double)work_in_threads(1234) + 5 + more + 1;
        work(more);
        arm();
        work(1);
        assert_true(polled || totals(SPEX_CNT).produced == records);
        assert_true(counted(COUNTED_ID) == executed);
        const struct spex_sampling shown = spex_probe_state(first, 0).sampling;
        assert_true(shown.period == before.period && shown.burst == before.burst);
        assert_int_equal(shown.kind, before.kind);
        spex_probe_throttle(first, 0);
        work(3);
        executed += 3;
        assert_true(counted(COUNTED_ID) == executed);
    }
}

/* A site that records each execution, of which nothing is decided yet, records some in a row. */
TEST_WITH(records_begin_in_bursts, start, stop) {
    enum { EXECUTIONS = 1000000, SECONDS_MOST = 60 };
    set("7");
    double executed = counted(COUNTED_ID);
    spex_sites_begin_in_bursts(true);
    uint64_t before = totals(SPEX_CNT).produced;
    work(EXECUTIONS);
    uint64_t made = totals(SPEX_CNT).produced - before;
    assert_true(made >= SPEX_FIRST_BURST && made <= 10 * SECONDS_MOST * SPEX_FIRST_BURST);
    assert_true(counted(COUNTED_ID) == executed + EXECUTIONS);
    /* What is decided holds, and what the user has chosen. */
    uint32_t first = spex_site_info(counted_site()->index)->probe;
    spex_probe_throttle(first, 1);
    before = totals(SPEX_CNT).produced;
    work(1000);
    assert_int_equal(totals(SPEX_CNT).produced, before + 1000);
    spex_probe_throttle(first, 0);
    set("7@10");
    before = totals(SPEX_CNT).produced;
    work(1000);
    assert_int_equal(totals(SPEX_CNT).produced, before + 100);
    set("7");
    spex_sites_begin_in_bursts(false);
    before = totals(SPEX_CNT).produced;
    work(1000);
    assert_int_equal(totals(SPEX_CNT).produced, before + 1000);
}

static bool changes_end;

static void *change_run(void *unused) {
    uint64_t random = 4;
    (void)unused;
    while (!spex_load_relaxed(&changes_end))
        set(selections[random_below(&random, COUNT_OF(selections))]);
    return NULL;
}

/* At any moment of an execution. */
TEST_WITH(counts_are_exact_while_another_thread_changes_them, start, stop) {
    pthread_t changer;
    double executed = 0;
    changes_end = false;
    set("7");
    pthread_create(&changer, NULL, change_run, NULL);
    for (unsigned round = 0; round < 20; round++)
        executed += (double)work_in_threads(20000);
    spex_store_relaxed(&changes_end, true);
    pthread_join(changer, NULL);
    print_message("%.0f executed, %.0f counted\n", executed, counted(COUNTED_ID));
    assert_true(counted(COUNTED_ID) == executed);
}

TEST_WITH(counts_are_exact_where_records_are_lost, start, stop) {
    double executed = 0;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        set(selections[s]);
        spex_metrics_lock(); /* collectors wait for it */
        uint64_t times = work_in_threads(50000);
        spex_metrics_unlock();
        executed += (double)times;
        assert_true(counted(COUNTED_ID) == executed);
    }
    drain(SPEX_CNT);
    assert_true(totals(SPEX_CNT).lost > totals(SPEX_CNT).records);
    assert_true(counted(COUNTED_ID) == executed);
}

static int child_counts(void) {
    if (start(NULL) != 0)
        return 2;
    set("7@~100");
    uint64_t times = work_in_threads(1000);
    set("7@1000");
    work(999);
    bool right = counted(COUNTED_ID) == (double)(times + 999);
    spex_stop();
    return right ? 0 : 3;
}

TEST_WITH(a_forked_child_counts_from_nothing, start, stop) {
    int status;
    SKIP_WITHOUT_CHILDREN();
    set("7@100x64");
    work(123);
    pid_t child = fork();
    if (child == 0)
        _exit(child_counts());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    work(1);
    assert_true(counted(COUNTED_ID) == 124);
}

/* Signals that execute the site that they interrupt. */

static uint64_t handled;

static void handle(int signal) {
    (void)signal;
    execute();
    spex_store_relaxed(&handled, spex_load_relaxed(&handled) + 1);
}

static bool signals_end;

static void *signal_run(void *argument) {
    pthread_t to = *(pthread_t *)argument;
    while (!spex_load_relaxed(&signals_end)) {
        uint64_t before = spex_load_relaxed(&handled);
        pthread_kill(to, SIGUSR1);
        while (spex_load_relaxed(&handled) == before && !spex_load_relaxed(&signals_end))
            sched_yield();
    }
    return NULL;
}

static uint64_t work_interrupted(uint64_t times) {
    pthread_t self = pthread_self(), sender;
    handled = 0;
    signals_end = false;
    pthread_create(&sender, NULL, signal_run, &self);
    work(times);
    spex_store_relaxed(&signals_end, true);
    pthread_join(sender, NULL);
    return times + handled;
}

/* Every execution makes a record, and adds to the total by one instruction. */
TEST_WITH(handlers_are_counted_exactly, start, stop) {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    signal(SIGUSR1, handle);
    set("7");
    uint64_t executed = work_interrupted(1000000);
    assert_true(counted(COUNTED_ID) == (double)executed);
    signal(SIGUSR1, SIG_DFL);
#else
    print_message("SKIP: no addition that is whole for handlers\n");
    skip();
#endif
}

/* A handler that comes in the middle of the counting can be forgotten, and what it has ended may be
 * counted again: a period at most. */
TEST_WITH(handlers_change_counts_by_a_period_at_most, start, stop) {
    static const struct {
        const char *selection;
        double period;
    } all[] = {{"7@2", 2}, {"7@100", 100}};
    double before = 0;
    signal(SIGUSR1, handle);
    for (size_t s = 0; s < COUNT_OF(all); s++) {
        set(all[s].selection);
        uint64_t executed = work_interrupted(1000000);
        double count = counted(COUNTED_ID) - before;
        before += count;
        assert_true(count >= (double)(executed - handled));
        assert_true(count <= (double)executed + all[s].period * (double)handled);
    }
    signal(SIGUSR1, SIG_DFL);
}

/* As a handler leaves them that has begun another generation in the middle of the counting: the
 * word is stored after it, and the gap is its own. Nothing is taken away from the count, which would
 * be four billions for 32 bits. */
TEST_WITH(a_gap_that_is_not_the_words_takes_nothing_away, start, stop) {
    static const char *const others[] = {"7@~9", "7@100"};
    set(others[0]);
    work(1);
    uint32_t site = counted_site()->index;
    for (unsigned change = 1; change < 100; change++) {
        double before = counted(COUNTED_ID);
        uint32_t word = spex_executed[site];
        set(others[change % 2]);
        work(1);
        assert_true(counted(COUNTED_ID) == before + 1);
        before = counted(COUNTED_ID);
        spex_store_relaxed(&spex_executed[site], word);
        assert_true(counted(COUNTED_ID) <= before + 100);
        work(1);
        assert_true(counted(COUNTED_ID) <= before + 101);
    }
}

/* A reader is interrupted while the gap becomes longer, so that the word has not come to where the
 * gap that it has read begins. */
TEST(a_gap_that_has_been_longer_counts_nothing) {
    static struct spex_countdown countdowns[SPEX_SITE_BLOCK];
    struct spex_thread *thread = calloc(1, sizeof(*thread));
    assert_non_null(thread);
    thread->countdowns[0] = countdowns;
    thread->executed[COUNTED_ID] =
        2u << SPEX_CONTROL_GENERATION_SHIFT | (SPEX_CONTROL_COUNTDOWN - 9);
    countdowns[COUNTED_ID] = (struct spex_countdown){.total = 1000, .gap = 2};
    assert_int_equal(spex_sampler_executions(thread, COUNTED_ID), 1000);
    countdowns[COUNTED_ID].gap = 10;
    assert_int_equal(spex_sampler_executions(thread, COUNTED_ID), 1001);
    free(thread);
}

int main(void) {
    return tests_run(seed, NULL);
}
