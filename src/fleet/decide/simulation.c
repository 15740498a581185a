/* SPDX-License-Identifier: MIT */
#include "fleet/decide/simulation.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "fleet/decide/estimate.h"

/* Above this utilisation a queue grows rather than that times become longer. */
#define UTILISATION_MOST 0.95

struct machine {
    uint64_t id;
    /* Executions that wait. */
    double queue;
    /* When it is ready; before that it is not seen. */
    double ready;
};

struct world {
    const struct spex_fleet_policy *policy;
    const struct spex_simulation_options *options;
    struct spex_random random;
    /* By ascending ids. */
    struct machine *machines;
    struct spex_fleet_observation *seen;
    size_t count, room, seen_count;
    uint64_t next_id;
    double now;
    /* Executions a second for a load of 1. */
    double full;
};

void spex_simulation_defaults(struct spex_simulation_options *options) {
    *options = (struct spex_simulation_options){.instances = 10,
                                                .seconds = 120,
                                                .seed = 1,
                                                .service = 0.01,
                                                .slowdown = 1,
                                                .noise = 0.05,
                                                .boot = 2,
                                                .loads = {{0, 0.6}},
                                                .load_count = 1};
}

/* Evenly from 0 to below 1. */
static double draw(struct world *world) {
    return (double)(spex_random_next(&world->random) >> 11) * 0x1p-53;
}

/* Near enough to a normal distribution with this deviation, without its tails. */
static double draw_noise(struct world *world, double deviation) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += draw(world);
    return 1 + deviation * (sum - 6);
}

static int world_start(struct world *world, size_t count, double ready) {
    size_t room = world->count + count;
    if (room > world->room) {
        room += room / 2;
        struct machine *machines = realloc(world->machines, room * sizeof(*machines));
        if (machines)
            world->machines = machines;
        struct spex_fleet_observation *seen =
            machines ? realloc(world->seen, room * sizeof(*seen)) : NULL;
        if (!seen)
            return -ENOMEM;
        world->seen = seen;
        world->room = room;
    }
    for (size_t i = 0; i < count; i++)
        world->machines[world->count++] = (struct machine){world->next_id++, 0, ready};
    return 0;
}

/* Takes machines away that are lost, exchanged or removed. *exchanged: for how many another is
 * started. */
static void world_lose(struct world *world, const struct spex_fleet_state *state,
                       size_t *exchanged) {
    double churn = world->options->churn / 3600, failures = world->options->failures / 3600;
    size_t kept = 0;
    for (size_t i = 0; i < world->count; i++) {
        const struct machine *machine = &world->machines[i];
        const struct spex_fleet_instance *instance = spex_fleet_instance_find(state, machine->id);
        double chance = churn + failures > 0 ? draw(world) : 1;
        *exchanged += chance < churn;
        if (chance >= churn + failures && !(instance && instance->leaving))
            world->machines[kept++] = *machine;
    }
    world->count = kept;
}

static double load_at(const struct world *world) {
    const struct spex_simulation_options *options = world->options;
    double share = 0;
    for (size_t l = 0; l < options->load_count && options->loads[l].time <= world->now; l++)
        share = options->loads[l].share;
    return share * world->full;
}

/* One second of a machine. */
static void machine_run(struct world *world, struct machine *machine, double arrivals, double spent,
                        struct spex_fleet_observation *seen) {
    double service = world->options->service * (1 + world->options->slowdown * spent);
    double factor = spex_fleet_metric_factor(world->policy->response.metric);
    double all = machine->queue + arrivals, served = fmin(all, 1 / service);
    double utilisation = fmin(arrivals * service, UTILISATION_MOST);
    machine->queue = all - served;
    double response = factor * service / (1 - utilisation) + machine->queue * service;
    *seen = (struct spex_fleet_observation){.id = machine->id};
    seen->response = response * draw_noise(world, world->options->noise);
    seen->throughput = served * draw_noise(world, world->options->noise);
}

/* One second of all that are ready. */
static void world_run(struct world *world, const struct spex_fleet_state *state) {
    size_t ready = 0;
    for (size_t i = 0; i < world->count; i++)
        ready += world->machines[i].ready <= world->now;
    double arrivals = ready ? load_at(world) / (double)ready : 0;
    world->seen_count = 0;
    for (size_t i = 0; i < world->count; i++) {
        struct machine *machine = &world->machines[i];
        const struct spex_fleet_instance *instance = spex_fleet_instance_find(state, machine->id);
        if (machine->ready <= world->now)
            machine_run(world, machine, arrivals, instance ? instance->spent : 0,
                        &world->seen[world->seen_count++]);
    }
}

