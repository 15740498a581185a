/* SPDX-License-Identifier: MIT */
/* What a model of the tried expects of the untried, against made-up spaces whose truth is known. */
#include <math.h>

#include "explore/findings/untried.h"
#include "spaces.h"

enum { SIDE = 20, SEEDS = 40 };

static const char valley[] = "<space name='s'><parameter name='a' type='integer' min='0' max='19'/>"
                             "<parameter name='b' type='integer' min='0' max='19'/>"
                             "<parameter name='c' type='categorical' values='x y z'/>"
                             "<objective command='wall' goal='minimise'/></space>";

static double truth(const size_t *levels) {
    double a = (double)levels[0] - 13, b = (double)levels[1] - 6;
    return (20 + a * a / 9 + b * b / 16) * (1 + 0.2 * (double)levels[2]);
}

static double share(uint64_t *random) {
    return (double)(random_next(random) >> 11) / 9007199254740992.0;
}

static void add(struct spex_summary *summary, size_t *levels, double value) {
    struct spex_measured measured = {value, NAN};
    struct spex_trial trial = {.levels = levels, .ok = true, .measured = &measured};
    assert_int_equal(spex_summary_add(summary, &trial), 0);
}

/* So many random ones that are not within `clear` of the best, two trials each. Returns the least
 * truth. */
static double fill(struct spex_summary *summary, size_t count, size_t clear, double noise,
                   uint64_t *random) {
    double least = INFINITY;
    while (summary->count < count) {
        size_t levels[] = {random_below(random, SIDE), random_below(random, SIDE),
                           random_below(random, 3)};
        if (levels[0] + clear > 13 && levels[0] < 13 + clear && levels[1] + clear > 6 &&
            levels[1] < 6 + clear)
            continue;
        if (spex_summary_find(summary, levels))
            continue;
        for (int t = 0; t < 2; t++)
            add(summary, levels, truth(levels) * (1 + noise * (share(random) - 0.5)));
        least = fmin(least, truth(levels));
    }
    return least;
}

/* Its interval holds the truth about as often as it says, and what it names is better. */
TEST(what_is_expected_is_true) {
    unsigned held = 0, better = 0, promised = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct spex_space_file *file = space_of(valley);
        struct spex_summary summary;
        struct spex_accuracy accuracy;
        struct spex_untried untried;
        uint64_t random = seed;
        spex_summary_init(&summary, &file->space);
        double least = fill(&summary, 40, 3, 0.04, &random);
        spex_accuracy_learn_criterion(&accuracy, &summary, 0);
        assert_int_equal(spex_untried_find(&summary, &accuracy, least, &untried), 0);
        assert_non_null(untried.levels);
        assert_null(spex_summary_find(&summary, untried.levels));
        assert_true(untried.low <= untried.expected && untried.expected <= untried.high);
        double true_value = truth(untried.levels);
        held += untried.low <= true_value && true_value <= untried.high;
        better += true_value < least;
        promised += untried.chance > 0.5;
        spex_untried_free(&untried);
        spex_summary_free(&summary);
        spex_space_free(file);
    }
    if (held < SEEDS * 8 / 10 || better < SEEDS / 2 || promised < SEEDS / 2)
        fail_msg("of %d: %u held, %u better, %u promised", SEEDS, held, better, promised);
}

/* When the valley's bottom is tried, hardly anything is expected of the rest. */
TEST(nothing_is_promised_where_the_best_is_tried) {
    struct spex_space_file *file = space_of(valley);
    struct spex_summary summary;
    struct spex_accuracy accuracy;
    struct spex_untried untried;
    uint64_t random = 1;
    size_t best[] = {13, 6, 0};
    spex_summary_init(&summary, &file->space);
    for (int t = 0; t < 2; t++)
        add(&summary, best, truth(best));
    fill(&summary, 120, 0, 0, &random);
    spex_accuracy_learn_criterion(&accuracy, &summary, 0);
    assert_int_equal(spex_untried_find(&summary, &accuracy, truth(best), &untried), 0);
    assert_true(!untried.levels || untried.chance < 0.5);
    spex_untried_free(&untried);
    spex_summary_free(&summary);
    spex_space_free(file);
}

TEST(all_tried_and_too_few) {
    struct spex_space_file *file =
        space_of("<space name='s'><parameter name='a' type='integer' min='0' max='9'/>"
                 "<objective command='wall' goal='maximise'/></space>");
    struct spex_summary summary;
    struct spex_accuracy accuracy;
    struct spex_untried untried;
    spex_summary_init(&summary, &file->space);
    for (size_t a = 0; a < 10; a++) {
        for (int t = 0; t < 2; t++)
            add(&summary, (size_t[]){a}, 1 + (double)a);
        spex_accuracy_learn_criterion(&accuracy, &summary, 0);
        assert_int_equal(spex_untried_find(&summary, &accuracy, 1 + (double)a, &untried), 0);
        if (a < 7 || a == 9)
            assert_null(untried.levels);
        else
            assert_true(untried.levels[0] > a && untried.chance > 0 && untried.chance < 1);
        spex_untried_free(&untried);
    }
    spex_summary_free(&summary);
    spex_space_free(file);
}
