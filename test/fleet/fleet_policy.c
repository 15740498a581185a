/* SPDX-License-Identifier: MIT */
/* Policies of fleets: what they say, and what is refused with its line. */
#include <math.h>

#include "policies.h"

TEST(a_policy_says_what_stands_in_it) {
    struct spex_fleet_policy *policy =
        policy_with("<cost an_instance_hour='0.12' at_most='0.96'/><throughput at_least='300'/>"
                    "<overhead at_most='3%'/><instances least='2' most='50' instrumented='25%'"
                    " alpha='2' margin='5%'/>");
    assert_string_equal(policy->name, "p");
    assert_int_equal(policy->unit_count, 1);
    assert_int_equal(policy->units[0].modes, SPEX_LAT | SPEX_CNT);
    assert_int_equal(policy->selection.count, 2);
    assert_true(fabs(policy->response.bound - 0.05) < 1e-12);
    assert_true(policy->throughput == 300 && policy->alpha == 2);
    assert_true(policy->budget == 0.03 && policy->instrumented == 0.25 && policy->margin == 0.05);
    assert_int_equal(policy->least, 2);
    /* Eight instances cost 0.96, which is not below it: inequality (2). */
    assert_int_equal(spex_fleet_instances_most(policy), 7);
    spex_fleet_policy_free(policy);
}

TEST(what_is_left_out_has_a_default) {
    struct spex_fleet_policy *policy = policy_with("");
    assert_true(isinf(policy->cost_most));
    assert_int_equal(spex_fleet_instances_most(policy), SPEX_FLEET_INSTANCES_MAX);
    assert_true(policy->budget == 0.02 && policy->instrumented == 0.5 && policy->alpha == 1);
    assert_true(policy->least == 1 && policy->margin == 0.1);
    spex_fleet_policy_free(policy);
}

TEST(units_match_probes_as_selections_do) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_selection_probe probe = {"app", "after", "a.c", SPEX_LAT, 1, -1, UINT16_MAX};
    assert_true(spex_fleet_unit_matches(policy, &policy->units[0], &probe));
    probe.type = SPEX_TPT;
    assert_false(spex_fleet_unit_matches(policy, &policy->units[0], &probe));
    probe.type = SPEX_CNT;
    probe.name = "before";
    assert_false(spex_fleet_unit_matches(policy, &policy->units[0], &probe));
    spex_fleet_policy_free(policy);
}

#define OPEN     "<profiling-spec name='p'>\n"
#define RESPONSE "<response-time probe='q:lat' metric='mean' at_most='1s'/>"
#define UNIT(attributes)                                                                           \
    OPEN "<instrumentation-map>\n<unit " attributes "/>\n</instrumentation-map>\n"                 \
         "<qos-requirements>" RESPONSE "</qos-requirements></profiling-spec>"
#define QOS(requirements)                                                                          \
    OPEN MAP "\n<qos-requirements>\n" requirements "</qos-requirements></profiling-spec>"

TEST(a_wrong_policy_is_refused_with_its_line) {
    static const struct {
        const char *xml, *where, *expected;
    } bad[] = {
        {"", ":1: ", "not well-formed"},
        {"<space/>", ":1: <space>", "<profiling-spec> was expected"},
        {"<profiling-spec/>", ":1: <profiling-spec>", "\"name\" was expected"},
        {"<profiling-spec name='p' program=''/>", ":1: <profiling-spec>",
         "program: the name of a program was expected"},
        {OPEN "</profiling-spec>", ":1: ", "<instrumentation-map> was expected"},
        {OPEN MAP "</profiling-spec>", ":1: ", "<qos-requirements> was expected"},
        {OPEN "<instrumentation-map/><qos-requirements/></profiling-spec>",
         ":2: ", "<unit> was expected"},
        {UNIT("type='class' name='a' modes='lat'"), ":3: <unit>", "probe, glob, file or library"},
        {UNIT("type='probe' name='a*' modes='lat'"), ":3: <unit>",
         "name=\"a*\": the name or id of a probe was expected, at most 255 bytes without any of "
         "\",:@=+ *?[\""},
        {UNIT("type='glob' name='a,b' modes='lat'"), ":3: <unit>",
         "name=\"a,b\": the glob of a probe was expected, at most 255 bytes without any of "
         "\",:@=+ \""},
        {UNIT("type='file' name='a:b' modes='lat'"), ":3: <unit>",
         "name=\"a:b\": the glob of a file was expected, at most 255 bytes without any of "
         "\",:@=+ \""},
        {UNIT("type='library' name='a/b' modes='lat'"), ":3: <unit>",
         "name=\"a/b\": the glob of a library was expected, at most 255 bytes without any of "
         "\",:@=+ /\""},
        {UNIT("type='glob' name='a' modes='cpu'"), ":3: <unit>", "a type of probes"},
        {UNIT("type='glob' name='a' modes='lat@0'"), ":3: <unit>", "modes: "},
        {UNIT("type='glob' name='a' modes='lat@off'"), ":3: <unit>", "a rate was expected"},
        {UNIT("type='glob' name='a' modes=' '"), ":3: <unit>", "a type of probes was expected"},
        {UNIT("type='glob' name='a' modes='lat lat@5'"), ":3: <unit>", "lat once"},
        {UNIT("type='glob' name='a' modes='lat' scope='all'"), ":3: <unit>",
         "internal or external"},
        {UNIT("type='glob' name='a' modes='lat' scope='external'"), ":3: <unit>",
         "span or snapshot"},
        {UNIT("type='glob' name='a' modes='span'"), ":3: <unit>", "begins and ends in the unit"},
        {UNIT("type='glob' name='a' modes='lat'/><unit type='glob' name='a' modes='lat'"),
         ":3: ", "is in a unit before"},
        {QOS(""), ":3: ", "<response-time> was expected"},
        {QOS("<price/>"), ":4: <price>", "response-time, throughput"},
        {QOS(RESPONSE RESPONSE), ":4: ", "one <response-time>"},
        {QOS("<response-time probe='q:cnt' metric='mean' at_most='1s'/>"), ":4: ", "metric="},
        {QOS("<response-time probe='q:lat' metric='max' at_most='1s'/>"),
         ":4: ", "quantile of a time"},
        {QOS("<response-time probe='q:lat' metric='p99' at_most='-1'/>"), ":4: ", "above 0"},
        {QOS("<response-time probe='*' metric='p99' at_most='1'/>"),
         ":4: ", "one probe and its type"},
        {QOS(RESPONSE "<cost at_most='1'/>"), ":4: ", "\"an_instance_hour\" was expected"},
        {QOS(RESPONSE "<cost an_instance_hour='1' at_most='1'/>"), ":3: ", "less than 1 an hour"},
        {QOS(RESPONSE "<overhead at_most='2'/>"), ":4: ", "as \"2%\""},
        {QOS(RESPONSE "<instances least='3' most='2'/>"), ":4: ", "the most"},
        {QOS(RESPONSE "<instances least='0'/>"), ":4: ", "whole number of 1"},
        {QOS(RESPONSE "<instances alpha='-1'/>"), ":4: ", "a number above 0"},
    };
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        struct spex_fleet_policy *policy;
        struct spex_error error = {""};
        assert_int_equal(spex_fleet_policy_parse("bad.xml", bad[b].xml, &policy, &error), -EINVAL);
        assert_null(policy);
        if (!strstr(error.text, bad[b].where) || !strstr(error.text, bad[b].expected))
            fail_msg("%s: expected \"%s\" and \"%s\"", error.text, bad[b].where, bad[b].expected);
    }
}
