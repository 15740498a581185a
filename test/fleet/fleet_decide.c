/* SPDX-License-Identifier: MIT */
/* The master's decisions, against inequalities that are reckoned here; and fleets in virtual time
 * whose right answers are known. */
#include <math.h>

#include "fleet/decide/estimate.h"
#include "fleet/decide/simulation.h"
#include "fleet/decide/spread.h"
#include "fleet/decide/why.h"
#include "policies.h"

static struct spex_fleet_map map_of(size_t probes, double cost) {
    struct spex_fleet_map map = {.count = probes};
    for (size_t p = 0; p < probes; p++)
        map.cost[p] = cost;
    return map;
}

/* Instances 1 to `count`, each with `load` executions a second of 10 ms. */
static void observe(struct spex_fleet_observation *seen, size_t count, double load) {
    for (size_t i = 0; i < count; i++)
        seen[i] = (struct spex_fleet_observation){i + 1, 0.01 / (1 - load * 0.01), load, 0, NULL};
}

/* Decides for so many seconds, and adds up what was decided. */
static struct spex_fleet_decision decide_for(const struct spex_fleet_policy *policy,
                                             const struct spex_fleet_map *map,
                                             struct spex_fleet_state *believed, double from,
                                             int seconds, size_t count, double load) {
    struct spex_fleet_observation seen[64];
    struct spex_fleet_decision d = {.time = 0}, sum = {.time = 0};
    observe(seen, count, load);
    for (int s = 0; s < seconds; s++) {
        const struct spex_fleet_observations all = {from + s, seen, count};
        assert_int_equal(spex_fleet_decide(policy, map, believed, &all, &d), 0);
        sum.add += d.add;
        sum.revert += d.revert;
        sum.instrument += d.instrument;
        sum.remove += d.remove;
    }
    d.add = sum.add;
    d.revert = sum.revert;
    d.instrument = sum.instrument;
    d.remove = sum.remove;
    return d;
}

TEST(p_is_the_throughput_that_keeps_the_response_time) {
    struct spex_fleet_policy *policy = policy_with("");
    /* 10 ms / (1 - 80/s 10 ms) = 50 ms. */
    assert_true(fabs(spex_fleet_capacity(policy, 0.01) - 80) < 1e-9);
    assert_true(spex_fleet_capacity(policy, 0.06) == 0);
    assert_true(spex_fleet_metric_factor("mean") == 1);
    assert_true(fabs(spex_fleet_metric_factor("p99") - log(100)) < 1e-9);
    spex_fleet_policy_free(policy);
}

