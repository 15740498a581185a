/* SPDX-License-Identifier: MIT */
/* The whole library under torture: threads that are moved, interrupted and replaced all the while
 * execute probes of all ten types, in their signal handlers too, on rings of a few records.
 * Whatever comes out is whole, comes once, in its order, and the accounts are exact.
 *
 *     torture MODE RING_RECORDS RING_CPUS [--seconds N] [--seed N]
 *
 *     every     each execution makes a record
 *     sampled   one record stands for seven executions
 *     periods   probes are switched on, off and to other periods all the while
 *
 * RING_CPUS 0: every CPU has rings; 1: all but the first share theirs. Seconds: 2 in the set of
 * tests; `scripts/test --torture SECONDS` runs each line of that set so long. In rounds of a
 * second, between which spex is stopped and everything counted, so that memory does not grow with
 * the time. */
#define _GNU_SOURCE
#include "torture.h"

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "probe/contexts.h"
#include "ring/probe_type.h"
#include "ring/rings.h"

_Static_assert((int)TORTURE_TYPES == SPEX_PROBE_TYPES, "every type is tortured");

enum { THREAD_IDS = 1 << 22, PERIOD = 7, PERIOD_MAX = 11 };

/* Values that no probe here can have measured: a difference gone below zero. */
#define TOO_MANY ((uint64_t)1 << 40)

enum mode { EVERY, SAMPLED, PERIODS };

static enum mode mode;

/* Whether all records of a thread and CPU go into one ring. */
static bool ordered;
static bool emulated;

/* What has come out of a life. */
struct captured {
    uint64_t latest[TORTURE_SOURCES][TORTURE_TYPES][TORTURE_CPUS]; /* timestamp */
    struct torture_seen snapshots[TORTURE_SOURCES];
};

static struct captured captured[TORTURE_LIVES];
static uint32_t life_of[THREAD_IDS]; /* number + 1 */
static uint64_t round_begin;         /* ticks */
static uint64_t records;

