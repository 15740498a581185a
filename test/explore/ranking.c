/* SPDX-License-Identifier: MIT */
/* Whether what is said of the best of some configurations is true as often as it says, in made-up
 * worlds with fixed seeds; and what is said of worlds that leave no doubt. */
#include <math.h>

#include "../check.h"
#include "base/student.h"
#include "explore/findings/ranking.h"

enum { CONFIGS_MAX = 1000, WORLDS = 150 };

static double share(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

static double normal(uint64_t *random) {
    return sqrt(-2 * log(1 - share(random))) * cos(2 * M_PI * share(random));
}

struct world {
    size_t count;
    uint64_t trials_min, trials_max; /* of each; trials_min 0: 1 */
    double deviation;                /* of the logarithms of true means */
    double variation;                /* median of the coefficients of variation */
    double different;                /* deviation of the logarithms of these */
    bool maximise;
    double truths[CONFIGS_MAX];
    struct spex_ranking_input inputs[CONFIGS_MAX];
    struct spex_ranking rankings[CONFIGS_MAX];
    size_t best;
};

static void add_trial(struct spex_ranking_input *input, double value) {
    double distance = value - input->mean;
    input->mean += distance / (double)++input->trials;
    input->squares += distance * (value - input->mean);
}

/* What is said of a configuration agrees with itself and with the ranking. One of those that are
 * tied is the best with a probability of 95 %. */
static void expect_agreement(const struct world *world) {
    const struct spex_ranking *best = &world->rankings[world->best];
    double together = 0;
    for (size_t c = 0; c < world->count; c++) {
        const struct spex_ranking *of = &world->rankings[c];
        assert_true(of->low > 0 && of->low <= of->estimate && of->estimate <= of->high);
        assert_true(world->maximise ? of->estimate <= best->estimate
                                    : of->estimate >= best->estimate);
        together += of->tied ? of->first : 0;
    }
    assert_true(together >= 0.95 - 1e-9);
}

static void make_world(struct world *world, uint64_t *random) {
    for (size_t c = 0; c < world->count; c++) {
        double variation = world->variation * exp(world->different * normal(random));
        uint64_t least = world->trials_min ? world->trials_min : 1;
        uint64_t trials = least + random_below(random, world->trials_max - least + 1);
        world->truths[c] = 100 * exp(world->deviation * normal(random));
        world->inputs[c] = (struct spex_ranking_input){.error = NAN};
        for (uint64_t t = 0; t < trials; t++)
            add_trial(&world->inputs[c], world->truths[c] * exp(variation * normal(random) -
                                                                variation * variation / 2));
    }
    assert_int_equal(spex_ranking_of(world->inputs, world->count, world->maximise, world->rankings,
                                     &world->best),
                     0);
    assert_true(world->best < world->count);
    assert_true(world->rankings[world->best].tied);
    expect_agreement(world);
}

static size_t really_best(const struct world *world) {
    size_t best = 0;
    for (size_t c = 1; c < world->count; c++)
        if ((world->truths[c] > world->truths[best]) == world->maximise)
            best = c;
    return best;
}

struct coverage {
    unsigned best;   /* interval of what is recommended */
    unsigned tied;   /* the best is among them */
    double ties;     /* share that is tied, in the mean */
    double each;     /* share of all intervals */
    double regret;   /* how much worse what is recommended is than the best, in the mean */
    double luckiest; /* the same of the one with the best mean */
};

static struct coverage measure(struct world *world, uint64_t seed) {
    struct coverage coverage = {0};
    uint64_t random = seed;
    for (unsigned w = 0; w < WORLDS; w++) {
        make_world(world, &random);
        size_t really = really_best(world), luckiest = 0;
        const struct spex_ranking *best = &world->rankings[world->best];
        double truth = world->truths[world->best];
        coverage.best += best->low <= truth && truth <= best->high;
        coverage.tied += world->rankings[really].tied;
        coverage.regret += fabs(log(world->truths[really] / truth)) / WORLDS;
        for (size_t c = 0; c < world->count; c++) {
            const struct spex_ranking *ranking = &world->rankings[c];
            double all = (double)world->count * WORLDS;
            coverage.ties += ranking->tied / all;
            coverage.each +=
                (ranking->low <= world->truths[c] && world->truths[c] <= ranking->high) / all;
            if ((world->inputs[c].mean > world->inputs[luckiest].mean) == world->maximise)
                luckiest = c;
        }
        coverage.luckiest += fabs(log(world->truths[really] / world->truths[luckiest])) / WORLDS;
    }
    print_message("%zu configurations of 1 to %llu trials: best's interval %.1f %%, best among "
                  "tied %.1f %% (%.1f %% tied), all intervals %.1f %%; worse than the best by %.2f "
                  "%%, by best mean %.2f %%\n",
                  world->count, (unsigned long long)world->trials_max,
                  100.0 * coverage.best / WORLDS, 100.0 * coverage.tied / WORLDS,
                  100 * coverage.ties, 100 * coverage.each, 100 * coverage.regret,
                  100 * coverage.luckiest);
    return coverage;
}

/* 95 % are promised. Of 150 worlds that is 91 % to two standard errors. */
static void expect_honest(struct world *world, uint64_t seed, double least) {
    struct coverage coverage = measure(world, seed);
    assert_true(coverage.best >= least * WORLDS);
    assert_true(coverage.tied >= least * WORLDS);
    assert_true(coverage.each >= least);
    assert_true(coverage.regret <= coverage.luckiest + 0.007);
}

TEST(what_is_said_holds) {
    static struct world world;
    world = (struct world){.count = 30,
                           .trials_max = 8,
                           .deviation = 0.15,
                           .variation = 0.08,
                           .different = 0.5,
                           .maximise = true};
    expect_honest(&world, 1, 0.91);
    world.maximise = false;
    expect_honest(&world, 2, 0.91);
    world.count = 8;
    world.trials_max = 12;
    expect_honest(&world, 3, 0.9);
    world.count = 60;
    world.trials_max = 5;
    world.different = 0;
    expect_honest(&world, 4, 0.91);
}

/* One in ten has a coefficient of variation above 27 %, and some above 100 %, of which a mean of
 * two trials and its logarithm say little: what is recommended is much better than the luckiest, and
 * its interval is wide. */
TEST(wild_noise_is_told_as_such) {
    static struct world world;
    struct coverage coverage;
    world = (struct world){.count = 30,
                           .trials_max = 8,
                           .deviation = 0.15,
                           .variation = 0.08,
                           .different = 0.949,
                           .maximise = true};
    expect_honest(&world, 5, 0.9);
    world.count = 150;
    world.trials_max = 3;
    coverage = measure(&world, 6);
    assert_true(coverage.best >= 0.94 * WORLDS);
    assert_true(coverage.tied >= 0.94 * WORLDS);
    assert_true(coverage.regret < coverage.luckiest / 2);
}

/* Two trials each, as brute force has: what looks best of a thousand is the one that was lucky and of
 * which two trials agreed. Its interval held in 86 % of worlds as long as it knew no noise beyond the
 * highest 6 %. */
TEST(the_luckiest_of_a_thousand_is_told_as_such) {
    static struct world world;
    world = (struct world){.count = 1000,
                           .trials_min = 2,
                           .trials_max = 2,
                           .deviation = 0.3,
                           .variation = 0.08,
                           .different = 0.949,
                           .maximise = true};
    expect_honest(&world, 8, 0.93);
}

TEST(all_alike_are_all_tied) {
    static struct world world;
    world = (struct world){
        .count = 20, .trials_max = 4, .deviation = 0, .variation = 0.1, .maximise = true};
    struct coverage coverage = measure(&world, 7);
    assert_true(coverage.ties > 0.6);
    assert_true(coverage.best >= 0.92 * WORLDS);
}

/* Of few that are alike, each tells little of their common mean; and few repeats tell little of the
 * noise. */
TEST(few_that_are_alike) {
    static struct world world;
    for (size_t count = 2; count <= 4; count++) {
        world = (struct world){
            .count = count, .trials_max = 4, .deviation = 0, .variation = 0.2, .maximise = true};
        struct coverage coverage = measure(&world, 20 + count);
        assert_true(coverage.best >= 0.88 * WORLDS && coverage.each >= 0.88);
    }
}

/* Of one alone its own trials are all there is: Student's interval. */
TEST(one_alone_has_the_interval_of_its_trials) {
    for (uint64_t trials = 2; trials <= 20; trials++) {
        double n = (double)trials, reach = spex_student_95(n - 1) / sqrt(n);
        const struct spex_ranking_input input = {trials, 1000, n - 1, NAN};
        struct spex_ranking ranking;
        size_t best;
        assert_int_equal(spex_ranking_of(&input, 1, true, &ranking, &best), 0);
        double ratio = (ranking.high - ranking.low) / (2 * reach);
        if (!(fabs(ratio - 1) < 0.15 && fabs(ranking.margin / reach - 1) < 0.15))
            fail_msg("%.0f trials: %.3f of Student's interval, margin %.3f", n, ratio,
                     ranking.margin / reach);
    }
}

TEST(a_clear_best_is_alone) {
    struct spex_ranking_input inputs[5];
    struct spex_ranking rankings[5];
    size_t best;
    for (size_t i = 0; i < 5; i++) {
        inputs[i] = (struct spex_ranking_input){6, 100.0 + 50 * (double)i, 6, NAN};
    }
    assert_int_equal(spex_ranking_of(inputs, 5, true, rankings, &best), 0);
    assert_int_equal(best, 4);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(rankings[i].tied, i == 4);
        assert_true(rankings[i].low < inputs[i].mean && inputs[i].mean < rankings[i].high);
        assert_true(rankings[i].high - rankings[i].low < 10);
    }
    assert_int_equal(spex_ranking_of(inputs, 5, false, rankings, &best), 0);
    assert_int_equal(best, 0);
}

