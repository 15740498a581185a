/* SPDX-License-Identifier: MIT */
/* The policy of a fleet, from XML: which probes are wanted (the instrumentation map) and what the
 * service and its price must keep (QoS), as in Figure 3 of Kaviani, Wohlstadter and Lea,
 * "Profiling-as-a-Service" (section 3.1):
 *
 *     <profiling-spec name="shop">
 *       <instrumentation-map>
 *         <unit type="glob" name="cart*" modes="lat cnt@100" scope="internal"/>
 *       </instrumentation-map>
 *       <qos-requirements>
 *         <response-time probe="request:lat" metric="p99" at_most="500ms"/>
 *         <cost an_instance_hour="0.12" at_most="0.96"/>
 *       </qos-requirements>
 *     </profiling-spec>
 *
 * docs/fleet.md describes every element. */
#ifndef SPEX_FLEET_DECIDE_FLEET_POLICY_H
#define SPEX_FLEET_DECIDE_FLEET_POLICY_H

#include <spex/policy.h>

#include "site/selection.h"
#include "text/error.h"

enum { SPEX_FLEET_UNITS_MAX = 256, SPEX_FLEET_INSTANCES_MAX = 1000000 };

/* The kind of a unit's name. */
enum spex_fleet_unit_type {
    SPEX_FLEET_PROBE,
    SPEX_FLEET_GLOB,
    SPEX_FLEET_FILE,
    SPEX_FLEET_LIBRARY
};

struct spex_fleet_unit {
    enum spex_fleet_unit_type type;
    char *name;
    /* Probes that reach from one part of the program to another, and not those within one. */
    bool external;
    /* Types of probes: mask of enum spex_probe_type. */
    uint32_t modes;
    /* The unit's items in the policy's selection: one a mode. */
    size_t first_item, item_count;
    /* In the document, for messages. */
    long line;
};

struct spex_fleet_policy {
    char *name;
    /* The name of its programs; that of the policy, if it has none for them. */
    char *program;
    struct spex_fleet_unit *units;
    size_t unit_count;
    /* The map as a selection of probes, in the order of the units. */
    struct spex_selection selection;
    /* Time that an execution may take: mean or a quantile of a named probe. */
    struct spex_criterion response;
    /* Executions a second that the fleet must be able to serve at any time; 0: what comes. */
    double throughput;
    /* C_t and the price of an instance, both for an hour; infinite and 0: no bound on cost. */
    double cost_most, cost_an_instance;
    /* Share of its time that the probes of an instance may take. */
    double budget;
    /* The constant of the paper's rate (section 2.2). */
    double alpha;
    /* Hysteresis: what must be left beyond the targets before instrumentation is added, as a
     * share; twice that before instances are removed. */
    double margin;
    /* At most this share of the instances is instrumented. */
    double instrumented;
    /* Bounds of the number of instances. */
    size_t least, most;
};

/* Reads a policy. 0; -EINVAL when it is malformed or contradicts itself; or the error of
 * reading. After an error *policy is NULL. */
int spex_fleet_policy_read(const char *path, struct spex_fleet_policy **policy,
                           struct spex_error *error);

/* The same from a text; `path` is for messages. */
int spex_fleet_policy_parse(const char *path, const char *text, struct spex_fleet_policy **policy,
                            struct spex_error *error);
void spex_fleet_policy_free(struct spex_fleet_policy *policy);

/* "probe", "glob", "file" or "library". */
const char *spex_fleet_unit_type_name(enum spex_fleet_unit_type type);

/* True if the unit has this probe. */
bool spex_fleet_unit_matches(const struct spex_fleet_policy *policy,
                             const struct spex_fleet_unit *unit,
                             const struct spex_selection_probe *probe);

/* The item of the policy's selection that is for this probe: of the first unit that has it. NULL:
 * none has. */
const struct spex_selection_item *spex_fleet_item_of(const struct spex_fleet_policy *policy,
                                                     const struct spex_selection_probe *probe);

/* The most instances with which inequality (2) holds, C_inst < C_t; at most policy->most. */
size_t spex_fleet_instances_most(const struct spex_fleet_policy *policy);

#endif
