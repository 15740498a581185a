/* SPDX-License-Identifier: MIT */
/* The hosts of a fleet as its master knows them: which are heard, rivals and gone, what their
 * probes cost, and when something is to be written for them; against what the test keeps itself. */
#include <math.h>

#include "made_lead.h"

enum { HOSTS = 12 };

/* What is gone, by the numbers of hosts. */
static unsigned gone_hosts;

static int begin(void **state) {
    (void)state;
    gone_hosts = 0;
    return lead_begin("<overhead at_most='2%'/>", false, 0);
}

/* Its order is not that of its number. */
static const char *name_of(unsigned host) {
    static char name[16];
    snprintf(name, sizeof(name), "h%u", (unsigned)(mix(host + 1) % 100000));
    return name;
}

static void gone(void *user, const char *name) {
    assert_ptr_equal(user, &lead);
    for (unsigned h = 0; h < HOSTS; h++)
        if (strcmp(name_of(h), name) == 0)
            gone_hosts |= 1u << h;
}

static void decide(double now) {
    gone_hosts = 0;
    assert_int_equal(spex_lead_decide(&lead, now, gone, &lead), 0);
}

/* So many instances, whose probes "a:lat" and "b:lat" are on by the bits and cost so much; costs
 * below 0 are not known. */
static struct spex_fleet_report make(uint32_t agent, size_t count, unsigned on,
                                     const float *costs) {
    struct spex_fleet_report made = {.agent = agent, .count = count};
    made.items = calloc(count + 1, sizeof(*made.items));
    spex_fleet_texts_add(&made.probes, "a:lat");
    spex_fleet_texts_add(&made.probes, "b:lat");
    for (size_t i = 0; i < count; i++) {
        struct spex_fleet_reported *item = &made.items[i];
        *item = (struct spex_fleet_reported){
            .key = {(int32_t)i + 1, 5}, .response = 0.011, .throughput = 10};
        item->here.words[0] = 3;
        item->on.words[0] = on;
        item->costs = calloc(2, sizeof(*item->costs));
        item->rates = calloc(2, sizeof(*item->rates));
        for (size_t p = 0; p < 2; p++)
            item->costs[p] = costs ? costs[p] : -1;
    }
    return made;
}

static int report(unsigned host, uint32_t agent, size_t count, double now) {
    struct spex_fleet_report made = make(agent, count, 0, NULL);
    int err = spex_lead_take(&lead, name_of(host), &made, now);
    assert_true(!made.items && made.count == 0 && made.probes.count == 0);
    return err;
}

