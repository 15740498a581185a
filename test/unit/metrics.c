/* SPDX-License-Identifier: MIT */
/* The metrics of several collections in one process, in which all executions and their values are
 * known: each collection's figures are its own, also where records were lost or a sink did not take
 * them. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "../capture.h"
#include "../check.h"
#include "../status.h"
#include "base/clock.h"
#include "collect/metrics.h"
#include "ring/probe_type.h"
#include "serve/own_profile.h"
#include "site/registry.h"

enum { COUNTED = 1, TIMED = 2, SHOT = 3, OUTER = 4, INNER = 5, UNUSED = 6 };
enum { RING = 4096, COLLECTIONS = 3, FLOOD = 200000 };

COMPILED_ONCE static void count(unsigned times) {
    while (times-- > 0) {
        CNT_PROBE_BEGIN(COUNTED, 1);
        CNT_PROBE_END(COUNTED);
    }
}

COMPILED_ONCE static void take_time(unsigned times) {
    while (times-- > 0) {
        LAT_PROBE_BEGIN(TIMED, 1);
        LAT_PROBE_END(TIMED);
    }
}

COMPILED_ONCE static void count_again(unsigned times) {
    while (times-- > 0) {
        CNT_PROBE_BEGIN(COUNTED, 1);
        CNT_PROBE_END(COUNTED);
    }
}

/* The values 10, 11, … beside 1000, 998, … */
COMPILED_ONCE static void shoot(unsigned times) {
    for (unsigned i = 0; i < times; i++)
        SNAPSHOT_PROBE(SHOT, 1, 10 + i, 1000 - 2 * i);
}

/* Which is never called. */
COMPILED_ONCE static void unused(void) {
    LAT_PROBE_BEGIN(UNUSED, 1);
    LAT_PROBE_END(UNUSED);
}

static void (*volatile not_called)(void) = unused;

static void start(const char *probes) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = probes,
                                         .out = "/dev/null",
                                         .collectors = 1,
                                         .ring_records = RING};
    assert_non_null(not_called);
    assert_int_equal(spex_start(&options), 0);
}

/* Until the collector has nothing more to do. */
static struct spex_status settle(void) {
    struct spex_status now;
    while ((now = status_now()).pending || now.consumed + now.lost < now.produced)
        sched_yield();
    return now;
}

/* Records that have been handed to the metrics, too. */
static void settle_metrics(unsigned ring, uint64_t records) {
    uint64_t taken;
    do {
        settle();
        spex_metrics_lock();
        taken = spex_metrics_totals(ring).records;
        spex_metrics_unlock();
    } while (taken < records);
    assert_int_equal(taken, records);
}

/* Until the coarse clock, by which the slowest executions are forgotten, has gone on. */
static void let_time_pass(void) {
    uint64_t from = spex_clock_ns(CLOCK_MONOTONIC_COARSE), last = from;
    for (unsigned steps = 0; steps < 3; steps += from != last, last = from) {
        sched_yield();
        from = spex_clock_ns(CLOCK_MONOTONIC_COARSE);
    }
}

/* Once it is known how long a tick is. */
static struct spex_profile profile_take(void) {
    struct spex_profile profile;
    let_time_pass();
    while (spex_metrics_tick_rate() <= 0)
        sched_yield();
    assert_int_equal(spex_profile_now(&profile), 0);
    return profile;
}

static const struct spex_profile_row *row_of(const struct spex_profile *profile, uint16_t id,
                                             uint32_t type) {
    const struct spex_profile_row *row = spex_profile_row_of(profile, id, type);
    assert_non_null(row);
    return row;
}

static uint32_t first_site(uint16_t id) {
    uint32_t site = 0;
    while (spex_site_info(site)->probe_id != id)
        site++;
    return spex_site_info(site)->probe;
}

/* A probe each execution of which has its record. */
static void expect_in_full(const struct spex_profile_row *row, unsigned executions) {
    const struct spex_profile_probe *probe = &row->probe;
    assert_true(probe->count == executions && probe->weight == executions);
    assert_true(probe->weight_squares == executions);
    assert_int_equal(probe->records, executions);
    assert_true(probe->lost == 0 && probe->count_variance == 0);
    assert_int_equal(probe->lost_shared, 0);
    for (unsigned s = 0; s < probe->series; s++)
        assert_true(row->values[s]->weight == executions);
}

static void expect_shots(const struct spex_profile_row *row, unsigned shots) {
    assert_int_equal(row->probe.series, 2);
    assert_true(row->values[0]->mean == 10 + (shots - 1) / 2.0);
    assert_int_equal(row->values[0]->min, 10);
    assert_int_equal(row->values[0]->max, 10 + shots - 1);
    assert_true(row->values[1]->mean == 1000 - (shots - 1.0));
    assert_int_equal(row->values[1]->min, 1000 - 2 * (shots - 1));
    assert_int_equal(row->values[1]->max, 1000);
    assert_null(row->values[2]);
}