static int keep_decision(struct spex_simulation *result, const struct spex_fleet_decision *d,
                         enum spex_fleet_action before) {
    if (d->action == SPEX_FLEET_HOLD || (d->action == SPEX_FLEET_STUCK && before == d->action))
        return 0;
    size_t count = result->decision_count;
    /* A power of two: the array is full. */
    if (!(count & (count - 1))) {
        struct spex_fleet_decision *all =
            realloc(result->decisions, (count ? 2 * count : 1) * sizeof(*all));
        if (!all)
            return -ENOMEM;
        result->decisions = all;
    }
    result->decisions[result->decision_count++] = *d;
    return 0;
}

static bool is_slow(const struct world *world, const struct spex_fleet_decision *d) {
    return d->response > world->policy->response.bound;
}

/* Notes how the newest change of the load is answered. */
static void keep_answer(struct world *world, struct spex_simulation *result,
                        const struct spex_fleet_decision *d) {
    const struct spex_simulation_options *options = world->options;
    size_t at = result->answer_count;
    if (at < options->load_count && options->loads[at].time <= world->now) {
        result->answers[at] = (struct spex_simulation_answer){
            options->loads[at].time, options->loads[at].share, NAN, NAN, NAN, SPEX_FLEET_HOLD};
        result->answer_count++;
    }
    if (!result->answer_count)
        return;
    struct spex_simulation_answer *answer = &result->answers[result->answer_count - 1];
    bool slow = is_slow(world, d);
    if (slow && isnan(answer->broken))
        answer->broken = world->now;
    if (slow)
        answer->kept = NAN;
    else if (!isnan(answer->broken) && isnan(answer->kept))
        answer->kept = world->now;
    if ((d->add || d->revert) && !isnan(answer->broken) && isnan(answer->answered)) {
        answer->answered = world->now;
        answer->action = d->action;
    }
}

static size_t changes_now(const struct spex_fleet_state *state, double now) {
    size_t changes = 0;
    for (size_t i = 0; i < state->count; i++) {
        const struct spex_fleet_instance *instance = &state->instances[i];
        changes += instance->since == now && instance->changes && !instance->leaving;
    }
    return changes;
}

static void keep_figures(struct world *world, const struct spex_fleet_map *map,
                         struct spex_simulation *result, const struct spex_fleet_decision *d) {
    bool slow = is_slow(world, d), dear = world->count > spex_fleet_instances_most(world->policy);
    result->slow_seconds += slow;
    result->dear_seconds += dear;
    result->cost += (double)world->count * world->policy->cost_an_instance / 3600;
    result->changes += changes_now(&result->state, world->now);
    if (slow || dear || d->covered < map->count) {
        result->converged = NAN;
        result->changes = 0;
    } else if (isnan(result->converged)) {
        result->converged = world->now;
        result->changes = 0;
    }
}

/* One second. */
static int world_step(struct world *world, const struct spex_fleet_map *map,
                      struct spex_simulation *result) {
    enum spex_fleet_action before = result->last.action;
    size_t exchanged = 0;
    struct spex_fleet_decision *d = &result->last;
    world_lose(world, &result->state, &exchanged);
    int err = world_start(world, exchanged, world->now + world->options->boot);
    if (err)
        return err;
    world_run(world, &result->state);
    const struct spex_fleet_observations seen = {world->now, world->seen, world->seen_count};
    err = spex_fleet_decide(world->policy, map, &result->state, &seen, d);
    err = err ? err : keep_decision(result, d, before);
    if (err)
        return err;
    keep_answer(world, result, d);
    keep_figures(world, map, result, d);
    return world_start(world, d->add, world->now + world->options->boot);
}

int spex_simulate(const struct spex_fleet_policy *policy, const struct spex_fleet_map *map,
                  const struct spex_simulation_options *options, struct spex_simulation *result) {
    struct world world = {.policy = policy, .options = options, .next_id = 1};
    *result = (struct spex_simulation){.converged = NAN};
    spex_fleet_state_init(&result->state);
    spex_random_seed(&world.random, options->seed, 0);
    world.full = (double)options->instances * spex_fleet_capacity(policy, options->service);
    if (world.full <= 0)
        return -EINVAL;
    int err = world_start(&world, options->instances, 0);
    while (world.now < options->seconds && !err) {
        err = world_step(&world, map, result);
        world.now++;
    }
    free(world.machines);
    free(world.seen);
    return err;
}

void spex_simulation_free(struct spex_simulation *result) {
    free(result->decisions);
    spex_fleet_state_free(&result->state);
    result->decisions = NULL;
    result->decision_count = 0;
}
