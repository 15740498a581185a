/* SPDX-License-Identifier: MIT */
/* What calibration finds for costs that are known: each step of the loops that it times takes its
 * ticks of a clock that stands still otherwise. Some executions are disturbed, and take longer. */
#include <errno.h>

#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/region.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "probe/calibration.h"
#include "probe/recording.h"
#include "site/cost.h"
#include "site/sampling_rate.h"

/* Ticks of each step, apart from those of the type. */
enum { CLOCK = 20, SKIP = 5, CHOSEN = 7, DRAW = 60, POLLED = 33, ENTER = 3, LEAVE = 2 };
enum { CALLED_MORE = 13 };
enum { PASS = 8, COUNT = 2, CALL = 45, DISTURBED = 3000, CHANGED = 70 };

static struct {
    uint64_t now;
    uint64_t clock, off, record;
    /* The clock shows multiples of this. */
    uint64_t step;
    /* Whether the other steps take their ticks. */
    bool steps;
    /* One in so many executions is disturbed; 0: none is. */
    unsigned disturbed_every;
    /* Ticks that a span reads too much, in turn. */
    unsigned reads[16];
    unsigned read;
    /* What has been executed. */
    uint64_t offs, polled, called, records;
    uint64_t random;
    /* The site that they were of. An execution behind a change of its state takes longer. */
    struct spex_site site;
} clockwork;

/* A probe that is on, so that there are rings. */
COMPILED_ONCE static void probed(void) {
    CNT_PROBE_BEGIN(1, 1);
    CNT_PROBE_END(1);
}

static uint64_t made_ticks(void) {
    clockwork.now += clockwork.clock;
    return clockwork.step ? clockwork.now / clockwork.step * clockwork.step : clockwork.now;
}

static void step(uint64_t ticks) {
    clockwork.now += clockwork.steps ? ticks : 0;
}

/* One in `every` executions; 0: none. */
static void disturb(unsigned every) {
    if (every && random_below(&clockwork.random, every) == 0)
        clockwork.now += random_below(&clockwork.random, DISTURBED);
}

static uint32_t made_sample(struct spex_site *site) {
    uint32_t control = site->control, weight = control ? spex_sample_(site) : 0;
    bool drawn = (control & SPEX_CONTROL_PERIOD_MASK) == SPEX_CONTROL_COUNTDOWN;
    bool called = drawn && SPEX_RATE_KIND(spex_sampling_rate_of(site->index, control)->rate) ==
                               SPEX_SAMPLING_CALLED;
    assert_false(called && weight);
    clockwork.called += called;
    step(control == clockwork.site.control ? 0 : CHANGED);
    clockwork.site = *site;
    /* Of batches in which chance chooses there are fewer, and less than half must be disturbed. */
    disturb(drawn ? 10 * clockwork.disturbed_every : clockwork.disturbed_every);
    clockwork.offs += !control;
    clockwork.polled += control && !(control & SPEX_CONTROL_PERIOD_MASK);
    step(!control                                ? clockwork.off
         : !(control & SPEX_CONTROL_PERIOD_MASK) ? POLLED
         : called                                ? SKIP + CALLED_MORE
         : !weight                               ? SKIP
         : drawn                                 ? CHOSEN + DRAW
                                                 : CHOSEN);
    return weight;
}

static struct spex_span made_span(uint32_t weight) {
    struct spex_span span = {0, weight, 0};
    if (weight)
        span.begin = made_ticks() - clockwork.reads[clockwork.read++ % COUNT_OF(clockwork.reads)];
    return span;
}

/* What the macros' record functions take, and how often they are called. */
static bool made_record(void) {
    clockwork.now += clockwork.record;
    clockwork.records++;
    return true;
}

static struct spex_span made_events(uint32_t weight) {
    return (struct spex_span){made_ticks(), weight, 0};
}

static void made_span_begin(const struct spex_site *site, uint32_t weight) {
    step(ENTER);
    clockwork.site = *site;
    if (weight)
        made_record();
}

static void made_region_enter(struct spex_region_pass *pass) {
    disturb(clockwork.disturbed_every);
    step(pass->site->subsample == 1 ? PASS : PASS + CALL);
    clockwork.site = *pass->site;
}

#define spex_ticks                         made_ticks
#define spex_sample_                       made_sample
#define spex_lat_begin_                    made_span
#define spex_record_count(...)             (made_record(), spex_record_count(__VA_ARGS__))
#define spex_record_ticks(...)             (made_record(), spex_record_ticks(__VA_ARGS__))
#define spex_record_kernel(...)            (made_record(), spex_record_kernel(__VA_ARGS__))
#define spex_record_snapshot(...)          (made_record(), spex_record_snapshot(__VA_ARGS__))
#define spex_events_begin(counter, weight) made_events(weight)
#define spex_record_events(rings, type, counter, site, span)                                       \
    (made_record(), assert_int_equal(type, spex_site_type_(site)), (void)(span))
