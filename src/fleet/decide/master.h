/* SPDX-License-Identifier: MIT */
/* What the master of a fleet decides: a function of the policy, the map's probes and what has been
 * observed, with the state that it hands itself from one decision to the next. There is no clock,
 * no network and no chance in it: equal inputs give equal decisions.
 *
 * The terms are those of Kaviani, Wohlstadter, Lea, "Profiling-as-a-Service", section 2.2:
 *
 *     (1)  m (P - P_inst) >= P_t        (2)  C_inst < C_t
 *
 * The paper puts response times in the place of P, which are no capacities: they do not add up over
 * instances. Here P is the number of executions a second with which an instance without probes just
 * keeps the response time, P_inst what instrumentation takes of that, and P_t what is asked of the
 * fleet. As not all instances are instrumented, the left side of (1) is the sum over them,
 * m P - VM_inst P_inst. */
#ifndef SPEX_FLEET_DECIDE_MASTER_H
#define SPEX_FLEET_DECIDE_MASTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/decide/fleet_policy.h"

enum { SPEX_FLEET_PROBES_MAX = 1024, SPEX_FLEET_WORDS = SPEX_FLEET_PROBES_MAX / 64 };

/* The probes that the instrumentation map has in the program. */
struct spex_fleet_map {
    size_t count;
    /* The share of an instance's time that each takes while it is on. */
    double cost[SPEX_FLEET_PROBES_MAX];
};

/* An instance's report about the last second or so. */
struct spex_fleet_observation {
    uint64_t id;
    /* In the policy's metric, seconds; and executions a second. Not finite or 0: not known. */
    double response, throughput;
    /* The share of its time that its probes may take; 0: the policy's. */
    double budget;
    /* The probes that an earlier master has switched on at it, as the bits of an instance: a new
     * instance goes on with them. NULL: it begins without probes. */
    const uint64_t *adopt;
};

struct spex_fleet_observations {
    /* Seconds of any clock that does not go back. */
    double now;
    /* The instances that are there, by ascending ids. */
    const struct spex_fleet_observation *items;
    size_t count;
};

enum spex_fleet_mode { SPEX_FLEET_NONE, SPEX_FLEET_PARTIAL, SPEX_FLEET_FULL };

/* Why an instance is in its mode. */
enum spex_fleet_cause {
    /* It is new: instances begin without probes. */
    SPEX_FLEET_CAUSE_NEW,
    /* (1) held with the margin: there was room for one more instrumented instance. */
    SPEX_FLEET_CAUSE_ROOM,
    /* It records probes that no other instance recorded. */
    SPEX_FLEET_CAUSE_COVER,
    /* (1) did not hold, and another instance would have broken (2). */
    SPEX_FLEET_CAUSE_COST,
    /* More instances were instrumented than the policy's share. */
    SPEX_FLEET_CAUSE_SHARE,
    /* The instance is to be removed: fewer are enough, or (2) did not hold. */
    SPEX_FLEET_CAUSE_REMOVED,
    /* An earlier master had decided it. */
    SPEX_FLEET_CAUSE_ADOPTED,
    /* Its probes have become dearer than its budget. */
    SPEX_FLEET_CAUSE_DEAR
};

struct spex_fleet_instance {
    uint64_t id;
    /* The probes that are on: a bit for each of the map. */
    uint64_t probes[SPEX_FLEET_WORDS];
    size_t probe_count;
    /* The share of the time that these probes take, and the share that they may take. */
    double spent, budget;
    enum spex_fleet_mode mode, before;
    enum spex_fleet_cause cause;
    /* When the mode was decided, and how often it has been. */
    double since;
    unsigned changes;
    /* To be removed: it does not count any more. */
    bool leaving;
};

enum spex_fleet_action {
    SPEX_FLEET_HOLD,
    SPEX_FLEET_INSTRUMENT,
    SPEX_FLEET_REVERT,
    SPEX_FLEET_ADD,
    SPEX_FLEET_REVERT_AND_ADD,
    SPEX_FLEET_REMOVE,
    /* The paper's third stable condition: nothing is instrumented, (1) does not hold, and one more
     * instance would break (2). */
    SPEX_FLEET_STUCK
};

/* A decision, and the figures that it was made by. */
struct spex_fleet_decision {
    double time;
    enum spex_fleet_action action;
    size_t add, remove, instrument, revert;
    /* m with what is still starting; VM_inst before the decision; the most that (2) allows. */
    size_t instances, starting, instrumented, most;
    /* P, P_inst, P_t and the left side of (1), in executions a second; NaN: not known yet. */
    double p, p_inst, p_t, capacity;
    /* The fleet's response time; NaN: not known. */
    double response;
    /* C_inst an hour. */
    double cost;
    /* Probes of the map that at least one instance records, after the decision. */
    size_t covered;
};

struct spex_fleet_state {
    struct spex_fleet_instance *instances;
    size_t count;
    /* How many instances record each probe. */
    size_t cover[SPEX_FLEET_PROBES_MAX];
    size_t instrumented, leaving;
    /* Instances that were asked for and are not there yet, until when they are waited for. */
    size_t starting;
    double starting_until;
    /* Service times without and with probes: seconds of an instance for an execution; NaN: not
     * known. */
    double service, service_inst;
    /* The fleet's response time at this decision and at the one before, and its throughput. */
    double response, response_before, load;
    /* Since when (1) does not hold, holds with the margin, holds with twice the margin; NaN: it
     * does not at present. When a broken (1) was answered last. */
    double broken_since, room_since, idle_since, answered;
};

/* A state without instances. */
void spex_fleet_state_init(struct spex_fleet_state *state);
void spex_fleet_state_free(struct spex_fleet_state *state);

/* Decides once, about once a second. The state has the instances' modes and probes afterwards. 0 or
 * -ENOMEM, and the state is as it was. */
int spex_fleet_decide(const struct spex_fleet_policy *policy, const struct spex_fleet_map *map,
                      struct spex_fleet_state *state,
                      const struct spex_fleet_observations *observations,
                      struct spex_fleet_decision *decision);

/* NULL: there is no such instance. */
const struct spex_fleet_instance *spex_fleet_instance_find(const struct spex_fleet_state *state,
                                                           uint64_t id);

#endif
