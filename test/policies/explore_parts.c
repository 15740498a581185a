/* SPDX-License-Identifier: MIT */
/* Policies' parts against what they stand for: which configurations are tpe's good ones, that its
 * densities are distributions, and that levels are drawn by them; how many runs halving foretells.
 * What a whole exploration finds shows little of it, since much else makes up for a poor
 * proposal. */
#include "policies/explore/halving.c"
#include "policies/explore/tpe.c"

#include "../check.h"

enum { LEVELS = 401, KINDS = 5, DRAWS = 20000 };

static struct spex_value values[LEVELS], kinds[KINDS];
static const struct spex_parameter parameters[] = {
    {.name = "n", .kind = SPEX_INTEGER, .count = LEVELS, .values = values},
    {.name = "kind", .kind = SPEX_CATEGORICAL, .count = KINDS, .values = kinds},
};
static const struct spex_criterion criterion = {
    .probe = "q:lat", .metric = "mean", .goal = SPEX_MINIMISE};
static const struct spex_space space = {.size = sizeof(space),
                                        .parameter_count = 2,
                                        .parameters = parameters,
                                        .criterion_count = 1,
                                        .objective_count = 1,
                                        .criteria = &criterion,
                                        .threads_parameter = 2,
                                        .rules = {.trials_per_config = 3, .seed = 1}};
static struct tpe tpe;

static int set_up(void **state) {
    (void)state;
    for (size_t v = 0; v < LEVELS; v++)
        values[v] = (struct spex_value){.number = (double)v, .position = (double)v / (LEVELS - 1)};
    return tpe_init(&tpe, &space);
}

static int tear_down(void **state) {
    (void)state;
    tpe_fini(&tpe);
    return 0;
}

/* A configuration that has been run, or is still running where `value` is not finite. */
static void add(size_t level, size_t kind, double value) {
    const size_t levels[] = {level, kind};
    const struct spex_measured measured = {.value = value, .error = NAN};
    const struct spex_result result = {
        .size = sizeof(result), .levels = levels, .ok = true, .measured = &measured};
    assert_int_equal(spex_results_plan(&tpe.search.results, levels), 0);
    if (isfinite(value))
        spex_search_run_finished(&tpe, &result);
}

/* Of so many the good ones are the root of their number, and the others at most every so manyth. */
TEST_WITH(the_good_ones_are_the_least_of_their_root, set_up, tear_down) {
    static const struct {
        size_t finished, good, others;
    } cases[] = {{0, 0, 0},    {1, 1, 0},     {2, 2, 0},     {4, 2, 2},     {5, 3, 2},
                 {99, 10, 89}, {100, 10, 45}, {199, 15, 92}, {900, 25, 88}, {1200, 25, 91}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        size_t finished = cases[c].finished;
        tpe_fini(&tpe);
        assert_int_equal(tpe_init(&tpe, &space), 0);
        for (size_t i = 0; i < finished; i++)
            add(i % LEVELS, i / LEVELS, 1 + (double)(i * 7919 % finished));
        add(LEVELS - 1, KINDS - 1, NAN);
        assert_int_equal(tpe_split(&tpe), 0);
        assert_int_equal(tpe.good_count, cases[c].good);
        assert_int_equal(tpe.others_count, cases[c].others);
        for (size_t g = 0; g < tpe.good_count; g++)
            assert_true(tpe.good[g] * 7919 % finished < tpe.good_count);
        for (size_t o = 0; o < tpe.others_count; o++)
            assert_true(tpe.others[o] * 7919 % finished >= tpe.good_count);
    }
}

/* What has failed is bad, and finished. */
TEST_WITH(failures_are_among_the_others, set_up, tear_down) {
    const size_t levels[] = {7, 1};
    const struct spex_result result = {.size = sizeof(result), .levels = levels};
    for (size_t i = 0; i < 3; i++)
        add(i, 0, (double)i + 1);
    assert_int_equal(spex_results_plan(&tpe.search.results, levels), 0);
    spex_search_run_finished(&tpe, &result);
    assert_int_equal(tpe_split(&tpe), 0);
    assert_true(tpe.good_count == 2 && tpe.others_count == 2);
    assert_int_equal(tpe.others[1], 3);
    assert_false(tpe_is_open(&tpe, levels));
    const size_t other[] = {8, 1}, known[] = {0, 0};
    assert_true(tpe_is_open(&tpe, other) && tpe_is_open(&tpe, known));
    assert_int_equal(spex_results_plan(&tpe.search.results, known), 0);
    assert_false(tpe_is_open(&tpe, known)); /* under way */
    add(9, 0, 1);
    add(9, 0, 1);
    assert_true(tpe_is_open(&tpe, (const size_t[]){9, 0}));
    add(9, 0, 1);
    assert_false(tpe_is_open(&tpe, (const size_t[]){9, 0})); /* three trials, as the rules say */
}

/* `count` configurations in the middle, of kinds 0, 1, 0, 1, …, all of them good. */
static void fill_good(size_t count) {
    for (size_t i = 0; i < count; i++) {
        add(LEVELS / 2, i % 2, 1);
        tpe.good[i] = i % 2;
    }
    tpe.good_count = count;
}

