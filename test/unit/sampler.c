/* SPDX-License-Identifier: MIT */
/* Which executions make a record, and that all are counted: at real sites, of a process in which spex is at work. Rings
 * are small. Where every record is wanted, the test waits for them; where they are to be lost, it keeps the collector
 * from its work. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../children.h"
#include "collect/metrics.h"
#include "counted.h"
#include "geometric_law.h"
#include "probe/threads.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"

/* ThreadSanitizer would end a child of a program with threads that starts threads itself. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0";
}

enum { COUNTED_ID = 7, NUMBERED_ID, OTHER_ID };
enum { RING_RECORDS = 1024, THREADS = 4, RECORDS_MAX = 1 << 19 };

/* What a capture has got. */
static struct {
    struct spex_record records[RECORDS_MAX];
    size_t count;
    size_t all; /* whether there was room or not */
    bool captured;
} seen;

__attribute__((noinline)) static void execute(void) {
    CNT_PROBE_BEGIN(COUNTED_ID, 1);
    CNT_PROBE_END(COUNTED_ID);
}

__attribute__((noinline)) static void around(void (*inside)(void)) {
    CNT_PROBE_BEGIN(COUNTED_ID, 1);
    inside();
    CNT_PROBE_END(COUNTED_ID);
}

__attribute__((noinline)) static void number(uint64_t execution) {
    SNAPSHOT_PROBE(NUMBERED_ID, 1, execution);
}

__attribute__((noinline)) static void number_other(uint64_t execution) {
    SNAPSHOT_PROBE(OTHER_ID, 1, execution);
}

static void work(uint64_t times) {
    while (times-- > 0)
        execute();
}

/* In all, so that it is the same each time what is drawn. */
static int seed(void **state) {
    (void)state;
    int err = spex_threads_init();
    spex_threads_seed(1);
    return err;
}

static int start(void **state) {
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .ring_records = RING_RECORDS,
                                         .no_calibration = true};
    (void)state;
    return spex_start(&options);
}

static int stop(void **state) {
    (void)state;
    seen.captured = false;
    return spex_stop();
}

static void set(const char *selection) {
    assert_true(spex_set(selection) >= 0);
}

static struct spex_metrics_totals totals(uint32_t type) {
    spex_metrics_lock();
    struct spex_metrics_totals now = spex_metrics_totals(spex_probe_type_ring(type));
    spex_metrics_unlock();
    return now;
}

/* Until all that has been recorded is in the metrics and captures, or lost. */
static void drain(uint32_t type) {
    spex_doorbell_ring();
    for (struct spex_metrics_totals now = totals(type); now.records + now.lost < now.produced;
         now = totals(type))
        sched_yield();
    /* They are in the metrics first. */
    while (seen.captured && __atomic_load_n(&seen.all, __ATOMIC_ACQUIRE) <
                                totals(SPEX_CNT).records + totals(SPEX_SNAPSHOT).records)
        sched_yield();
}

/* Counts. */

static const char *const selections[] = {
    "7",     "7@2",   "7@100",    "7@1000000", "7@~2",       "7@~100",    "7@~1000000",
    "7@2x2", "7@3x5", "7@100x64", "7@1000x10", "7@16777214", "7@10x1000",
};

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

