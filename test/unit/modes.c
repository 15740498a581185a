/* SPDX-License-Identifier: MIT */
/* What becomes of one probe by a decision, with costs and times that the test tells: periods,
 * slices and the pauses between them to the digit. */
#include "rate/modes.h"

#include <math.h>
#include <string.h>

#include <spex/ticks.h>

#include "../check.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "rate/accounts.h"
#include "rate/controller.h"
#include "rate/experiments.h"
#include "ring/doorbell.h"
#include "spans/open_spans.h"

enum { PROBE, SNAPSHOT, GROUP, MEMBER, SPAN, SITES };

#define NS 1e-9

struct spex_controller spex_controller;

static struct spex_controlled probes[SITES];
static struct spex_controlled *const probe = &probes[PROBE];
static uint64_t executions[SITES];

static const struct spex_site_info infos[SITES] = {
    [PROBE] = {.probe = PROBE, .probe_type = SPEX_LAT},
    [SNAPSHOT] = {.probe = SNAPSHOT, .probe_type = SPEX_SNAPSHOT},
    [GROUP] = {.probe = SPEX_MAX_SITES},
    [MEMBER] = {.probe = MEMBER, .probe_type = SPEX_LAT},
    [SPAN] = {.probe = SPAN, .probe_type = SPEX_SPAN},
};

#include "made_sites.h"

static struct {
    /* What costs are, by experiments and carefully. */
    bool known;
    double skip, report, call, careful_skip, careful_report;
    /* The last period that a probe was given, and how often the doorbell rang. */
    uint32_t throttled, period;
    unsigned rung, slices, collectors;
    bool on;
    /* Of slices: what they are to tell, and what they were told. */
    struct spex_slices_reading reading;
    struct spex_held_executions held;
    struct spex_speedup speedup;
    double count;
    struct spex_slices_time passed;
    unsigned noted;
    /* Slices that the metrics were told of: the last one's probe and scale. */
    unsigned metrics;
    uint32_t metrics_first;
    double scale;
    /* Times that the table of open spans was renewed. */
    unsigned renewed;
} told;

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    assert_true(until <= spex_ticks());
    return (struct spex_probe_state){.on_ticks = 100 + first, .held_ticks = 200 + first};
}

double spex_metrics_in_regions(uint32_t first) {
    return 0.5 + first;
}

void spex_open_spans_renew(void) {
    told.renewed++;
}

void spex_metrics_slice(uint32_t first, double scale) {
    told.metrics++;
    told.metrics_first = first;
    told.scale = scale;
}

void spex_probe_throttle(uint32_t first, uint32_t period) {
    told.throttled = first;
    told.period = period;
}

void spex_doorbell_ring(void) {
    told.rung++;
}

unsigned spex_collectors_running(void) {
    return told.collectors;
}

double spex_accounts_call_cost(void) {
    return told.call;
}

bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report) {
    (void)first;
    *skip = told.skip;
    *report = told.report;
    return told.known;
}

bool spex_accounts_careful_costs(uint32_t first, double *skip, double *report) {
    (void)first;
    *skip = told.careful_skip;
    *report = told.careful_report;
    return told.known;
}

void spex_experiments_slice(uint32_t first, bool on) {
    /* The probe's state is still that of the time that is over. */
    assert_true(!on || probes[first].period == SPEX_SITE_HELD);
    assert_true(on || probes[first].period != SPEX_SITE_HELD);
    told.slices++;
    told.on = on;
}

struct spex_slices_reading spex_slices_read(const struct spex_slices *slices, double count,
                                            const struct spex_slices_time *passed) {
    (void)slices;
    told.count = count;
    told.passed = *passed;
    return told.reading;
}

double spex_accounts_decision_cost(void) {
    return spex_controller.deciding;
}

uint32_t spex_groups_next(uint32_t group, uint32_t index) {
    assert_int_equal(group, GROUP);
    return index <= MEMBER ? MEMBER : SITES;
}

double spex_groups_recorded(uint32_t index) {
    return index == GROUP ? 0.25 : 1;
}

