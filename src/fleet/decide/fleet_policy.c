/* SPDX-License-Identifier: MIT */
/* Reads the document's head and its QoS requirements. Units are in fleet_unit.c. */
#define _GNU_SOURCE
#include "fleet/decide/fleet_policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/fleet_unit.h"
#include "measure/criterion.h"
#include "ring/probe_type.h"
#include "text/number.h"
#include "xml/xml_criterion.h"

/* Limits against typing errors. */
#define PRICE_MAX      1e9
#define THROUGHPUT_MAX 1e12
#define ALPHA_MAX      100
#define SECONDS_MAX    3600

/* A number above 0; *value stays when the attribute is not there. */
static int take_number(struct spex_xml *xml, const xmlNode *element, const char *name, double most,
                       double *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_seconds(text, value) && *value > 0 && *value <= most))
        return 0;
    return spex_xml_fail(xml, element, "%s=\"%s\": a number above 0, at most %g, was expected",
                         name, text, most);
}

static int take_count(struct spex_xml *xml, const xmlNode *element, const char *name,
                      size_t *value) {
    const char *text = spex_xml_attribute(element, name);
    int64_t count = 0;
    if (!text)
        return 0;
    if (!spex_number_integer(text, &count) || count < 1 || count > SPEX_FLEET_INSTANCES_MAX)
        return spex_xml_fail(xml, element, "%s=\"%s\": a whole number of 1 to %d was expected",
                             name, text, SPEX_FLEET_INSTANCES_MAX);
    *value = (size_t)count;
    return 0;
}

/* The master reckons with means and quantiles of times alone. */
static int check_response(struct spex_xml *xml, const xmlNode *element,
                          const struct spex_criterion *response) {
    if (strcmp(spex_criterion_unit(response), "s") != 0 || spex_criterion_is_extreme(response))
        return spex_xml_fail(xml, element,
                             "%s of %s: the mean or a quantile of a time was expected, as p99 of "
                             "\"request:lat\"",
                             response->metric, response->probe);
    if (response->goal != SPEX_AT_MOST || response->bound <= 0 || response->bound > SECONDS_MAX)
        return spex_xml_fail(xml, element, "at_most: a time above 0, at most %d s, was expected",
                             SECONDS_MAX);
    return 0;
}

static int take_response(struct spex_xml *xml, const xmlNode *element,
                         struct spex_fleet_policy *policy) {
    static const char *const known[] = {"probe", "metric", "at_most", NULL};
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_take_metric(xml, element, &policy->response);
    err = err ? err : spex_xml_take_bound(xml, element, &policy->response);
    return err ? err : check_response(xml, element, &policy->response);
}

static int take_throughput(struct spex_xml *xml, const xmlNode *element,
                           struct spex_fleet_policy *policy) {
    static const char *const known[] = {"at_least", NULL};
    const char *text;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_required(xml, element, "at_least", &text);
    return err ? err : take_number(xml, element, "at_least", THROUGHPUT_MAX, &policy->throughput);
}

static int take_cost(struct spex_xml *xml, const xmlNode *element,
                     struct spex_fleet_policy *policy) {
    static const char *const known[] = {"an_instance_hour", "at_most", NULL};
    const char *text;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_required(xml, element, "an_instance_hour", &text);
    err = err ? err : spex_xml_required(xml, element, "at_most", &text);
    err = err ? err
              : take_number(xml, element, "an_instance_hour", PRICE_MAX, &policy->cost_an_instance);
    return err ? err : take_number(xml, element, "at_most", PRICE_MAX, &policy->cost_most);
}

static int take_overhead(struct spex_xml *xml, const xmlNode *element,
                         struct spex_fleet_policy *policy) {
    static const char *const known[] = {"at_most", NULL};
    const char *text;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_required(xml, element, "at_most", &text);
    return err ? err : spex_xml_part(xml, element, "at_most", &policy->budget);
}

static int take_instances(struct spex_xml *xml, const xmlNode *element,
                          struct spex_fleet_policy *policy) {
    static const char *const known[] = {"least", "most", "instrumented", "alpha", "margin", NULL};
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : take_count(xml, element, "least", &policy->least);
    err = err ? err : take_count(xml, element, "most", &policy->most);
    err = err ? err : spex_xml_part(xml, element, "instrumented", &policy->instrumented);
    err = err ? err : take_number(xml, element, "alpha", ALPHA_MAX, &policy->alpha);
    err = err ? err : spex_xml_part(xml, element, "margin", &policy->margin);
    if (!err && policy->least > policy->most)
        err = spex_xml_fail(xml, element, "least=\"%zu\": at most \"%zu\" was expected, the most",
                            policy->least, policy->most);
    return err;
}

/* Each requirement may stand once: a bit of *seen for each. */
static int take_requirement(struct spex_xml *xml, const xmlNode *element,
                            struct spex_fleet_policy *policy, unsigned *seen) {
    static const struct {
        const char *name;
        int (*take)(struct spex_xml *, const xmlNode *, struct spex_fleet_policy *);
    } known[] = {{"response-time", take_response},
                 {"throughput", take_throughput},
                 {"cost", take_cost},
                 {"overhead", take_overhead},
                 {"instances", take_instances}};
    for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++) {
        if (strcmp(spex_xml_name(element), known[k].name) != 0)
            continue;
        if (*seen & 1u << k)
            return spex_xml_fail(xml, element, "one <%s> was expected", known[k].name);
        *seen |= 1u << k;
        return known[k].take(xml, element, policy);
    }
    return spex_xml_fail(xml, element,
                         "response-time, throughput, cost, overhead or instances was expected");
}

