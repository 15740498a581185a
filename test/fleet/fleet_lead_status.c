/* SPDX-License-Identifier: MIT */
/* What a master tells of a small fleet, word for word, and what it desires on each host. */
#include "fleet/lead/lead_status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* With the figures to six digits. */
static char *text_of(json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
    json_decref(json);
    return text;
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

static void the_state_is_told(void **state) {
    (void)state;
    double now = run_fleet();
    compare(text_of(spex_lead_status(&lead, 0)),
            "{\"count\":6,\"covered\":4,\"decisions\":2,\"elastic\":true,\"hosts\":2,\"instances\":"
            "[{\"cause\":\"room\",\"desired\":4,\"instance\":\"west/"
            "11\",\"leaving\":false,\"map\":4,\"mode\":\"full\"\n"
            "\"on\":3,\"program\":\"shop\",\"response\":0.011,\"spent\":0.041625,\"throughput\":11."
            "0,\"why\":\"all is well\"}\n"
            "{\"cause\":\"room\",\"desired\":4,\"instance\":\"west/"
            "12\",\"leaving\":false,\"map\":4,\"mode\":\"full\"\n"
            "\"on\":2,\"program\":\"shop\",\"response\":0.011,\"spent\":0.041625,\"throughput\":12."
            "0,\"why\":\"all is well\"}\n"
            "{\"cause\":\"room\",\"desired\":2,\"instance\":\"east/"
            "31\",\"leaving\":false,\"map\":4,\"mode\":\"partial\"\n"
            "\"on\":2,\"program\":\"shop\",\"response\":0.012,\"spent\":0.0296875,\"throughput\":"
            "11.0,\"why\":\"all is well\"}\n"
            "{\"cause\":\"new\",\"desired\":0,\"instance\":\"west/"
            "10\",\"leaving\":false,\"map\":4,\"mode\":\"none\"\n"
            "\"on\":1,\"program\":\"shop\",\"response\":0.011,\"spent\":0.0,\"throughput\":10.0,"
            "\"why\":\"all is well\"}\n"
            "{\"cause\":\"new\",\"desired\":0,\"instance\":\"east/"
            "30\",\"leaving\":false,\"map\":4,\"mode\":\"none\"\n"
            "\"on\":0,\"program\":\"shop\",\"response\":0.012,\"spent\":0.0,\"throughput\":10.0,"
            "\"why\":\"all is well\"}\n"
            "{\"cause\":\"new\",\"desired\":0,\"instance\":\"west/"
            "13\",\"leaving\":false,\"map\":4,\"mode\":\"none\"\n"
            "\"on\":0,\"program\":\"shop\",\"response\":0.011,\"spent\":0.0,\"throughput\":13.0,"
            "\"why\":\"all is well\"}],\"instances_left_out\":0\n"
            "\"last\":{\"action\":\"instrument\",\"add\":0,\"capacity\":469.6,\"cost\":0.0,"
            "\"instrument\":1,\"p\":78.2667,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"8 s: instruments 1: there is room for them; before: 6 instances and 0 "
            "starting of at most 1000000, 2 instrumented, response 11.31 ms, (1) 469.6/s >= "
            "67/"
            "s\",\"time\":7.75},\"map\":4,\"modes\":{\"full\":2,\"none\":3,\"partial\":1},\"next\":"
            "null\n"
            "\"now\":{\"action\":\"hold\",\"add\":0,\"capacity\":473.756,\"cost\":0.0,"
            "\"instrument\":0,\"p\":78.9593,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"12 s: nothing is to be done; before: 6 instances and 0 starting of at most "
            "1000000, 3 instrumented, response 11.31 ms, (1) 473.8/s >= "
            "67/"
            "s\",\"time\":11.75},\"overlap\":{\"high\":1.0,\"instances\":3,\"low\":0.951766,"
            "\"share\":0.980325},\"policy\":\"p\",\"probes\":[{\"cost\":0.0099375\n"
            "\"on\":2,\"probe\":\"a:lat\"}\n"
            "{\"cost\":0.0140625\n"
            "\"on\":3,\"probe\":\"b:lat\"}\n"
            "{\"cost\":0.015625\n"
            "\"on\":3,\"probe\":\"w:cnt\"}\n"
            "{\"cost\":0.002\n"
            "\"on\":2,\"probe\":\"e:lat\"}],\"probes_left_out\":0,\"recorded\":4,\"refused\":0,"
            "\"reports\":24}\n");
    compare(text_of(spex_lead_status(&lead, 5)),
            "{\"count\":6,\"covered\":4,\"decisions\":2,\"elastic\":true,\"hosts\":2,\"instances\":"
            "[{\"cause\":\"new\",\"desired\":0,\"instance\":\"west/"
            "13\",\"leaving\":false,\"map\":4,\"mode\":\"none\"\n"
            "\"on\":0,\"program\":\"shop\",\"response\":0.011,\"spent\":0.0,\"throughput\":13.0,"
            "\"why\":\"all is well\"}],\"instances_left_out\":0\n"
            "\"last\":{\"action\":\"instrument\",\"add\":0,\"capacity\":469.6,\"cost\":0.0,"
            "\"instrument\":1,\"p\":78.2667,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"8 s: instruments 1: there is room for them; before: 6 instances and 0 "
            "starting of at most 1000000, 2 instrumented, response 11.31 ms, (1) 469.6/s >= "
            "67/"
            "s\",\"time\":7.75},\"map\":4,\"modes\":{\"full\":2,\"none\":3,\"partial\":1},\"next\":"
            "null\n"
            "\"now\":{\"action\":\"hold\",\"add\":0,\"capacity\":473.756,\"cost\":0.0,"
            "\"instrument\":0,\"p\":78.9593,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"12 s: nothing is to be done; before: 6 instances and 0 starting of at most "
            "1000000, 3 instrumented, response 11.31 ms, (1) 473.8/s >= "
            "67/"
            "s\",\"time\":11.75},\"overlap\":null,\"policy\":\"p\",\"probes\":[],\"probes_left_"
            "out\":0,\"recorded\":4,\"refused\":0,\"reports\":24}\n");
    compare(text_of(spex_lead_why(&lead, "west/11")),
            "{\"instance\":{\"cause\":\"room\",\"desired\":4,\"instance\":\"west/"
            "11\",\"leaving\":false,\"map\":4,\"mode\":\"full\"\n"
            "\"on\":3,\"program\":\"shop\",\"response\":0.011,\"spent\":0.041625,\"throughput\":11."
            "0,\"why\":\"all is well\"}\n"
            "\"last\":{\"action\":\"instrument\",\"add\":0,\"capacity\":469.6,\"cost\":0.0,"
            "\"instrument\":1,\"p\":78.2667,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"8 s: instruments 1: there is room for them; before: 6 instances and 0 "
            "starting of at most 1000000, 2 instrumented, response 11.31 ms, (1) 469.6/s >= "
            "67/s\",\"time\":7.75}\n"
            "\"now\":{\"action\":\"hold\",\"add\":0,\"capacity\":473.756,\"cost\":0.0,"
            "\"instrument\":0,\"p\":78.9593,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"12 s: nothing is to be done; before: 6 instances and 0 starting of at most "
            "1000000, 3 instrumented, response 11.31 ms, (1) 473.8/s >= 67/s\",\"time\":11.75}\n"
            "\"text\":\"instance west/11: full since 4 s, before none (1 changes): inequality (1) "
            "held with the margin, so there was room for it; 4 of 4 probes, 4.16% of its time of "
            "at most 4.00%\"}\n");
    compare(text_of(spex_lead_why(&lead, "west/14")),
            "{\"error\":\"there is no such instance; spex fleet status lists them\"}\n");
    west.count = 3;
    assert_int_equal(report(&west, now), 0);
    east.first = 31;
    assert_int_equal(report(&east, now), -17);
    east.count = 1;
    assert_int_equal(report(&east, now + 4), 0);
    compare(text_of(spex_lead_why(&lead, "east/31")),
            "{\"instance\":{\"cause\":\"room\",\"desired\":2,\"instance\":\"east/"
            "31\",\"leaving\":false,\"map\":4,\"mode\":\"partial\"\n"
            "\"on\":0,\"program\":\"shop\",\"response\":0.012,\"spent\":0.0296875,\"throughput\":"
            "10.0,\"why\":\"all is well\"}\n"
            "\"last\":{\"action\":\"instrument\",\"add\":0,\"capacity\":469.6,\"cost\":0.0,"
            "\"instrument\":1,\"p\":78.2667,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"8 s: instruments 1: there is room for them; before: 6 instances and 0 "
            "starting of at most 1000000, 2 instrumented, response 11.31 ms, (1) 469.6/s >= "
            "67/s\",\"time\":7.75}\n"
            "\"now\":{\"action\":\"hold\",\"add\":0,\"capacity\":473.756,\"cost\":0.0,"
            "\"instrument\":0,\"p\":78.9593,\"p_inst\":0.0\n"
            "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
            "\"text\":\"12 s: nothing is to be done; before: 6 instances and 0 starting of at most "
            "1000000, 3 instrumented, response 11.31 ms, (1) 473.8/s >= 67/s\",\"time\":11.75}\n"
            "\"text\":\"instance east/31: partial since 8 s, before none (1 changes): inequality "
            "(1) held with the margin, so there was room for it; 2 of 4 probes, 2.97% of its time "
            "of at most 3.00%\"}\n");
    assert_true(spex_lead_is_others(&lead, "east", 30));
    assert_false(spex_lead_is_others(&lead, "east", 31));
    assert_false(spex_lead_is_others(&lead, "north", 31));
    decide(now + 5.1);
    assert_string_equal(lost, "west ");
    compare(
        text_of(spex_lead_status(&lead, 0)),
        "{\"count\":1,\"covered\":2,\"decisions\":2,\"elastic\":true,\"hosts\":1,\"instances\":[{"
        "\"cause\":\"room\",\"desired\":2,\"instance\":\"east/"
        "31\",\"leaving\":false,\"map\":4,\"mode\":\"partial\"\n"
        "\"on\":0,\"program\":\"shop\",\"response\":0.012,\"spent\":0.0296875,\"throughput\":10.0,"
        "\"why\":\"all is well\"}],\"instances_left_out\":0\n"
        "\"last\":{\"action\":\"instrument\",\"add\":0,\"capacity\":469.6,\"cost\":0.0,"
        "\"instrument\":1,\"p\":78.2667,\"p_inst\":0.0\n"
        "\"p_t\":67.0,\"remove\":0,\"response\":0.0113134,\"revert\":0\n"
        "\"text\":\"8 s: instruments 1: there is room for them; before: 6 instances and 0 starting "
        "of at most 1000000, 2 instrumented, response 11.31 ms, (1) 469.6/s >= "
        "67/"
        "s\",\"time\":7.75},\"map\":4,\"modes\":{\"full\":0,\"none\":0,\"partial\":1},\"next\":"
        "null\n"
        "\"now\":{\"action\":\"hold\",\"add\":0,\"capacity\":78.0588,\"cost\":0.0,\"instrument\":0,"
        "\"p\":78.9593,\"p_inst\":0.900452\n"
        "\"p_t\":30.0,\"remove\":0,\"response\":0.012,\"revert\":0\n"
        "\"text\":\"17 s: nothing is to be done; before: 1 instances and 0 starting of at most "
        "1000000, 1 instrumented, response 12 ms, (1) 78.06/s >= "
        "30/s\",\"time\":16.85},\"overlap\":null,\"policy\":\"p\",\"probes\":[{\"cost\":0.0099375\n"
        "\"on\":0,\"probe\":\"a:lat\"}\n"
        "{\"cost\":0.0140625\n"
        "\"on\":1,\"probe\":\"b:lat\"}\n"
        "{\"cost\":0.015625\n"
        "\"on\":1,\"probe\":\"w:cnt\"}\n"
        "{\"cost\":0.002\n"
        "\"on\":0,\"probe\":\"e:lat\"}],\"probes_left_out\":0,\"recorded\":0,\"refused\":1,"
        "\"reports\":26}\n");
}

static void what_is_desired_has_the_probes_of_the_host(void **state) {
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_state_is_told, begin, lead_end),
        cmocka_unit_test_setup_teardown(what_is_desired_has_the_probes_of_the_host, begin,
                                        lead_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
