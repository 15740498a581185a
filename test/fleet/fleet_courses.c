/* SPDX-License-Identifier: MIT */
/* The master over courses of fleets that chance makes: loads that come and go, response times that
 * the load does not explain, instances that are lost and that come, probes that become dearer. What
 * docs/fleet.md says of each decision holds for every one of them. */
#include <math.h>

#include "fleet/decide/master.h"
#include "policies.h"

enum { INSTANCES = 512, COURSES = 300, PARTS = 9 };

/* Costs are measured: an instance whose probes take up to so many times its budget keeps them. */
#define DEAR 1.1

/* A broken (1) is answered within so many decisions, a second apart: those that wait for queues to
 * be emptied included. */
enum { ANSWERED_WITHIN = 8 };

struct world {
    uint64_t random;
    struct spex_fleet_policy *policy;
    struct spex_fleet_map map;
    struct spex_fleet_state state;
    /* The instances that are there or start, by ascending ids, and when each is there. */
    uint64_t ids[INSTANCES];
    double ready[INSTANCES];
    size_t count;
    uint64_t next_id;
    double now;
    /* Executions a second of the whole fleet, how many times as long as the model says they take,
     * and how much longer with probes. */
    double load, times, slower, starts;
    int unanswered;
};

/* How often each action was decided, in all courses. */
static unsigned actions[SPEX_FLEET_STUCK + 1];

static double between(struct world *world, double low, double high) {
    return low + (high - low) * (double)random_below(&world->random, 1000) / 1000;
}

static bool chance(struct world *world, unsigned one_in) {
    return random_below(&world->random, one_in) == 0;
}

static void world_init(struct world *world, uint64_t seed) {
    static const char *const metrics[] = {"mean", "p90", "p95", "p99"};
    char text[512] = "";
    int length = 0;
    *world = (struct world){.random = seed, .next_id = 1};
    if (chance(world, 2))
        length += sprintf(text, "<cost an_instance_hour='%g' at_most='%g'/>",
                          between(world, 0.05, 0.2), between(world, 0.6, 4));
    length += sprintf(text + length, "<overhead at_most='%g%%'/>", between(world, 1, 50));
    sprintf(text + length, "<instances least='%d' alpha='%g' margin='%g%%' instrumented='%g%%'/>",
            1 + (int)random_below(&world->random, 2), between(world, 1, 3), between(world, 1, 10),
            between(world, 10, 100));
    world->policy = policy_of(metrics[random_below(&world->random, 4)], text);
    world->map.count = 1 + random_below(&world->random, chance(world, 2) ? 4 : 130);
    for (size_t p = 0; p < world->map.count; p++)
        world->map.cost[p] = between(world, 0.0005, 0.012);
    world->slower = between(world, 1.01, 1.1);
    world->starts = between(world, 1, 6);
    spex_fleet_state_init(&world->state);
}

static void come(struct world *world, size_t count, double ready) {
    for (size_t i = 0; i < count && world->count < INSTANCES; i++) {
        world->ids[world->count] = world->next_id++;
        world->ready[world->count++] = ready;
    }
}

static void keep(struct world *world, bool (*stays)(struct world *world, uint64_t id)) {
    size_t kept = 0;
    for (size_t i = 0; i < world->count; i++)
        if (stays(world, world->ids[i])) {
            world->ids[kept] = world->ids[i];
            world->ready[kept++] = world->ready[i];
        }
    world->count = kept;
}

static bool is_not_lost(struct world *world, uint64_t id) {
    (void)id;
    return !chance(world, 4);
}

static bool is_not_leaving(struct world *world, uint64_t id) {
    const struct spex_fleet_instance *instance = spex_fleet_instance_find(&world->state, id);
    return !instance || !instance->leaving;
}

/* What is different from now on. */
static void part_begin(struct world *world) {
    world->load = chance(world, 3) ? between(world, 10, 100) : between(world, 10, 1500);
    world->times = chance(world, 3) ? between(world, 0.6, 4) : 1;
    if (chance(world, 3))
        keep(world, is_not_lost);
    if (chance(world, 3))
        come(world, random_below(&world->random, 9), world->now);
    for (size_t p = 0; p < world->map.count && chance(world, 3); p++)
        world->map.cost[p] = between(world, 0.0005, 0.05);
    if (!world->count)
        come(world, 1, world->now);
}

