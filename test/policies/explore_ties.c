/* SPDX-License-Identifier: MIT */
/* Explorations of made-up configurations of which it is known which are the same, with fixed seeds:
 * how often it is wrong that no other is as good as the best, that one which is better is found, and
 * what its interval holds. A policy decides by what it sees when it ends. */
#include <math.h>

#include "../check.h"
#include "explore/findings/final_race.h"
#include "policies/explore/builtin.h"

enum { CONFIGURATIONS_MAX = 12, SEEDS = 200 };

/* Of `count` configurations the `best` first ones in a circle are better by a share, the same each. */
struct world {
    size_t count, best;
    double better, noise;
    double uneven; /* deviation of the logarithms of the configurations' noise */
    uint64_t trials;
    double finals; /* as in struct spex_rules */
};

/* Shares of the explorations. */
struct seen {
    double alone; /* said that no other is as good */
    double found; /* a best one is recommended */
    double held;  /* by the interval of what is recommended */
    double trials;
};

struct course {
    struct world world;
    struct spex_value values[CONFIGURATIONS_MAX];
    double noise[CONFIGURATIONS_MAX];
    size_t first; /* of the best */
    uint64_t random;
    struct spex_summary summary;
    struct spex_final_trials finals;
};

static double share(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *random) {
    return sqrt(-2 * log(1 - share(random))) * cos(2 * M_PI * share(random));
}

static bool is_best(const struct course *course, size_t level) {
    return (level + course->world.count - course->first) % course->world.count < course->world.best;
}

static double truth(const struct course *course, size_t level) {
    return is_best(course, level) ? 10 * (1 - course->world.better) : 10;
}

static void begin(struct course *course, const struct world *world, uint64_t seed) {
    *course = (struct course){.world = *world, .random = seed};
    for (size_t c = 0; c < world->count; c++) {
        course->values[c] = (struct spex_value){.text = ""};
        course->values[c].position = (double)c / (double)(world->count - 1);
        course->noise[c] = world->noise * exp(world->uneven * normal(&course->random));
    }
    course->first = random_below(&course->random, world->count);
}

static void run(struct course *course, const struct spex_policy_ops *policy, void *state,
                const struct spex_plan *plan) {
    size_t level = plan->levels[0];
    double chance = course->noise[level] * normal(&course->random);
    struct spex_measured measured = {truth(course, level) * exp(chance), NAN};
    const struct spex_trial trial = {
        .levels = plan->levels, .ok = true, .measured = &measured, .block = plan->block};
    const struct spex_result result = {
        .size = sizeof(result), .levels = plan->levels, .ok = true, .measured = &measured};
    assert_int_equal(spex_summary_add(&course->summary, &trial), 0);
    assert_int_equal(spex_final_trials_add(&course->finals, &course->summary, &trial), 0);
    policy->run_finished(state, &result);
}

static uint64_t explore(struct course *course, const char *name, uint64_t seed) {
    const struct spex_policy_ops *policy = spex_builtin_policy(name);
    const struct spex_criterion criterion = {"command", "wall", 0, SPEX_MINIMISE, 0};
    const struct spex_parameter parameter = {.name = "a",
                                             .unit = "",
                                             .kind = SPEX_INTEGER,
                                             .count = course->world.count,
                                             .values = course->values};
    const struct spex_space space = {.size = sizeof(space),
                                     .parameter_count = 1,
                                     .parameters = &parameter,
                                     .threads_parameter = 1,
                                     .objective_count = 1,
                                     .criterion_count = 1,
                                     .criteria = &criterion,
                                     .rules = {.trials_max = course->world.trials,
                                               .trials_per_config = 1,
                                               .finals = course->world.finals,
                                               .seed = seed}};
    size_t level = 0;
    uint64_t trials = 0;
    struct spex_plan plan = {.size = sizeof(plan), .levels = &level, .probes = ""};
    void *state = calloc(1, policy->state_size(&space));
    spex_summary_init(&course->summary, &space);
    assert_int_equal(policy->init(state, &space), 0);
    for (; policy->next(state, &plan) == 1; trials++) {
        run(course, policy, state, &plan);
        plan.block = 0;
    }
    policy->fini(state);
    free(state);
    return trials;
}