TEST(room_is_used_up_to_the_share) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(4, 0.005);
    struct spex_fleet_state believed;
    spex_fleet_state_init(&believed);
    struct spex_fleet_decision d = decide_for(policy, &map, &believed, 0, 20, 10, 40);
    assert_true(fabs(d.p - 80) < 1);
    assert_int_equal(believed.instrumented, 5);
    assert_int_equal(d.covered, 4);
    assert_int_equal(spex_fleet_instance_find(&believed, 1)->mode, SPEX_FLEET_FULL);
    assert_int_equal(spex_fleet_instance_find(&believed, 1)->cause, SPEX_FLEET_CAUSE_ROOM);
    assert_null(spex_fleet_instance_find(&believed, 11));
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* 8 probes of 1 % with a budget of 2 %: four instances are needed for all. */
TEST(probes_are_spread_within_each_budget) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(8, 0.01);
    struct spex_fleet_state believed;
    spex_fleet_state_init(&believed);
    decide_for(policy, &map, &believed, 0, 20, 8, 40);
    assert_int_equal(believed.instrumented, 4);
    for (size_t p = 0; p < 8; p++)
        assert_int_equal(believed.cover[p], 1);
    for (size_t i = 0; i < believed.count; i++) {
        assert_true(believed.instances[i].spent <= 0.02 + 1e-9);
        assert_int_equal(believed.instances[i].mode,
                         believed.instances[i].probe_count ? SPEX_FLEET_PARTIAL : SPEX_FLEET_NONE);
    }
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* Instances 1 to 4 of 8 leave: their probes go to others. */
TEST(what_a_lost_instance_recorded_is_recorded_again) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(4, 0.01);
    struct spex_fleet_state believed;
    struct spex_fleet_observation seen[16];
    struct spex_fleet_decision d;
    spex_fleet_state_init(&believed);
    decide_for(policy, &map, &believed, 0, 20, 16, 40);
    assert_int_equal(believed.instrumented, 8);
    observe(seen, 16, 40);
    for (int lost = 1; lost < 7; lost++) {
        const struct spex_fleet_observations left = {20 + lost, seen + lost, (size_t)(16 - lost)};
        assert_int_equal(spex_fleet_decide(policy, &map, &believed, &left, &d), 0);
        assert_int_equal(d.covered, 4);
    }
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* 10 instances of P = 80/s are asked for 850/s. Without a bound on cost, instances are added. */
TEST(without_a_bound_on_cost_instances_are_added) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    spex_fleet_state_init(&believed);
    decide_for(policy, &map, &believed, 0, 20, 10, 40);
    struct spex_fleet_decision d = decide_for(policy, &map, &believed, 20, 2, 10, 85);
    assert_int_equal(d.revert, 0);
    assert_true(d.add >= 1 && d.add <= 3);
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* The same where 10 instances are as many as the cost allows: instrumentation goes, none comes. */
TEST(where_cost_binds_instrumentation_goes_first) {
    struct spex_fleet_policy *policy = policy_with("<cost an_instance_hour='1' at_most='11'/>");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    char text[512];
    spex_fleet_state_init(&believed);
    decide_for(policy, &map, &believed, 0, 20, 10, 60);
    assert_int_equal(believed.instrumented, 5);
    struct spex_fleet_decision d = decide_for(policy, &map, &believed, 20, 5, 10, 85);
    assert_int_equal(d.add, 0);
    assert_int_equal(d.revert, 5);
    assert_int_equal(d.action, SPEX_FLEET_STUCK);
    const struct spex_fleet_instance *instance = spex_fleet_instance_find(&believed, 1);
    assert_int_equal(instance->mode, SPEX_FLEET_NONE);
    assert_int_equal(instance->cause, SPEX_FLEET_CAUSE_COST);
    spex_fleet_instance_text(&map, instance, "7", text, sizeof(text));
    assert_non_null(strstr(text, "none since"));
    assert_non_null(strstr(text, "the cost"));
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* Seconds of the step until instances are added; 99: they never are. Executions take 8 ms of an
 * instance while it has little to do, and 10 ms when it has much, as caches do it: so what is
 * known of service times says for long that (1) holds. */
static int added_after_step(const struct spex_fleet_policy *policy, struct spex_fleet_map *map,
                            struct spex_fleet_state *believed, double from) {
    struct spex_fleet_observation seen[10];
    struct spex_fleet_decision d;
    observe(seen, 10, 82);
    for (int s = 0; s < 20; s++) {
        const struct spex_fleet_observations all = {from + s, seen, 10};
        assert_int_equal(spex_fleet_decide(policy, map, believed, &all, &d), 0);
        assert_true(d.revert == 0 && d.remove == 0);
        if (d.add)
            return s;
    }
    return 99;
}

/* Instances 1 to 10 under little load, until some are instrumented. Returns when that was. */
static double instrumented_at(const struct spex_fleet_policy *policy, struct spex_fleet_map *map,
                              struct spex_fleet_state *believed) {
    struct spex_fleet_observation seen[10];
    struct spex_fleet_decision d = {.time = 0};
    for (size_t i = 0; i < 10; i++)
        seen[i] = (struct spex_fleet_observation){i + 1, 0.008 / (1 - 20 * 0.008), 20, 0, NULL};
    for (int s = 0; s < 20 && !d.instrument; s++) {
        const struct spex_fleet_observations all = {s, seen, 10};
        assert_int_equal(spex_fleet_decide(policy, map, believed, &all, &d), 0);
    }
    assert_true(d.instrument > 0);
    return d.time;
}

/* A decision that has nothing to do with queues puts no answer off. */
TEST(a_step_after_any_other_decision_is_answered_as_soon) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    for (int later = 1; later < 8; later++) {
        spex_fleet_state_init(&believed);
        double at = instrumented_at(policy, &map, &believed);
        assert_true(added_after_step(policy, &map, &believed, at + later) <= 1);
        spex_fleet_state_free(&believed);
    }
    spex_fleet_policy_free(policy);
}

/* After an answer, response times have 5 s to fall: no further one follows on the same queues. */
TEST(an_answer_has_time_to_be_seen) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    struct spex_fleet_observation seen[64];
    struct spex_fleet_decision d;
    spex_fleet_state_init(&believed);
    double at = instrumented_at(policy, &map, &believed) + 1;
    at += added_after_step(policy, &map, &believed, at);
    size_t count = 10 + believed.starting;
    assert_true(count > 10 && count < 64);
    /* All have come, and response times are as long as before; (1) holds with them. */
    for (int s = 1; s <= 7; s++) {
        observe(seen, count, 79);
        for (size_t i = 0; i < count; i++)
            seen[i].response = 0.051;
        const struct spex_fleet_observations all = {at + s, seen, count};
        assert_int_equal(spex_fleet_decide(policy, &map, &believed, &all, &d), 0);
        assert_true(d.capacity >= d.p_t);
        assert_int_equal(d.add > 0, s == 6);
        if (d.add)
            break;
    }
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