void spex_slices_note(struct spex_slices *slices, const struct spex_slices_reading *now,
                      const struct spex_speedup *speedup) {
    assert_memory_equal(now, &told.reading, sizeof(*now));
    told.speedup = *speedup;
    slices->slices++;
    told.noted++;
}

struct spex_held_executions spex_slices_estimate(const struct spex_slices *slices,
                                                 const struct spex_slices_reading *now,
                                                 const struct spex_speedup *speedup) {
    (void)slices;
    assert_memory_equal(now, &told.reading, sizeof(*now));
    told.speedup = *speedup;
    return told.held;
}

/* 2 % of two CPUs, so that slices may have 36 ms a second. */
static int setup(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    memset(probes, 0, sizeof(probes));
    memset(&told, 0, sizeof(told));
    spex_controller.probes = probes;
    spex_controller.executions = executions;
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 2;
    spex_controller.now = 10;
    spex_controller.slice_due = INFINITY;
    spex_random_seed(&spex_controller.random, 1, 0);
    probes[GROUP].grouped.group = probes[MEMBER].grouped.group = GROUP + 1;
    told.known = true;
    told.collectors = 2;
    told.skip = 50 * NS;
    told.report = 200 * NS;
    told.careful_skip = 100 * NS;
    told.careful_report = 400 * NS;
    return 0;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* ---- decisions ---- */

static void apply(uint32_t first, enum spex_rate_mode mode, double frequency, double decided) {
    const struct spex_rate_class class = {.frequency = frequency};
    const struct spex_rate_decision decision = {mode, decided, "the policy's reason"};
    spex_mode_apply(first, &class, &decision);
    assert_int_equal(told.throttled, first);
    assert_int_equal(told.period, probes[first].period);
}

/* A whole period may be a twentieth shorter than it should be, and a seventh longer. */
static void periods_follow_decisions(void **state) {
    static const struct {
        uint32_t before;
        double frequency, decided;
        uint32_t after;
    } cases[] = {
        {0, 1000, 1000, 0},     {1, 1000, 1000, 1},
        {2, 1000, 1000, 0},     {0, 1000, 1001, 0},
        {0, 1000, 100, 10},     {0, 1040, 100, 10},
        {0, 1041, 100, 11},     {0, 104, 100, 0},
        {0, 106, 100, 2},       {10, 1049, 100, 10},
        {10, 1051, 100, 11},    {10, 890, 100, 10},
        {10, 830, 100, 8},      {10, 100, 100, 0},
        {3, 290, 100, 3},       {SPEX_SITE_HELD, 300, 100, 3},
        {0, 1000, 0, 16131937}, {0, 1e30, 1, 16131937},
        {0, 1e7, 1, 9615385},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        *probe = (struct spex_controlled){.period = cases[c].before,
                                          .held.length = 1,
                                          .polled.length = 1,
                                          .tried = 1,
                                          .sliced.cpu_ns = 1};
        apply(PROBE, SPEX_RATE_SAMPLED, cases[c].frequency, cases[c].decided);
        if (probe->period != cases[c].after)
            fail_msg("%zu: %u instead of %u", c, probe->period, cases[c].after);
        assert_true(probe->held.length == 0 && probe->polled.length == 0 && probe->tried == 0);
        assert_int_equal(probe->sliced.cpu_ns, 0);
        assert_string_equal(probe->why, "the policy's reason");
    }
    assert_int_equal(told.rung, 1); /* that of the one that was held off */
    assert_int_equal(told.slices, 0);
}

/* All that are wanted is all. */
static void what_is_wanted_is_recorded_in_full(void **state) {
    const struct spex_rate_class class = {.frequency = 1000, .wanted = 200};
    const struct spex_rate_decision decision = {SPEX_RATE_SAMPLED, 200, "as wanted"};
    (void)state;
    probe->period = 5;
    spex_mode_apply(PROBE, &class, &decision);
    assert_int_equal(probe->period, 0);
}

/* For a second, and for twice as long each time, up to 16. */
static void polled_probes_are_counted_now_and_then(void **state) {
    static const double lengths[] = {1, 2, 4, 8, 16, 16};
    (void)state;
    probe->frequency = 500;
    for (size_t l = 0; l < COUNT_OF(lengths); l++) {
        probe->held.length = 3;
        apply(PROBE, SPEX_RATE_PROBED, 500, 0);
        assert_int_equal(probe->period, SPEX_SITE_POLLED);
        assert_true(probe->polled.length == lengths[l]);
        assert_true(probe->polled.until == 10 + lengths[l]);
        assert_true(probe->held.length == 0 && probe->frequency_held == 500);
        assert_string_equal(probe->why, "the policy's reason");
        apply(PROBE, SPEX_RATE_PROBED, 500, 0); /* which changes nothing */
        apply(PROBE, SPEX_RATE_SAMPLED, 500, 100);
        assert_int_equal(probe->period, SPEX_SITE_POLLED);
        assert_true(probe->polled.length == lengths[l]);
        spex_controller.trial_due = 0;
        spex_mode_count_again(PROBE, probe);
        assert_int_equal(probe->period, 5);
        assert_int_equal(told.period, 5);
        assert_true(probe->trying && spex_controller.trying && spex_controller.trial_due == 10);
        assert_non_null(strstr(probe->why, "for a moment"));
    }
    probe->trying = true;
    spex_mode_record_all(PROBE, probe);
    assert_true(probe->period == 0 && told.period == 0 && !probe->trying);
    assert_non_null(strstr(probe->why, "hardly executes"));
    assert_int_equal(told.rung, 0);
}

static void what_cannot_be_polled_is_held(void **state) {
    (void)state;
    apply(SNAPSHOT, SPEX_RATE_PROBED, 500, 0);
    assert_int_equal(probes[SNAPSHOT].period, SPEX_SITE_HELD);
    assert_non_null(strstr(probes[SNAPSHOT].why, "cannot be polled"));
    apply(PROBE, SPEX_RATE_OFF, 500, 0);
    assert_int_equal(probe->period, SPEX_SITE_HELD);
    assert_string_equal(probe->why, "the policy's reason");
}

/* ---- slices ---- */

/* What collectors take without records is not for slices, but for a tenth of all. */
static void slices_have_their_part_of_the_budget(void **state) {
    (void)state;
    assert_true(spex_modes_reserved() == 0);
    assert_false(spex_modes_note_sliced(0.035));
    expect_near(spex_modes_reserved(), 0.036);
    assert_true(spex_modes_note_sliced(0.0011)); /* of the one that is left */
    assert_true(spex_controller.sliced == 2 && spex_controller.dear == 1);
    expect_near(spex_controller.cheap, 0.035);
    assert_false(spex_modes_note_sliced(0.0004)); /* half of it */
    assert_true(spex_modes_note_sliced(0.0004));
    expect_near(spex_controller.cheap, 0.0354);
    /* Those that are recorded have what they demand, or an equal part. */
    spex_controller.recorded = 4;
    spex_controller.demand = 0.01;
    expect_near(spex_modes_reserved(), 0.026);
    spex_controller.demand = 0.02;
    expect_near(spex_modes_reserved(), 0.018);
    spex_controller.recorded = 12;
    expect_near(spex_modes_reserved(), 0.016);
    spex_controller.demand = 0;
    spex_controller.collecting.rest = 0.03;
    expect_near(spex_modes_reserved(), 0.009);
    spex_controller.collecting.rest = 0.039;
    expect_near(spex_modes_reserved(), 0.0036);
}

/* Until executions are counted again, those of a probe that is held off are not expected. */
static void what_is_held_off_is_no_longer_expected(void **state) {
    (void)state;
    probe->fresh = 1e5;
    spex_controller.skipping = 0.007;
    spex_mode_hold(PROBE, probe, "for the test");
    expect_near(spex_controller.skipping, 0.002);
    probe->period = 0;
    spex_mode_hold(PROBE, probe, "for the test");
    assert_true(spex_controller.skipping == 0);
}

/* The factor by which the next pause is random: 0.5 to 1.5. */
static double next_chance(void) {
    struct spex_random random = spex_controller.random;
    return 0.5 + (double)(spex_random_next(&random) >> 11) * 0x1p-53;
}

/* Holds the probe off, alone in slices. Returns the pause. */
static double hold(void) {
    spex_controller.sliced = spex_controller.dear = 0;
    spex_controller.cheap = 0;
    spex_controller.slice_due = INFINITY;
    probe->period = probe->period == SPEX_SITE_HELD ? 0 : probe->period;
    spex_mode_hold(PROBE, probe, "a reason");
    expect_near(probe->held.until, 10 + probe->held.length);
    assert_true(spex_controller.slice_due == probe->held.until);
    return probe->held.length;
}

static void held_probes_leave_the_others(void **state) {
    (void)state;
    spex_controller.recorded = 1;
    spex_controller.demand = 5;
    probe->demand = 2;
    probe->frequency = 70;
    probe->frequency_held = 50;
    probe->period = 9;
    hold();
    assert_true(told.slices == 1 && !told.on);
    assert_true(spex_controller.recorded == 0 && spex_controller.demand == 3);
    assert_true(probe->frequency_held == 70 && probe->last_period == 9);
    assert_int_equal(probe->period, SPEX_SITE_HELD);
    assert_true(spex_controller.holding);
    assert_string_equal(probe->why, "a reason");
    spex_mode_hold(SNAPSHOT, &probes[SNAPSHOT], "later");
    hold();
    assert_int_equal(spex_controller.recorded, 0);
}

/* A million executions a second take half of a second, as far as is known carefully, and likely a
 * quarter. */
static void pauses_make_slices_cost_their_part(void **state) {
    (void)state;
    probe->factor = 1;
    probe->fresh = 1e6;
    probe->frequency = 2e6;
    double chance = next_chance(), dearer = 0.5 / 0.036 - 1, likely = 0.25 / 0.036 - 1;
    expect_near(hold(), 0.002 * chance * likely);
    expect_near(probe->taken, 0.25);
    expect_near(probe->taken_mean, 0.5);
    expect_near(probe->may_take, 0.5);
    assert_true(probe->slice == 0.002 && probe->longer == 1);
    /* After a slice by its length; as long as there is caution no shorter than that. */
    probe->tried = 9.99;
    chance = next_chance();
    expect_near(hold(), 0.01 * chance * likely);
    expect_near(probe->longer, 5);
    probe->tried = 9.998;
    probe->since = 9.5; /* 0.55 s are left */
    chance = next_chance();
    expect_near(hold(), 0.002 * chance * dearer);
    expect_near(probe->longer, 5 + (1 - 5) * 0.2);
    probe->tried = 9.9;
    chance = next_chance();
    expect_near(hold(), fmin(0.1 * chance * dearer, fmax(0.1 * chance * likely, 0.55)));
    probe->since = 9.96;
    probe->tried = 9;
    chance = next_chance();
    expect_near(hold(), chance * fmin(dearer, fmax(likely, 1.01 / chance)));
    /* Records cost less with a longer period. */
    probe->since = 0;
    probe->tried = 9.99;
    probe->period = 4;
    chance = next_chance();
    expect_near(hold(), 0.01 * chance * (1e6 * 100 * NS / 0.036 - 1));
    expect_near(probe->taken, 1e6 * 100 * NS);
}

static void debts_make_pauses_longer(void **state) {
    (void)state;
    probe->fresh = 1e6;
    spex_controller.surprise = 0.04 * 3;
    expect_near(hold(), 3);
    spex_controller.budget.tokens = -0.04 * 5;
    expect_near(hold(), 5);
    probe->tried = 9.998; /* what surprised has been paid */
    spex_controller.budget.tokens = -0.04 * 2;
    expect_near(hold(), 2);
    spex_controller.budget.tokens = -0.04 * 65;
    assert_true(hold() == 64);
    /* Those of several do not end at once. */
    spex_controller.budget.tokens = -0.04 * 20;
    double chance = next_chance() - 0.5;
    probe->period = 0;
    spex_mode_hold(PROBE, probe, "");
    expect_near(probe->held.length, 20 * (1 + chance));
    spex_controller.budget.tokens = 0;
    probe->fresh = 1; /* it costs nothing any more */
    assert_true(hold() == 0.002 && probe->slice == 0.05);
    probe->fresh = 0.036 * 3 / (500 * NS);
    hold();
    expect_near(probe->slice, 0.01);
}

/* Where decisions are dear, so that the two of a slice take 15 % of the budget. */
static void dear_decisions_make_slices_longer(void **state) {
    static const struct {
        double deciding, slice;
    } cases[] = {{1e-6, 0.002}, {0.0003, 0.01}, {0.0005, 0.1 / 6}, {0.01, 0.02}};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_controller.deciding = cases[c].deciding;
        probe->factor = 1;
        probe->period = 0;
        probe->fresh = 0.036 * 11 / (500 * NS);
        hold();
        expect_near(probe->slice, cases[c].slice);
        probe->factor = 0; /* short ones until they have told what it costs */
        hold();
        expect_near(probe->slice, 0.002);
    }
}

