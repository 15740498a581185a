/* SPDX-License-Identifier: MIT */
/* Groups of probes alone: two regions with two probes, whose passes, executions and costs the test
 * tells, and one probe that is in no group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <spex/spex.h>

#include "../check.h"
#include "collect/metrics.h"
#include "probe/regions.h"
#include "rate/groups.h"
#include "site/cost.h"
#include "site/registry.h"

/* Site 5 is the second one of probe FIRST. */
enum { REGION, FIRST, OTHER_REGION, SECOND, LONER, AGAIN, SITES };

static struct spex_region_passes passes[SITES];
static struct spex_region_cost region_cost;
static double in_regions[SITES];
static uint64_t executions[SITES];

static const struct spex_site_info infos[SITES] = {
    [REGION] = {.probe = SPEX_MAX_SITES, .subsample = 50},
    [FIRST] = {.probe = FIRST, .probe_type = SPEX_LAT},
    [OTHER_REGION] = {.probe = SPEX_MAX_SITES, .subsample = 100000},
    [SECOND] = {.probe = SECOND, .probe_type = SPEX_CNT},
    [LONER] = {.probe = LONER, .probe_type = SPEX_LAT},
    [AGAIN] = {.probe = FIRST, .probe_type = SPEX_LAT},
};

#include "made_sites.h"

uint32_t spex_probe_group(uint32_t index) {
    return index <= SECOND ? REGION : SPEX_MAX_SITES;
}

struct spex_region_passes spex_region_passes(uint32_t site) {
    return passes[site];
}

struct spex_region_cost spex_cost_region(void) {
    return region_cost;
}

double spex_metrics_in_regions(uint32_t first) {
    return in_regions[first];
}

int spex_cost_get(uint32_t probe_type, struct spex_cost *cost) {
    *cost = probe_type == SPEX_LAT ? (struct spex_cost){.skip = 5, .record = 60}
                                   : (struct spex_cost){.skip = 7, .record = 20};
    return 0;
}

double spex_cost_drawn(uint32_t type) {
    return type == SPEX_LAT ? 90 : 30;
}

static int setup(void **state) {
    void *memory = calloc(1, spex_groups_bytes());
    assert_non_null(memory);
    *state = memory;
    spex_groups_begin(memory);
    memset(passes, 0, sizeof(passes));
    memset(in_regions, 0, sizeof(in_regions));
    memset(executions, 0, sizeof(executions));
    region_cost = (struct spex_region_cost){.pass = 2, .execution = 0.5, .call = 40};
    return 0;
}

static int teardown(void **state) {
    spex_groups_begin(NULL);
    free(*state);
    return 0;
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fmax(fabs(expected), 1)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* Returns what the group has executed. */
static uint64_t count(const uint64_t now[SITES]) {
    uint64_t counted[SITES];
    memcpy(counted, now, sizeof(counted));
    spex_groups_count(counted);
    for (unsigned s = FIRST; s < SITES; s++)
        assert_int_equal(counted[s], now[s]);
    return counted[REGION];
}

/* Of an execution, and of a record for each of what it executes. */
static void expect_costs(double skip, double records) {
    const struct spex_rate_costs costs = spex_groups_costs(REGION, 1000);
    expect_near(costs.skip, skip);
    expect_near(costs.drawn * spex_groups_recorded(REGION), records);
    assert_true(costs.record == costs.drawn && costs.call == 0);
}

/* Two counts: 100 passes and 300, then 40 and 60; the first time a region's passes so far are those
 * before anybody looked. */
TEST_WITH(what_is_executed_is_added_up, setup, teardown) {
    passes[REGION] = (struct spex_region_passes){1000, 50};
    passes[OTHER_REGION] = (struct spex_region_passes){2000, 60};
    assert_int_equal(count((const uint64_t[SITES]){0}), 0);
    expect_near(spex_groups_recorded(REGION), 1);
    expect_costs(2e-3, (0.5 * (90 - 5) + 0.5 * (30 - 7) + 40) / 1000);

    passes[REGION] = (struct spex_region_passes){1100, 53};
    passes[OTHER_REGION] = (struct spex_region_passes){2300, 64};
    in_regions[FIRST] = 9;
    /* In the regions 10 and 20 executions, elsewhere 30 and 40. */
    const uint64_t now[SITES] = {10, 30, 20, 40, 7, 8};
    assert_int_equal(count(now), 500);
    double ticks = 400 * 2 + 30 * 0.5 + 30 * 5 + 40 * 7;
    double calls = 100 * 50 * 40.0 + 300 * 65536 * 40.0;
    double of_first = 40.0 / 81, of_second = 41.0 / 81; /* by executions, 9 in regions, and 1 */
    double records = of_first * (90 - 5) + of_second * (30 - 7);
    expect_near(spex_groups_recorded(REGION), 100.0 / 500);
    expect_costs(ticks / 500 / 1000, (records * 100 + calls) / 500 / 1000);

    /* Of the former sums 70 % are left. */
    passes[REGION] = (struct spex_region_passes){1140, 54};
    passes[OTHER_REGION] = (struct spex_region_passes){2360, 66};
    assert_int_equal(count(now), 600);
    double units = 0.7 * 500 + 100;
    expect_near(spex_groups_recorded(REGION), 70 / units);
    calls = 0.7 * calls + 40 * 50 * 40.0 + 60 * 65536 * 40.0;
    expect_costs((0.7 * ticks + 200) / units / 1000, (records * 70 + calls) / units / 1000);

    /* While nothing is executed, the means stay. */
    assert_int_equal(count(now), 600);
    expect_near(spex_groups_recorded(REGION), 70 / units);
    expect_costs((0.7 * ticks + 200) / units / 1000, (records * 70 + calls) / units / 1000);
    assert_true(spex_groups_costs(REGION, 0).skip == 0);
    region_cost.pass = 0;
    assert_true(spex_groups_costs(REGION, 1000).skip == 0);
}

TEST_WITH(groups_have_the_index_of_a_region, setup, teardown) {
    count((const uint64_t[SITES]){0});
    for (unsigned s = 0; s < SITES; s++) {
        assert_int_equal(spex_groups_is(s), s == REGION);
        assert_int_equal(spex_groups_by(s), s <= SECOND ? REGION : s);
    }
}