/* A lucky single trial does not come before what is known. */
TEST(luck_is_not_recommended) {
    struct spex_ranking_input inputs[12];
    struct spex_ranking rankings[12];
    size_t best;
    for (size_t i = 0; i < 10; i++)
        inputs[i] = (struct spex_ranking_input){4, 70.0 + (double)i, 3 * 100, NAN};
    inputs[10] = (struct spex_ranking_input){12, 100, 11 * 100, NAN};
    inputs[11] = (struct spex_ranking_input){1, 104, 0, NAN};
    assert_int_equal(spex_ranking_of(inputs, 12, true, rankings, &best), 0);
    assert_int_equal(best, 10);
    assert_true(rankings[11].tied);
    assert_true(rankings[11].estimate < 104);
}

/* Runs that believe to be off by a fifth, of a program whose trials vary by a hundredth: the
 * best is not taken for luck. Among others of which runs say the truth, of one trial each or of
 * several. */
TEST(what_runs_say_is_held_against_trials) {
    enum { COUNT = 60, WRONG = 30 };
    for (uint64_t trials = 1; trials <= 3; trials++) {
        struct spex_ranking_input inputs[COUNT] = {{0}};
        struct spex_ranking rankings[COUNT];
        uint64_t random = trials;
        size_t best;
        for (size_t c = 0; c < COUNT; c++) {
            double truth = c < WRONG ? 110 + (double)c / 5 : 100;
            inputs[c].error = c < WRONG ? 0.2 * truth : 1;
            for (uint64_t t = 0; t < trials; t++)
                add_trial(&inputs[c], truth * (1 + 0.01 * normal(&random)));
        }
        assert_int_equal(spex_ranking_of(inputs, COUNT, true, rankings, &best), 0);
        double width = rankings[WRONG - 1].high - rankings[WRONG - 1].low;
        if (trials == 1) /* there is nothing else to go by */
            assert_true(width > 10);
        else
            assert_true(best >= WRONG - 6 && best < WRONG && rankings[best].estimate > 112);
    }
}