/* By the model of the master: executions wait for others of their instance. */
static size_t observe(const struct world *world, struct spex_fleet_observation *seen) {
    size_t there = 0, count = 0;
    for (size_t i = 0; i < world->count; i++)
        there += world->ready[i] <= world->now;
    for (size_t i = 0; i < world->count; i++) {
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&world->state, world->ids[i]);
        double service = instance && instance->probe_count ? 0.01 * world->slower : 0.01;
        double load = world->load / (double)there;
        double response = load * service < 0.95 ? service / (1 - load * service) : 20 * service;
        if (world->ready[i] <= world->now)
            seen[count++] = (struct spex_fleet_observation){world->ids[i], world->times * response,
                                                            load, 0, NULL};
    }
    return count;
}

/* A probe that takes more than the budget is held to that by the instance itself. */
static double cost_at(const struct world *world, const struct spex_fleet_instance *instance,
                      size_t probe) {
    return fmin(world->map.cost[probe], instance->budget);
}

/* What stands in two places is the same, and no instance spends more than it may. */
static void expect_consistent(const struct world *world, const struct spex_fleet_decision *d) {
    size_t cover[SPEX_FLEET_PROBES_MAX] = {0}, instrumented = 0, leaving = 0,
           probes = world->map.count;
    for (size_t i = 0; i < world->state.count; i++) {
        const struct spex_fleet_instance *instance = &world->state.instances[i];
        size_t on = 0;
        double spent = 0;
        for (size_t p = 0; p < probes; p++)
            if (instance->probes[p / 64] >> p % 64 & 1) {
                on++;
                cover[p]++;
                spent += cost_at(world, instance, p);
            }
        assert_int_equal(instance->probe_count, on);
        assert_true(fabs(instance->spent - spent) < 1e-9);
        assert_true(instance->spent <= DEAR * instance->budget + 1e-9);
        assert_int_equal(instance->mode, !on            ? SPEX_FLEET_NONE
                                         : on == probes ? SPEX_FLEET_FULL
                                                        : SPEX_FLEET_PARTIAL);
        assert_false(instance->leaving && on);
        instrumented += on > 0;
        leaving += instance->leaving;
    }
    assert_int_equal(leaving, d->remove); /* those of before are gone */
    assert_memory_equal(cover, world->state.cover, probes * sizeof(*cover));
    assert_int_equal(instrumented, world->state.instrumented);
}

/* No probe is left out for which an instance with others has room. */
static void expect_covered(const struct world *world, const struct spex_fleet_decision *d) {
    size_t covered = 0;
    for (size_t p = 0; p < world->map.count; p++) {
        covered += world->state.cover[p] > 0;
        for (size_t i = 0; i < world->state.count && !world->state.cover[p]; i++) {
            const struct spex_fleet_instance *instance = &world->state.instances[i];
            assert_false(instance->probe_count &&
                         instance->spent + cost_at(world, instance, p) <= instance->budget - 1e-9);
        }
    }
    assert_int_equal(d->covered, covered);
}

/* (2) goes before all else, then the least number. True: these have decided. */
static bool expect_cost_kept(const struct world *world, const struct spex_fleet_decision *d) {
    size_t there = d->instances + d->starting, most = d->most, least = world->policy->least;
    if (there > most && d->instances) {
        assert_int_equal(d->action, SPEX_FLEET_REMOVE);
        assert_int_equal(d->remove, there - most < d->instances ? there - most : d->instances);
        return true;
    }
    assert_true(there + d->add <= most);
    if (there < least) {
        assert_int_equal(d->action, SPEX_FLEET_ADD);
        assert_int_equal(d->add, least - there);
    }
    return there < least;
}

