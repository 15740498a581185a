/* SPDX-License-Identifier: MIT */
/* The fleet as its master sees it, from reports that the test makes. */
#include <math.h>

#include "made_lead.h"

static size_t gone_count;

static int begin(void **state) {
    (void)state;
    gone_count = 0;
    return lead_begin("<overhead at_most='2%'/>", false, 100);
}

/* A host with instances that keep the response time well. Each probe that is on, by the numbers of
 * the report, costs `cost`. */
static int report(const char *host, uint32_t agent, size_t count, double now, uint64_t desired,
                  const struct spex_fleet_set *on, double cost) {
    struct spex_fleet_report made = {.agent = agent, .desired = desired, .count = count};
    made.items = calloc(count, sizeof(*made.items));
    spex_fleet_texts_add(&made.probes, "a:lat");
    spex_fleet_texts_add(&made.probes, "b:lat");
    for (size_t i = 0; i < count; i++) {
        struct spex_fleet_reported *item = &made.items[i];
        *item = (struct spex_fleet_reported){
            .key = {(int32_t)i + 1, 5}, .response = 0.011, .throughput = 10};
        item->here.words[0] = 3;
        item->on = on ? on[i] : item->on;
        item->costs = malloc(made.probes.count * sizeof(*item->costs));
        item->rates = calloc(made.probes.count, sizeof(*item->rates));
        for (size_t p = 0; p < made.probes.count; p++)
            item->costs[p] = spex_fleet_set_has(&item->on, p) ? (float)cost : -1;
    }
    return spex_lead_take(&lead, host, &made, now);
}

static void gone(void *user, const char *host) {
    (void)user;
    assert_string_equal(host, "h");
    gone_count++;
}

static void decide(double now) {
    assert_int_equal(spex_lead_decide(&lead, now, gone, NULL), 0);
}

/* What is desired of the only host, which is written as the master would. */
static struct spex_fleet_desired written(double now) {
    struct spex_fleet_desired desired;
    struct spex_error error;
    assert_true(spex_lead_is_due(&lead, &lead.hosts[0], now));
    char *text = spex_lead_desired(&lead, &lead.hosts[0], now);
    assert_int_equal(spex_fleet_desired_read(text, strlen(text), &desired, &error), 0);
    free(text);
    return desired;
}

/* Reports and decisions of some seconds. Returns the time. */
static double pass(double from, int seconds, size_t count) {
    for (int s = 0; s < seconds; s++) {
        assert_int_equal(report("h", 1, count, from + s, 0, NULL, 0), 0);
        decide(from + s);
    }
    return from + seconds;
}

TEST_WITH(half_of_the_instances_are_told_to_record, begin, lead_end) {
    double now = pass(0, 10, 4);
    struct spex_fleet_desired desired = written(now);
    size_t on = 0;
    for (size_t i = 0; i < desired.count; i++)
        on += desired.items[i].probes.words[0] == 3;
    assert_int_equal(desired.count, 4);
    assert_int_equal(desired.number, 100);
    assert_int_equal(desired.probes.count, 2);
    assert_int_equal(on, 2);
    spex_fleet_desired_free(&desired);
}

TEST_WITH(what_is_desired_is_written_when_it_changes_or_was_lost, begin, lead_end) {
    double now = pass(0, 10, 4);
    struct spex_fleet_desired desired = written(now);
    spex_fleet_desired_free(&desired);
    assert_false(spex_lead_is_due(&lead, &lead.hosts[0], now));
    /* The agent has had 3 s to keep to it. */
    report("h", 1, 4, now + 4, 99, NULL, 0);
    desired = written(now + 4);
    assert_int_equal(desired.number, 101);
    spex_fleet_desired_free(&desired);
    report("h", 1, 4, now + 8, 101, NULL, 0);
    assert_false(spex_lead_is_due(&lead, &lead.hosts[0], now + 8));
    report("h", 1, 3, now + 9, 101, NULL, 0);
    assert_true(spex_lead_is_due(&lead, &lead.hosts[0], now + 9));
}