/* As if it were four times as dear as likely, and no dearer than it is taken to be carefully. */
static void what_nothing_is_found_of_has_longer_pauses(void **state) {
    static const struct {
        double careful, factor, found, most, taken;
    } cases[] = {{1600, 0, 0, 0, 4}, {1600, 1, 0, 0, 1}, {1600, 0, 1, 0, 4}, {1600, 0, 2, 0, 2},
                 {1600, 0, 5, 0, 1}, {400, 0, 0, 0, 2},  {1600, 0, 0, 7, 8}, {1600, 1, 0, 7, 1}};
    (void)state;
    told.skip = 200 * NS;
    told.report = told.careful_report = 0;
    probe->fresh = probe->frequency = 1e6;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        told.careful_skip = cases[c].careful * NS;
        probe->factor = cases[c].factor;
        probe->most = cases[c].most;
        spex_controller.found = cases[c].found;
        probe->period = 0;
        double chance = next_chance();
        expect_near(hold(), 0.002 * chance * (cases[c].taken * 0.2 / 0.036 - 1));
        expect_near(probe->taken, 0.2);
    }
}

/* Slices of others leave an equal part at least. */
static void slices_share(void **state) {
    (void)state;
    probe->factor = 1;
    probe->fresh = 1e6;
    assert_true(spex_modes_note_sliced(0.2));
    assert_false(spex_modes_note_sliced(0.003));
    double chance = next_chance();
    spex_mode_hold(PROBE, probe, "");
    expect_near(probe->held.length, 0.002 * chance * (0.25 / ((0.036 - 0.003) / 2) - 1));
    probe->period = 0;
    probe->fresh = 0.004 / (500 * NS);
    assert_int_equal(spex_controller.dear, 2);
    spex_mode_hold(PROBE, probe, "");
    assert_int_equal(spex_controller.dear, 2);
    assert_true(probe->held.length == 0.002);
    expect_near(spex_controller.cheap, 0.007);
}

