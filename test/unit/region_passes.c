/* SPDX-License-Identifier: MIT */
/* What a budget asks of regions: how many passes there were, and which probes are held off
 * together. Estimates are held against what was executed, within four standard deviations; gaps are the same
 * in every run. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>

#include "../check.h"
#include "../status.h"
#include "base/student.h"
#include "counted.h"
#include "places.h"
#include "probe/regions.h"
#include "probe/threads.h"
#include "region_sites.h"

enum { FIRST = 1, SECOND, THIRD, INNER, OUTER, OTHER, ALONE };
enum { SEED = 1 };

static uint64_t copies[3];        /* passes through each */
static uint64_t first_of_records; /* those of FIRST */
static bool late;                 /* the collector is: records are lost */

#define NOINLINE __attribute__((noinline)) static

static void see(const struct spex_record *record, void *context) {
    (void)context;
    while (spex_load_acquire(&late))
        sched_yield();
    first_of_records += record->probe_id == FIRST;
}

static void begin(const char *probes) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = probes,
                                         .out = "/dev/null",
                                         .ring_records = 1u << 16,
                                         .no_calibration = true};
    memset(copies, 0, sizeof(copies));
    first_of_records = 0;
    capture_start(see, NULL);
    assert_int_equal(spex_start(&options), 0);
}

static void end(void) {
    uint64_t lost = status_now().lost;
    spex_stop();
    assert_int_equal(status_now().lost, lost);
}

NOINLINE void straight(void) {
    SPEX_REGION(1, 3, {
        copies[spex_region_copy_]++;
        CNT_PROBE_BEGIN(FIRST, 1);
        CNT_PROBE_END(FIRST);
        SNAPSHOT_PROBE(SECOND, 1, 7);
        SPEX_LAT_SCOPE(THIRD, 1);
    })
}

/* OTHER and INNER stand in one region, and that in another one with OUTER. */
__attribute__((used)) NOINLINE void nested(void) {
    SPEX_REGION(2, 12, {
        SNAPSHOT_PROBE(OUTER, 1, 0);
        SPEX_REGION(3, 2, {
            SPEX_LAT_SCOPE(INNER, 1);
            SNAPSHOT_PROBE(OTHER, 1, 1);
        })
    })
}

/* Stands in no region. */
__attribute__((used)) NOINLINE void alone(void) {
    CNT_PROBE_BEGIN(ALONE, 1);
    CNT_PROBE_END(ALONE);
}

static void straight_run(unsigned passes) {
    for (unsigned i = 0; i < passes; i++)
        straight();
}

/* The site of the region that the probe stands in. */
static uint32_t region_of(unsigned id) {
    uint16_t region = spex_site_info(index_of(id))->region;
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_site_is_region(spex_site_info(i)) && spex_site_info(i)->region == region)
            return i;
    fail();
    return 0;
}

/* Of the estimate of its executions. */
static double variance_of(unsigned id) {
    struct spex_profile profile;
    double variance = -1;
    assert_int_equal(spex_profile_now(&profile), 0);
    for (size_t r = 0; r < profile.row_count; r++)
        if (profile.rows[r].probe.probe_id == id)
            variance = profile.rows[r].probe.count_variance;
    spex_profile_now_free(&profile);
    return variance;
}

/* A pass that calls the library stands for others. With a probability of q to do so, the variance
 * of their number is n (1 - q) / q. */
TEST(passes_are_estimated) {
    enum { PASSES = 100000 };
    static const struct {
        const char *probes;
        double period;
    } cases[] = {{"1@1", 1}, {"1@2", 2}, {"1@10,3@20", 10}, {"2@1000", 1000}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        begin(cases[c].probes);
        const struct spex_region_passes before = spex_region_passes(region_of(FIRST));
        straight_run(PASSES);
        const struct spex_region_passes after = spex_region_passes(region_of(FIRST));
        end();
        double q = 1 - pow(1 - 1 / cases[c].period, 3), passes = after.passes - before.passes;
        double deviation = sqrt(PASSES * (1 - q) / q);
        assert_true(fabs(passes - PASSES) <= 4 * deviation + 0.005 * PASSES);
        assert_in_range(after.calls - before.calls, copies[2], copies[2] + 1);
    }
    begin("off");
    const struct spex_region_passes before = spex_region_passes(region_of(FIRST));
    straight_run(PASSES);
    assert_int_equal(spex_region_passes(region_of(FIRST)).calls, before.calls);
    end();
}