/* A fleet that may not have its least number of instances can never be in an accepted state. */
static int check_cost(struct spex_xml *xml, const xmlNode *element,
                      const struct spex_fleet_policy *policy) {
    if (spex_fleet_instances_most(policy) >= policy->least)
        return 0;
    return spex_xml_fail(xml, element,
                         "%zu instances of %g an hour: less than %g an hour was expected",
                         policy->least, policy->cost_an_instance, policy->cost_most);
}

static int take_qos(struct spex_xml *xml, const xmlNode *element,
                    struct spex_fleet_policy *policy) {
    static const char *const known[] = {NULL};
    unsigned seen = 0;
    int err = spex_xml_check(xml, element, known, 1);
    for (const xmlNode *e = spex_xml_child(element); e && !err; e = spex_xml_next(e))
        err = take_requirement(xml, e, policy, &seen);
    if (!err && !(seen & 1))
        err = spex_xml_fail(xml, element, "<response-time> was expected in it");
    return err ? err : check_cost(xml, element, policy);
}

static int take_names(struct spex_xml *xml, const xmlNode *root, struct spex_fleet_policy *policy) {
    const char *name = NULL, *program = spex_xml_attribute(root, "program");
    int err = spex_xml_required(xml, root, "name", &name);
    if (err)
        return err;
    if (program && !*program)
        return spex_xml_fail(xml, root, "program: the name of a program was expected");
    policy->name = strdup(name);
    policy->program = strdup(program ? program : name);
    return policy->name && policy->program ? 0 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

/* The map comes first, then the requirements, as in Figure 3. */
static int take_root(struct spex_xml *xml, const xmlNode *root, struct spex_fleet_policy *policy) {
    static const char *const known[] = {"name", "program", NULL};
    int err = spex_xml_check(xml, root, known, 1);
    err = err ? err : take_names(xml, root, policy);
    if (err)
        return err;
    const xmlNode *map = spex_xml_child(root), *qos = map ? spex_xml_next(map) : NULL;
    if (!map || strcmp(spex_xml_name(map), "instrumentation-map") != 0)
        return spex_xml_fail(xml, map ? map : root, "<instrumentation-map> was expected first");
    if (!qos || strcmp(spex_xml_name(qos), "qos-requirements") != 0)
        return spex_xml_fail(xml, qos ? qos : root,
                             "<qos-requirements> was expected behind <instrumentation-map>");
    if (spex_xml_next(qos))
        return spex_xml_fail(xml, spex_xml_next(qos), "the end of <profiling-spec> was expected");
    err = spex_fleet_units_take(xml, map, policy);
    return err ? err : take_qos(xml, qos, policy);
}

/* What a document leaves out. Half of the instances instrumented is the paper's ratio up to which
 * throughput hardly falls (section 4.1). */
static const struct spex_fleet_policy defaults = {
    .cost_most = INFINITY,
    .budget = 0.02,
    .alpha = 1,
    .margin = 0.1,
    .instrumented = 0.5,
    .least = 1,
    .most = SPEX_FLEET_INSTANCES_MAX,
};

/* Takes over what has been read of the document. */
static int policy_take(struct spex_xml *xml, struct spex_fleet_policy **result) {
    const xmlNode *root;
    struct spex_fleet_policy *policy = malloc(sizeof(*policy));
    int err = policy ? spex_xml_root(xml, "profiling-spec", &root)
                     : spex_fail(xml->error, -ENOMEM, "out of memory");
    if (policy)
        *policy = defaults;
    err = err ? err : take_root(xml, root, policy);
    if (err)
        spex_fleet_policy_free(policy);
    else
        *result = policy;
    spex_xml_free(xml);
    return err;
}

int spex_fleet_policy_read(const char *path, struct spex_fleet_policy **policy,
                           struct spex_error *error) {
    struct spex_xml xml;
    *policy = NULL;
    int err = spex_xml_read_file(&xml, path, error);
    return err ? err : policy_take(&xml, policy);
}

int spex_fleet_policy_parse(const char *path, const char *text, struct spex_fleet_policy **policy,
                            struct spex_error *error) {
    struct spex_xml xml;
    *policy = NULL;
    int err = spex_xml_read_text(&xml, path, text, error);
    return err ? err : policy_take(&xml, policy);
}

void spex_fleet_policy_free(struct spex_fleet_policy *policy) {
    if (!policy)
        return;
    for (size_t u = 0; u < policy->unit_count; u++)
        free(policy->units[u].name);
    free(policy->units);
    free(policy->name);
    free(policy->program);
    free((void *)(uintptr_t)policy->response.probe);
    free((void *)(uintptr_t)policy->response.metric);
    spex_selection_free(&policy->selection);
    free(policy);
}

/* The cost is below the limit, not equal to it. The part of 1e-9 is for prices that are no binary
 * numbers: 8 instances of 0.12 are as dear as 0.96. */
size_t spex_fleet_instances_most(const struct spex_fleet_policy *policy) {
    if (!isfinite(policy->cost_most))
        return policy->most;
    double most = ceil(policy->cost_most / policy->cost_an_instance * (1 - 1e-9)) - 1;
    return most < (double)policy->most ? (size_t)most : policy->most;
}
