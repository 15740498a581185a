/* SPDX-License-Identifier: MIT */
/* A fleet in virtual time, which the master of src/fleet/decide rules: instances behind a balancer
 * that shares the load equally, with queues, noise, starts that take time, exchanges and failures.
 * The same seed gives the same fleet. */
#ifndef SPEX_FLEET_DECIDE_SIMULATION_H
#define SPEX_FLEET_DECIDE_SIMULATION_H

#include "fleet/decide/master.h"

enum { SPEX_SIMULATION_LOADS_MAX = 64 };

/* From `time` on, the load is this share of what the instances of the beginning could serve within
 * the response time, without probes. */
struct spex_simulation_load {
    double time, share;
};

struct spex_simulation_options {
    size_t instances;
    double seconds;
    uint64_t seed;
    /* Seconds that an execution takes without probes and load. */
    double service;
    /* How much longer executions take, for each part of the time that probes are believed to take:
     * 1 if the belief is right. */
    double slowdown;
    /* Standard deviation of what instances tell, as a share. */
    double noise;
    /* Seconds from an instance's order to its first executions. */
    double boot;
    /* How often in an hour each instance is exchanged for another one, and is lost. */
    double churn, failures;
    struct spex_simulation_load loads[SPEX_SIMULATION_LOADS_MAX];
    size_t load_count;
};

/* The reaction to a change of the load. A time is NaN if the event did not happen. */
struct spex_simulation_answer {
    double time, share;
    /* The response time was first above its target; the first decision that reverted or added;
     * the target was kept again, to the next change. */
    double broken, answered, kept;
    enum spex_fleet_action action;
};

struct spex_simulation {
    /* Decisions but those to hold, and of a row of stuck ones the first. */
    struct spex_fleet_decision *decisions;
    size_t decision_count;
    struct spex_simulation_answer answers[SPEX_SIMULATION_LOADS_MAX];
    size_t answer_count;
    /* From then on the target, the cost and full coverage were kept to the end; NaN: never. */
    double converged;
    /* The price of the whole time. */
    double cost;
    /* Instances' changes of mode after convergence, by causes but new and removed instances'. */
    size_t changes;
    /* Seconds with the response time above its target, and (2) broken. */
    size_t slow_seconds, dear_seconds;
    /* At the end. */
    struct spex_fleet_decision last;
    struct spex_fleet_state state;
};

void spex_simulation_defaults(struct spex_simulation_options *options);

/* 0; -ENOMEM; or -EINVAL: no number of instances can keep the response time, since one execution
 * alone takes longer. Free the result in any case. */
int spex_simulate(const struct spex_fleet_policy *policy, const struct spex_fleet_map *map,
                  const struct spex_simulation_options *options, struct spex_simulation *result);
void spex_simulation_free(struct spex_simulation *result);

#endif