static uint32_t period_of(unsigned id) {
    bool loaded;
    return spex_site_sampling(index_of(id), &loaded).period;
}

TEST(a_group_is_throttled_together) {
    uint32_t group = spex_probe_group(index_of(FIRST)), nested = spex_probe_group(index_of(INNER));
    assert_true(spex_site_is_region(spex_site_info(group)));
    assert_int_equal(spex_probe_group(index_of(SECOND)), group);
    assert_int_equal(spex_probe_group(region_of(FIRST)), group);
    assert_int_not_equal(nested, group);
    assert_int_equal(spex_probe_group(index_of(OUTER)), nested);
    assert_int_equal(spex_probe_group(index_of(ALONE)), SPEX_MAX_SITES);
    begin("*");
    spex_probe_throttle(group, SPEX_SITE_HELD);
    assert_int_equal(period_of(FIRST), 0);
    assert_int_equal(period_of(SECOND), 0);
    assert_int_equal(period_of(THIRD), 0);
    assert_int_equal(period_of(OUTER), 1);
    straight_run(1000);
    spex_probe_throttle(group, 20);
    assert_int_equal(period_of(FIRST), 20);
    spex_probe_throttle(group, 0);
    assert_int_equal(period_of(THIRD), 1);
    end();
    assert_int_equal(copies[1], 1000);
    assert_int_equal(first_of_records, 0);
}

/* Most of those that each record an execution are lost, and none of the few later ones, which stand for
 * 1000 each. */
TEST(of_what_is_lost_the_executions_are_known) {
    enum { EACH = 400000, SAMPLED = 1000000, PERIOD = 1000 };
    const uint64_t lost = status_now().lost;
    late = true;
    begin("*");
    straight_run(EACH);
    spex_probe_throttle(spex_probe_group(index_of(FIRST)), PERIOD);
    straight_run(SAMPLED);
    spex_store_release(&late, false);
    for (struct spex_status now = status_now();
         now.pending || now.consumed + now.lost < now.produced; now = status_now())
        sched_yield();
    assert_true(status_now().lost - lost > EACH / 2);
    const double sampled = counted(FIRST) - EACH;
    assert_true(fabs(sampled - SAMPLED) <= 4 * sqrt((double)SAMPLED * (PERIOD - 1)));
    /* Once in a while there were SPEX_UNSEEN_95 more, and none of them was chosen. */
    const double unchosen = pow(SPEX_UNSEEN_95 / SPEX_NORMAL_95, 2) * PERIOD * (PERIOD - 1);
    assert_true(fabs(variance_of(FIRST) / (sampled * (PERIOD - 1) + unchosen) - 1) < 1e-9);
    spex_probe_throttle(spex_probe_group(index_of(FIRST)), 0);
    spex_stop();
}

/* The few that were chosen, or the one, are no reason to take the rest for none: of several runs in
 * which most executions have a long period, 95 % have them in their interval. */
TEST(few_that_were_chosen_tell_little) {
    enum { RUNS = 200, EACH = 100, PERIOD = 1000, SAMPLED = 1500 };
    unsigned holding = 0;
    for (unsigned run = 0; run < RUNS; run++) {
        begin("*");
        straight_run(EACH);
        spex_probe_throttle(spex_probe_group(index_of(FIRST)), PERIOD);
        straight_run(SAMPLED);
        holding += fabs(counted(FIRST) - EACH - SAMPLED) <=
                   SPEX_NORMAL_95 * sqrt(fmax(variance_of(FIRST), 0));
        spex_probe_throttle(spex_probe_group(index_of(FIRST)), 0);
        end();
    }
    assert_true(holding >= 0.95 * RUNS);
}

int main(void) {
    spex_threads_seed(SEED);
    return tests_run(NULL, NULL);
}
