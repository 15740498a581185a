/* SPDX-License-Identifier: MIT */
/* Which executions of a sampled site make a record, with which weight, and the law of the gaps
 * between them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

#include "../capture.h"
#include "counted.h"
#include "geometric_law.h"
#include "probe/recording.h"
#include "sampled_sites.h"

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

/* By how many executions the weights are ahead: the first record comes early by so many. */
static void expect_gaps(uint64_t ahead, size_t from, size_t to) {
    uint64_t weight = 0;
    for (size_t r = 0; r < to; r++) {
        weight += seen.records[r].weight;
        assert_int_equal(seen.records[r].marks, 0);
        if (r >= from)
            assert_int_equal(seen.records[r].fields[0] + 1, weight - ahead);
    }
}

/* With a shorter period the next record has its turn at once, and its weight makes it begin the
 * next period early. */
TEST_WITH(periodic_weights_are_the_gaps, start_seeing, stop) {
    uint64_t next = 0;
    set("8@100");
    number_all(&next, 10050, 10000);
    const size_t hundreds = seen.count;
    const uint64_t ahead = 99 - seen.records[0].fields[0];
    assert_in_range(ahead, 0, 99);
    expect_gaps(ahead, 0, hundreds);
    set("8@30");
    number_all(&next, 10000, 10000);
    assert_true(seen.records[hundreds].fields[0] < 10050 + 30);
    set("8@3000");
    number_all(&next, 10000, 10000);
    expect_gaps(ahead, hundreds + 1, seen.count);
    assert_true(next - 3000 <= seen.records[seen.count - 1].fields[0] + 1);
}

/* Probes that execute in turn would else be recorded together each time. */
TEST_WITH(sites_with_one_period_are_recorded_apart, start_seeing, stop) {
    const char *settings[] = {"8@3,9@3", "8@1000,9@1000", "8@20,9@20", "8@100,9@100"};
    for (unsigned s = 0; s < sizeof(settings) / sizeof(*settings); s++) {
        seen.count = 0;
        set(settings[s]);
        for (uint64_t i = 0; i < 20000; i++) {
            number(i);
            number_other(i);
            if (i % 1000 == 0)
                drain(SPEX_SNAPSHOT);
        }
        drain(SPEX_SNAPSHOT);
        sort_seen();
        assert_true(seen.count >= 2 * 20);
        for (size_t r = 1; r < seen.count; r++)
            assert_int_not_equal(seen.records[r].fields[0], seen.records[r - 1].fields[0]);
    }
}

TEST_WITH(drawn_weights_are_the_period, start_seeing, stop) {
    uint64_t next = 0;
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

/* Each as long as said but for the last, of one weight, of executions in a row, and it stands for
 * those before. */
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

TEST_WITH(what_executes_often_is_recorded_in_bursts_far_apart, start_seeing, stop) {
    uint64_t next = 0;
    set("8@100x64");
    number_all(&next, 1000000, 12800);
    struct bursts bursts = expect_bursts(64);
    print_message("%zu records of 1000000 executions, weights from %u to %u\n", seen.count,
                  bursts.least, bursts.most);
    assert_int_equal(bursts.least, 1); /* the first: nothing is known yet */
    assert_in_range(bursts.most, 50, 150);
}

TEST_WITH(short_bursts_are_as_long_as_said, start_seeing, stop) {
    uint64_t next = 0;
    set("8@10x2");
    number_all(&next, 2000, 500);
    expect_bursts(2);
    assert_true(seen.count > 100);
}

/* Longer than 0.1 s from burst to burst. */
TEST_WITH(what_executes_seldom_is_recorded_in_full, start_seeing, stop) {
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

TEST_WITH(a_shorter_period_holds_at_once, start_seeing, stop) {
    static const struct {
        const char *long_one, *short_one;
    } all[] = {{"8@1000000", "8@10"},
               {"8@~1000000", "8@10"},
               {"8@1000000", "8@~10"},
               {"8@~1000000", "8@~10"},
               {"8@131000x64", "8@10"}};
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

TEST_WITH(executions_under_way_are_recorded_over_changes, start_seeing, stop) {
    assert_int_equal(records_of(change_once), 1);
    assert_int_equal(records_of(change_a_hundred_times), 1);
    assert_int_equal(records_of(change_a_thousand_times), 1);
    assert_true(counted(COUNTED_ID) == 3);
    for (size_t r = 0; r < seen.count; r++)
        assert_int_equal(seen.records[r].weight, 1);
}

TEST_WITH(executions_under_way_are_not_recorded_over_a_switching_off, start_seeing, stop) {
    assert_int_equal(records_of(switch_off_and_on), 0);
    assert_int_equal(records_of(change_and_switch_off_and_on), 0);
}

/* The law. */

static const struct law {
    const char *selection;
    uint32_t period;
    uint64_t executions;
} laws[] = {{"8@~2", 2, 400000}, {"8@~100", 100, 20000000}, {"8@~10000", 10000, 100000000}};

TEST_WITH(gaps_at_a_site_are_geometric, start_seeing, stop) {
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

TEST_WITH(sites_are_sampled_independently, start_seeing, stop) {
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

TEST_WITH(threads_are_sampled_independently, start_seeing, stop) {
    struct numberer numberers[2];
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

/* The thread has opened a counter at 1000, which took 100 ticks. */
TEST(times_are_marked_that_an_opening_has_lengthened) {
    static const struct spex_thread thread = {.opened_at = 1000, .opening_ticks = 100};
    assert_int_equal(spex_opening(&thread, 1000, 1010), 0);
    assert_int_equal(spex_opening(&thread, 900, 1010), SPEX_MARK_OPENING);
    assert_int_equal(spex_opening(&thread, 900, 900 + 99 * SPEX_OPENING_PART), SPEX_MARK_OPENING);
    assert_int_equal(spex_opening(&thread, 900, 900 + 100 * SPEX_OPENING_PART), 0);
}

int main(void) {
    return tests_run(seed, NULL);
}