/* Where they are right, trials that happen to be alike are not believed more. */
TEST(what_runs_say_truly_counts) {
    enum { COUNT = 40 };
    unsigned held = 0, said = 0;
    for (uint64_t world = 1; world <= 100; world++) {
        struct spex_ranking_input inputs[COUNT] = {{0}};
        struct spex_ranking rankings[COUNT];
        uint64_t random = world;
        size_t best;
        for (size_t c = 0; c < COUNT; c++) {
            inputs[c].error = c % 2 ? 20 : 1;
            for (int t = 0; t < 2; t++)
                add_trial(&inputs[c], 100 + inputs[c].error * normal(&random));
        }
        assert_int_equal(spex_ranking_of(inputs, COUNT, true, rankings, &best), 0);
        for (size_t c = 0; c < COUNT; c++) {
            held += rankings[c].low <= 100 && rankings[c].high >= 100;
            said++;
        }
    }
    assert_true(held > 0.93 * said);
}

/* Whatever the unit, also where values are below 0, which have no logarithms. */
TEST(intervals_have_the_unit_of_their_values) {
    static const double units[] = {1e-6, 1e3, 1e9};
    enum { COUNT = 8 };
    struct spex_ranking one[COUNT], other[COUNT];
    size_t best, same;
    for (size_t u = 0; u < COUNT_OF(units); u++) {
        struct spex_ranking_input inputs[COUNT] = {{0}}, scaled[COUNT] = {{0}};
        uint64_t random = 3;
        for (size_t c = 0; c < COUNT; c++) {
            inputs[c].error = scaled[c].error = NAN;
            for (int t = 0; t < 3; t++) {
                double value = (double)c - 4 + normal(&random);
                add_trial(&inputs[c], value);
                add_trial(&scaled[c], value * units[u]);
            }
        }
        assert_int_equal(spex_ranking_of(inputs, COUNT, true, one, &best), 0);
        assert_int_equal(spex_ranking_of(scaled, COUNT, true, other, &same), 0);
        assert_int_equal(best, same);
        for (size_t c = 0; c < COUNT; c++) {
            double width = one[c].high - one[c].low;
            assert_true(width > 0.1);
            assert_true(fabs(other[c].low / units[u] - one[c].low) < 1e-6 * width);
            assert_true(fabs(other[c].high / units[u] - one[c].high) < 1e-6 * width);
        }
    }
}