/* Without the probe it would be more than three times as fast, if that costs twice what is known:
 * all executions of the first second may have made records. */
static void a_program_may_be_far_faster_without_its_probe(void **state) {
    static const struct {
        double now, frequency, held;
        uint32_t period;
        bool far;
    } cases[] = {
        {10, 1.28e7, 0, 100, false}, {10, 1.29e7, 0, 100, true},   {10, 2.66e6, 0, 0, false},
        {10, 2.67e6, 0, 0, true},    {0.9, 2.66e6, 0, 100, false}, {0.9, 2.67e6, 0, 100, true},
        {10, 1, 2.67e6, 0, true},    {10, 0, 0, 0, true},
    };
    (void)state;
    told.held.margin = -1;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_controller.now = cases[c].now;
        probe->frequency = cases[c].frequency;
        probe->frequency_held = cases[c].held;
        probe->period = cases[c].period;
        const struct spex_slices_time passed = {5, 700};
        double margin = spex_controller_held(PROBE, 123, &passed).margin;
        if (margin != (cases[c].far ? 2 * 700 : -1))
            fail_msg("case %zu: %g", c, margin);
    }
}

/* Begins a slice with this planned length. Returns its period. */
static uint32_t slice_begin(double frequency, double seconds) {
    probe->period = SPEX_SITE_HELD;
    probe->held.until = 9;
    probe->frequency = frequency;
    probe->slice = seconds;
    probe->trying = false;
    spex_controller.trial_due = INFINITY;
    apply(PROBE, SPEX_RATE_SAMPLED, frequency, 0);
    assert_true(told.on && probe->trying && spex_controller.trying);
    assert_true(probe->held.until == 0 && probe->tried == 10 && spex_controller.trial_due == 10);
    assert_non_null(strstr(probe->why, "for a slice of the time"));
    return probe->period;
}