TEST_WITH(a_new_master_goes_on_with_what_was_desired, begin, lead_end) {
    struct spex_fleet_desired before = written(pass(0, 10, 4));
    struct spex_fleet_wanted was[4];
    memcpy(was, before.items, sizeof(was));
    spex_lead_free(&lead);
    spex_lead_init(&lead, policy, false, 500);
    report("h", 1, 4, 0, 100, NULL, 0);
    lead.hosts[0].before = before;
    lead.hosts[0].asked = true;
    decide(0);
    struct spex_fleet_desired after = written(0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(spex_fleet_desired_find(&after, &was[i].key)->probes.words[0],
                         was[i].probes.words[0]);
    assert_int_equal(lead.state.instrumented, 2);
    spex_fleet_desired_free(&after);
    /* An instance with this number that comes later is another one. */
    assert_null(lead.hosts[0].before.items);
}

TEST_WITH(a_silent_host_is_gone_unless_the_master_was, begin, lead_end) {
    double now = pass(0, 3, 2);
    spex_lead_forgive(&lead, now + 100);
    decide(now + 102);
    assert_int_equal(lead.host_count, 1);
    decide(now + 106);
    assert_int_equal(gone_count, 1);
    assert_int_equal(lead.host_count, 0);
    assert_int_equal(lead.state.count, 0);
}

TEST_WITH(two_agents_of_one_name, begin, lead_end) {
    assert_int_equal(report("h", 1, 1, 0, 0, NULL, 0), 0);
    assert_int_equal(report("h", 2, 3, 1, 0, NULL, 0), -17);
    assert_int_equal(lead.hosts[0].report.count, 1);
    assert_int_equal(report("h", 2, 3, 4, 0, NULL, 0), 0);
    assert_int_equal(lead.hosts[0].report.count, 3);
    assert_int_equal(lead.refused, 1);
}

TEST_WITH(dear_probes_are_divided, begin, lead_end) {
    struct spex_fleet_set on[4] = {{{3}}, {{3}}, {{3}}, {{3}}};
    double now = pass(0, 10, 4);
    assert_int_equal(lead.decision.covered, 2);
    /* Both probes together are dearer than the 2 %. */
    for (int s = 0; s < 5; s++) {
        report("h", 1, 4, now + s, 0, on, 0.015);
        decide(now + s);
    }
    assert_true(fabs(lead.map.cost[0] - 0.015) < 1e-6);
    assert_int_equal(lead.decision.covered, 2);
    for (size_t i = 0; i < lead.state.count; i++)
        assert_true(lead.state.instances[i].probe_count <= 1);
    assert_int_equal(lead.state.instrumented, 2);
}

TEST_WITH(instances_are_found_by_name, begin, lead_end) {
    char name[SPEX_LEAD_NAME_BYTES];
    pass(0, 2, 3);
    assert_int_equal(spex_lead_look(&lead), 0);
    const struct spex_lead_place *place = spex_lead_find(&lead, "h/2");
    assert_non_null(place);
    spex_lead_name(place, name, sizeof(name));
    assert_string_equal(name, "h/2");
    assert_null(spex_lead_find(&lead, "h/4"));
}

/* Of a row of stuck decisions the first counts, and any other between them ends the row. */
TEST_WITH(stuck_decisions_count_once, begin, lead_end) {
    spex_fleet_policy_free(policy);
    policy = policy_with("<throughput at_least='1000'/>");
    spex_lead_init(&lead, policy, false, 1);
    for (int s = 0; s < 10; s++) {
        assert_int_equal(report("h", 1, 2, s, 0, NULL, 0), 0);
        decide(s);
        assert_int_equal(lead.decision.action, s ? SPEX_FLEET_STUCK : SPEX_FLEET_HOLD);
        assert_int_equal(lead.decisions, s > 0);
    }
    assert_int_equal(lead.acted.action, SPEX_FLEET_STUCK);
    assert_true(lead.acted.time == 1);
}