/* Where none of the values is, though one is 0, which has no logarithm. */
TEST(what_is_never_negative_is_told_so) {
    enum { COUNT = 4 };
    static const double values[COUNT][2] = {{0, 0}, {0.1, 0.4}, {1, 2}, {40, 50}};
    for (int negative = 0; negative < 2; negative++) {
        struct spex_ranking_input inputs[COUNT] = {{0}};
        struct spex_ranking rankings[COUNT];
        size_t best;
        for (size_t c = 0; c < COUNT; c++) {
            inputs[c].error = NAN;
            for (int t = 0; t < 2; t++)
                add_trial(&inputs[c], values[c][t] - negative);
        }
        assert_int_equal(spex_ranking_of(inputs, COUNT, false, rankings, &best), 0);
        assert_int_equal(best, 0);
        for (size_t c = 0; c < COUNT; c++) {
            assert_true(negative || (rankings[c].low >= 0 && rankings[c].estimate >= 0));
            assert_true(rankings[c].low <= rankings[c].estimate);
        }
        assert_true(negative == (rankings[0].low < 0));
    }
}

/* Two repeats that gave the same: what was measured once is known as well, and nothing is doubted, not
 * even one that is far from all others. One that differs ends that. */
TEST(what_is_exact_has_no_interval) {
    struct spex_ranking_input inputs[8] = {{.trials = 0}};
    struct spex_ranking rankings[8];
    size_t best;
    for (size_t c = 1; c < 8; c++)
        inputs[c] = (struct spex_ranking_input){1, 1000 + 100 * (double)c, 0, NAN};
    inputs[5].mean = 244.277;
    inputs[1].trials = inputs[2].trials = 2;
    assert_int_equal(spex_ranking_of(inputs, 8, false, rankings, &best), 0);
    assert_int_equal(best, 5);
    for (size_t c = 1; c < 8; c++) {
        const struct spex_ranking *of = &rankings[c];
        assert_true(of->exact && of->estimate == inputs[c].mean && of->low == of->estimate &&
                    of->high == of->estimate && of->margin == 0);
        assert_true(of->first == (c == 5) && of->tied == (c == 5));
    }
    inputs[6].mean = inputs[5].mean;
    assert_int_equal(spex_ranking_of(inputs, 8, false, rankings, &best), 0);
    assert_true(best == 5 && rankings[5].tied && rankings[6].tied && !rankings[1].tied);
    assert_true(rankings[5].first == 0.5 && rankings[6].first == 0.5);
    inputs[2].squares = 1;
    assert_int_equal(spex_ranking_of(inputs, 8, false, rankings, &best), 0);
    assert_true(!rankings[5].exact && rankings[5].low < rankings[5].high);
    inputs[2] = (struct spex_ranking_input){1, 1200, 0, NAN}; /* one repeat may agree by chance */
    assert_int_equal(spex_ranking_of(inputs, 8, false, rankings, &best), 0);
    assert_false(rankings[5].exact);
}

TEST(little_and_strange) {
    struct spex_ranking_input inputs[3] = {{0}, {1, -5, 0, 0.5}, {0}};
    struct spex_ranking rankings[3];
    size_t best;
    assert_int_equal(spex_ranking_of(inputs, 0, true, rankings, &best), 0);
    assert_true(best == SPEX_RANKING_NONE);
    assert_int_equal(spex_ranking_of(inputs, 3, true, rankings, &best), 0);
    assert_int_equal(best, 1);
    assert_true(isnan(rankings[0].estimate) && !rankings[0].tied);
    assert_true(rankings[1].tied && fabs(rankings[1].estimate + 5) < 1e-6);
    inputs[0] = inputs[2] = (struct spex_ranking_input){2, 0, 0, NAN};
    assert_int_equal(spex_ranking_of(inputs, 3, true, rankings, &best), 0);
    assert_true(best == 0 || best == 2);
    for (size_t i = 0; i < 3; i++)
        assert_true(rankings[i].low <= rankings[i].high);
}

/* Tables of Student's distribution. */
TEST(quantiles) {
    static const struct {
        double probability, freedom, quantile;
    } known[] = {{0.05, 1, 12.7062}, {0.05, 2, 4.3027},  {0.05, 5, 2.5706},  {0.05, 30, 2.0423},
                 {0.5, 3, 0.7649},   {0.01, 10, 3.1693}, {0.001, 4, 8.6103}, {0.05, 1e6, 1.95997}};
    for (size_t k = 0; k < COUNT_OF(known); k++) {
        double found = spex_student_two_sided(known[k].probability, known[k].freedom);
        if (fabs(found / known[k].quantile - 1) > 1e-3)
            fail_msg("%g instead of %g", found, known[k].quantile);
    }
}
