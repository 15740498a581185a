/* SPDX-License-Identifier: MIT */
/* `spex fleet simulate`: the command line, and the map's probes. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/estimate.h"
#include "text/number.h"
#include "tools/common/complain.h"
#include "tools/common/options.h"
#include "tools/fleet/fleet.h"

/* The response time over the service time, where the latter is not given: instances are then four
 * fifths busy when they just keep the mean. */
#define SERVICE_PART 5

struct request {
    const char *policy, *program, *load;
    unsigned long instances, probes, seed, why;
    double probe_cost;
    struct spex_simulation_options options;
    bool json;
};

static bool read_part(const char *text, double *part) {
    char digits[32];
    size_t length = strlen(text);
    if (length < 2 || length >= sizeof(digits) || text[length - 1] != '%')
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int)(length - 1), text);
    if (!spex_number_seconds(digits, part) || *part > 100)
        return false;
    *part /= 100;
    return true;
}

/* Reads "T:L,T:L,…" with ascending times, the first of which is 0. */
static int take_loads(const char *text, struct spex_simulation_options *options) {
    char *copy = strdup(text), *rest = NULL;
    bool good = copy != NULL;
    double before = -1;
    options->load_count = 0;
    for (char *item = good ? strtok_r(copy, ",", &rest) : NULL; item && good;
         item = strtok_r(NULL, ",", &rest)) {
        struct spex_simulation_load *load = &options->loads[options->load_count];
        char *colon = strchr(item, ':');
        good = colon && options->load_count < SPEX_SIMULATION_LOADS_MAX;
        if (!good)
            break;
        *colon = '\0';
        good = spex_number_seconds(item, &load->time) &&
               spex_number_seconds(colon + 1, &load->share) && load->time > before &&
               load->share <= 1000;
        before = load->time;
        options->load_count++;
    }
    free(copy);
    if (good && options->load_count && options->loads[0].time == 0)
        return SPEX_EXIT_OK;
    return spex_complain(SPEX_EXIT_USAGE,
                         "fleet simulate: --load: seconds, ascending from 0, and loads were "
                         "expected, as 0:0.6,60:0.9, not \"%s\"",
                         text);
}

static int take_arguments(int argc, char **argv, struct request *request) {
    static const struct spex_syntax syntax = {"fleet simulate",
                                              spex_fleet_usage,
                                              "a policy, and a program or none, was expected",
                                              1,
                                              2,
                                              SPEX_OPTIONS_ANYWHERE};
    struct spex_simulation_options *options = &request->options;
    const char *seconds = "seconds were expected", *part = "a part such as 5% was expected";
    const struct spex_option known[] = {
        {"instances", .count = &request->instances, .range = {1, 100000},
         .error = "1 to 100000 was expected"},
        {"probes", .count = &request->probes, .range = {1, SPEX_FLEET_PROBES_MAX},
         .error = "1 to 1024 was expected"},
        {"probe-cost", .number = &request->probe_cost, .read = read_part, .error = part},
        {"seconds", .number = &options->seconds, .range = {1, 100000}, .error = seconds},
        {"load", .text = &request->load},
        {"service", .number = &options->service, .range = {1e-9, 1000}, .error = seconds},
        {"slowdown", .number = &options->slowdown, .range = {0, 1000},
         .error = "a number of 0 to 1000 was expected"},
        {"noise", .number = &options->noise, .read = read_part, .error = part},
        {"boot", .number = &options->boot, .range = {0, 3600}, .error = seconds},
        {"churn", .number = &options->churn, .range = {0, 1800},
         .error = "0 to 1800 an hour was expected"},
        {"failures", .number = &options->failures, .range = {0, 1800},
         .error = "0 to 1800 an hour was expected"},
        {"seed", .count = &request->seed, .range = {0, 1e9}, .error = "0 to 1e9 was expected"},
        {"why", .count = &request->why, .range = {1, 1e9},
         .error = "an instance's number was expected"},
        {"json", .flag = &request->json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&syntax, known, argc, argv, &operands);
    if (status)
        return status;
    request->policy = operands.list[0];
    request->program = operands.count > 1 ? operands.list[1] : NULL;
    if (!request->instances)
        return spex_complain(SPEX_EXIT_USAGE, "fleet simulate: --instances was expected");
    if (request->program && request->probes)
        return spex_complain(SPEX_EXIT_USAGE,
                             "fleet simulate: a program or --probes was expected, not both");
    return request->load ? take_loads(request->load, options) : SPEX_EXIT_OK;
}

/* How many probes the map has: as asked for, of the program, or one for each mode of a unit. */
static int count_probes(const struct request *request, const struct spex_fleet_policy *policy,
                        size_t *count) {
    struct spex_fleet_probes probes;
    *count = request->probes ? request->probes : policy->selection.count;
    if (!request->program)
        return SPEX_EXIT_OK;
    int status = spex_fleet_probes_read(policy, request->program, &probes);
    *count = probes.covered;
    spex_fleet_probes_free(&probes);
    if (status == SPEX_EXIT_OK && *count > SPEX_FLEET_PROBES_MAX)
        status = spex_complain(SPEX_EXIT_FAILED, "%zu probes: at most %d were expected", *count,
                               SPEX_FLEET_PROBES_MAX);
    return status;
}

static int simulate(const struct request *request, const struct spex_fleet_policy *policy,
                    struct spex_fleet_map *map) {
    struct spex_simulation simulation;
    int err = spex_simulate(policy, map, &request->options, &simulation);
    int status;
    if (err == -EINVAL)
        status = spex_complain(SPEX_EXIT_FAILED,
                               "--service: less time than the response time was expected: no "
                               "number of instances keeps it");
    else if (err)
        status = spex_complain(SPEX_EXIT_FAILED, "out of memory");
    else
        status = spex_fleet_print_simulation(map, &simulation, request->why, request->json);
    spex_simulation_free(&simulation);
    return spex_fleet_flush(status);
}

int spex_fleet_simulate(int argc, char **argv) {
    struct request request = {.seed = 1, .probe_cost = 0.005};
    struct spex_fleet_policy *policy;
    struct spex_fleet_map map = {.count = 0};
    spex_simulation_defaults(&request.options);
    request.options.service = 0;
    int status = take_arguments(argc, argv, &request);
    status = status ? status : spex_fleet_policy_argument(request.policy, &policy);
    if (status)
        return status;
    request.options.instances = request.instances;
    request.options.seed = request.seed;
    if (request.options.service <= 0)
        request.options.service = policy->response.bound / SERVICE_PART /
                                  spex_fleet_metric_factor(policy->response.metric);
    status = count_probes(&request, policy, &map.count);
    for (size_t p = 0; p < map.count; p++)
        map.cost[p] = request.probe_cost;
    if (status == SPEX_EXIT_OK)
        status = simulate(&request, policy, &map);
    spex_fleet_policy_free(policy);
    return status;
}