/* Reports and silence of many hosts, with rivals, by a model. */
TEST_WITH(hosts_are_heard_and_gone, begin, lead_end) {
    bool there[HOSTS] = {false};
    double heard[HOSTS] = {0}, now = 0;
    uint32_t agent[HOSTS] = {0};
    uint64_t seed = 1, reports = 0, refused = 0;
    size_t counts[HOSTS] = {0};
    for (unsigned step = 0; step < 4000; step++) {
        unsigned h = (unsigned)random_below(&seed, HOSTS);
        uint32_t from = 1 + (uint32_t)random_below(&seed, 8) / 7;
        size_t count = random_below(&seed, 4), all = 0, hosts = 0;
        bool rival = there[h] && from != agent[h] && now - heard[h] < 3;
        assert_int_equal(spex_lead_is_others(&lead, name_of(h), from),
                         there[h] && from != agent[h]);
        assert_int_equal(report(h, from, count, now), rival ? -EEXIST : 0);
        refused += rival;
        reports += !rival;
        if (!rival) {
            there[h] = true;
            heard[h] = now;
            agent[h] = from;
            counts[h] = count;
        }
        now += (double)random_below(&seed, 4) / 4;
        decide(now);
        for (unsigned o = 0; o < HOSTS; o++) {
            bool lost = there[o] && now - heard[o] >= 5;
            assert_int_equal(gone_hosts >> o & 1, lost);
            there[o] = there[o] && !lost;
            const struct spex_lead_host *found = spex_lead_host_find(&lead, name_of(o));
            assert_int_equal(found != NULL, there[o]);
            if (found)
                assert_int_equal(found->report.count, counts[o]);
            hosts += there[o];
            all += there[o] ? counts[o] : 0;
        }
        assert_int_equal(lead.host_count, hosts);
        assert_int_equal(lead.place_count, all);
        assert_int_equal(lead.state.count, all);
        assert_int_equal(lead.instances_left_out, 0);
        assert_int_equal(lead.reports, reports);
        assert_int_equal(lead.refused, refused);
        for (size_t o = 1; o < hosts; o++)
            assert_true(strcmp(lead.hosts[o - 1].name, lead.hosts[o].name) < 0);
        for (size_t p = 1; p < all; p++)
            assert_true(lead.places[p - 1].id < lead.places[p].id);
        /* Instances of hosts are as many as there are, so that cost has no say. */
        assert_int_equal(lead.decision.most, all ? all : 1);
    }
    assert_true(refused > 100 && reports > 1000);
    for (unsigned o = 0; o < HOSTS; o++)
        if (there[o] && counts[o]) {
            char place[64], name[SPEX_LEAD_NAME_BYTES];
            snprintf(place, sizeof(place), "%s/%zu", name_of(o), counts[o]);
            spex_lead_name(spex_lead_find(&lead, place), name, sizeof(name));
            assert_string_equal(name, place);
        }
}

TEST_WITH(names_have_bounds, begin, lead_end) {
    char name[SPEX_FLEET_NAME_BYTES + 2];
    for (size_t length = SPEX_FLEET_NAME_BYTES - 1; length <= SPEX_FLEET_NAME_BYTES; length++) {
        struct spex_fleet_report made = make(1, 1, 0, NULL);
        memset(name, 'n', length);
        name[length] = '\0';
        bool fits = length < SPEX_FLEET_NAME_BYTES;
        assert_int_equal(spex_lead_take(&lead, name, &made, 0), fits ? 0 : -E2BIG);
        assert_null(made.items);
        assert_int_equal(spex_lead_host_find(&lead, name) != NULL, fits);
    }
    assert_true(lead.host_count == 1 && lead.reports == 1 && lead.refused == 1);
}

/* Of the same key there is one; the others are counted. */
TEST_WITH(the_same_instance_twice, begin, lead_end) {
    struct spex_fleet_report made = make(1, 4, 0, NULL);
    made.items[2].key = made.items[0].key;
    made.items[3].key.loaded_ns++;
    made.items[3].key.process = made.items[0].key.process;
    assert_int_equal(spex_lead_take(&lead, "h", &made, 0), 0);
    assert_int_equal(spex_lead_look(&lead), 0);
    assert_int_equal(lead.place_count, 3);
    assert_int_equal(lead.instances_left_out, 1);
}

static void expect_cost(size_t probe, double cost, bool measured, bool recorded) {
    assert_true(fabs(lead.map.cost[probe] - cost) < 1e-8);
    assert_int_equal(spex_fleet_set_has(&lead.measured, probe), measured);
    assert_int_equal(spex_fleet_set_has(&lead.recorded, probe), recorded);
}

