/* SPDX-License-Identifier: MIT */
/* Regions: one coin for all probes in them, however they are entered and left. Estimates are held
 * against what was executed, within four standard deviations; gaps are the same in every run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "../check.h"
#include "../status.h"
#include "places.h"
#include "probe/regions.h"
#include "probe/threads.h"
#include "region_sites.h"
#include "site/registry.h"

enum {
    FIRST = 1,
    SECOND,
    THIRD,
    LOOPED,
    LEFT,
    INNER,
    OUTER,
    LEVEL,
    HANDLED,
    MANY,
    JUMPED,
    OTHER,
    ALL = 40
};
enum { IDS = 64, LEVELS = 4, SEED = 1 };

#define REGION_MARKS (SPEX_MARK_DRAWN | SPEX_MARK_REGION)

static struct {
    uint64_t records[IDS];
    uint64_t weight[IDS];
    uint64_t by_value[IDS][LEVELS]; /* weight, by a snapshot's first value */
    uint64_t unmarked;
} seen;

static uint64_t executed[IDS];
static uint64_t executed_at[LEVELS];
static uint64_t copies[3]; /* passes through each */

#define NOINLINE __attribute__((noinline)) static

static void see(const struct spex_record *record, void *context) {
    (void)context;
    unsigned id = record->probe_id % IDS;
    seen.records[id]++;
    seen.weight[id] += record->weight;
    if (record->probe_type == SPEX_SNAPSHOT)
        seen.by_value[id][record->fields[0] % LEVELS] += record->weight;
    seen.unmarked += (record->marks & REGION_MARKS) != REGION_MARKS;
}

static void begin(const char *probes) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = probes,
                                         .out = "/dev/null",
                                         .ring_records = 1u << 16,
                                         .no_calibration = true};
    memset(&seen, 0, sizeof(seen));
    memset(executed, 0, sizeof(executed));
    memset(executed_at, 0, sizeof(executed_at));
    memset(copies, 0, sizeof(copies));
    capture_start(see, NULL);
    assert_int_equal(spex_start(&options), 0);
}

static void end(void) {
    uint64_t lost = status_now().lost;
    spex_stop();
    assert_int_equal(status_now().lost, lost);
    assert_int_equal(seen.unmarked, 0);
}

/* A sum of weights `period` of executions that are each there with probability 1 / period. */
static void estimates(uint64_t weight, uint64_t count, uint32_t period) {
    double off = (double)weight - (double)count;
    if (off * off > 16.0 * (double)count * (period - 1))
        fail_msg("%llu executions are estimated as %llu, at 1/%u", (unsigned long long)count,
                 (unsigned long long)weight, period);
}

static void id_estimates(unsigned id, uint32_t period) {
    assert_int_equal(seen.weight[id], seen.records[id] * period);
    estimates(seen.weight[id], executed[id], period);
}

NOINLINE void straight(void) {
    SPEX_REGION(1, 3, {
        copies[spex_region_copy_]++;
        executed[FIRST]++, executed[SECOND]++, executed[THIRD]++;
        CNT_PROBE_BEGIN(FIRST, 1);
        CNT_PROBE_END(FIRST);
        SNAPSHOT_PROBE(SECOND, 1, 7);
        SPEX_LAT_SCOPE(THIRD, 1);
    })
}

static void straight_run(unsigned passes) {
    for (unsigned i = 0; i < passes; i++)
        straight();
}

TEST(the_seed_set_before_the_start_is_kept) {
    struct spex_random seeded;
    spex_random_seed(&seeded, SEED, 0);
    begin("1@50");
    assert_memory_equal(&spex_thread_attach()->random, &seeded, sizeof(seeded));
    end();
}

TEST(all_probes_share_one_coin) {
    begin("1@50,2@50,3@50");
    straight_run(200000);
    end();
    for (unsigned id = FIRST; id <= THIRD; id++)
        id_estimates(id, 50);
    assert_in_range(copies[2], 200000 * 3 / 50 / 2, 200000 * 3 / 50 * 3 / 2);
    begin("1@2,2@2,3@2");
    straight_run(20000);
    end();
    for (unsigned id = FIRST; id <= THIRD; id++)
        id_estimates(id, 2);
}

TEST(off_nothing_is_recorded_and_with_a_period_of_1_all) {
    begin("off");
    straight_run(1000);
    spex_set("1@1,2@1,3@1");
    assert_int_equal(copies[1], 1000);
    straight_run(1000);
    spex_set("off");
    straight_run(1000);
    end();
    for (unsigned id = FIRST; id <= THIRD; id++) {
        assert_int_equal(seen.records[id], 1000);
        assert_int_equal(seen.weight[id], 1000);
    }
    assert_int_equal(copies[1], 2000);
    assert_int_equal(copies[2], 1000);
}

