/* SPDX-License-Identifier: MIT */
/* What policies find in made-up programs, with fixed seeds. bench/policies has figures of many
 * more. */
#include "../check.h"
#include "policies/explore/builtin.h"
#include "policies/explore/finals.h"
#include "simulation.h"

enum { SEEDS = 8 };

/* Seeds that ended within 5 % of the best, at no more than a fifth of what brute force takes. */
static unsigned good_seeds(const char *policy, size_t number, bool failures, unsigned parallel) {
    struct landscape landscape;
    unsigned good = 0;
    uint64_t all;
    landscape_make(&landscape, number);
    landscape_within(&landscape, 1, &all);
    double brute = 2 * (double)all * landscape.space.rules.duration_seconds;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct simulation simulation = {.policy = spex_builtin_policy(policy),
                                        .landscape = &landscape,
                                        .seed = seed,
                                        .parallel = parallel,
                                        .failures = failures};
        struct outcome outcome;
        simulate(&simulation, &outcome);
        assert_true(all <= 30 || outcome.seconds <= 0.2 * brute);
        good += outcome.share >= 0.95;
    }
    return good;
}

TEST(the_default_finds_the_best) {
    /* sqlite, smooth, cliff, categorical, conditional, small */
    static const size_t numbers[] = {0, 1, 3, 5, 7, 10};
    for (size_t n = 0; n < COUNT_OF(numbers); n++) {
        unsigned good = good_seeds(SPEX_BUILTIN_DEFAULT, numbers[n], false, 1);
        if (good < SEEDS - 1)
            fail_msg("landscape %zu: %u of %u", numbers[n], good, SEEDS);
    }
}

TEST(several_at_a_time_and_failures_do_not_hurt_much) {
    assert_true(good_seeds(SPEX_BUILTIN_DEFAULT, 1, false, 4) >= SEEDS - 2);
    assert_true(good_seeds(SPEX_BUILTIN_DEFAULT, 1, true, 1) >= SEEDS - 2);
}

TEST(others_find_it_often) {
    assert_true(good_seeds("climb", 1, false, 1) >= SEEDS / 2);
    assert_true(good_seeds("tpe", 1, false, 1) >= SEEDS / 2);
    assert_true(good_seeds("halving", 4, false, 1) >= SEEDS / 2);
}

/* Of random ones it is luck: there are 4 of 1024. */
TEST(random_does_not) {
    assert_true(good_seeds("random", 1, false, 1) <= SEEDS / 2);
}

/* A valley of 900 configurations: what a policy of 50 trials does with it. */
enum { SIDE = 30, TRIALS = 50 };

struct valley {
    struct spex_value values[SIDE];
    struct spex_parameter parameters[2];
    struct spex_criterion criterion;
    struct spex_space space;
    unsigned tried[SIDE][SIDE];
    unsigned trials, configurations, most; /* most: trials of one */
};

static void explore_valley(struct valley *valley, const char *name, double noise, bool fails) {
    const struct spex_policy_ops *policy = spex_builtin_policy(name);
    size_t levels[2];
    struct spex_plan plan = {.size = sizeof(plan), .levels = levels, .duration_seconds = 1};
    uint64_t random = 1;
    *valley = (struct valley){.trials = 0};
    for (size_t v = 0; v < SIDE; v++)
        valley->values[v] = (struct spex_value){.position = (double)v / (SIDE - 1)};
    valley->criterion = (struct spex_criterion){"command", "wall", 0, SPEX_MINIMISE, 0};
    valley->parameters[0] = (struct spex_parameter){
        .name = "a", .unit = "", .kind = SPEX_INTEGER, .count = SIDE, .values = valley->values};
    valley->parameters[1] = valley->parameters[0];
    valley->space = (struct spex_space){.size = sizeof(valley->space),
                                        .parameter_count = 2,
                                        .parameters = valley->parameters,
                                        .threads_parameter = 2,
                                        .objective_count = 1,
                                        .criterion_count = 1,
                                        .criteria = &valley->criterion,
                                        .rules = {.trials_max = TRIALS, .seed = 1}};
    void *state = calloc(1, policy->state_size(&valley->space));
    assert_int_equal(policy->init(state, &valley->space), 0);
    while (policy->next(state, &plan) == 1) {
        double a = (double)levels[0] - 21, b = (double)levels[1] - 8;
        double chance = (double)(random_next(&random) >> 11) / 9007199254740992.0 - 0.5;
        struct spex_measured measured = {(10 + a * a / 9 + b * b / 16) * (1 + noise * chance), NAN};
        struct spex_result result = {
            .size = sizeof(result), .levels = levels, .ok = !fails, .measured = &measured};
        unsigned tried = ++valley->tried[levels[0]][levels[1]];
        valley->configurations += tried == 1;
        valley->most = tried > valley->most ? tried : valley->most;
        valley->trials++;
        policy->run_finished(state, &result);
    }
    policy->fini(state);
    free(state);
}