/* A hundred records a second, or more if they cost a tenth of what executions do, and no more than
 * the ring holds. */
static void slices_have_few_records(void **state) {
    (void)state;
    assert_int_equal(slice_begin(1e5, 0.01), 40);
    assert_int_equal(told.rung, 1);
    assert_int_equal(told.slices, 1);
    /* The only collector has decided, and does not sleep. */
    told.collectors = 1;
    assert_int_equal(slice_begin(1e5, 0.01), 40);
    assert_int_equal(told.rung, 1);
    assert_int_equal(slice_begin(2000, 0.01), 20);
    assert_int_equal(slice_begin(1e8, 0.01), 1000);
    assert_int_equal(slice_begin(300, 0.01), 4); /* as much as executions at most */
    spex_controller.collecting.record = 440 * NS;
    assert_int_equal(slice_begin(1e5, 0.01), 130);
    assert_int_equal(slice_begin(300, 0.01), 13);
    spex_controller.collecting.record = 0;
    probe->longer = 3; /* than planned, lately */
    assert_int_equal(slice_begin(1e8, 0.01), 3000);
    probe->longer = 0.5;
    assert_int_equal(slice_begin(1e8, 0.01), 1000);
    told.report = 0;
    assert_int_equal(slice_begin(2e5, 0.001), 1);
    told.skip = 0;
    assert_int_equal(slice_begin(2e5, 0.001), 1924);
    told.skip = 1e-12 * NS; /* next to nothing */
    told.report = 200 * NS;
    assert_int_equal(slice_begin(2e5, 0.001), SPEX_CONTROL_PERIOD_MAX);
    told.skip = 50 * NS;
    told.known = false;
    assert_int_equal(slice_begin(2e5, 0.001), 1924);
}

