/* SPDX-License-Identifier: MIT */
/* Made fleets without chance for the master to decide of, and what it decides in words. */
#ifndef SPEX_TEST_FLEET_DECIDED_H
#define SPEX_TEST_FLEET_DECIDED_H

#include <string.h>

#include "fleet/decide/master.h"
#include "fleet/decide/why.h"
#include "policies.h"

enum { MACHINES_MAX = 64 };

/* So many seconds with these executions a second of the whole fleet, whose response times are so
 * many times those of the model; and at its begin, how many of the machines that are there longest
 * (negative: shortest) are lost, how many come, and what each probe costs (0: what it did). */
struct part {
    int seconds;
    double load, times;
    int lost, come;
    double cost;
};

struct scene {
    const char *metric, *requirements;
    int machines;
    size_t probes;
    double cost;
    /* Executions take 10 ms, and so many times this with probes. */
    double slower;
    /* Seconds until a machine that was asked for is there. */
    double starts;
    struct part parts[9];
    const char *expected;
};

struct world {
    struct spex_fleet_policy *policy;
    struct spex_fleet_map map;
    struct spex_fleet_state state;
    uint64_t ids[MACHINES_MAX];
    /* When it is there. */
    double ready[MACHINES_MAX];
    size_t count;
    uint64_t next_id;
    double now;
    char told[16384];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void tell(struct world *world, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    world->length += (size_t)vsnprintf(world->told + world->length,
                                       sizeof(world->told) - world->length, format, arguments);
    va_end(arguments);
    assert_true(world->length < sizeof(world->told));
}

static void come(struct world *world, size_t count, double ready) {
    for (size_t i = 0; i < count; i++) {
        assert_true(world->count < MACHINES_MAX);
        world->ids[world->count] = world->next_id++;
        world->ready[world->count++] = ready;
    }
}

static void lose_first(struct world *world, size_t count) {
    world->count -= count;
    memmove(world->ids, world->ids + count, world->count * sizeof(*world->ids));
    memmove(world->ready, world->ready + count, world->count * sizeof(*world->ready));
}

static void lose_leaving(struct world *world) {
    size_t kept = 0;
    for (size_t i = 0; i < world->count; i++) {
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&world->state, world->ids[i]);
        if (instance && instance->leaving)
            continue;
        world->ids[kept] = world->ids[i];
        world->ready[kept++] = world->ready[i];
    }
    world->count = kept;
}

static size_t observe(const struct world *world, const struct scene *scene, const struct part *part,
                      struct spex_fleet_observation *seen) {
    size_t there = 0, count = 0;
    for (size_t i = 0; i < world->count; i++)
        there += world->ready[i] <= world->now;
    for (size_t i = 0; i < world->count; i++) {
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&world->state, world->ids[i]);
        double service = instance && instance->probe_count ? 0.01 * scene->slower : 0.01;
        double load = part->load / (double)there;
        double response = load * service < 0.95 ? service / (1 - load * service) : 20 * service;
        if (world->ready[i] <= world->now)
            seen[count++] = (struct spex_fleet_observation){world->ids[i], part->times * response,
                                                            load, 0, NULL};
    }
    return count;
}

static void tell_decision(struct world *world, const struct spex_fleet_decision *d) {
    tell(world, "%g %s +%zu -%zu on%zu off%zu: %zu+%zu/%zu %zu %.5g %.4g %.5g %.5g %.4g %.3g %zu\n",
         d->time, spex_fleet_action_name(d->action), d->add, d->remove, d->instrument, d->revert,
         d->instances, d->starting, d->most, d->instrumented, d->p, d->p_inst, d->p_t, d->capacity,
         d->response, d->cost, d->covered);
}

/* All of an instance but its number. */
static void instance_text(const struct world *world, const struct spex_fleet_instance *instance,
                          char *text, size_t size) {
    int length =
        snprintf(text, size, "%s<%s %s %g #%u %zu %.4g/%g", spex_fleet_mode_name(instance->mode),
                 spex_fleet_mode_name(instance->before), spex_fleet_cause_name(instance->cause),
                 instance->since, instance->changes, instance->probe_count, instance->spent,
                 instance->budget);
    for (size_t w = 0; w < (world->map.count + 63) / 64 && instance->probe_count; w++)
        length += snprintf(text + length, size - (size_t)length, " %llx",
                           (unsigned long long)instance->probes[w]);
}

/* A line for those that follow one another and are alike. */
static void tell_instances(struct world *world) {
    char before[256] = "", text[256];
    for (size_t i = 0; i < world->state.count; i++) {
        const struct spex_fleet_instance *instance = &world->state.instances[i];
        instance_text(world, instance, text, sizeof(text));
        bool same = strcmp(text, before) == 0;
        tell(world, "%s%u", same ? "," : i ? "\n" : "", (unsigned)instance->id);
        strcpy(before, text);
        instance_text(world, instance + (i + 1 < world->state.count), text, sizeof(text));
        if (strcmp(text, before) != 0 || i + 1 == world->state.count)
            tell(world, " %s", before);
    }
    tell(world, "\n");
}

/* Each decision that is not the same as the one before. */
static void play(struct world *world, const struct scene *scene, const struct part *part) {
    enum spex_fleet_action before = SPEX_FLEET_HOLD;
    struct spex_fleet_observation seen[MACHINES_MAX];
    struct spex_fleet_decision d;
    if (part->lost < 0)
        world->count -= (size_t)-part->lost;
    else
        lose_first(world, (size_t)part->lost);
    come(world, (size_t)part->come, world->now);
    for (size_t p = 0; p < world->map.count && part->cost > 0; p++)
        world->map.cost[p] = part->cost;
    for (int s = 0; s < part->seconds; s++, world->now++) {
        size_t count = observe(world, scene, part, seen);
        const struct spex_fleet_observations all = {world->now, seen, count};
        assert_int_equal(spex_fleet_decide(world->policy, &world->map, &world->state, &all, &d), 0);
        if (d.action != before || d.add || d.remove || d.instrument || d.revert)
            tell_decision(world, &d);
        before = d.action;
        lose_leaving(world);
        come(world, d.add, world->now + scene->starts);
    }
}

/* Fails with the first line that is another one. */
static void compare(const char *scene, const char *told, const char *expected) {
    const char *a = told, *b = expected;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return;
    while (a > told && a[-1] != '\n') {
        a--;
        b--;
    }
    fail_msg("%s: \"%.*s\" and not \"%.*s\"", scene, (int)strcspn(a, "\n"), a,
             (int)strcspn(b, "\n"), b);
}

static void run(const struct scene *scene) {
    static struct world world;
    world = (struct world){.next_id = 1, .map = {.count = scene->probes}};
    world.policy = policy_of(scene->metric, scene->requirements);
    for (size_t p = 0; p < scene->probes; p++)
        world.map.cost[p] = scene->cost;
    spex_fleet_state_init(&world.state);
    come(&world, (size_t)scene->machines, 0);
    for (size_t p = 0; p < COUNT_OF(scene->parts) && scene->parts[p].seconds; p++) {
        tell(&world, "%zu:\n", p + 1);
        play(&world, scene, &scene->parts[p]);
        tell_instances(&world);
    }
    spex_fleet_state_free(&world.state);
    spex_fleet_policy_free(world.policy);
    compare(scene->requirements, world.told, scene->expected);
}

#endif