static const char *const searching[] = {"gaussian", "climb", "tpe", "random"};

/* Two trials find out; all others are for what was not tried. */
TEST(what_is_exact_is_not_repeated) {
    static struct valley valley;
    for (size_t p = 0; p < COUNT_OF(searching); p++) {
        explore_valley(&valley, searching[p], 0, false);
        if (valley.trials != TRIALS || valley.configurations + 2 < TRIALS)
            fail_msg("%s: %u of %u", searching[p], valley.configurations, valley.trials);
    }
    explore_valley(&valley, "gaussian", 0, false);
    assert_true(valley.tried[21][8] > 0);
}

/* Of what varies by a few per cent the best are repeated, none more often than it may be. */
TEST(what_varies_is_repeated_and_all_trials_are_used) {
    static struct valley valley;
    explore_valley(&valley, "gaussian", 0.1, false);
    assert_int_equal(valley.trials, TRIALS);
    assert_in_range(valley.configurations, TRIALS / 3, TRIALS - 5);
    assert_in_range(valley.most, 2, 4 + TRIALS / 8 + 1);
}

TEST(it_goes_on_while_nothing_succeeds) {
    static struct valley valley;
    for (size_t p = 0; p < COUNT_OF(searching); p++) {
        explore_valley(&valley, searching[p], 0, true);
        if (valley.trials != TRIALS || valley.configurations != TRIALS)
            fail_msg("%s: %u of %u", searching[p], valley.configurations, valley.trials);
    }
}

/* How many trials of a search are in finals, where three quarters of the time are over after so many; -1:
 * one was before. *after: those of the search after the first finals. */
static int trials_in_finals(const struct spex_policy_ops *policy, const struct spex_space *space,
                            unsigned due, int *after) {
    size_t levels[2];
    struct spex_plan plan = {.size = sizeof(plan), .levels = levels, .duration_seconds = 1};
    uint64_t random = 3;
    int in_finals = 0;
    *after = 0;
    void *state = calloc(1, policy->state_size(space));
    assert_int_equal(policy->init(state, space), 0);
    for (unsigned trials = 0; in_finals >= 0 && trials < due + due / 3; trials++) {
        plan.block = 0;
        plan.finals_due = trials >= due;
        plan.trials = due + due / 3;
        if (policy->next(state, &plan) != 1)
            break;
        in_finals = plan.block && trials < due ? -1 : in_finals + (plan.block > 0);
        *after += in_finals > 0 && !plan.block;
        double a = (double)levels[0] - 21, b = (double)levels[1] - 8;
        double chance = (double)(random_next(&random) >> 11) / 9007199254740992.0 - 0.5;
        struct spex_measured measured = {(10 + a * a / 9 + b * b / 16) * (1 + 0.1 * chance), NAN};
        struct spex_result result = {
            .size = sizeof(result), .levels = levels, .ok = true, .measured = &measured};
        policy->run_finished(state, &result);
    }
    policy->fini(state);
    free(state);
    return in_finals;
}

/* By the host's clock, long before the policy's own trials are over; not where there was no time for
 * enough trials, and not where there are to be none. */
TEST(finals_come_when_it_is_time) {
    static struct valley valley;
    for (size_t p = 0; p < 3; p++) {
        const struct spex_policy_ops *policy = spex_builtin_policy(searching[p]);
        explore_valley(&valley, searching[p], 0.1, false);
        valley.space.rules.trials_max = 1000;
        int after, in_finals = trials_in_finals(policy, &valley.space, 80, &after);
        if (in_finals < 2 * SPEX_FINALS_BLOCKS)
            fail_msg("%s: %d", searching[p], in_finals);
        assert_int_equal(trials_in_finals(policy, &valley.space, 40, &after), 0);
        valley.space.rules.finals = -1;
        assert_int_equal(trials_in_finals(policy, &valley.space, 80, &after), 0);
    }
}