/* An execution costs 50 ns, and by a call 200 more, times the factor. */
static void slices_with_calls_are_shorter(void **state) {
    (void)state;
    probe->sliced.called = true;
    told.call = 200 * NS;
    assert_int_equal(slice_begin(1e6, 0.05), SPEX_SITE_CALLED);
    expect_near(probe->slice, 0.01);
    probe->factor = 0.25;
    assert_int_equal(slice_begin(1e6, 0.05), SPEX_SITE_CALLED);
    expect_near(probe->slice, 0.025);
    assert_int_equal(slice_begin(1e8, 0.003), SPEX_SITE_CALLED);
    assert_true(probe->slice == 0.002);
    told.call = 0; /* not known */
    assert_int_equal(slice_begin(1e5, 0.01), 40);
    assert_true(probe->slice == 0.01);
    told.call = 200 * NS;
    told.skip = 0;
    assert_int_equal(slice_begin(2e5, 0.001), 1924);
}

/* A second of hold-off before slices of 10 ms. */
static void records_of_slices_stand_for_the_time_without(void **state) {
    (void)state;
    probe->held.length = 0.5; /* before its end at 9, and 1 s late */
    slice_begin(1e5, 0.01);
    assert_true(told.metrics == 1 && told.metrics_first == PROBE);
    expect_near(told.scale, 1 + 1.5 / 0.01);
    probe->held.length = 0;
    probe->longer = 4;
    slice_begin(1e5, 0.01);
    expect_near(told.scale, 1 + 1 / 0.04);
    probe->sliced.called = true; /* without records: the next slice stands for it, too */
    told.call = 200 * NS;
    slice_begin(1e6, 0.01); /* of 2 ms */
    assert_int_equal(told.metrics, 2);
    probe->sliced.called = false;
    slice_begin(1e5, 0.01);
    assert_int_equal(told.metrics, 3);
    expect_near(told.scale, 1 + (1 + 4 * 0.002 + 1) / 0.04);
    apply(PROBE, SPEX_RATE_SAMPLED, 1000, 1000); /* for good */
    assert_int_equal(told.metrics, 4);
    assert_true(told.scale == 1);
    apply(PROBE, SPEX_RATE_SAMPLED, 1000, 1000);
    assert_int_equal(told.metrics, 4);
}

