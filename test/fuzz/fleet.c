/* SPDX-License-Identifier: MIT */
/* Any file as the policy of a fleet: refused with one line, or a policy within its limits, with
 * which a fleet can be simulated. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "fleet/decide/simulation.h"
#include "memory_file.h"
#include "text/printable.h"

static void check_policy(const struct spex_fleet_policy *policy) {
    FUZZ_CHECK(*policy->name && policy->unit_count >= 1);
    FUZZ_CHECK(policy->unit_count <= SPEX_FLEET_UNITS_MAX);
    FUZZ_CHECK(policy->response.bound > 0 && policy->budget > 0 && policy->budget <= 1);
    FUZZ_CHECK(policy->least <= spex_fleet_instances_most(policy));
    FUZZ_CHECK(policy->instrumented > 0 && policy->instrumented <= 1);
    size_t items = 0;
    for (size_t u = 0; u < policy->unit_count; u++) {
        FUZZ_CHECK(policy->units[u].item_count >= 1 && policy->units[u].first_item == items);
        FUZZ_CHECK(spex_is_printable(policy->units[u].name));
        items += policy->units[u].item_count;
    }
    FUZZ_CHECK(items == policy->selection.count);
}

static void check_simulation(const struct spex_fleet_policy *policy) {
    struct spex_fleet_map map = {.count = 3, .cost = {0.01, 0.5, 0}};
    struct spex_simulation_options options;
    struct spex_simulation result;
    spex_simulation_defaults(&options);
    options.instances = 5;
    options.seconds = 20;
    options.service = policy->response.bound / 10;
    /* A fleet of a million instances takes long. */
    if (policy->least > 100 || policy->throughput > 1000 / options.service)
        return;
    int err = spex_simulate(policy, &map, &options, &result);
    FUZZ_CHECK(!err || err == -EINVAL);
    spex_simulation_free(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_fleet_policy *policy;
    struct spex_error why = {""};
    int err = spex_fleet_policy_read(memory_file(data, size), &policy, &why);
    if (err) {
        FUZZ_CHECK(!policy && (err == -EINVAL || err == -EFBIG));
        FUZZ_CHECK(*why.text && !strchr(why.text, '\n') && spex_is_printable(why.text));
        return 0;
    }
    check_policy(policy);
    check_simulation(policy);
    spex_fleet_policy_free(policy);
    return 0;
}

size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const char *const seeds[] = {
        "<profiling-spec name='p'>\n<instrumentation-map>\n"
        "<unit type='glob' name='a*' modes='lat cnt@100' scope='internal'/>\n"
        "<unit type='file' name='b.c' modes='kernel'/>\n"
        "<unit type='library' name='libz' modes='span snapshot' scope='external'/>\n"
        "</instrumentation-map>\n<qos-requirements>\n"
        "<response-time probe='q:lat' metric='p99.9' at_most='2.5ms'/><throughput at_least='9'/>\n"
        "<cost an_instance_hour='0.12' at_most='0.96'/><overhead at_most='2%'/>\n"
        "<instances least='1' most='9' instrumented='50%' alpha='1' margin='10%'/>\n"
        "</qos-requirements>\n</profiling-spec>\n",
        "<profiling-spec name='p'><instrumentation-map><unit type='probe' name='7' modes='tpt'/>"
        "</instrumentation-map><qos-requirements><response-time probe='q:lat' metric='mean'"
        " at_most='1'/></qos-requirements></profiling-spec>",
    };
    return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), number, data, room);
}

const char *const fuzz_words[] = {"<unit ",
                                  "type='glob' ",
                                  "name='b' ",
                                  "modes='lat' ",
                                  "scope='external' ",
                                  "<cost ",
                                  "<overhead ",
                                  "<instances ",
                                  "<throughput ",
                                  "at_most='1' ",
                                  "at_least='1' ",
                                  "least='2' ",
                                  "most='2' ",
                                  "alpha='0.1' ",
                                  "%",
                                  "@",
                                  "~",
                                  "*",
                                  "/>",
                                  ">",
                                  "'",
                                  "\"",
                                  " ",
                                  "\n",
                                  "0",
                                  "1",
                                  "9",
                                  "999999999",
                                  "0.000000001",
                                  "&#10;",
                                  "&#x1b;",
                                  "<!--",
                                  "-->",
                                  "<![CDATA[",
                                  "]]>",
                                  "<!DOCTYPE p>",
                                  "xmlns='u' ",
                                  "\xc3\xa9",
                                  "\xff",
                                  NULL};