TEST(those_that_are_on_have_the_shortest_period) {
    bool loaded;
    begin("1@20,3@100");
    assert_int_equal(spex_site_sampling(index_of(THIRD), &loaded).period, 20);
    end();
    double second = spex_region_executions(index_of(SECOND)).count;
    begin("1@100,3@20");
    assert_int_equal(spex_site_sampling(index_of(FIRST), &loaded).period, 20);
    assert_int_equal(spex_site_sampling(index_of(FIRST), &loaded).kind, SPEX_SAMPLING_GEOMETRIC);
    assert_int_equal(spex_site_sampling(index_of(SECOND), &loaded).period, 0);
    straight_run(100000);
    end();
    id_estimates(FIRST, 20);
    id_estimates(THIRD, 20);
    assert_int_equal(seen.records[SECOND], 0);
    assert_true(spex_region_executions(index_of(SECOND)).count == second);
}

TEST(a_region_is_no_probe) {
    uint32_t regions = 0;
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        regions += spex_site_is_region(spex_site_info(i));
    assert_in_range(regions, 7, 20);
    assert_int_equal(status_now().sites, spex_sites_count() - regions);
    begin("*@1000");
    assert_int_equal(status_now().sites_on, status_now().sites);
    end();
}

/* The body is left in every way, from loops of its own and of the function's. */
NOINLINE int leaving(unsigned i) {
    for (unsigned turn = 0; turn < 5; turn++) {
        SPEX_REGION(2, 8, {
            copies[spex_region_copy_]++;
            for (unsigned n = 0; n < 3; n++) {
                executed[LOOPED]++;
                SNAPSHOT_PROBE(LOOPED, 1, n);
                if (n == i % 7)
                    break;
            }
            if ((i + turn) % 5 == 1)
                continue;
            executed[LEFT]++;
            SPEX_CNT_SCOPE(LEFT, 1);
            if ((i + turn) % 5 == 2)
                goto out;
            if ((i + turn) % 5 == 3)
                return 3;
            if ((i + turn) % 5 == 4)
                break;
        })
    }
    return 0;
out:
    return 1;
}

TEST(leaving_early_counts) {
    int sum = 0;
    begin("4@40,5@40");
    for (unsigned i = 0; i < 100000; i++)
        sum += leaving(i);
    end();
    assert_int_equal(sum, 20000 * (1 + 1 + 1 + 3 + 0));
    id_estimates(LOOPED, 40);
    id_estimates(LEFT, 40);
    assert_true(copies[1] > 2 * copies[2]);
}

NOINLINE void nested(unsigned i){SPEX_REGION(3, 12,
                                             {
                                                 executed[OUTER]++;
                                                 SNAPSHOT_PROBE(OUTER, 1, 0);
                                                 for (unsigned n = 0; n < 5; n++)
                                                     SPEX_REGION(4, 2, {
                                                         executed[INNER]++;
                                                         LAT_PROBE_BEGIN(INNER, 1);
                                                         if (n == i % 8)
                                                             break;
                                                         LAT_PROBE_END(INNER);
                                                         SNAPSHOT_PROBE(OTHER, 1, 1, 2, i);
                                                         executed[OTHER]++;
                                                     })
                                             })}

TEST(a_region_in_another_is_part_of_it) {
    begin("6@30,7@30,12@30");
    for (unsigned i = 0; i < 100000; i++)
        nested(i);
    end();
    id_estimates(OUTER, 30);
    id_estimates(OTHER, 30);
    estimates(seen.weight[INNER], executed[OTHER], 30); /* the others have no END */
    assert_true(spex_site_info(index_of(INNER))->region == 3);
}

NOINLINE void descend(unsigned level){SPEX_REGION(5, 2,
                                                  {
                                                      copies[spex_region_copy_]++;
                                                      executed_at[level]++;
                                                      SNAPSHOT_PROBE(LEVEL, 1, level);
                                                      if (level + 1 < LEVELS)
                                                          descend(level + 1);
                                                      executed[LEVEL]++;
                                                      CNT_PROBE_BEGIN(LEVEL, 1);
                                                      CNT_PROBE_END(LEVEL);
                                                  })}

TEST(recursion_favours_nobody) {
    begin("8@10");
    for (unsigned i = 0; i < 100000; i++)
        descend(0);
    end();
    for (unsigned level = 0; level < LEVELS; level++)
        estimates(seen.by_value[LEVEL][level], executed_at[level], 10);
    estimates(seen.weight[LEVEL], 2 * executed[LEVEL], 10);
}

static void handle(int signal);

NOINLINE void interrupted(unsigned level, bool kill) {
    SPEX_REGION(6, 2, {
        spex_fetch_add_relaxed(&executed_at[level], 1);
        SNAPSHOT_PROBE(HANDLED, 1, level);
        if (kill)
            raise(SIGUSR1);
        spex_fetch_add_relaxed(&executed_at[level + 2], 1);
        SNAPSHOT_PROBE(HANDLED, 1, level + 2);
    })
}

static void handle(int signal) {
    (void)signal;
    interrupted(1, false);
}

TEST(handlers_in_a_region_enter_it) {
    const struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    begin("9@10");
    for (unsigned i = 0; i < 60000; i++)
        interrupted(0, i % 3 == 0);
    end();
    for (unsigned level = 0; level < LEVELS; level++)
        estimates(seen.by_value[HANDLED][level], executed_at[level], 10);
}