/* Instrumentation goes as far as (1) has room for, with the margin, and the share allows. */
static void expect_room_used(const struct world *world, const struct spex_fleet_decision *d) {
    const struct spex_fleet_policy *policy = world->policy;
    double share = fmax(1, floor(policy->instrumented * (double)d->instances + 1e-9));
    double left = d->capacity - (double)d->instrument * fmax(d->p_inst, 0);
    assert_true(d->instrument > 0 && d->response <= policy->response.bound);
    assert_true((double)(d->instrumented + d->instrument) <= share);
    assert_true(left >= (1 + policy->margin) * d->p_t - 1e-6 * d->p_t);
}

/* A reason for each action, and no other changes beside it. */
static void expect_reason(const struct world *world, const struct spex_fleet_decision *d) {
    bool broken = d->capacity < d->p_t || d->response > world->policy->response.bound;
    switch (d->action) {
    case SPEX_FLEET_HOLD:
        assert_int_equal(d->add + d->remove + d->instrument + d->revert, 0);
        break;
    case SPEX_FLEET_INSTRUMENT:
        assert_int_equal(d->add + d->remove + d->revert, 0);
        expect_room_used(world, d);
        break;
    case SPEX_FLEET_ADD:
        assert_int_equal(d->remove + d->instrument + d->revert, 0);
        assert_true(broken && d->add > 0);
        break;
    case SPEX_FLEET_REVERT_AND_ADD:
        assert_int_equal(d->remove + d->instrument, 0);
        assert_true(broken && d->add > 0 && d->revert > 0);
        break;
    case SPEX_FLEET_REVERT:
        assert_int_equal(d->add + d->remove + d->instrument, 0);
        assert_true(d->revert > 0);
        break;
    case SPEX_FLEET_REMOVE:
        assert_int_equal(d->add + d->instrument + d->revert, 0);
        assert_true(d->remove > 0 && d->instances - d->remove >= world->policy->least);
        assert_true(d->capacity - (double)d->remove * d->p >= d->p_t);
        break;
    case SPEX_FLEET_STUCK:
        assert_int_equal(d->add + d->remove + d->instrument + d->revert, 0);
        assert_true(broken && d->instrumented == 0 && d->instances + d->starting >= d->most);
        break;
    }
}

static void expect_right(struct world *world, const struct spex_fleet_decision *d) {
    expect_consistent(world, d);
    expect_covered(world, d);
    if (!expect_cost_kept(world, d))
        expect_reason(world, d);
    bool waits = d->action == SPEX_FLEET_HOLD && !d->starting && d->capacity < d->p_t;
    world->unanswered = waits ? world->unanswered + 1 : 0;
    assert_true(world->unanswered < ANSWERED_WITHIN);
}

static double course_run(uint64_t seed, bool check) {
    static struct world world;
    struct spex_fleet_observation seen[INSTANCES];
    struct spex_fleet_decision d;
    double sum = 0;
    world_init(&world, seed);
    come(&world, 1 + random_below(&world.random, 20), 0);
    for (int part = 0; part < PARTS; part++) {
        part_begin(&world);
        for (unsigned s = 4 + (unsigned)random_below(&world.random, 70); s; s--, world.now++) {
            const struct spex_fleet_observations all = {world.now, seen, observe(&world, seen)};
            assert_int_equal(spex_fleet_decide(world.policy, &world.map, &world.state, &all, &d),
                             0);
            if (check)
                expect_right(&world, &d);
            actions[d.action]++;
            sum = 0.9 * sum + (double)(d.action + d.add + 3 * d.remove + 5 * d.instrument) +
                  (double)(7 * d.revert + d.covered);
            keep(&world, is_not_leaving);
            come(&world, d.add, world.now + world.starts);
        }
    }
    spex_fleet_state_free(&world.state);
    spex_fleet_policy_free(world.policy);
    return sum;
}

TEST(each_decision_is_right) {
    for (uint64_t seed = 1; seed <= COURSES; seed++)
        course_run(seed, true);
    for (size_t a = 0; a < COUNT_OF(actions); a++)
        assert_true(actions[a] > COURSES / 10);
}

TEST(equal_courses_have_equal_decisions) {
    for (uint64_t seed = 1; seed <= COURSES / 10; seed++)
        assert_true(course_run(seed, false) == course_run(seed, false));
}
