/* SPDX-License-Identifier: MIT */
/* What a master tells of a small fleet, and what it desires on each host. */
#include "fleet/lead/lead_status.h"

#include <errno.h>
#include <math.h>

#include "made_lead.h"

static int begin(void **state) {
    (void)state;
    return lead_begin("<overhead at_most='4%'/><throughput at_least='30'/>", true, 100);
}

/* Instances with processes from `first` on. Their hosts have probes of their own after the common
 * one; what is on at each are the bits of `on`, of which probe p takes `cost` and 1/8 more for each
 * p. */
struct host {
    const char *name;
    const char *probes[3];
    size_t count;
    int32_t first;
    uint64_t on[4];
    double cost, response, budget;
};

static struct spex_fleet_report report_of(const struct host *host) {
    struct spex_fleet_report made = {
        .agent = (uint32_t)host->first, .desired = 7, .count = host->count};
    made.items = calloc(host->count, sizeof(*made.items));
    for (size_t p = 0; p < COUNT_OF(host->probes) && host->probes[p]; p++)
        spex_fleet_texts_add(&made.probes, host->probes[p]);
    for (size_t i = 0; i < host->count; i++) {
        struct spex_fleet_reported *item = &made.items[i];
        *item = (struct spex_fleet_reported){.key = {host->first + (int32_t)i, 5},
                                             .program = "shop",
                                             .response = host->response,
                                             .throughput = 10 + (double)i,
                                             .budget = host->budget,
                                             .why = "all is well"};
        item->here.words[0] = 7;
        item->on.words[0] = host->on[i];
        item->costs = malloc(3 * sizeof(*item->costs));
        item->rates = malloc(3 * sizeof(*item->rates));
        for (unsigned p = 0; p < 3; p++) {
            bool on = item->on.words[0] >> p & 1;
            item->costs[p] = on ? (float)(host->cost * (1 + 0.125 * p)) : -1;
            item->rates[p] = on ? (float)(100 * (p + 1)) : -1;
        }
    }
    return made;
}

static int report(const struct host *host, double now) {
    struct spex_fleet_report made = report_of(host);
    return spex_lead_take(&lead, host->name, &made, now);
}

static char lost[256];

static void gone(void *user, const char *host) {
    assert_ptr_equal(user, &lead);
    strcat(strcat(lost, host), " ");
}

static void decide(double now) {
    assert_int_equal(spex_lead_decide(&lead, now, gone, &lead), 0);
}

static void check(const char *text, const char *expected) {
    const char *a = text, *b = expected;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (!*a && strcmp(b, "\n") == 0)
        return;
    for (; a > text && a[-1] != '\n'; a--)
        b--;
    fail_msg("%.*s and not %.*s", (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
}

/* Line by line, as the text is long. The first that is another one is told. */
static void compare(char *text, const char *expected) {
    for (char *at = text; (at = strchr(at, ',')); at++)
        if (at[1] == '{' || strncmp(at, ",\"last\"", 7) == 0 || strncmp(at, ",\"text\"", 7) == 0 ||
            strncmp(at, ",\"now\"", 6) == 0 || strncmp(at, ",\"on\"", 5) == 0 ||
            strncmp(at, ",\"p_t\"", 6) == 0)
            *at = '\n';
    check(text, expected);
    free(text);
}

static struct host west = {"west", {"a:lat", "b:lat", "w:cnt"}, 4, 10, {0}, 0, 0.011, 0.05};
static struct host east = {"east", {"e:lat", "a:lat", NULL}, 2, 30, {0}, 0, 0.012, 0.03};

/* An instance on each host has its probes on as it was decided, and dearer than was believed. */
static double run_fleet(void) {
    for (int s = 0; s < 12; s++) {
        if (s == 6) {
            memcpy(west.on, (uint64_t[]){1, 7, 3, 0}, sizeof(west.on));
            west.cost = 0.0125;
            memcpy(east.on, (uint64_t[]){0, 3, 0, 0}, sizeof(east.on));
            east.cost = 0.002;
        }
        assert_int_equal(report(&west, s), 0);
        assert_int_equal(report(&east, s + 0.5), 0);
        decide(s + 0.75);
    }
    return 11.75;
}

static size_t count_of(const json_t *json, const char *member) {
    const json_t *count = json_object_get(json, member);
    assert_true(json_is_integer(count));
    return (size_t)json_integer_value(count);
}

static const char *word_of(const json_t *json, const char *member) {
    const char *text = json_string_value(json_object_get(json, member));
    assert_non_null(text);
    return text;
}

/* Of each what its host has reported, and what was decided of it. Counts their modes, and returns how many there
 * are. */
static size_t check_instances(const json_t *status, size_t of[3]) {
    const json_t *all = json_object_get(status, "instances");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *told = json_array_get(all, i);
        const struct spex_lead_place *place = spex_lead_find(&lead, word_of(told, "instance"));
        assert_non_null(place);
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&lead.state, place->id);
        assert_non_null(instance);
        of[instance->mode]++;
        assert_string_equal(word_of(told, "why"), "all is well");
        assert_string_equal(word_of(told, "program"), "shop");
        assert_int_equal(count_of(told, "desired"), instance->probe_count);
        assert_int_equal(count_of(told, "on"), __builtin_popcountll(place->reported->on.words[0]));
        assert_int_equal(strcmp(word_of(told, "mode"), "full") == 0,
                         count_of(told, "desired") == count_of(told, "map"));
        assert_int_equal(strcmp(word_of(told, "mode"), "none") == 0, !count_of(told, "desired"));
        assert_float_equal(json_number_value(json_object_get(told, "response")),
                           place->reported->response, 1e-6);
    }
    return json_array_size(all);
}