/* One function a site: a probe id of the handler is its thread's + 10. */
#define ALONE __attribute__((noinline)) static void
#define EXECUTE(who, base)                                                                         \
    ALONE who##_cnt(void) {                                                                        \
        CNT_PROBE_BEGIN(base##0, 1);                                                               \
        CNT_PROBE_END(base##0);                                                                    \
    }                                                                                              \
    ALONE who##_lat(void) {                                                                        \
        LAT_PROBE_BEGIN(base##1, 1);                                                               \
        LAT_PROBE_END(base##1);                                                                    \
    }                                                                                              \
    ALONE who##_tpt(void) {                                                                        \
        TPT_PROBE_BEGIN(base##2, 1);                                                               \
        TPT_PROBE_END(base##2);                                                                    \
    }                                                                                              \
    ALONE who##_snapshot(const uint64_t *v) {                                                      \
        SNAPSHOT_PROBE(base##3, 1, v[0], v[1], v[2], v[3], v[4], v[5]);                            \
    }                                                                                              \
    ALONE who##_llc(void) {                                                                        \
        LLC_PROBE_BEGIN(base##4, 1);                                                               \
        LLC_PROBE_END(base##4);                                                                    \
    }                                                                                              \
    ALONE who##_flt(void) {                                                                        \
        FLT_PROBE_BEGIN(base##5, 1);                                                               \
        FLT_PROBE_END(base##5);                                                                    \
    }                                                                                              \
    ALONE who##_ctxsw(void) {                                                                      \
        CTXSW_PROBE_BEGIN(base##6, 1);                                                             \
        CTXSW_PROBE_END(base##6);                                                                  \
    }                                                                                              \
    ALONE who##_perfcntr(void) {                                                                   \
        PERFCNTR_PROBE_BEGIN(base##7, 1, 0);                                                       \
        PERFCNTR_PROBE_END(base##7);                                                               \
    }                                                                                              \
    ALONE who##_kernel(void) {                                                                     \
        uint64_t nested = spex_context;                                                            \
        KERNEL_PROBE_BEGIN(base##8, 1, nested, ~nested);                                           \
        KERNEL_PROBE_END(base##8);                                                                 \
    }                                                                                              \
    ALONE who##_span_end(uint64_t key) {                                                           \
        SPAN_PROBE_END(base##9, key);                                                              \
    }                                                                                              \
    ALONE who##_span(void) {                                                                       \
        uint64_t key = (uint64_t)torture_self->thread_id << 32 | torture_self->turns[base - 1];    \
        SPAN_PROBE_BEGIN(base##9, 1, key);                                                         \
        who##_span_end(key);                                                                       \
    }

EXECUTE(own, 1)
EXECUTE(handler, 2)

enum { SNAPSHOT_TYPE = 3, FIRST_COUNTER_TYPE = 4, VALUES = 6 };

_Static_assert(SPEX_MAX_FIELDS >= VALUES, "a snapshot here has six values");

static void (*const execute[TORTURE_SOURCES][TORTURE_TYPES])(void) = {
    {own_cnt, own_lat, own_tpt, NULL, own_llc, own_flt, own_ctxsw, own_perfcntr, own_kernel,
     own_span},
    {handler_cnt, handler_lat, handler_tpt, NULL, handler_llc, handler_flt, handler_ctxsw,
     handler_perfcntr, handler_kernel, handler_span},
};

static uint64_t key_of(uint32_t life, enum torture_source source, uint64_t turn) {
    return (uint64_t)life << 32 | (uint64_t)source << 16 | turn;
}

static uint64_t value_of(uint64_t key, unsigned value) {
    return value == 0 ? key : torture_mix(key * VALUES + value);
}

static void execute_snapshot(uint32_t life, enum torture_source source, uint64_t turn) {
    uint64_t values[VALUES];
    for (unsigned v = 0; v < VALUES; v++)
        values[v] = value_of(key_of(life, source, turn), v);
    if (source == TORTURE_OWN)
        own_snapshot(values);
    else
        handler_snapshot(values);
}

/* All types; counters are slow, so most turns go without. */
static void turn(struct torture_life *life, enum torture_source source, uint64_t turn) {
    unsigned types = (life->number + turn) % 8 == 0 ? TORTURE_TYPES : FIRST_COUNTER_TYPE;
    if (turn == 1)
        spex_store_relaxed(&life_of[life->thread_id], life->number + 1);
    for (unsigned t = 0; t < types; t++) {
        life->executed[source][t]++;
        if (t == SNAPSHOT_TYPE)
            execute_snapshot(life->number, source, turn);
        else
            execute[source][t]();
    }
}

static void change_period(uint64_t *seed) {
    static const char *const selections[] = {
        "*@1", "*@3", "*@2,11@11", "*:tpt@5,*:cnt@7,*:llc", "*:snapshot@1", "*@10,*:snapshot@4"};
    if (torture_random(seed, 4) != 0)
        return;
    if (spex_set(selections[torture_random(seed, sizeof(selections) / sizeof(selections[0]))]) <= 0)
        torture_fail("spex_set does not switch probes on");
}

static bool weight_good(uint32_t weight) {
    if (mode == PERIODS)
        return weight >= 1 && weight <= PERIOD_MAX;
    return weight == (mode == SAMPLED ? PERIOD : 1);
}

static void see_snapshot(const struct spex_record *record, uint32_t life,
                         enum torture_source source) {
    uint64_t key = record->fields[0];
    for (unsigned v = 0; v < VALUES; v++)
        if (record->fields[v] != value_of(key, v))
            torture_fail("a torn snapshot");
    if (key != key_of(life, source, key & 0xffff))
        torture_fail("a snapshot of another thread");
    torture_see(&captured[life].snapshots[source], key & 0xffff);
}

static void see_fields(const struct spex_record *record) {
    static const unsigned fields[TORTURE_TYPES] = {1, 1, 2, VALUES, 2, 1, 1, 1, 4, 2};
    unsigned type = spex_probe_type_ring(record->probe_type);
    unsigned measured = spex_probe_type_measured(record->probe_type, record->field_count);
    bool unavailable = record->marks & SPEX_MARK_UNAVAILABLE;
    if (unavailable && type < FIRST_COUNTER_TYPE)
        torture_fail("no values where nothing is counted");
    if (record->field_count != (unavailable ? 0 : fields[type]))
        torture_fail("a record with too many or too few fields");
    if ((record->probe_type & (SPEX_CNT | SPEX_TPT)) && record->fields[0] != record->weight)
        torture_fail("a record whose first field is not its weight");
    if (spex_probe_type_ticks(record->probe_type) &&
        record->fields[spex_probe_type_first_value(record->probe_type)] >
            record->timestamp - round_begin)
        torture_fail("an execution that began before the round");
    for (unsigned f = 0; type >= FIRST_COUNTER_TYPE && f < measured; f++)
        if (record->fields[f] >= TOO_MANY)
            torture_fail("a counter that went backwards");
}

/* It is in a context that ends with it; a handler's may be within its thread's. */
static void see_kernel(const struct spex_record *record) {
    struct spex_context_node node;
    if (!spex_context_node(record->fields[1], &node) || node.kernel != record->probe_id)
        torture_fail("a kernel in another's context");
    if (record->fields[2] != ~record->fields[3])
        torture_fail("a kernel with another's parameters");
}

/* Timestamps of one site in one thread and ring: each record has a later one than that before. */
static void see_time(const struct spex_record *record, uint32_t life, enum torture_source source) {
    unsigned type = spex_probe_type_ring(record->probe_type);
    uint64_t *latest = &captured[life].latest[source][type][torture_cpu(record->cpu_id)];
    if (record->timestamp < round_begin || record->timestamp > spex_ticks())
        torture_fail("a record of the past or the future");
    /* An emulator's tick may be so long that two executions have the same time. */
    if (ordered && (record->timestamp < *latest || (record->timestamp == *latest && !emulated)))
        torture_fail("a record twice or out of order");
    *latest = record->timestamp;
}

static void see(const struct spex_record *record, void *context) {
    unsigned type = record->probe_id % 10;
    unsigned source = record->probe_id / 10 - 1;
    (void)context;
    if (type >= TORTURE_TYPES || source >= TORTURE_SOURCES || record->probe_type != 1u << type)
        torture_fail("a record of no probe");
    if (record->thread_id >= THREAD_IDS || !spex_load_relaxed(&life_of[record->thread_id]))
        torture_fail("a record of no thread");
    if (!weight_good(record->weight))
        torture_fail("a record whose weight is not the period");
    if (record->marks >> SPEX_MARKS)
        torture_fail("a record with unknown marks");
    uint32_t life = spex_load_relaxed(&life_of[record->thread_id]) - 1;
    see_fields(record);
    see_time(record, life, source);
    if (type == SNAPSHOT_TYPE)
        see_snapshot(record, life, source);
    if (record->probe_type == SPEX_KERNEL)
        see_kernel(record);
    records++;
}

/* Over all rounds so far. */
static void check(uint64_t executed) {
    struct spex_status now = {.size = sizeof(now)};
    /* Executions that wait in threads' states for their record, or that came early for it. */
    static uint64_t left_max;
    spex_status_get(&now);
    printf("%llu executed: %llu produced, %llu consumed, %llu lost, %llu unrecorded\n",
           (unsigned long long)executed, (unsigned long long)now.produced,
           (unsigned long long)now.consumed, (unsigned long long)now.lost,
           (unsigned long long)now.unrecorded);
    left_max += (uint64_t)torture_lives_count * TORTURE_SOURCES * TORTURE_TYPES * (PERIOD - 1);
    if (now.pending || now.undelivered || now.produced != now.consumed + now.lost)
        torture_fail("produced is not consumed + lost");
    if (now.consumed != records)
        torture_fail("consumed is not what the sink was given");
    if (now.produced == 0 || now.produced > executed)
        torture_fail("more records than executions, or none");
    if (mode == EVERY && now.produced + now.unrecorded != executed)
        torture_fail("produced is not executed");
    if (mode == SAMPLED && (now.produced * PERIOD + now.unrecorded > executed + left_max ||
                            now.produced * PERIOD + now.unrecorded + left_max < executed))
        torture_fail("produced is not a seventh of executed");
}

static void forget_round(void) {
    for (uint32_t l = 0; l < torture_lives_count; l++) {
        captured[l] = (struct captured){0};
        life_of[torture_lives[l].thread_id] = 0;
    }
}

static enum mode mode_named(const char *name) {
    if (strcmp(name, "every") == 0)
        return EVERY;
    if (strcmp(name, "sampled") == 0)
        return SAMPLED;
    if (strcmp(name, "periods") == 0)
        return PERIODS;
    torture_fail("an unknown mode");
    return EVERY;
}

int main(int argc, char **argv) {
    uint64_t seconds, seed, executed = 0;
    if (argc < 4)
        return 2;
    mode = mode_named(argv[1]);
    torture_begin_all(argc, argv, 4, &seconds, &seed);
    torture = (struct torture){.turn = turn, .tick = mode == PERIODS ? change_period : NULL};
    const struct spex_options options = {
        .size = sizeof(options),
        .out = "/dev/null",
        .probes = mode == SAMPLED ? "*@7" : "*",
        .collectors = 1 + (unsigned)torture_random(&seed, 2),
        .ring_records = (unsigned)strtoul(argv[2], NULL, 10),
        .batch_records = 1 + (unsigned)torture_random(&seed, 64),
        .ring_cpus = (unsigned)strtoul(argv[3], NULL, 10),
        .no_calibration = true,
    };
    SET_PERFCNTR_NAME(0, "perf::TASK-CLOCK"); /* counted without the processor's help */
    uint64_t end = torture_now_ms() + seconds * 1000;
    while (torture_now_ms() < end) {
        round_begin = spex_ticks();
        capture_start(see, NULL);
        if (spex_start(&options) != 0)
            torture_fail("spex_start failed");
        emulated = getenv("TEST_EMULATED") != NULL;
        ordered = options.ring_cpus == 0 || spex_rings.commit == SPEX_COMMIT_ATOMIC;
        torture_round(&seed);
        spex_stop();
        executed += torture_executed();
        check(executed);
        forget_round();
    }
    return 0;
}