TEST(too_dear_a_fleet_is_made_smaller) {
    struct spex_fleet_policy *policy = policy_with("<cost an_instance_hour='1' at_most='7'/>");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    spex_fleet_state_init(&believed);
    struct spex_fleet_decision d = decide_for(policy, &map, &believed, 0, 3, 10, 70);
    assert_int_equal(d.remove, 4);
    assert_int_equal(believed.leaving, 4);
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

TEST(nothing_is_known_of_silent_instances) {
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(2, 0.01);
    struct spex_fleet_state believed;
    struct spex_fleet_observation seen[] = {
        {1, NAN, NAN, 0, NULL}, {2, 0, -1, 0, NULL}, {9, INFINITY, 3, 0, NULL}};
    struct spex_fleet_decision d;
    spex_fleet_state_init(&believed);
    for (int s = 0; s < 20; s++) {
        const struct spex_fleet_observations all = {s, seen, 3};
        assert_int_equal(spex_fleet_decide(policy, &map, &believed, &all, &d), 0);
        assert_int_equal(d.action, SPEX_FLEET_HOLD);
    }
    spex_fleet_state_free(&believed);
    spex_fleet_policy_free(policy);
}

/* A fleet, and how long its second is in the one whose decisions it is compared with. */
struct scaled {
    struct spex_fleet_policy *policy;
    struct spex_fleet_map map;
    struct spex_fleet_state believed;
    double scale;
};

/* Instances with probes take longer, by more than is believed or by less. */
static struct spex_fleet_decision decide_scaled(struct scaled *fleet, double now, size_t count,
                                                double load, double slower) {
    struct spex_fleet_observation seen[40];
    struct spex_fleet_decision d;
    for (size_t i = 0; i < count; i++) {
        const struct spex_fleet_instance *instance =
            spex_fleet_instance_find(&fleet->believed, i + 1);
        double service = instance && instance->probe_count ? 0.01 * slower : 0.01;
        double response = load * service < 0.95 ? service / (1 - load * service) : 0.2;
        seen[i] = (struct spex_fleet_observation){i + 1, response * fleet->scale,
                                                  load / fleet->scale, 0, NULL};
    }
    const struct spex_fleet_observations all = {now, seen, count};
    assert_int_equal(spex_fleet_decide(fleet->policy, &fleet->map, &fleet->believed, &all, &d), 0);
    return d;
}

static void expect_same(const struct spex_fleet_decision *one,
                        const struct spex_fleet_decision *other, double scale) {
    assert_int_equal(one->action, other->action);
    assert_int_equal(one->add, other->add);
    assert_int_equal(one->remove, other->remove);
    assert_int_equal(one->instrument, other->instrument);
    assert_int_equal(one->revert, other->revert);
    assert_int_equal(one->covered, other->covered);
    assert_true(one->p == other->p * scale && one->p_inst == other->p_inst * scale);
    assert_true(one->p_t == other->p_t * scale && one->capacity == other->capacity * scale);
    assert_true(one->response == other->response / scale);
}

/* What leaves room for a few instances with probes, which take 2 executions a second each. */
static double load_with_little_room(const struct spex_fleet_policy *policy, size_t count,
                                    uint64_t *seed) {
    double capacity = 80 * (double)count, left = (double)random_below(seed, 12);
    return (capacity - left) / (1 + policy->margin) / (double)count;
}

/* It does not matter how long executions take: what is decided follows from the load in relation to
 * what instances can do. By powers of two, so that nothing is rounded. */
TEST(slow_and_quick_executions_are_decided_of_alike) {
    static const char *const requirements[] = {
        "", "<cost an_instance_hour='1' at_most='13'/>",
        "<throughput at_least='600'/><instances least='3' alpha='2' margin='8%'/>",
        "<cost an_instance_hour='1' at_most='31'/><instances least='2' instrumented='80%'/>"};
    unsigned actions[SPEX_FLEET_STUCK + 1] = {0};
    uint64_t seed = 3;
    for (unsigned round = 0; round < 40; round++) {
        static struct scaled fleets[3];
        size_t count = 4 + random_below(&seed, 12);
        double load = 10 + (double)random_below(&seed, 60);
        double slower = 1 + (double)random_below(&seed, 16) / 256;
        for (int f = 0; f < 3; f++) {
            fleets[f] = (struct scaled){.policy = policy_with(requirements[round % 4]),
                                        .map = map_of(1 + round, 0.005),
                                        .scale = f == 0   ? 1
                                                 : f == 1 ? 1024
                                                          : 1.0 / 1024};
            fleets[f].policy->response.bound *= fleets[f].scale;
            fleets[f].policy->throughput /= fleets[f].scale;
            spex_fleet_state_init(&fleets[f].believed);
        }
        for (int s = 0; s < 150; s++) {
            struct spex_fleet_decision d[3];
            if (random_below(&seed, 25) == 0)
                load = 5 + (double)random_below(&seed, 100);
            if (random_below(&seed, 25) == 0)
                load = load_with_little_room(fleets[0].policy, count, &seed);
            for (int f = 0; f < 3; f++)
                d[f] = decide_scaled(&fleets[f], s, count, load, slower);
            for (int f = 1; f < 3; f++)
                expect_same(&d[0], &d[f], fleets[f].scale);
            actions[d[0].action]++;
            count += count + d[0].add <= 40 ? d[0].add : 0;
            count -= random_below(&seed, 40) == 0 && count > 3;
        }
        for (int f = 0; f < 3; f++) {
            spex_fleet_state_free(&fleets[f].believed);
            spex_fleet_policy_free(fleets[f].policy);
        }
    }
    for (size_t a = 0; a < COUNT_OF(actions); a++)
        assert_true(actions[a] > 0);
}

static struct spex_simulation simulate(const char *requirements, size_t probes,
                                       struct spex_simulation_options *options) {
    struct spex_fleet_policy *policy = policy_with(requirements);
    struct spex_fleet_map map = map_of(probes, 0.005);
    struct spex_simulation result;
    assert_int_equal(spex_simulate(policy, &map, options, &result), 0);
    spex_fleet_policy_free(policy);
    return result;
}

static struct spex_simulation_options step_to(double load) {
    struct spex_simulation_options options;
    spex_simulation_defaults(&options);
    options.instances = 20;
    options.load_count = 2;
    options.loads[0] = (struct spex_simulation_load){0, 0.75};
    options.loads[1] = (struct spex_simulation_load){60, load};
    return options;
}

TEST(a_step_is_answered_within_5_s_by_adding) {
    struct spex_simulation_options options = step_to(1.2);
    for (options.seed = 1; options.seed <= 20; options.seed++) {
        struct spex_simulation s = simulate("", 12, &options);
        const struct spex_simulation_answer *answer = &s.answers[1];
        assert_true(answer->answered - answer->broken <= 5);
        assert_int_equal(answer->action, SPEX_FLEET_ADD);
        assert_true(s.converged < options.seconds);
        assert_int_equal(s.last.covered, 12);
        spex_simulation_free(&s);
    }
}

/* What probes take, ten times what is believed, is what breaks the target. */
TEST(a_step_is_answered_within_5_s_by_reverting_where_cost_binds) {
    struct spex_simulation_options options = step_to(0.95);
    options.slowdown = 10;
    for (options.seed = 1; options.seed <= 20; options.seed++) {
        struct spex_simulation s =
            simulate("<cost an_instance_hour='1' at_most='21'/>", 12, &options);
        const struct spex_simulation_answer *answer = &s.answers[1];
        assert_true(answer->answered - answer->broken <= 5);
        assert_int_equal(answer->action, SPEX_FLEET_REVERT);
        assert_true(answer->kept - answer->broken <= 10);
        assert_int_equal(s.dear_seconds, 0);
        spex_simulation_free(&s);
    }
}

TEST(noise_alone_changes_nothing_after_convergence) {
    struct spex_simulation_options options;
    spex_simulation_defaults(&options);
    options.noise = 0.2;
    options.seconds = 600;
    for (options.seed = 1; options.seed <= 10; options.seed++) {
        struct spex_simulation s = simulate("", 12, &options);
        assert_true(s.converged < 30);
        /* Instrumented step by step up to the share, once each. */
        assert_true(s.changes <= options.instances / 2);
        assert_int_equal(s.last.covered, 12);
        spex_simulation_free(&s);
    }
}

TEST(ten_thousand_instances_converge_with_churn_and_failures) {
    struct spex_simulation_options options = step_to(1.2);
    options.instances = 10000;
    options.churn = 30;
    options.failures = 1;
    struct spex_simulation s = simulate("", 200, &options);
    assert_true(s.converged < options.seconds);
    assert_int_equal(s.last.covered, 200);
    assert_true(s.answers[1].answered - s.answers[1].broken <= 5);
    struct spex_simulation again = simulate("", 200, &options);
    assert_int_equal(again.decision_count, s.decision_count);
    assert_memory_equal(again.decisions, s.decisions, s.decision_count * sizeof(*s.decisions));
    spex_simulation_free(&s);
    spex_simulation_free(&again);
}

/* One execution alone takes longer than is asked. */
TEST(what_cannot_be_kept_is_refused) {
    struct spex_simulation_options options;
    struct spex_fleet_policy *policy = policy_with("");
    struct spex_fleet_map map = map_of(12, 0);
    struct spex_simulation result;
    spex_simulation_defaults(&options);
    options.service = 0.05;
    assert_int_equal(spex_simulate(policy, &map, &options, &result), -EINVAL);
    assert_true(isnan(result.converged));
    spex_simulation_free(&result);
    spex_fleet_policy_free(policy);
}
