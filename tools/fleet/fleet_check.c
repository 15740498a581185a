/* SPDX-License-Identifier: MIT */
/* `spex fleet check`: what a policy means, and which probes of a program it covers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "measure/criterion.h"
#include "ring/probe_type.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/fleet/fleet.h"

struct check {
    const char *path;
    const struct spex_fleet_policy *policy;
    /* NULL: there is no program. */
    const struct spex_fleet_probes *probes;
};

static void modes_text(uint32_t modes, char *text, size_t size) {
    size_t length = 0;
    *text = '\0';
    for (uint32_t type = 1; modes && length < size; type <<= 1, modes >>= 1)
        if (modes & 1)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length ? " " : "",
                                       spex_probe_type_name(type));
}

static size_t probes_of_unit(const struct check *check, size_t unit) {
    size_t count = 0;
    for (size_t p = 0; p < check->probes->count; p++)
        count += check->probes->items[p].unit == unit;
    return count;
}

static void print_unit(const struct check *check, size_t u) {
    const struct spex_fleet_unit *unit = &check->policy->units[u];
    char modes[128];
    modes_text(unit->modes, modes, sizeof(modes));
    printf("unit       %s \"%s\", %s: %s\n", spex_fleet_unit_type_name(unit->type), unit->name,
           unit->external ? "external" : "internal", modes);
    for (size_t p = 0; check->probes && p < check->probes->count; p++)
        if (check->probes->items[p].unit == u)
            printf("             %s\n", check->probes->items[p].text);
}

static void print_cost(const struct spex_fleet_policy *policy) {
    if (isfinite(policy->cost_most))
        printf("cost       %g an instance and hour, below %g: at most %zu instances\n",
               policy->cost_an_instance, policy->cost_most, spex_fleet_instances_most(policy));
    else
        puts("cost       not bounded");
}

static void print_check(const struct check *check) {
    const struct spex_fleet_policy *policy = check->policy;
    char response[160];
    spex_criterion_text(&policy->response, response, sizeof(response));
    printf("policy     %s\n", policy->name);
    for (size_t u = 0; u < policy->unit_count; u++)
        print_unit(check, u);
    printf("response   %s\n", response);
    if (policy->throughput > 0)
        printf("throughput at least %g/s, which the fleet can serve at any time\n",
               policy->throughput);
    print_cost(policy);
    printf("overhead   at most %g%% of an instance's time\n", 100 * policy->budget);
    printf("instances  %zu to %zu, at most %g%% of them instrumented; alpha %g, margin %g%%\n",
           policy->least, policy->most, 100 * policy->instrumented, policy->alpha,
           100 * policy->margin);
    if (check->probes)
        printf("covers     %zu of %zu probes\n", check->probes->covered, check->probes->count);
}

static json_t *unit_json(const struct check *check, size_t u) {
    const struct spex_fleet_unit *unit = &check->policy->units[u];
    char modes[128];
    modes_text(unit->modes, modes, sizeof(modes));
    json_t *json = json_pack(
        "{s:s, s:o, s:s, s:s, s:I}", "type", spex_fleet_unit_type_name(unit->type), "name",
        spex_text_json(unit->name), "scope", unit->external ? "external" : "internal", "modes",
        modes, "line", (json_int_t)unit->line);
    if (!check->probes || !json)
        return json;
    json_t *probes = json_array();
    bool err = !probes;
    for (size_t p = 0; p < check->probes->count; p++)
        if (check->probes->items[p].unit == u)
            err |= json_array_append_new(probes, spex_text_json(check->probes->items[p].text)) != 0;
    err |= json_object_set_new(json, "probes", probes) != 0;
    return spex_json_unless(err, json);
}

static int print_check_json(const struct check *check) {
    const struct spex_fleet_policy *policy = check->policy;
    bool bounded = isfinite(policy->cost_most);
    json_t *units = json_array();
    bool err = !units;
    for (size_t u = 0; u < policy->unit_count; u++)
        err |= json_array_append_new(units, unit_json(check, u)) != 0;
    json_t *json = json_pack(
        "{s:o, s:o, s:{s:o, s:s, s:f}, s:f, s:o, s:o, s:f, s:{s:I, s:I, s:f, s:f, s:f}}", "policy",
        spex_text_json(policy->name), "units", units, "response", "probe",
        spex_text_json(policy->response.probe), "metric", policy->response.metric, "at_most",
        policy->response.bound, "throughput", policy->throughput, "cost_an_instance_hour",
        bounded ? json_real(policy->cost_an_instance) : json_null(), "cost_at_most",
        bounded ? json_real(policy->cost_most) : json_null(), "overhead", policy->budget,
        "instances", "least", (json_int_t)policy->least, "most",
        (json_int_t)spex_fleet_instances_most(policy), "instrumented", policy->instrumented,
        "alpha", policy->alpha, "margin", policy->margin);
    if (json && check->probes) {
        err |= json_object_set_new(json, "probes", json_integer((json_int_t)check->probes->count));
        err |=
            json_object_set_new(json, "covered", json_integer((json_int_t)check->probes->covered));
    }
    return spex_json_print(spex_json_unless(err, json), stdout)
               ? spex_complain(SPEX_EXIT_FAILED, "out of memory")
               : SPEX_EXIT_OK;
}

/* What the program does not have is a failure: the policy was written for another one. */
static int complain_of_missing(const struct check *check) {
    const struct spex_fleet_policy *policy = check->policy;
    int status = SPEX_EXIT_OK;
    for (size_t u = 0; u < policy->unit_count; u++)
        if (!probes_of_unit(check, u))
            status = spex_complain(SPEX_EXIT_FAILED,
                                   "%s:%ld: <unit>: a probe that no unit before it has was "
                                   "expected in the program: \"%s\" has none",
                                   check->path, policy->units[u].line, policy->units[u].name);
    if (!check->probes->response)
        status = spex_complain(SPEX_EXIT_FAILED,
                               "%s: <response-time>: a probe of the program was expected, not "
                               "\"%s\"",
                               check->path, policy->response.probe);
    return status;
}

static int run_check(struct check *check, const char *program, bool json) {
    struct spex_fleet_probes probes = {.items = NULL};
    int status = program ? spex_fleet_probes_read(check->policy, program, &probes) : SPEX_EXIT_OK;
    check->probes = program ? &probes : NULL;
    if (status == SPEX_EXIT_OK && json)
        status = print_check_json(check);
    else if (status == SPEX_EXIT_OK)
        print_check(check);
    status = spex_fleet_flush(status);
    if (status == SPEX_EXIT_OK && program)
        status = complain_of_missing(check);
    spex_fleet_probes_free(&probes);
    check->probes = NULL;
    return status;
}

int spex_fleet_check(int argc, char **argv) {
    static const struct spex_syntax syntax = {"fleet check",
                                              spex_fleet_usage,
                                              "a policy, and a program or none, was expected",
                                              1,
                                              2,
                                              SPEX_OPTIONS_ANYWHERE};
    bool json = false;
    const struct spex_option known[] = {{"json", .flag = &json}, {.name = NULL}};
    struct spex_operands operands;
    struct spex_fleet_policy *policy;
    int status = spex_options_take(&syntax, known, argc, argv, &operands);
    status = status ? status : spex_fleet_policy_argument(operands.list[0], &policy);
    if (status)
        return status;
    struct check check = {.path = operands.list[0], .policy = policy};
    status = run_check(&check, operands.count > 1 ? operands.list[1] : NULL, json);
    spex_fleet_policy_free(policy);
    return status;
}
