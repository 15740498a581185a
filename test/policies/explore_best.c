/* SPDX-License-Identifier: MIT */
/* What policies find in made-up programs, with fixed seeds. bench/policies has figures of many
 * more. */
#include <stdlib.h>

#include "../check.h"
#include "policies/explore/builtin.h"
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

static void the_default_finds_the_best(void **state) {
    (void)state;
    /* sqlite, smooth, cliff, categorical, conditional, small */
    static const size_t numbers[] = {0, 1, 3, 5, 7, 10};
    for (size_t n = 0; n < COUNT_OF(numbers); n++) {
        unsigned good = good_seeds(SPEX_BUILTIN_DEFAULT, numbers[n], false, 1);
        if (good < SEEDS - 1)
            fail_msg("landscape %zu: %u of %u", numbers[n], good, SEEDS);
    }
}

static void several_at_a_time_and_failures_do_not_hurt_much(void **state) {
    (void)state;
    assert_true(good_seeds(SPEX_BUILTIN_DEFAULT, 1, false, 4) >= SEEDS - 2);
    assert_true(good_seeds(SPEX_BUILTIN_DEFAULT, 1, true, 1) >= SEEDS - 2);
}

static void others_find_it_often(void **state) {
    (void)state;
    assert_true(good_seeds("climb", 1, false, 1) >= SEEDS / 2);
    assert_true(good_seeds("tpe", 1, false, 1) >= SEEDS / 2);
    assert_true(good_seeds("halving", 4, false, 1) >= SEEDS / 2);
}

/* Of random ones it is luck: there are 4 of 1024. */
static void random_does_not(void **state) {
    (void)state;
    assert_true(good_seeds("random", 1, false, 1) <= SEEDS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_finds_the_best),
        cmocka_unit_test(several_at_a_time_and_failures_do_not_hurt_much),
        cmocka_unit_test(others_find_it_often),
        cmocka_unit_test(random_does_not),
    };
    return cmocka_run_group_tests_name("best", tests, NULL, NULL);
}