/* Kernels of Silverman's width around the level of each, and one more that is uniform. */
TEST_WITH(densities_are_distributions, set_up, tear_down) {
    enum { GOOD = 24 };
    double sum = 0, sum_of_kinds = 0;
    fill_good(GOOD);
    for (size_t l = 0; l < LEVELS; l++) {
        double width = 0.3 * pow(GOOD + 1, -0.2);
        double z = (values[l].position - 0.5) / width;
        double kernel = exp(-z * z / 2) / (width * sqrt(2 * M_PI));
        double found = tpe_density(&tpe, tpe.good, GOOD, 0, l);
        assert_float_equal(found, (1 + GOOD * kernel) / (LEVELS * (GOOD + 1.0)), 1e-12);
        sum += found;
    }
    assert_float_equal(sum, 1, 0.01);
    for (size_t k = 0; k < KINDS; k++) {
        double found = tpe_density(&tpe, tpe.good, GOOD, 1, k);
        double whole = k < 2 ? GOOD / 2.0 : 0;
        assert_float_equal(found, (whole + 1.0 / KINDS) / (GOOD + 1), 1e-12);
        sum_of_kinds += found;
    }
    assert_float_equal(sum_of_kinds, 1, 1e-12);
    const struct spex_parameter coarse = {.count = 2}, one = {.count = 1};
    assert_true(tpe_bandwidth(&coarse, GOOD) == 0.5 && tpe_bandwidth(&one, GOOD) == 1);
}

/* Four standard errors: the seed is always the same. */
static void expect_share(double found, double expected) {
    assert_float_equal(found, expected, 4 * sqrt(expected * (1 - expected) / DRAWS));
}

/* In quarters of a standard deviation around the middle, where the uniform part counts, too. */
TEST_WITH(levels_are_drawn_by_their_density, set_up, tear_down) {
    enum { GOOD = 24 };
    double by_level[LEVELS] = {0}, by_kind[KINDS] = {0};
    fill_good(GOOD);
    for (unsigned d = 0; d < DRAWS; d++) {
        by_level[tpe_draw_level(&tpe, 0)] += 1.0 / DRAWS;
        by_kind[tpe_draw_level(&tpe, 1)] += 1.0 / DRAWS;
    }
    for (size_t k = 0; k < KINDS; k++)
        expect_share(by_kind[k], tpe_density(&tpe, tpe.good, GOOD, 1, k));
    for (size_t from = 1; from + 40 < LEVELS; from += 40) {
        double found = 0, expected = 0;
        for (size_t l = from; l < from + 40; l++) {
            found += by_level[l];
            expected += tpe_density(&tpe, tpe.good, GOOD, 0, l);
        }
        assert_float_equal(found, expected, 0.01 * expected + 4 * sqrt(expected / DRAWS));
    }
}

/* What the good ones have and the others have not speaks for a configuration. */
TEST_WITH(the_ratio_is_of_both_densities, set_up, tear_down) {
    const size_t as_good[] = {LEVELS / 2, 0}, as_other[] = {10, 3};
    fill_good(4);
    add(10, 3, 2);
    tpe.others[0] = 2;
    tpe.others_count = 1;
    double good = tpe_log_ratio(&tpe, as_good), other = tpe_log_ratio(&tpe, as_other);
    double expected = 0;
    for (size_t p = 0; p < 2; p++)
        expected += log(tpe_density(&tpe, tpe.good, 4, p, as_good[p])) -
                    log(tpe_density(&tpe, tpe.others, 1, p, as_good[p]));
    assert_float_equal(good, expected, 1e-12);
    assert_true(good > 1 && other < -1);
}

/* The good configuration has the second level and the other one the first: (1 + 1/2) / 2 against
 * (1/2) / 2, and the reverse. */
TEST_WITH(the_ratio_is_of_choices_between_two_as_well, set_up, tear_down) {
    const struct spex_parameter on_or_off = {
        .name = "on", .kind = SPEX_CATEGORICAL, .count = 2, .values = kinds};
    struct spex_space two = space;
    two.parameter_count = two.threads_parameter = 1;
    two.parameters = &on_or_off;
    tpe_fini(&tpe);
    assert_int_equal(tpe_init(&tpe, &two), 0);
    add(1, 0, 1);
    add(0, 0, 2);
    tpe.good[0] = 0;
    tpe.others[0] = 1;
    tpe.good_count = tpe.others_count = 1;
    assert_float_equal(tpe_log_ratio(&tpe, (const size_t[]){1}), log(3), 1e-12);
    assert_float_equal(tpe_log_ratio(&tpe, (const size_t[]){0}), -log(3), 1e-12);
}

/* Of 400 full runs, 0.45 are spent on three times as many that are short, where the rules count time
 * and the warm-up leaves half of it; two more for rounding. */
TEST_WITH(short_runs_are_foretold, set_up, tear_down) {
    static const struct {
        uint64_t trials_max;
        double warmup;
        uint64_t first, runs;
    } cases[] = {{0, 0, 540, 762}, {0, 0.5, 540, 762}, {0, 0.51, 180, 400}, {50, 0, 22, 50}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_space timed = space;
        struct halving halving;
        timed.rules.duration_seconds = 3;
        timed.rules.warmup_seconds = cases[c].warmup;
        timed.rules.trials_max = cases[c].trials_max;
        assert_int_equal(halving_init(&halving, &timed), 0);
        assert_int_equal(halving.first, cases[c].first);
        assert_int_equal(halving_runs(&halving), cases[c].runs);
        halving_fini(&halving);
    }
}