#define spex_counters_begin(site, span)               ((void)(site), *(span) = (struct spex_counter_span){0})
#define spex_record_counters(rings, site, w, span)    (made_record(), (void)(w), (void)(span))
#define spex_record_span_begin(spans, site, w, key)   made_span_begin(site, w)
#define spex_record_span_end(rings, spans, site, key) step(LEAVE)
#define spex_kernel_enter_(span, kernel)              step(ENTER)
#define spex_kernel_leave_(span)                      step(LEAVE)
#define spex_region_enter_(pass)                      made_region_enter(pass)
#define spex_region_count_(pass)                      step(COUNT)
#define spex_region_leave_(pass)                      step(LEAVE)
#include "probe/calibration.c"
#undef spex_ticks
#undef spex_sample_

/* A type, and how its loop comes to its cost. */
struct type {
    uint32_t type;
    /* Of the site that is measured. */
    unsigned detail;
    /* How often a record reads the clock. */
    unsigned clocks;
    /* Ticks around an execution that is on, whether it makes a record or not. */
    unsigned around;
    /* Whether the loop asks this test while the site is off. */
    bool asks;
    /* Whether there are records in rings, so that those that are drawn are counted. */
    bool counts;
};

enum { GIVEN = 3 };

/* One and the same clockwork for each of the tests. */
static void wind_up(uint64_t clock, uint64_t off, unsigned disturbed_every) {
    memset(&clockwork, 0, sizeof(clockwork));
    clockwork.clock = clock;
    clockwork.off = off;
    clockwork.disturbed_every = disturbed_every;
    clockwork.record = 11;
    clockwork.steps = true;
}

static void expect(const struct type *type) {
    struct spex_cost cost;
    struct spex_thread *thread = spex_thread_attach();
    assert_non_null(thread);
    const struct spex_thread_budget budget = thread->budget;
    const struct spex_random random = thread->random;
    double steps = clockwork.steps ? 1 : 0, skip = steps * (type->around + SKIP);
    double record = steps * (type->around + CHOSEN) +
                    (double)(type->clocks * clockwork.clock + clockwork.record);
    assert_int_equal(spex_cost_get(type->type, &cost), -ENODATA);
    spex_calibrate(type->type, GIVEN);
    assert_int_equal(spex_cost_get(type->type, &cost), 0);
    assert_float_equal(cost.test, type->asks ? steps * (double)clockwork.off : 0, 1e-9);
    assert_float_equal(cost.skip, skip, 1e-9);
    assert_float_equal(cost.record, record, 1e-9);
    assert_float_equal(spex_cost_drawn(type->type), record + (type->counts ? steps * DRAW : 0),
                       1e-9);
    assert_float_equal(spex_cost_polled(), POLLED, 1e-9);
    assert_float_equal(spex_cost_call(), CALLED_MORE, 1e-9);
    assert_int_equal(clockwork.site.index, SPEX_MAX_SITES);
    assert_int_equal(spex_site_type_(&clockwork.site), type->type);
    assert_int_equal(clockwork.site.detail, type->detail);
    assert_memory_equal(&thread->budget, &budget, sizeof(budget));
    assert_memory_equal(&thread->random, &random, sizeof(random));
    /* It is known, and nothing is executed again. */
    uint64_t before = clockwork.now;
    spex_calibrate(type->type, GIVEN);
    assert_true(clockwork.now == before);
}

/* The first type measures what polling and calls cost. Few of the readings are far too large. */
TEST(a_span_of_nothing_reads_what_most_of_them_read) {
    const struct type type = {SPEX_LAT, GIVEN, 2, 0, true, true};
    wind_up(CLOCK, 4, 0);
    for (unsigned r = 0; r < COUNT_OF(clockwork.reads); r++)
        clockwork.reads[r] = r ? 9 : 10000;
    assert_float_equal(spex_cost_empty(SPEX_LAT).ticks, 0, 0);
    expect(&type);
    assert_true(clockwork.polled > 0 && clockwork.called > 0);
    assert_float_equal(spex_cost_empty(SPEX_LAT).ticks, CLOCK + 11 + 9, 1e-9);
    assert_float_equal(spex_cost_empty(SPEX_LAT).error, SPEX_STEP_DEVIATION, 1e-9);
}

/* Where nothing takes time there are as many rounds as there can be. Half of the readings are 2
 * larger; of these some are left out. */
TEST(readings_differ_by_their_deviation) {
    enum { TRIALS = 2 * 16, MOST_ROUNDS = 120, REPETITIONS = 250 };
    const struct type type = {SPEX_TPT, GIVEN, 2, 0, true, true};
    wind_up(1, 0, 0);
    clockwork.steps = false;
    clockwork.record = 0;
    for (unsigned r = 0; r < COUNT_OF(clockwork.reads); r++)
        clockwork.reads[r] = r % 2 ? 6 : 4;
    expect(&type);
    assert_int_equal(clockwork.polled, 0);
    assert_int_equal(clockwork.offs, TRIALS + MOST_ROUNDS * (1 + REPETITIONS));
    struct spex_empty_span empty = spex_cost_empty(SPEX_TPT);
    double more = (empty.ticks - 1 - 4) / 2; /* part of those that read more */
    assert_in_range((int)(100 * more), 40, 49);
    assert_float_equal(empty.error, 2 * sqrt(more * (1 - more)), 1e-9);
}