NOINLINE void many(unsigned times){SPEX_REGION(7, 2,
                                               {
                                                   copies[spex_region_copy_]++;
                                                   for (unsigned i = 0; i < times; i++) {
                                                       executed[MANY]++;
                                                       SNAPSHOT_PROBE(MANY, 1, 0);
                                                   }
                                               })}

TEST(more_than_was_declared_is_told_once) {
    messages_begin();
    begin("10@200");
    for (unsigned i = 0; i < 50000; i++)
        many(40);
    end();
    const char *told = messages_end();
    assert_non_null(strstr(told, "spex: region 7 at "));
    assert_non_null(
        strstr(told, "was declared to execute 2 probes a pass at most, and has executed 40"));
    assert_null(strstr(strstr(told, "was declared") + 1, "was declared"));
    /* One record is missing, which is within what chance does. */
    id_estimates(MANY, 200);
    assert_true(copies[1] > copies[2]);
}

/* Of several passes that were longer than declared, in whatever order they end. */
TEST(the_longest_pass_is_reckoned_with) {
    static const uint32_t more[] = {10, 5, 20, 20, 1};
    begin("10@200");
    many(1);
    struct spex_site *region = spex_site_info(spex_site_info(index_of(MANY))->group)->site;
    uint32_t control = spex_load_relaxed(&region->control), most = 0;
    uint32_t declared = spex_load_relaxed(&region->subsample);
    for (size_t p = 0; p < COUNT_OF(more); p++) {
        most = more[p] > most ? more[p] : most;
        spex_region_leave(region, control, 1, declared + more[p]);
        assert_int_equal(spex_load_relaxed(&region->subsample), declared + most);
    }
    end();
}

static sigjmp_buf back;

NOINLINE void jumping(bool jump){SPEX_REGION(8, 3,
                                             {
                                                 spex_fetch_add_relaxed(&copies[spex_region_copy_],
                                                                        1);
                                                 SNAPSHOT_PROBE(JUMPED, 1, 0);
                                                 if (jump)
                                                     longjmp(back, 1);
                                                 SNAPSHOT_PROBE(JUMPED, 1, 1);
                                             })}

TEST(after_longjmp_all_goes_on) {
    begin("11@20");
    if (setjmp(back) == 0)
        jumping(true);
    for (unsigned i = 0; i < 100000; i++)
        jumping(false);
    end();
    estimates(seen.weight[JUMPED], 200001, 20);
    assert_true(copies[1] > 3 * copies[2]);
}

static void *thread_run(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 100000; i++)
        SPEX_REGION(9, 2, {
            SNAPSHOT_PROBE(OTHER + 1, 1, 0);
            SNAPSHOT_PROBE(OTHER + 1, 1, 1);
        })
    return NULL;
}

TEST(threads_count_for_themselves) {
    pthread_t threads[2];
    begin("13@50");
    for (int t = 0; t < 2; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, thread_run, NULL), 0);
    for (int t = 0; t < 2; t++)
        pthread_join(threads[t], NULL);
    end();
    estimates(seen.by_value[OTHER + 1][0], 200000, 50);
    estimates(seen.by_value[OTHER + 1][1], 200000, 50);
}

NOINLINE void every_type(void) {
    SPEX_REGION(10, 20, {
        SPEX_CNT_SCOPE(ALL, 1);
        SPEX_LAT_SCOPE(ALL, 1);
        SPEX_TPT_SCOPE(ALL, 1);
        SPEX_FLT_SCOPE(ALL, 1);
        SPEX_CTXSW_SCOPE(ALL, 1);
        SPEX_LLC_SCOPE(ALL, 1);
        PERFCNTR_PROBE_BEGIN(ALL, 1, 0);
        SNAPSHOT_PROBE(ALL, 1, 1, 2, 3, 4, 5, 6);
        PERFCNTR_PROBE_END(ALL);
    })
}

static void types_see(const struct spex_record *record, void *context) {
    places_see(record, context);
    if (record->probe_type == SPEX_SNAPSHOT)
        assert_true(record->field_count == 6 && record->fields[5] == 6);
    seen.unmarked += (record->marks & REGION_MARKS) != REGION_MARKS;
}

TEST(every_type_can_stand_in_a_region) {
    struct places_tally tally = {0};
    seen.unmarked = 0;
    capture_start(types_see, &tally);
    assert_int_equal(places_start(NULL, 65536), 0);
    for (unsigned i = 0; i < 100; i++)
        every_type();
    spex_stop();
    static const unsigned cannot[] = {__builtin_ctz(SPEX_KERNEL), __builtin_ctz(SPEX_SPAN)};
    for (unsigned t = 0; t < sizeof(cannot) / sizeof(cannot[0]); t++) {
        assert_int_equal(tally.records[cannot[t]], 0);
        tally.records[cannot[t]] = tally.weight[cannot[t]] = 100;
    }
    assert_true(places_are(&tally, 100));
    assert_int_equal(seen.unmarked, 0);
}

int main(void) {
    spex_threads_seed(SEED);
    return tests_run(NULL, NULL);
}