/* The mean of those at which the probe is on: the first one as it is, then a tenth of each. */
TEST_WITH(costs_are_learnt, begin, lead_end) {
    static const float dear[] = {0.008F, 0.5F}, cheap[] = {0.004F, -1}, none[] = {0, 0.006F};
    assert_int_equal(report(0, 1, 2, 0), 0);
    decide(0);
    assert_int_equal(lead.map.count, 2);
    expect_cost(0, 0.002, false, false); /* a tenth of the budget */
    expect_cost(1, 0.002, false, false);
    struct spex_fleet_report made = make(1, 2, 1, dear);
    assert_int_equal(spex_lead_take(&lead, name_of(0), &made, 1), 0);
    made = make(1, 1, 3, cheap);
    assert_int_equal(spex_lead_take(&lead, name_of(1), &made, 1), 0);
    decide(1);
    expect_cost(0, (2 * 0.008 + 0.004) / 3, true, true);
    expect_cost(1, 0.002, false, true); /* it is on, and nobody knows what it costs */
    made = make(1, 2, 3, none);
    assert_int_equal(spex_lead_take(&lead, name_of(0), &made, 2), 0);
    decide(2);
    double mean = (2 * 0.0 + 0.004) / 3, before = (2 * 0.008 + 0.004) / 3;
    expect_cost(0, before + 0.1 * (mean - before), true, true);
    expect_cost(1, 0.006, true, true);
    assert_int_equal(report(0, 1, 2, 3), 0);
    assert_int_equal(report(1, 1, 2, 3), 0);
    decide(3);
    expect_cost(0, before + 0.1 * (mean - before), true, false);
    expect_cost(1, 0.006, true, false);
    assert_int_equal(lead.map.count, 2);
}

/* The host's state as it was written; the number is the next one. */
static struct spex_fleet_desired write_it(double now, uint64_t number) {
    struct spex_fleet_desired desired;
    struct spex_error error;
    char *text = spex_lead_desired(&lead, &lead.hosts[0], now);
    assert_non_null(text);
    assert_int_equal(spex_fleet_desired_read(text, strlen(text), &desired, &error), 0);
    free(text);
    assert_int_equal(desired.number, number);
    assert_int_equal(lead.hosts[0].number, number);
    assert_int_equal(lead.next_number, number + 1);
    return desired;
}

static bool is_due(double now) {
    return spex_lead_is_due(&lead, &lead.hosts[0], now);
}

static void take_with(double now, uint64_t desired, size_t item, int32_t process,
                      uint64_t loaded_ns) {
    struct spex_fleet_report made = make(1, 3, 0, NULL);
    made.desired = desired;
    made.items[item].key = (struct spex_fleet_instance_key){process, loaded_ns};
    assert_int_equal(spex_lead_take(&lead, name_of(0), &made, now), 0);
}

/* The first time, when an agent keeps to another one for more than 3 s, or when an instance is
 * another one or is to record others. */
TEST_WITH(what_is_desired_is_written_when_it_is_due, begin, lead_end) {
    struct spex_fleet_desired desired;
    assert_int_equal(report(0, 1, 3, 0), 0);
    decide(0);
    assert_true(is_due(0));
    desired = write_it(0, 1);
    assert_int_equal(desired.count, 3);
    assert_int_equal(desired.probes.count, 0); /* none is on yet */
    spex_fleet_desired_free(&desired);
    assert_false(is_due(0));
    assert_false(is_due(3));
    assert_true(is_due(3.01));
    take_with(3, 1, 0, 1, 5);
    assert_false(is_due(100));
    take_with(3, 1, 1, 2, 6);
    assert_true(is_due(3));
    take_with(3, 1, 2, 9, 5);
    assert_true(is_due(3));
    take_with(3, 1, 0, 1, 5);
    assert_false(is_due(3));
    /* Decided of late: some are to record. */
    for (int s = 4; s < 12; s++) {
        take_with(s, 1, 0, 1, 5);
        decide(s);
    }
    assert_true(lead.state.instrumented > 0);
    assert_true(is_due(12));
    desired = write_it(12, 2);
    assert_int_equal(desired.probes.count, 2);
    size_t on = 0;
    for (size_t i = 0; i < desired.count; i++)
        on += desired.items[i].probes.words[0] == 3;
    assert_int_equal(on, lead.state.instrumented);
    spex_fleet_desired_free(&desired);
    take_with(12, 2, 0, 1, 5);
    assert_false(is_due(12));
}