/* The slowest execution is the longest of the values. */
static void expect_slowest(const struct spex_profile_row *row, uint64_t begin_ns) {
    const struct spex_profile_slowest *slowest = &row->probe.slowest;
    assert_int_equal(slowest->ticks, row->values[0]->max);
    assert_int_equal(slowest->thread_id, gettid());
    assert_int_equal(slowest->process_id, getpid());
    assert_in_range(slowest->realtime_ns, begin_ns - 1000000, spex_clock_ns(CLOCK_REALTIME));
}

static void expect_process(const struct spex_profile_process *process, uint64_t records,
                           uint64_t begin_ns) {
    assert_int_equal(process->produced, records);
    assert_int_equal(process->consumed, records);
    assert_int_equal(process->lost, 0);
    assert_int_equal(process->undelivered, 0);
    assert_int_equal(process->unrecorded, 0);
    assert_int_equal(process->elsewhere, 0);
    double seconds = (double)(spex_clock_ns(CLOCK_MONOTONIC_RAW) - begin_ns) / 1e9;
    assert_true(process->seconds > 0 && process->seconds < seconds);
    assert_in_range(process->began_ns, begin_ns, spex_clock_ns(CLOCK_MONOTONIC_RAW));
    assert_true(process->collector_seconds >= 0);
    assert_true(process->program_seconds > 0);
    assert_true(process->program_seconds < spex_clock_seconds(CLOCK_PROCESS_CPUTIME_ID));
}

static void expect_sums(uint16_t id, uint32_t type, double weight, double sum) {
    const struct spex_metrics_sums sums = spex_metrics_sums(id, type);
    assert_true(sums.weight == weight && sums.sum == sum && sums.squares >= 0);
    assert_true((sums.records > 0) == (weight > 0));
}

static void expect_until_now(uint64_t begin) {
    uint64_t until = spex_metrics_until();
    assert_in_range(until, begin, spex_ticks());
}

/* All of each collection of several. */
TEST(each_collection_counts_from_its_start) {
    static uint64_t counts[SPEX_MAX_SITES];
    for (unsigned c = 1; c <= COLLECTIONS; c++) {
        const unsigned counted = 20 * c + 3, timed = 30 * c, shots = 7 * c;
        uint64_t begin_ns = spex_clock_ns(CLOCK_MONOTONIC_RAW);
        uint64_t realtime_ns = spex_clock_ns(CLOCK_REALTIME), begin = spex_ticks();
        assert_false(spex_metrics_there());
        start("1,2,3,6");
        assert_true(spex_metrics_there());
        count(20 * c);
        count_again(3);
        take_time(timed);
        shoot(shots);
        settle_metrics(spex_probe_type_ring(SPEX_CNT), counted);
        settle_metrics(spex_probe_type_ring(SPEX_LAT), timed);
        settle_metrics(spex_probe_type_ring(SPEX_SNAPSHOT), shots);
        struct spex_profile profile = profile_take();
        expect_process(&profile.process, counted + timed + shots, begin_ns);
        expect_in_full(row_of(&profile, COUNTED, SPEX_CNT), counted);
        expect_in_full(row_of(&profile, TIMED, SPEX_LAT), timed);
        expect_slowest(row_of(&profile, TIMED, SPEX_LAT), realtime_ns);
        expect_in_full(row_of(&profile, SHOT, SPEX_SNAPSHOT), shots);
        expect_shots(row_of(&profile, SHOT, SPEX_SNAPSHOT), shots);
        expect_in_full(row_of(&profile, UNUSED, SPEX_LAT), 0);
        assert_int_equal(row_of(&profile, UNUSED, SPEX_LAT)->probe.series, 0);
        assert_int_equal(spex_profile_type_of(&profile, SPEX_LAT)->produced, timed);
        assert_int_equal(spex_profile_type_of(&profile, SPEX_LAT)->lost, 0);
        assert_int_equal(spex_profile_type_of(&profile, SPEX_SNAPSHOT)->produced, shots);
        spex_profile_now_free(&profile);
        spex_metrics_lock();
        expect_sums(SHOT, SPEX_SNAPSHOT, shots, shots * (10 + (shots - 1) / 2.0));
        expect_sums(SHOT, SPEX_LAT, 0, 0);
        expect_sums(UNUSED, SPEX_LAT, 0, 0);
        struct spex_metrics_totals totals =
            spex_metrics_totals(spex_probe_type_ring(SPEX_SNAPSHOT));
        assert_int_equal(totals.produced, shots);
        assert_int_equal(totals.lost, 0);
        assert_true(totals.executions == shots);
        memset(counts, 0xff, sizeof(counts));
        spex_metrics_executions(counts);
        assert_int_equal(counts[first_site(COUNTED)], counted);
        assert_int_equal(counts[first_site(TIMED)], timed);
        assert_int_equal(counts[first_site(UNUSED)], 0);
        assert_true(spex_metrics_in_regions(first_site(TIMED)) == 0);
        expect_until_now(begin);
        spex_metrics_unlock();
        spex_stop();
        expect_until_now(begin);
        assert_int_equal(spex_metrics_until(), spex_metrics_until());
    }
}