/* Where the winner is known before the time is over, the search goes on. */
TEST(the_rest_of_the_time_is_used) {
    static struct valley valley;
    int after;
    for (size_t p = 0; p < 3; p++) {
        explore_valley(&valley, searching[p], 0.1, false);
        valley.space.rules.trials_max = 0;
        valley.space.rules.finals_zone = 0.1;
        int in_finals =
            trials_in_finals(spex_builtin_policy(searching[p]), &valley.space, 300, &after);
        if (in_finals < SPEX_FINALS_BLOCKS || after < 10 || in_finals + after != 100)
            fail_msg("%s: %d, then %d", searching[p], in_finals, after);
    }
}

/* Landscape `number` in this noise, explored in at most so many trials. */
static struct outcome explore_landscape(const struct spex_policy_ops *policy, size_t number,
                                        const char *noise, unsigned parallel, uint64_t seed,
                                        uint64_t trials) {
    struct landscape landscape;
    struct outcome outcome;
    struct simulation simulation = {
        .policy = policy, .landscape = &landscape, .seed = seed, .parallel = parallel};
    landscape_make(&landscape, number);
    landscape.space.rules.trials_max = trials;
    landscape.space.rules.trials_per_config = 1;
    for (size_t n = 0; n < LANDSCAPE_NOISES; n++)
        if (strcmp(landscape_noises[n].name, noise) == 0)
            simulation.noise = &landscape_noises[n];
    assert_non_null(simulation.noise);
    simulate(&simulation, &outcome);
    return outcome;
}

/* smooth has more configurations than there are trials, small has fewer. */
enum { SMOOTH = 1, SMALL = 10, SMALL_CONFIGURATIONS = 24, GIVEN = 160 };

/* Within the trials that are given, also where several run at a time. */
TEST(every_policy_ends_with_finals) {
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (unsigned parallel = 1; parallel <= 4; parallel += 3) {
            const struct spex_policy_ops *policy = spex_builtin_policies[p];
            struct outcome large = explore_landscape(policy, SMOOTH, "10 %", parallel, 1, GIVEN);
            struct outcome small = explore_landscape(policy, SMALL, "10 %", parallel, 1, GIVEN);
            if (large.trials > GIVEN || large.in_finals < 2 * SPEX_FINALS_BLOCKS ||
                small.trials > GIVEN || small.in_finals < 2 * SPEX_FINALS_BLOCKS ||
                small.configs != SMALL_CONFIGURATIONS)
                fail_msg("%s, %u at a time: %llu and %llu trials in finals", policy->name, parallel,
                         (unsigned long long)large.in_finals, (unsigned long long)small.in_finals);
        }
}

/* A quarter of them, of the policies whose search does not depend on what is found. */
TEST(finals_have_their_share_of_what_is_given) {
    static const char *const designs[] = {"grid", "random", "sensitivity"};
    for (size_t p = 0; p < COUNT_OF(designs); p++) {
        const struct spex_policy_ops *policy = spex_builtin_policy(designs[p]);
        struct outcome outcome = explore_landscape(policy, SMOOTH, "10 %", 1, 1, GIVEN);
        assert_in_range(outcome.in_finals, 2 * SPEX_FINALS_BLOCKS, GIVEN / 4);
        assert_in_range(outcome.configs, GIVEN / 2, GIVEN - 2 * SPEX_FINALS_BLOCKS);
        outcome = explore_landscape(policy, SMOOTH, "10 %", 1, 1, 60); /* 15 are too few */
        assert_int_equal(outcome.in_finals, 0);
    }
}