static void counts_are_exact(void **state) {
    (void)state;
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

static void counts_are_exact_while_selections_change(void **state) {
    uint64_t random = 3;
    double executed = 0;
    (void)state;
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
static void counts_are_exact_after_any_number_of_changes(void **state) {
    double executed = 0;
    (void)state;
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

static bool changes_end;

static void *change_run(void *unused) {
    uint64_t random = 4;
    (void)unused;
    while (!spex_load_relaxed(&changes_end))
        set(selections[random_below(&random, COUNT_OF(selections))]);
    return NULL;
}

/* At any moment of an execution. */
static void counts_are_exact_while_another_thread_changes_them(void **state) {
    pthread_t changer;
    double executed = 0;
    (void)state;
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

static void counts_are_exact_where_records_are_lost(void **state) {
    double executed = 0;
    (void)state;
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

static void a_forked_child_counts_from_nothing(void **state) {
    int status;
    (void)state;
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
static void handlers_are_counted_exactly(void **state) {
    (void)state;
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

/* A handler that comes in the middle of the counting can be forgotten, and what it has ended may be counted again: a
 * period at most. */
static void handlers_change_counts_by_a_period_at_most(void **state) {
    static const struct {
        const char *selection;
        double period;
    } all[] = {{"7@2", 2}, {"7@100", 100}};
    double before = 0;
    (void)state;
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

/* Records. */

static void see(const struct spex_record *record, void *context) {
    (void)context;
    if (seen.count < RECORDS_MAX)
        seen.records[seen.count++] = *record;
    __atomic_fetch_add(&seen.all, 1, __ATOMIC_RELEASE);
}

static int start_seeing(void **state) {
    seen.count = seen.all = 0;
    seen.captured = true;
    capture_start(see, NULL);
    return start(state);
}

static int order(const void *a, const void *b) {
    uint64_t one = ((const struct spex_record *)a)->fields[0],
             other = ((const struct spex_record *)b)->fields[0];
    return (one > other) - (one < other);
}

/* As they were executed: a thread that goes to another CPU goes on in another ring. */
static void sort_seen(void) {
    qsort(seen.records, seen.count, sizeof(seen.records[0]), order);
}

/* Numbered from *next on, with no record lost. */
static void number_all(uint64_t *next, uint64_t times, uint64_t at_a_time) {
    while (times > 0) {
        uint64_t now = times < at_a_time ? times : at_a_time;
        for (uint64_t i = 0; i < now; i++)
            number((*next)++);
        times -= now;
        drain(SPEX_SNAPSHOT);
    }
    assert_int_equal(totals(SPEX_SNAPSHOT).lost, 0);
    assert_true(seen.count < RECORDS_MAX);
    sort_seen();
}

static void periodic_weights_are_the_gaps(void **state) {
    uint64_t next = 0, last = 0;
    (void)state;
    set("8@100");
    number_all(&next, 10050, 10000);
    set("8@30");
    number_all(&next, 10000, 10000);
    set("8@3000");
    number_all(&next, 10000, 10000);
    for (size_t r = 0; r < seen.count; r++) {
        assert_int_equal(seen.records[r].marks, 0);
        assert_int_equal(seen.records[r].weight, seen.records[r].fields[0] + 1 - last);
        last = seen.records[r].fields[0] + 1;
    }
    assert_int_equal(seen.records[100].weight, 51); /* over its period: at once */
    assert_true(last > 27000);
}

static void drawn_weights_are_the_period(void **state) {
    uint64_t next = 0;
    (void)state;
    set("8@~100");
    number_all(&next, 100000, 10000);
    assert_in_range(seen.count, 800, 1200);
    for (size_t r = 0; r < seen.count; r++) {
        assert_int_equal(seen.records[r].weight, 100);
        assert_int_equal(seen.records[r].marks, SPEX_MARK_DRAWN);
    }
}

struct bursts {
    uint64_t all;
    uint32_t least, most; /* weights */
};

/* Each as long as said but for the last, of one weight, of executions in a row, and it stands for those before. */
static struct bursts expect_bursts(uint64_t length) {
    struct bursts bursts = {.least = UINT32_MAX};
    uint64_t executions = 0;
    for (size_t r = 0; r < seen.count; r++) {
        const struct spex_record *record = &seen.records[r], *former = record - 1;
        uint64_t place = r % length;
        executions += record->weight;
        assert_int_equal(record->marks,
                         place ? SPEX_MARK_BURST : SPEX_MARK_BURST | SPEX_MARK_DRAWN);
        if (place == length - 1)
            assert_int_equal(executions, record->fields[0] + 1);
        if (place) {
            assert_int_equal(record->weight, former->weight);
            assert_int_equal(record->fields[0], former->fields[0] + 1);
            continue;
        }
        bursts.all++;
        bursts.least = record->weight < bursts.least ? record->weight : bursts.least;
        bursts.most = record->weight > bursts.most ? record->weight : bursts.most;
    }
    return bursts;
}

static void what_executes_often_is_recorded_in_bursts_far_apart(void **state) {
    uint64_t next = 0;
    (void)state;
    set("8@100x64");
    number_all(&next, 1000000, 12800);
    struct bursts bursts = expect_bursts(64);
    print_message("%zu records of 1000000 executions, weights from %u to %u\n", seen.count,
                  bursts.least, bursts.most);
    assert_int_equal(bursts.least, 1); /* the first: nothing is known yet */
    assert_in_range(bursts.most, 50, 150);
}

static void short_bursts_are_as_long_as_said(void **state) {
    uint64_t next = 0;
    (void)state;
    set("8@10x2");
    number_all(&next, 2000, 500);
    expect_bursts(2);
    assert_true(seen.count > 100);
}

/* Longer than 0.1 s from burst to burst. */
static void what_executes_seldom_is_recorded_in_full(void **state) {
    (void)state;
    set("8@1000x8");
    for (uint64_t i = 0; i < 40; i++) {
        number(i);
        nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL);
    }
    drain(SPEX_SNAPSHOT);
    sort_seen();
    assert_int_equal(seen.count, 40);
    assert_int_equal(expect_bursts(8).most, 1);
}

static void a_shorter_period_holds_at_once(void **state) {
    static const struct {
        const char *long_one, *short_one;
    } all[] = {{"8@1000000", "8@10"},
               {"8@~1000000", "8@10"},
               {"8@1000000", "8@~10"},
               {"8@~1000000", "8@~10"},
               {"8@131000x64", "8@10"}};
    (void)state;
    for (size_t a = 0; a < COUNT_OF(all); a++) {
        uint64_t next = 0;
        set("off");
        set(all[a].long_one);
        number_all(&next, 999, 100);
        size_t before = seen.count;
        set(all[a].short_one);
        number_all(&next, 200, 100);
        assert_in_range(seen.count - before, 5, 45);
    }
}

/* Executions that are under way. */

static void change_rates(unsigned times) {
    for (unsigned change = 0; change < times; change++)
        set(selections[change % COUNT_OF(selections)]);
    set("7");
}

static void change_once(void) {
    set("7@~10");
}

static void change_a_hundred_times(void) {
    change_rates(100);
}

static void change_a_thousand_times(void) {
    change_rates(1000);
}

static void switch_off_and_on(void) {
    set("off");
    set("7");
}

/* Not so often that generations come round. */
static void change_and_switch_off_and_on(void) {
    change_rates(10);
    switch_off_and_on();
    change_rates(10);
}

static size_t records_of(void (*inside)(void)) {
    set("off");
    set("7");
    size_t before = seen.count;
    around(inside);
    drain(SPEX_CNT);
    return seen.count - before;
}

static void executions_under_way_are_recorded_over_changes(void **state) {
    (void)state;
    assert_int_equal(records_of(change_once), 1);
    assert_int_equal(records_of(change_a_hundred_times), 1);
    assert_int_equal(records_of(change_a_thousand_times), 1);
    assert_true(counted(COUNTED_ID) == 3);
    for (size_t r = 0; r < seen.count; r++)
        assert_int_equal(seen.records[r].weight, 1);
}

static void executions_under_way_are_not_recorded_over_a_switching_off(void **state) {
    (void)state;
    assert_int_equal(records_of(switch_off_and_on), 0);
    assert_int_equal(records_of(change_and_switch_off_and_on), 0);
}

/* The law. */

static const struct law {
    const char *selection;
    uint32_t period;
    uint64_t executions;
} laws[] = {{"8@~2", 2, 400000}, {"8@~100", 100, 20000000}, {"8@~10000", 10000, 100000000}};

static void gaps_at_a_site_are_geometric(void **state) {
    (void)state;
    for (size_t l = 0; l < COUNT_OF(laws); l++) {
        uint64_t next = 0, last = 0;
        seen.count = 0;
        set("off");
        set(laws[l].selection);
        number_all(&next, laws[l].executions, 400 * laws[l].period);
        sample_begin(laws[l].period);
        for (size_t r = 0; r < seen.count; r++) {
            sample_add((uint32_t)(seen.records[r].fields[0] + 1 - last));
            last = seen.records[r].fields[0] + 1;
        }
        struct verdict verdict = sample_verdict();
        verdict_print(laws[l].period, verdict);
        assert_true(verdict_good(verdict));
    }
}

enum { GAPS = 40000, GAPS_PERIOD = 100 };

static uint32_t gaps[2][GAPS];

/* Those of a probe and thread (0: any) among what was seen. */
static void take_gaps(uint16_t id, uint32_t thread, uint32_t *to) {
    uint64_t last = 0;
    size_t count = 0;
    sort_seen();
    for (size_t r = 0; r < seen.count && count < GAPS; r++) {
        const struct spex_record *record = &seen.records[r];
        if (record->probe_id != id || (thread && record->thread_id != thread))
            continue;
        to[count++] = (uint32_t)(record->fields[0] + 1 - last);
        last = record->fields[0] + 1;
    }
    assert_int_equal(count, GAPS);
}

enum { EXECUTIONS = GAPS * GAPS_PERIOD + GAPS * 4, TOGETHER = 100 * GAPS_PERIOD };

static void sites_are_sampled_independently(void **state) {
    (void)state;
    set("8@~100,9@~100");
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        number(i);
        number_other(i);
        if (i % TOGETHER == 0)
            drain(SPEX_SNAPSHOT);
    }
    drain(SPEX_SNAPSHOT);
    assert_int_equal(totals(SPEX_SNAPSHOT).lost, 0);
    take_gaps(NUMBERED_ID, 0, gaps[0]);
    take_gaps(OTHER_ID, 0, gaps[1]);
    assert_true(dependence(gaps[0], gaps[1], GAPS, GAPS_PERIOD) < 1);
    assert_true(dependence(gaps[0], gaps[0], GAPS, GAPS_PERIOD) > 1);
}

struct numberer {
    pthread_t thread;
    uint32_t thread_id;
};

static void *numberer_run(void *argument) {
    struct numberer *self = argument;
    self->thread_id = (uint32_t)gettid();
    for (uint64_t i = 0; i < EXECUTIONS; i++) {
        number(i);
        if (i % TOGETHER == 0)
            drain(SPEX_SNAPSHOT);
    }
    return NULL;
}

static void threads_are_sampled_independently(void **state) {
    struct numberer numberers[2];
    (void)state;
    set("8@~100");
    for (unsigned n = 0; n < 2; n++)
        pthread_create(&numberers[n].thread, NULL, numberer_run, &numberers[n]);
    for (unsigned n = 0; n < 2; n++)
        pthread_join(numberers[n].thread, NULL);
    drain(SPEX_SNAPSHOT);
    assert_int_equal(totals(SPEX_SNAPSHOT).lost, 0);
    for (unsigned n = 0; n < 2; n++)
        take_gaps(NUMBERED_ID, numberers[n].thread_id, gaps[n]);
    assert_true(dependence(gaps[0], gaps[1], GAPS, GAPS_PERIOD) < 1);
}

int main(void) {
#define COUNTING(test) cmocka_unit_test_setup_teardown(test, start, stop)
#define SEEING(test)   cmocka_unit_test_setup_teardown(test, start_seeing, stop)
    const struct CMUnitTest tests[] = {
        SEEING(gaps_at_a_site_are_geometric),
        SEEING(sites_are_sampled_independently),
        SEEING(threads_are_sampled_independently),
        SEEING(drawn_weights_are_the_period),
        SEEING(periodic_weights_are_the_gaps),
        SEEING(what_executes_often_is_recorded_in_bursts_far_apart),
        SEEING(short_bursts_are_as_long_as_said),
        SEEING(what_executes_seldom_is_recorded_in_full),
        SEEING(a_shorter_period_holds_at_once),
        SEEING(executions_under_way_are_recorded_over_changes),
        SEEING(executions_under_way_are_not_recorded_over_a_switching_off),
        COUNTING(counts_are_exact),
        COUNTING(counts_are_exact_while_selections_change),
        COUNTING(counts_are_exact_after_any_number_of_changes),
        COUNTING(counts_are_exact_while_another_thread_changes_them),
        COUNTING(counts_are_exact_where_records_are_lost),
        COUNTING(handlers_are_counted_exactly),
        COUNTING(handlers_change_counts_by_a_period_at_most),
        COUNTING(a_forked_child_counts_from_nothing),
    };
    return cmocka_run_group_tests(tests, seed, NULL);
}