static void records_of_a_group_are_those_of_its_probes(void **state) {
    (void)state;
    probes[GROUP].tried = 1;
    spex_mode_leave_slices(GROUP, &probes[GROUP]);
    assert_true(told.metrics == 1 && told.metrics_first == MEMBER);
    assert_true(told.scale == 1 && probes[GROUP].tried == 0);
}

/* ---- hold-offs ---- */

static struct spex_held_executions held_of(uint32_t first) {
    static const struct spex_slices_time passed = {5, 700};
    struct spex_held_executions held = spex_controller_held(first, 123, &passed);
    assert_true(told.count == 123 && told.passed.on == 5 && told.passed.held == 700);
    return held;
}

static void expect_speedup(double likely, double most) {
    expect_near(told.speedup.least, 1);
    expect_near(told.speedup.likely, likely);
    expect_near(told.speedup.most, most);
}

/* By the share of the program's CPU time that the probe takes; the most by twice that, of one CPU
 * at least. */
static void hold_offs_make_the_program_faster(void **state) {
    (void)state;
    probe->frequency = 1e6;
    probe->selected = 1;
    held_of(PROBE); /* 0.25 s a second, of two CPUs */
    expect_speedup(1 / (1 - 0.125), 1 / (1 - 0.5));
    probe->slices.passed.on = 10;
    probe->slices.used.on = 5;
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.5), 1 / (1 - 0.9));
    probe->slices.used.on = 0.1; /* a twentieth of a CPU at least */
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.9), 1 / (1 - 0.9));
    probe->slices.used.on = 100;
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.025), 1 / (1 - 0.5));
    probe->selected = 0; /* it is off */
    probe->taken_mean = 0.5;
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.05), 1 / (1 - 0.9));
    probe->selected = 1;
    probe->held.until = 11;
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.05), 1 / (1 - 0.9));
    /* By executions in CPU time, where there are some. */
    told.reading = (struct spex_slices_reading){.count = 1000, .on = 4e6, .held = 1};
    spex_controller.tick_rate = 1e9;
    held_of(PROBE);
    expect_speedup(1 / (1 - 0.125), 1 / (1 - 0.9));
    probe->held.until = 0;
    probe->slices.used.on = 10;
    held_of(PROBE);
    expect_speedup(1 / (1 - 1000 / 4e6 * 1e9 * 250 * NS), 1 / (1 - 2 * 0.0625));
    probe->frequency = 0;
    held_of(PROBE);
    expect_speedup(1, 1);
}

/* Those of a group go by the group's frequency and cost. */
static void members_have_what_their_group_has(void **state) {
    (void)state;
    probes[GROUP].frequency = 1e6;
    probes[GROUP].selected = 1;
    probes[GROUP].last_period = 8;
    told.reading = (struct spex_slices_reading){.count = 1000, .on = 4e6, .held = 1e6};
    spex_controller.tick_rate = 1e9;
    told.held = (struct spex_held_executions){50, 7};
    struct spex_held_executions held = held_of(MEMBER);
    expect_speedup(1 / (1 - 0.125), 1 / (1 - 0.5));
    assert_true(held.count == 50);
    expect_near(held.margin, 7 + 3 * 8 / 4.0);
    probes[GROUP].last_period = 0;
    expect_near(held_of(MEMBER).margin, 7 + 3 / 4.0);
}

/* No span from before is open when a slice begins. */
static void slices_of_spans_begin_with_a_new_table(void **state) {
    (void)state;
    slice_begin(1e5, 0.01);
    assert_int_equal(told.renewed, 0);
    probes[SPAN] = (struct spex_controlled){
        .period = SPEX_SITE_HELD, .held.until = 9, .frequency = 1e5, .slice = 0.01};
    apply(SPAN, SPEX_RATE_SAMPLED, 1e5, 0);
    assert_int_equal(told.renewed, 1);
    apply(SPAN, SPEX_RATE_SAMPLED, 1e5, 1e5);
    assert_int_equal(told.renewed, 1);
}

