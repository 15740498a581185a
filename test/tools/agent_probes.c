/* SPDX-License-Identifier: MIT */
/* Which probes the agent holds on in a process, by reports that the test makes. */
#include "tools/agent/hosted_probes.h"

#include <math.h>

#include "../fleet/policies.h"
#include "ring/probe_type.h"

enum { SITES = 5 };

/* A record costs a microsecond. */
static struct spex_profile_type types[] = {
    {.probe_type = SPEX_LAT, .measured = 1, .record = 1000},
    {.probe_type = SPEX_CNT, .measured = 1, .record = 1000},
};

/* a is at two places; the policy does not want b. */
static struct spex_profile_site sites[SITES] = {
    {.index = 0, .probe_id = 1, .probe_type = SPEX_LAT, .loaded = 1, .name = "a1", .subsample = 1},
    {.index = 1, .probe_id = 1, .probe_type = SPEX_LAT, .loaded = 1, .name = "a1", .subsample = 1},
    {.index = 2, .probe_id = 2, .probe_type = SPEX_LAT, .loaded = 1, .name = "a2", .subsample = 1},
    {.index = 3, .probe_id = 3, .probe_type = SPEX_CNT, .loaded = 1, .name = "a3", .subsample = 1},
    {.index = 4, .probe_id = 4, .probe_type = SPEX_LAT, .loaded = 1, .name = "b", .subsample = 1},
};

static struct spex_profile_row rows[] = {
    {.probe = {.probe_id = 1, .probe_type = SPEX_LAT}},
    {.probe = {.probe_id = 2, .probe_type = SPEX_LAT}},
    {.probe = {.probe_id = 3, .probe_type = SPEX_CNT}},
    {.probe = {.probe_id = 4, .probe_type = SPEX_LAT}},
};

static struct spex_profile profile;
static struct spex_hosted_probes probes;
static struct spex_fleet_policy *policy;

/* Before a second of a process that keeps one CPU busy. */
static int begin(void **state) {
    (void)state;
    policy = policy_with("<overhead at_most='1%'/>");
    for (size_t r = 0; r < COUNT_OF(rows); r++)
        rows[r].probe.records = 0;
    for (size_t s = 0; s < SITES; s++)
        sites[s].loaded = 1;
    profile = (struct spex_profile){.process = {.ticks_per_second = 1e9},
                                    .types = types,
                                    .type_count = COUNT_OF(types),
                                    .sites = sites,
                                    .site_count = SITES,
                                    .rows = rows,
                                    .row_count = COUNT_OF(rows)};
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_hosted_probes_free(&probes);
    spex_fleet_policy_free(policy);
    return 0;
}

static void assert_share(size_t probe, double expected) {
    assert_true(fabs(probes.items[probe].share - expected) < 1e-9);
}

/* A second in which a1, a2 and a3 make so many records; what is held then. */
static void expect(unsigned a1, unsigned a2, unsigned a3, const char *held) {
    char *text;
    rows[0].probe.records += a1;
    rows[1].probe.records += a2;
    rows[2].probe.records += a3;
    profile.process.seconds += 1;
    profile.process.program_seconds += 1;
    assert_int_equal(spex_hosted_probes_take(&probes, policy, NULL, &profile), 0);
    assert_int_equal(spex_hosted_probes_text(&probes, policy, &profile, &text), 0);
    if (held)
        assert_string_equal(text, held);
    else
        assert_null(text);
    free(text);
}

TEST_WITH(what_the_policy_wants_is_held, begin, end) {
    expect(0, 0, 0, "+1:lat,2:lat,3:cnt@100");
    assert_int_equal(probes.wanted, 3);
    assert_int_equal(probes.on, 3);
    sites[3].loaded = 0;
    expect(0, 0, 0, "+1:lat,2:lat");
    assert_int_equal(probes.wanted, 2);
    sites[3].loaded = 1;
    expect(0, 0, 0, "+1:lat,2:lat,3:cnt@100");
}

/* The program keeps to the budget: what is dear stays on. */
TEST_WITH(what_each_takes_is_known, begin, end) {
    expect(3000, 9000, 0, "+1:lat,2:lat,3:cnt@100");
    assert_share(0, 3e-3);
    assert_share(1, 9e-3);
    assert_share(2, 0);
    expect(900000, 0, 0, "+1:lat,2:lat,3:cnt@100");
    assert_share(0, 0.9);
}

TEST_WITH(a_collection_that_begins_anew_counts_from_nothing, begin, end) {
    profile.process.seconds = profile.process.program_seconds = 1000;
    expect(1000000, 0, 0, "+1:lat,2:lat,3:cnt@100");
    rows[0].probe.records = 0;
    profile.process.seconds = profile.process.program_seconds = 0;
    expect(9000, 0, 0, "+1:lat,2:lat,3:cnt@100");
    assert_share(0, 9e-3);
}

TEST_WITH(costs_that_are_not_known_are_none, begin, end) {
    profile.process.ticks_per_second = 0;
    expect(900000, 0, 0, "+1:lat,2:lat,3:cnt@100");
    assert_share(0, 0);
}