/* A clock whose step is longer than a span of nothing: most readings are 0, and a few are a step, which
 * are no disturbances. A reading is then as unsure as a difference of two times that are rounded down. */
TEST(a_coarse_clock_tells_no_more_than_its_step) {
    enum { STEP = 400, SPAN = 31, READINGS = 64, MUCH = 20 * STEP };
    uint64_t readings[READINGS], chance = 1;
    double deviation = 0;
    wind_up(CLOCK, 0, 0);
    clockwork.step = STEP;
    for (unsigned r = 0; r < READINGS; r++) {
        uint64_t begin = random_below(&chance, STEP);
        readings[r] = (begin + SPAN) / STEP * STEP + (r % 16 ? 0 : MUCH);
    }
    struct spex_empty_span empty = readings_mean(readings, READINGS);
    for (int difference = -STEP; difference <= STEP; difference++)
        deviation += (double)difference * difference * (STEP - abs(difference)) / STEP / STEP;
    assert_float_equal(empty.error, sqrt(deviation), 0.001 * STEP);
    assert_true(empty.ticks > 0 && fabs(empty.ticks - SPAN) < empty.error);
}

/* What takes long is executed as seldom as can be. */
TEST(what_takes_long_is_executed_a_few_times) {
    enum { TRIALS = 2 * 16, LEAST_ROUNDS = 7, REPETITIONS = 16 };
    const struct type type = {SPEX_CNT, GIVEN, 1, 0, true, true};
    wind_up(CLOCK, 100000, 0);
    expect(&type);
    assert_int_equal(clockwork.offs, TRIALS + LEAST_ROUNDS * (1 + REPETITIONS));
    assert_float_equal(spex_cost_empty(SPEX_CNT).ticks, 0, 0);
}

/* Batches of about 1000 ticks, in rounds for about 250000. */
TEST(what_takes_some_time_is_executed_for_some_time) {
    enum { TRIALS = 2 * 16, TICKS = 1000, IN_ALL = 250000 };
    const struct type type = {SPEX_FLT, GIVEN, 1, 0, true, false};
    wind_up(CLOCK, 10, 0);
    uint64_t repetitions = TICKS / ((CLOCK + 16 * 10) / 16);
    expect(&type);
    uint64_t rounds = (clockwork.offs - TRIALS) / (1 + repetitions);
    assert_int_equal((clockwork.offs - TRIALS) % (1 + repetitions), 0);
    uint64_t ticks = clockwork.now - 2 * clockwork.clock;
    assert_in_range(ticks, IN_ALL, IN_ALL + 2 * ticks / rounds + 20 * TICKS);
}

TEST(each_type_costs_what_its_loop_takes) {
    static const struct type types[] = {
        {SPEX_KERNEL, SPEX_KERNEL_PARAMETERS, 2, ENTER + LEAVE, false, true},
        {SPEX_SNAPSHOT, SPEX_MAX_FIELDS, 1, 0, true, true},
        {SPEX_CTXSW, GIVEN, 1, 0, true, false},
        {SPEX_LLC, GIVEN, 0, 0, true, false},
        {SPEX_PERFCNTR, GIVEN, 0, 0, true, false},
        {SPEX_SPAN, GIVEN, 0, ENTER + LEAVE, false, false},
    };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        wind_up(CLOCK, 4, 400);
        clockwork.record = 20 + t;
        expect(&types[t]);
        assert_true(clockwork.records > 64);
    }
}

TEST(a_region_costs_what_its_passes_take) {
    const struct spex_region_cost none = {0};
    for (unsigned round = 0; round < 2; round++) {
        struct spex_thread *thread = spex_thread_attach();
        const struct spex_random random = thread->random;
        spex_cost_region_set(&none);
        wind_up(CLOCK, 0, 400);
        clockwork.steps = round == 0;
        spex_calibrate_region();
        struct spex_region_cost cost = spex_cost_region();
        assert_float_equal(cost.pass, round == 0 ? PASS + LEAVE : 0.1, 1e-9);
        assert_float_equal(cost.execution, round == 0 ? COUNT : 0, 1e-9);
        assert_float_equal(cost.call, round == 0 ? CALL : 0, 1e-9);
        assert_memory_equal(&thread->random, &random, sizeof(random));
        uint64_t before = clockwork.now;
        spex_calibrate_region();
        assert_true(clockwork.now == before && clockwork.site.index == SPEX_MAX_SITES);
    }
}

/* The first type that is measured measures more than others. */
int main(void) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = "*", .out = "/dev/null", .no_calibration = true};
    if (spex_start(&options) != 0)
        return 1;
    probed();
    int failed = tests_run(NULL, NULL);
    spex_stop();
    return failed;
}