static void what_slices_do_not_tell_may_be_anything(void **state) {
    (void)state;
    told.held = (struct spex_held_executions){50, 7};
    told.reading = (struct spex_slices_reading){.count = 1000, .on = 4, .held = 2};
    probe->last_period = 100; /* of records that stand for themselves */
    struct spex_held_executions held = held_of(PROBE);
    assert_true(held.count == 50);
    expect_near(held.margin, 7 + 3 / 2.0);
    told.held.margin = -1;
    probe->frequency = 1e6;
    held = held_of(PROBE);
    assert_true(held.count == 50 && held.margin == -1); /* never for want of the budget */
    probe->tried = 1;
    held = held_of(PROBE);
    assert_true(held.count == 0 && held.margin == 2 * 700);
    probe->tried = 0;
    probe->held.until = 1;
    spex_controller.cpus = 0.5;
    assert_true(held_of(PROBE).margin == 700);
    probe->held.until = 0;
    probe->slices.slices = 1;
    assert_true(held_of(PROBE).margin == 700);
    told.held.margin = 7;
    told.reading.on = 0;
    assert_true(held_of(PROBE).margin == 700);
    spex_controller.probes = NULL;
    const struct spex_slices_time passed = {5, 700};
    held = spex_controller_held(PROBE, 123, &passed);
    assert_true(held.count == 0 && held.margin < 0);
}

static void slices_are_noted(void **state) {
    (void)state;
    executions[PROBE] = 40;
    executions[MEMBER] = 30;
    spex_modes_note_slice(PROBE);
    assert_true(told.noted == 1 && probe->slices.slices == 1);
    assert_true(told.count == 40.5);
    assert_true(told.passed.on == 100 && told.passed.held == 200);
    spex_modes_note_slice(GROUP); /* of each of its probes */
    assert_true(told.noted == 2 && probes[MEMBER].slices.slices == 1);
    assert_true(told.count == 30 + 0.5 + MEMBER);
    assert_true(told.passed.on == 100 + MEMBER && told.passed.held == 200 + MEMBER);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(periods_follow_decisions, setup),
        cmocka_unit_test_setup(what_is_wanted_is_recorded_in_full, setup),
        cmocka_unit_test_setup(polled_probes_are_counted_now_and_then, setup),
        cmocka_unit_test_setup(what_cannot_be_polled_is_held, setup),
        cmocka_unit_test_setup(slices_have_their_part_of_the_budget, setup),
        cmocka_unit_test_setup(held_probes_leave_the_others, setup),
        cmocka_unit_test_setup(pauses_make_slices_cost_their_part, setup),
        cmocka_unit_test_setup(debts_make_pauses_longer, setup),
        cmocka_unit_test_setup(dear_decisions_make_slices_longer, setup),
        cmocka_unit_test_setup(what_nothing_is_found_of_has_longer_pauses, setup),
        cmocka_unit_test_setup(slices_share, setup),
        cmocka_unit_test_setup(slices_have_few_records, setup),
        cmocka_unit_test_setup(what_is_held_off_is_no_longer_expected, setup),
        cmocka_unit_test_setup(slices_with_calls_are_shorter, setup),
        cmocka_unit_test_setup(records_of_slices_stand_for_the_time_without, setup),
        cmocka_unit_test_setup(records_of_a_group_are_those_of_its_probes, setup),
        cmocka_unit_test_setup(hold_offs_make_the_program_faster, setup),
        cmocka_unit_test_setup(members_have_what_their_group_has, setup),
        cmocka_unit_test_setup(slices_of_spans_begin_with_a_new_table, setup),
        cmocka_unit_test_setup(what_slices_do_not_tell_may_be_anything, setup),
        cmocka_unit_test_setup(a_program_may_be_far_faster_without_its_probe, setup),
        cmocka_unit_test_setup(slices_are_noted, setup),
    };
    return cmocka_run_group_tests_name("modes", tests, NULL, NULL);
}
