/* SPDX-License-Identifier: MIT */
/* Which parameters matter, where it is known: of a function whose shares of variance can be
 * reckoned by hand. */
#include <math.h>

#include "../check.h"
#include "explore/findings/sensitivity.h"

enum { PARAMETERS = 4, LEVELS = 5, TRIALS_MAX = 200 };

static struct spex_value values[LEVELS];

static struct spex_parameter parameters[PARAMETERS];

static struct spex_space space = {.size = sizeof(space),
                                  .parameter_count = PARAMETERS,
                                  .parameters = parameters,
                                  .threads_parameter = PARAMETERS};

static void make_space(void) {
    for (size_t l = 0; l < LEVELS; l++)
        values[l] = (struct spex_value){.position = (double)l / (LEVELS - 1)};
    for (size_t p = 0; p < PARAMETERS; p++)
        parameters[p] = (struct spex_parameter){
            .name = "", .unit = "", .kind = SPEX_INTEGER, .count = LEVELS, .values = values};
}

static double normal(uint64_t *random) {
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (double)(random_next(random) >> 11) / 9007199254740992.0;
    return sum - 6;
}

/* In units of positions around 0: 2 a + b + 4 b c. The variance of a level's position is 1/8, so
 * that shares of 4/8, 1/8 and 16/64 are explained by a, b, and b and c together: 4/7, 1/7 and 2/7;
 * d does nothing. */
static double truth(const size_t *levels) {
    double x[PARAMETERS];
    for (size_t p = 0; p < PARAMETERS; p++)
        x[p] = values[levels[p]].position - 0.5;
    return 2 * x[0] + x[1] + 4 * x[1] * x[2];
}

struct trials {
    struct spex_sensitivity_input inputs[TRIALS_MAX];
    size_t levels[TRIALS_MAX][PARAMETERS];
};

static void make_trials(struct trials *trials, double noise, uint64_t random) {
    for (size_t t = 0; t < TRIALS_MAX; t++) {
        for (size_t p = 0; p < PARAMETERS; p++)
            trials->levels[t][p] = random_below(&random, LEVELS);
        double one = truth(trials->levels[t]) + noise * normal(&random);
        double other = truth(trials->levels[t]) + noise * normal(&random);
        trials->inputs[t] = (struct spex_sensitivity_input){trials->levels[t], 2, (one + other) / 2,
                                                            (one - other) * (one - other) / 2};
    }
}

static void expect(const struct spex_sensitivity_share *share, double value, double tolerance) {
    if (fabs(share->value - value) > tolerance)
        fail_msg("%.3f instead of %.3f", share->value, value);
    assert_true(share->low <= share->value && share->value <= share->high);
    assert_true(share->low >= 0 && share->high <= 1);
}

TEST(shares_are_known) {
    static struct trials trials;
    struct spex_sensitivity found[PARAMETERS];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        make_trials(&trials, seed == 1 ? 0.01 : 0.3, seed);
        assert_int_equal(spex_sensitivity_of(&space, trials.inputs, TRIALS_MAX, found), 0);
        double tolerance = seed == 1 ? 0.08 : 0.15;
        expect(&found[0].main, 4 / 7.0, tolerance);
        expect(&found[0].total, 4 / 7.0, tolerance);
        expect(&found[1].main, 1 / 7.0, tolerance);
        expect(&found[1].total, 3 / 7.0, tolerance);
        expect(&found[2].main, 0, tolerance);
        expect(&found[2].total, 2 / 7.0, tolerance);
        expect(&found[3].main, 0, tolerance / 2);
        expect(&found[3].total, 0, tolerance / 2);
        assert_true(found[0].main.low > found[3].total.high);
    }
}

TEST(pairs_are_known) {
    static struct trials trials;
    struct spex_sensitivity_share share;
    make_trials(&trials, 0.1, 3);
    assert_int_equal(spex_sensitivity_pair(&space, trials.inputs, TRIALS_MAX, 1, 2, &share), 0);
    expect(&share, 2 / 7.0, 0.1);
    assert_int_equal(spex_sensitivity_pair(&space, trials.inputs, TRIALS_MAX, 0, 3, &share), 0);
    expect(&share, 0, 0.05);
}

TEST(the_same_comes_out_the_same) {
    static struct trials trials;
    struct spex_sensitivity one[PARAMETERS], other[PARAMETERS];
    make_trials(&trials, 0.1, 4);
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, 60, one), 0);
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, 60, other), 0);
    assert_memory_equal(one, other, sizeof(one));
}

/* Means above 0 are compared as ratios, others as differences. Of means that hardly differ both are
 * the same, in any unit, and so is the noise of their trials. */
TEST(small_ratios_are_differences) {
    static struct trials trials, ratios, differences;
    struct spex_sensitivity of_ratios[PARAMETERS], of_differences[PARAMETERS];
    double small = 1e-5, unit = 100;
    make_trials(&trials, 0.5, 6);
    ratios = differences = trials;
    for (size_t t = 0; t < TRIALS_MAX; t++) {
        const struct spex_sensitivity_input *input = &trials.inputs[t];
        ratios.inputs[t].mean = unit * (1 + small * input->mean);
        ratios.inputs[t].squares = unit * unit * small * small * input->squares;
        differences.inputs[t].mean = small * input->mean;
        differences.inputs[t].squares = small * small * input->squares;
    }
    assert_int_equal(spex_sensitivity_of(&space, ratios.inputs, TRIALS_MAX, of_ratios), 0);
    assert_int_equal(spex_sensitivity_of(&space, differences.inputs, TRIALS_MAX, of_differences),
                     0);
    for (size_t p = 0; p < PARAMETERS; p++) {
        assert_float_equal(of_ratios[p].main.value, of_differences[p].main.value, 1e-3);
        assert_float_equal(of_ratios[p].total.value, of_differences[p].total.value, 1e-3);
        assert_float_equal(of_ratios[p].total.high, of_differences[p].total.high, 1e-3);
    }
}

TEST(too_little_is_said) {
    static struct trials trials;
    struct spex_sensitivity found[PARAMETERS];
    make_trials(&trials, 0.1, 5);
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, 0, found), -ENODATA);
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, SPEX_SENSITIVITY_LEAST - 1, found),
                     -ENODATA);
    for (size_t t = 0; t < TRIALS_MAX; t++)
        trials.inputs[t].mean = 7;
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, TRIALS_MAX, found), -ENODATA);
    for (size_t t = 0; t < TRIALS_MAX; t++)
        trials.inputs[t].trials = 0;
    assert_int_equal(spex_sensitivity_of(&space, trials.inputs, TRIALS_MAX, found), -ENODATA);
}

int main(void) {
    make_space();
    return tests_run(NULL, NULL);
}