/* A record in ten executions. */
TEST(executions_without_a_record_are_counted) {
    for (unsigned c = 0; c < COLLECTIONS; c++) {
        start("1@10");
        count(990);
        settle_metrics(spex_probe_type_ring(SPEX_CNT), 99);
        struct spex_profile profile = profile_take();
        const struct spex_profile_probe *probe = &row_of(&profile, COUNTED, SPEX_CNT)->probe;
        assert_true(probe->count == 990 && probe->weight == 990);
        assert_true(probe->weight_squares == 9900);
        assert_int_equal(probe->records, 99);
        assert_true(probe->lost == 0);
        assert_int_equal(profile.process.produced, 99);
        spex_profile_now_free(&profile);
        spex_stop();
    }
}

/* The collector waits in a sink, which sums up what the records tell. */
static struct {
    uint64_t records, weight, lost, gaps;
    bool waits, may_go_on;
} gate;

static void see_and_wait(const struct spex_record *record, void *context) {
    (void)context;
    gate.records++;
    gate.weight += record->weight;
    gate.lost += record->lost;
    gate.gaps += record->gap;
    spex_store_relaxed(&gate.waits, true);
    while (!spex_load_acquire(&gate.may_go_on))
        sched_yield();
}

/* Executions of which most find the rings full; each record stands for `sampled` of them. */
static void expect_flood(const char *probes, unsigned sampled) {
    memset(&gate, 0, sizeof(gate));
    capture_start(see_and_wait, NULL);
    start(probes);
    uint64_t lost = status_now().lost;
    count(sampled);
    while (!spex_load_relaxed(&gate.waits))
        sched_yield();
    count(FLOOD - sampled);
    spex_store_release(&gate.may_go_on, true);
    lost = settle().lost - lost;
    assert_true(lost > 0);
    uint64_t produced = FLOOD / sampled;
    settle_metrics(spex_probe_type_ring(SPEX_CNT), produced - lost);
    struct spex_profile profile = profile_take();
    assert_int_equal(profile.process.produced, produced);
    assert_int_equal(profile.process.lost, lost);
    assert_int_equal(profile.process.consumed, produced - lost);
    assert_int_equal(spex_profile_type_of(&profile, SPEX_CNT)->lost, lost);
    const struct spex_profile_probe *probe = &row_of(&profile, COUNTED, SPEX_CNT)->probe;
    assert_true(probe->count == FLOOD);
    assert_true(probe->lost == (double)lost);
    assert_int_equal(probe->lost_shared, 0);
    assert_int_equal(probe->records, produced - lost);
    spex_profile_now_free(&profile);
    spex_stop();
    /* Records account for all losses of their rings, beside themselves. */
    assert_int_equal(gate.records, produced - lost);
    assert_int_equal(gate.weight, sampled * gate.records);
    assert_int_equal(gate.lost, lost);
    assert_true(gate.gaps > 0 && gate.gaps <= gate.records);
}

/* All losses of a type that has one probe are this one's. */
TEST(losses_are_those_of_the_collection) {
    for (unsigned c = 0; c < COLLECTIONS; c++) {
        expect_flood("1", 1);
        expect_flood("1@2", 2);
    }
}

static bool refuse(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    (void)batch;
    return false;
}

static void nothing(struct spex_sink *sink) {
    (void)sink;
}

/* By one sink of two. */
TEST(what_a_sink_does_not_take_is_undelivered) {
    for (unsigned c = 1; c <= COLLECTIONS; c++) {
        struct spex_sink sink = {.records = refuse, .finish = nothing, .abandon = nothing};
        spex_sinks_add(&sink);
        start("1");
        count(50 * c);
        settle_metrics(spex_probe_type_ring(SPEX_CNT), 50 * c);
        struct spex_profile profile = profile_take();
        assert_int_equal(profile.process.undelivered, 50 * c);
        expect_in_full(row_of(&profile, COUNTED, SPEX_CNT), 50 * c);
        spex_profile_now_free(&profile);
        spex_stop();
    }
}