/* The grid has no end of its own but that of its rounds: finals come in addition, as a quarter of all. */
TEST(a_grid_without_a_number_of_trials_has_finals) {
    struct outcome outcome =
        explore_landscape(spex_builtin_policy("grid"), SMOOTH, "10 %", 1, 1, 0);
    assert_int_equal(outcome.configs, 1024);
    assert_in_range(outcome.in_finals, 2 * SPEX_FINALS_BLOCKS, 1024 / 3);
    assert_in_range(outcome.trials, 1024 + 2 * SPEX_FINALS_BLOCKS, 1024 * 4 / 3 + 1);
    outcome = explore_landscape(spex_builtin_policy("grid"), SMOOTH, "exact", 1, 1, 0);
    assert_int_equal(outcome.trials, 1024 + 2);
}

/* But for a design whose bases may meet. */
TEST(no_policy_repeats_what_is_exact) {
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (size_t l = SMOOTH; l <= SMALL; l += SMALL - SMOOTH) {
            const struct spex_policy_ops *policy = spex_builtin_policies[p];
            struct outcome outcome = explore_landscape(policy, l, "exact", 1, 1, GIVEN);
            uint64_t repeats = outcome.trials - outcome.configs;
            if (outcome.in_finals || (repeats > 2 && strcmp(policy->name, "sensitivity") != 0))
                fail_msg("%s: %llu repeats, %llu in finals", policy->name,
                         (unsigned long long)repeats, (unsigned long long)outcome.in_finals);
        }
}

/* Whether finals say for a third at least of all explorations who wins, and are right in 95 % of those. */
TEST(what_finals_know_is_true_of_every_policy) {
    static const char *const noises[] = {"3 %", "10 %", "uneven"};
    for (size_t p = 0; spex_builtin_policies[p]; p++) {
        const struct spex_policy_ops *policy = spex_builtin_policies[p];
        unsigned known = 0, right = 0, good = 0;
        for (uint64_t run = 0; run < 30; run++) {
            struct outcome outcome =
                explore_landscape(policy, SMALL, noises[run % 3], 1, 1 + run / 3, 300);
            known += outcome.known;
            right += outcome.known_right;
            good += outcome.share >= 0.95;
        }
        if (known < 10 || right < 0.95 * known || good < 28)
            fail_msg("%s: %u known, %u right, %u good", policy->name, known, right, good);
    }
}

/* Repeats are not next to each other, but for what a policy has nothing else to do than, and blocks of
 * finals. Of 16 runs one is of the reference, always the same; in finals blocks may lie between. */
TEST(repeats_are_spread_and_a_reference_is_among_them) {
    static struct valley valley;
    size_t levels[2];
    const struct spex_policy_ops *policy = spex_builtin_policy(SPEX_BUILTIN_DEFAULT);
    explore_valley(&valley, SPEX_BUILTIN_DEFAULT, 0.1, false);
    valley.space.rules.trials_max = 320;
    void *of = calloc(1, policy->state_size(&valley.space));
    uint64_t random = 5;
    size_t last[2] = {SIZE_MAX, SIZE_MAX}, reference[2] = {SIZE_MAX, SIZE_MAX};
    unsigned together = 0, marked = 0, since = 0, most = 0;
    assert_int_equal(policy->init(of, &valley.space), 0);
    for (unsigned t = 0; t < 320; t++) {
        struct spex_plan plan = {.size = sizeof(plan), .levels = levels, .duration_seconds = 1};
        assert_int_equal(policy->next(of, &plan), 1);
        together += !plan.block && memcmp(last, levels, sizeof(last)) == 0;
        memcpy(last, levels, sizeof(last));
        if (plan.reference && !marked++)
            memcpy(reference, levels, sizeof(reference));
        bool is = memcmp(reference, levels, sizeof(reference)) == 0;
        assert_true(is || !plan.reference);
        since = is || !marked ? 0 : since + 1;
        most = since > most ? since : most;
        double a = (double)levels[0] - 21, b = (double)levels[1] - 8;
        double chance = random_part(&random) - 0.5;
        struct spex_measured measured = {(10 + a * a / 9 + b * b / 16) * (1 + 0.1 * chance), NAN};
        struct spex_result result = {
            .size = sizeof(result), .levels = levels, .ok = true, .measured = &measured};
        policy->run_finished(of, &result);
    }
    if (together || !marked || marked > 320 / 16 || most > 15 + SPEX_FINALISTS_MAX)
        fail_msg("%u together, %u marked, %u without", together, marked, most);
    policy->fini(of);
    free(of);
}
