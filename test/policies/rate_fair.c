/* SPDX-License-Identifier: MIT */
/* The policy that divides by weight: rare classes in full, one level for the others, nothing
 * beyond the budget. */
#include <math.h>

#include "asking.h"

enum { CLASSES = 40, ROUNDS = 2000 };

static struct spex_rate_class class_of(double frequency, double detect, double report) {
    return (struct spex_rate_class){.frequency = frequency,
                                    .weight = 1,
                                    .min_frequency = 100,
                                    .detect_cost = detect,
                                    .report_cost = report};
}

static void ask_fair(struct answer *answer, const struct spex_rate_class *classes, size_t count,
                     double budget) {
    const struct spex_rate_problem problem = {
        .size = sizeof(problem), .budget = budget, .class_count = count, .classes = classes};
    ask(answer, "fair", &problem);
    assert_int_equal(answer->err, 0);
}

TEST(rare_classes_are_recorded_in_full) {
    const struct spex_rate_class classes[] = {
        class_of(1e6, 1e-9, 20e-9), class_of(500, 1e-9, 20e-9), class_of(3e6, 1e-9, 20e-9)};
    struct answer answer;
    ask_fair(&answer, classes, 3, 0.02);
    assert_int_equal(answer.decisions[1].mode, SPEX_RATE_TRACED);
    assert_int_equal(answer.decisions[0].mode, SPEX_RATE_SAMPLED);
    assert_true(answer.decisions[1].frequency == 500);
    assert_float_equal(answer.decisions[0].frequency / answer.decisions[2].frequency, 1, 1e-9);
    assert_float_equal(answer.plan.overhead, 0.02, 1e-9);
    assert_true(answer.plan.feasible);
}

TEST(what_costs_too_much_by_itself_is_off) {
    struct spex_rate_class classes[] = {class_of(1e8, 1e-9, 20e-9), class_of(1e6, 1e-9, 20e-9)};
    struct answer answer;
    ask_fair(&answer, classes, 2, 0.02);
    assert_int_equal(answer.decisions[0].mode, SPEX_RATE_OFF);
    assert_true(answer.decisions[1].frequency > 0);
    assert_false(answer.plan.feasible);
    classes[1] = class_of(1.5e7, 1e-9, 20e-9);
    classes[0] = class_of(1.6e7, 1e-9, 20e-9);
    classes[0].pinned = true;
    ask_fair(&answer, classes, 2, 0.02);
    assert_int_equal(answer.decisions[1].mode, SPEX_RATE_OFF);
    assert_int_not_equal(answer.decisions[0].mode, SPEX_RATE_OFF);
}

TEST(what_has_no_weight_gets_its_minimum) {
    struct spex_rate_class classes[] = {class_of(1e6, 0, 20e-9), class_of(3e6, 0, 20e-9)};
    struct answer answer;
    classes[0].weight = 0;
    ask_fair(&answer, classes, 2, 0.02);
    assert_true(answer.decisions[0].frequency == 100);
    assert_float_equal(answer.decisions[1].frequency, 0.02 / 20e-9 - 100, 1e-3);
    assert_float_equal(answer.plan.overhead, 0.02, 1e-9);
}

TEST(minima_that_are_too_much_are_scaled) {
    const struct spex_rate_class classes[] = {class_of(1e4, 0, 1e-3), class_of(1e4, 0, 1e-3)};
    struct answer answer;
    ask_fair(&answer, classes, 2, 0.02);
    assert_float_equal(answer.decisions[0].frequency, 10, 1e-9);
    assert_float_equal(answer.plan.overhead, 0.02, 1e-9);
    assert_false(answer.plan.feasible);
}

static double between(uint64_t *seed, double low, double high) {
    return low * pow(high / low, random_part(seed));
}

/* Never more than the budget, all of it where it can be used, nobody gets more for its weight while
 * one that wants it has less. */
TEST(shares_are_feasible_full_and_fair) {
    struct spex_rate_class classes[CLASSES];
    struct answer answer;
    uint64_t seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + random_below(&seed, CLASSES);
        double budget = between(&seed, 1e-3, 1), wanted = 0, level = 0;
        for (size_t c = 0; c < count; c++) {
            classes[c] = class_of(between(&seed, 1, 1e8), between(&seed, 1e-10, 2e-9),
                                  between(&seed, 1e-9, 2e-7));
            classes[c].wanted = classes[c].frequency / (double)(1 + random_below(&seed, 100));
            classes[c].weight = between(&seed, 0.1, 10);
        }
        ask_fair(&answer, classes, count, budget);
        for (size_t c = 0; c < count; c++) {
            const struct spex_rate_decision *decision = &answer.decisions[c];
            assert_true(decision->frequency >= 0);
            assert_true(decision->frequency <= classes[c].wanted);
            if (decision->mode == SPEX_RATE_OFF)
                continue;
            wanted += classes[c].frequency * classes[c].detect_cost +
                      classes[c].wanted * classes[c].report_cost;
            double each = decision->frequency / classes[c].weight;
            if (decision->frequency > classes[c].min_frequency && each > level)
                level = each;
        }
        assert_true(answer.plan.overhead <= budget * (1 + 1e-9));
        assert_true(answer.plan.overhead >= (wanted < budget ? wanted : budget) * (1 - 1e-6));
        for (size_t c = 0; c < count; c++)
            if (answer.decisions[c].mode != SPEX_RATE_OFF && level > 0 &&
                answer.decisions[c].frequency < classes[c].wanted)
                assert_true(answer.decisions[c].frequency >=
                            level * classes[c].weight * (1 - 1e-9));
    }
}

/* The first of those whose detection costs most for its weight, pinned ones last. */
static size_t dearest(const struct spex_rate_class *classes, const bool *off, size_t count) {
    size_t found = count;
    for (size_t c = 0; c < count; c++) {
        if (off[c])
            continue;
        double cost = classes[c].frequency * classes[c].detect_cost / classes[c].weight;
        double most = found == count ? -1
                                     : classes[found].frequency * classes[found].detect_cost /
                                           classes[found].weight;
        if (found == count || (classes[found].pinned && !classes[c].pinned) ||
            (classes[found].pinned == classes[c].pinned && cost > most))
            found = c;
    }
    return found;
}

/* One after the other, until what the rest costs fits. */
TEST(the_dearest_are_off) {
    struct spex_rate_class classes[CLASSES];
    struct answer answer;
    uint64_t seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + random_below(&seed, CLASSES);
        double budget = between(&seed, 1e-4, 0.1), sum = 0;
        bool off[CLASSES] = {false};
        for (size_t c = 0; c < count; c++) {
            classes[c] =
                class_of((double)random_below(&seed, 5) * 1e6, 1e-9, between(&seed, 1e-9, 2e-7));
            classes[c].weight = (double)(1 + random_below(&seed, 3));
            classes[c].pinned = random_below(&seed, 4) == 0;
            sum += classes[c].frequency * classes[c].detect_cost;
        }
        for (size_t c; sum > 0.95 * budget && (c = dearest(classes, off, count)) < count;) {
            off[c] = true;
            sum -= classes[c].frequency * classes[c].detect_cost;
        }
        ask_fair(&answer, classes, count, budget);
        for (size_t c = 0; c < count; c++)
            if (off[c] != (answer.decisions[c].mode == SPEX_RATE_OFF))
                fail_msg("round %d, class %zu", round, c);
    }
}