static struct seen see(const struct world *world, const char *policy) {
    struct seen seen = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct course course;
        struct spex_ranking standing;
        struct spex_final_race race;
        size_t best, tied;
        begin(&course, world, seed);
        seen.trials += (double)explore(&course, policy, seed) / SEEDS;
        assert_int_equal(
            spex_final_race_ties(&course.summary, &course.finals, &standing, &best, &tied, &race),
            0);
        size_t level = course.summary.groups[best].levels[0];
        seen.alone += (tied == 1) / (double)SEEDS;
        seen.found += is_best(&course, level) / (double)SEEDS;
        seen.held +=
            (standing.low <= truth(&course, level) && truth(&course, level) <= standing.high) /
            (double)SEEDS;
        spex_summary_free(&course.summary);
        spex_final_trials_free(&course.finals);
    }
    print_message("%s, %2zu configurations, %zu better by %2.0f %%, %llu trials, finals %2.0f: "
                  "alone %.1f %%, found %.1f %%, held %.1f %%, %.1f trials\n",
                  policy, world->count, world->best, 100 * world->better,
                  (unsigned long long)world->trials, world->finals, 100 * seen.alone,
                  100 * seen.found, 100 * seen.held, seen.trials);
    return seen;
}

static const size_t counts[] = {2, 3, 6, 12};

/* All are the same: it is never true. Without finals, too. */
TEST(equal_ones_are_tied) {
    for (size_t c = 0; c < COUNT_OF(counts); c++)
        for (int finals = -1; finals <= 0; finals++)
            for (int uneven = 0; uneven <= 1; uneven++) {
                const struct world world = {.count = counts[c],
                                            .noise = 0.03,
                                            .uneven = uneven * 0.5,
                                            .trials = 40,
                                            .finals = finals};
                assert_true(see(&world, "gaussian").alone <= 0.05);
            }
}

/* A policy that has few trials left after it has tried all. */
TEST(few_trials_tell_no_more) {
    static const char *const policies[] = {"gaussian", "climb", "tpe", "halving"};
    const struct world world = {.count = 2, .noise = 0.03, .trials = 15};
    for (size_t p = 0; p < COUNT_OF(policies); p++)
        assert_true(see(&world, policies[p]).alone <= 0.05);
}

/* The others say how far apart configurations can be, and not that these two are. */
TEST(equal_ones_above_others_are_tied) {
    for (size_t c = 1; c < COUNT_OF(counts); c++)
        for (int finals = -1; finals <= 0; finals++) {
            const struct world world = {.count = counts[c],
                                        .best = 2,
                                        .better = 0.3,
                                        .noise = 0.03,
                                        .trials = 40,
                                        .finals = finals};
            struct seen seen = see(&world, "gaussian");
            assert_true(seen.alone <= 0.05 && seen.found >= 0.995);
        }
}

/* What is better by three times the noise is found in a few trials, it is said, and the interval is
 * not drawn to the others, which are the same. */
TEST(a_better_one_is_alone) {
    for (size_t c = 0; c < COUNT_OF(counts); c++)
        for (int finals = -1; finals <= 0; finals++) {
            const struct world world = {.count = counts[c],
                                        .best = 1,
                                        .better = 0.1,
                                        .noise = 0.03,
                                        .trials = 40,
                                        .finals = finals};
            struct seen seen = see(&world, "gaussian");
            assert_true(seen.alone >= 0.95 && seen.found >= 0.99 && seen.held >= 0.82);
            assert_true(finals == 0 || seen.trials < 6 + 2 * (double)counts[c]);
        }
}