/* A probe is covered where one instance is to record it. */
static void check_probes(const json_t *status) {
    const json_t *all = json_object_get(status, "probes");
    size_t covered = 0;
    assert_int_equal(json_array_size(all), count_of(status, "map"));
    for (size_t p = 0; p < json_array_size(all); p++) {
        assert_int_equal(count_of(json_array_get(all, p), "on"), lead.state.cover[p]);
        covered += count_of(json_array_get(all, p), "on") > 0;
    }
    assert_int_equal(count_of(status, "covered"), covered);
}

static void check_status(size_t hosts, size_t instances) {
    json_t *status = spex_lead_status(&lead, 0);
    const json_t *targets = json_object_get(status, "targets"),
                 *modes = json_object_get(status, "modes");
    size_t of[3] = {0};
    assert_int_equal(count_of(status, "hosts"), hosts);
    assert_int_equal(count_of(status, "count"), instances);
    assert_int_equal(check_instances(status, of), instances);
    assert_int_equal(count_of(modes, "none"), of[SPEX_FLEET_NONE]);
    assert_int_equal(count_of(modes, "partial"), of[SPEX_FLEET_PARTIAL]);
    assert_int_equal(count_of(modes, "full"), of[SPEX_FLEET_FULL]);
    check_probes(status);
    assert_string_equal(word_of(status, "policy"), lead.policy->name);
    assert_float_equal(json_number_value(json_object_get(targets, "throughput")), 30, 1e-6);
    assert_float_equal(json_number_value(json_object_get(targets, "response")),
                       lead.policy->response.bound, 1e-6);
    assert_true(json_is_null(json_object_get(targets, "cost")));
    assert_string_equal(word_of(json_object_get(status, "last"), "action"), "instrument");
    assert_string_equal(word_of(json_object_get(status, "now"), "action"), "hold");
    assert_non_null(strstr(word_of(json_object_get(status, "last"), "text"), "instruments 1: "));
    json_decref(status);
}

static void check_why(const char *name, const char *mode) {
    char begin[64];
    json_t *why = spex_lead_why(&lead, name);
    snprintf(begin, sizeof(begin), "instance %s: %s since ", name, mode);
    assert_memory_equal(word_of(why, "text"), begin, strlen(begin));
    assert_string_equal(word_of(json_object_get(why, "instance"), "instance"), name);
    assert_string_equal(word_of(json_object_get(why, "instance"), "mode"), mode);
    json_decref(why);
}

TEST_WITH(the_state_is_told, begin, lead_end) {
    double now = run_fleet();
    check_status(2, 6);
    json_t *rest = spex_lead_status(&lead, 5);
    assert_int_equal(check_instances(rest, (size_t[3]){0}), 1);
    assert_int_equal(json_array_size(json_object_get(rest, "probes")), 0);
    json_decref(rest);
    check_why("west/11", "full");
    json_t *nobody = spex_lead_why(&lead, "west/14");
    assert_string_equal(word_of(nobody, "error"),
                        "there is no such instance; spex fleet status lists them");
    json_decref(nobody);
    west.count = 3;
    assert_int_equal(report(&west, now), 0);
    east.first = 31;
    assert_int_equal(report(&east, now), -EEXIST);
    east.count = 1;
    assert_int_equal(report(&east, now + 4), 0);
    check_why("east/31", "partial");
    assert_true(spex_lead_is_others(&lead, "east", 30));
    assert_false(spex_lead_is_others(&lead, "east", 31));
    assert_false(spex_lead_is_others(&lead, "north", 31));
    decide(now + 5.1);
    assert_string_equal(lost, "west ");
    check_status(1, 1);
}

TEST_WITH(what_is_desired_has_the_probes_of_the_host, begin, lead_end) {
    *lost = '\0';
    west.count = 4;
    east = (struct host){"east", {"e:lat", "a:lat", NULL}, 2, 30, {0}, 0, 0.012, 0.03};
    memset(west.on, 0, sizeof(west.on));
    double now = run_fleet();
    for (size_t h = 0; h < 2; h++) {
        assert_true(spex_lead_is_due(&lead, &lead.hosts[h], now));
        char *text = spex_lead_desired(&lead, &lead.hosts[h], now);
        compare(text, h ? "{\"format\":1,\"number\":101,\"probes\":[\"a:lat\",\"b:lat\",\"w:cnt\","
                          "\"e:lat\"],\"instances\":[{\"instance\":\"10.5\"\n"
                          "\"on\":\"0\"}\n"
                          "{\"instance\":\"11.5\"\n"
                          "\"on\":\"f\"}\n"
                          "{\"instance\":\"12.5\"\n"
                          "\"on\":\"f\"}\n"
                          "{\"instance\":\"13.5\"\n"
                          "\"on\":\"0\"}]}\n"
                        : "{\"format\":1,\"number\":100,\"probes\":[\"b:lat\",\"w:cnt\"],"
                          "\"instances\":[{\"instance\":\"30.5\"\n"
                          "\"on\":\"0\"}\n"
                          "{\"instance\":\"31.5\"\n"
                          "\"on\":\"3\"}]}\n");
        assert_false(spex_lead_is_due(&lead, &lead.hosts[h], now + 3));
        assert_true(spex_lead_is_due(&lead, &lead.hosts[h], now + 3.01));
    }
}
