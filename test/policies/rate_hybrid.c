/* SPDX-License-Identifier: MIT */
/* Tracing or probing: the paper's use case, brute force on random problems, and how near the
 * approximations come. */
#include "asking.h"
#include "hybrid_problems.h"

enum { PROBLEMS = 1000, TOP = 5 };

/* Scenarios of section 5. The text gives no weights but "more important"; these are the least whole
 * numbers for which it holds. */
static const struct {
    double weights[5];
    double max_f, information;
    const char *traced;
} scenarios[] = {
    {{1, 1, 1, 1, 1}, 925, 925.00, ""},
    {{2, 1, 1, 1, 1}, 925, 1256.48, "file window font "},
    {{2, 2, 2, 2, 1}, 925, 1783.35, "file window font "},
    {{2, 2, 3, 2, 1}, 925, 1902.67, "file kernel font "},
    {{2, 1, 1, 1, 1}, 641, 950.71, "file window "},
};

TEST(the_use_case_comes_out_as_in_the_paper) {
    for (size_t s = 0; s < COUNT_OF(scenarios); s++) {
        struct use_case use;
        struct answer answer;
        char traced[64] = "";
        make_use_case(&use, scenarios[s].weights, scenarios[s].max_f);
        ask(&answer, "hybrid", &use.problem);
        for (size_t c = 0; c < use.problem.class_count; c++)
            if (answer.decisions[c].mode == SPEX_RATE_TRACED)
                strcat(strcat(traced, use.classes[c].name), " ");
            else
                assert_int_equal(answer.decisions[c].mode, SPEX_RATE_PROBED);
        assert_string_equal(traced, scenarios[s].traced);
        assert_float_equal(answer.plan.information, scenarios[s].information, 0.005);
        assert_float_equal(answer.plan.overhead, .05, 1e-12);
        assert_true(answer.plan.feasible);
    }
}

/* By the formulas of 4.2 and 4.3; negative when it is not allowed. */
static double information_of(uint32_t traced, double *probing) {
    double left = problem.budget / problem.sample_cost, information = 0, need = 0;
    for (size_t c = 0; c < problem.class_count; c++) {
        const struct spex_rate_class *cls = &classes[c];
        if (traced >> c & 1) {
            left -= cls->frequency * (cls->report_cost + cls->detect_cost) / problem.sample_cost;
            information += cls->frequency * cls->weight;
        } else {
            need = cls->min_frequency > need ? cls->min_frequency : need;
            if (cls->pinned)
                return -1;
        }
    }
    *probing = left;
    if (left < -1e-9 * problem.budget / problem.sample_cost || left < need)
        return -1;
    for (size_t c = 0; c < problem.class_count; c++)
        if (!(traced >> c & 1))
            information += left * classes[c].share * classes[c].weight;
    return information;
}

/* The best that there are, best first; how many. */
static size_t brute_force(double *best) {
    size_t found = 0;
    for (uint32_t traced = 0; traced < (uint32_t)1 << problem.class_count; traced++) {
        double probing, information = information_of(traced, &probing);
        if (information < 0 || (found == TOP && information <= best[TOP - 1]))
            continue;
        size_t at = found < TOP ? found++ : TOP - 1;
        for (; at > 0 && best[at - 1] < information; at--)
            best[at] = best[at - 1];
        best[at] = information;
    }
    return found;
}

static struct spex_rate_combination combinations[TOP];

static size_t ask_combinations(void) {
    static bool traced[TOP][CLASSES_MAX];
    const struct spex_rate_policy_ops *ops = spex_builtin_rate_policy("hybrid");
    size_t size = ops->combinations_workspace_size(problem.class_count, TOP);
    void *workspace = malloc(size);
    memset(workspace, 0xa5, size);
    for (size_t b = 0; b < TOP; b++)
        combinations[b].traced = traced[b];
    int found = ops->combinations(&problem, workspace, combinations, TOP);
    free(workspace);
    assert_true(found >= 0);
    return (size_t)found;
}

static void assert_combination_is_true(const struct spex_rate_combination *combination) {
    uint32_t traced = 0;
    double probing;
    for (size_t c = 0; c < problem.class_count; c++)
        traced |= (uint32_t)combination->traced[c] << c;
    assert_float_equal(combination->information, information_of(traced, &probing),
                       1e-9 * combination->information);
    bool all = traced == ((uint32_t)1 << problem.class_count) - 1;
    assert_float_equal(combination->probing_frequency, all || probing < 0 ? 0 : probing, 1e-6);
    assert_true(combination->overhead <= problem.budget * (1 + 1e-9));
}

TEST(combinations_are_those_of_brute_force) {
    uint64_t random = 1;
    for (unsigned p = 0; p < PROBLEMS; p++) {
        double best[TOP];
        make_random(&random, 1 + random_below(&random, 12), p % 2);
        size_t expected = brute_force(best), found = ask_combinations();
        assert_int_equal(found, expected);
        for (size_t b = 0; b < found; b++) {
            assert_float_equal(combinations[b].information, best[b], 1e-9 * (1 + best[b]));
            assert_combination_is_true(&combinations[b]);
            for (size_t o = 0; o < b; o++)
                assert_true(combinations[o].information >= combinations[b].information &&
                            memcmp(combinations[o].traced, combinations[b].traced,
                                   problem.class_count) != 0);
        }
    }
}

TEST(decisions_are_the_best_combination) {
    uint64_t random = 2;
    for (unsigned p = 0; p < PROBLEMS; p++) {
        struct answer answer;
        double best[TOP];
        make_random(&random, 1 + random_below(&random, 12), p % 2);
        ask(&answer, "hybrid", &problem);
        assert_true(answer.plan.overhead <= problem.budget * (1 + 1e-9));
        if (brute_force(best) == 0)
            assert_false(answer.plan.feasible);
        else if (answer.plan.feasible)
            assert_float_equal(answer.plan.information, best[0], 1e-9 * (1 + best[0]));
        else
            fail_msg("problem %u has a combination", p);
    }
}

TEST(larger_problems_are_solved_exactly) {
    uint64_t random = 3;
    for (unsigned p = 0; p < 8; p++) {
        double best[TOP];
        make_random(&random, 18, p % 2);
        assert_int_equal(ask_combinations(), brute_force(best));
        assert_float_equal(combinations[0].information, best[0], 1e-9 * (1 + best[0]));
    }
}

struct quality {
    double sum, least;
    unsigned count;
};

static void rate(struct quality *quality, double got, double best) {
    double part = best > 0 ? got / best : 1;
    quality->sum += part;
    quality->least = quality->count == 0 || part < quality->least ? part : quality->least;
    quality->count++;
}

/* More candidates than are searched exactly, so that it is an approximation, and still few enough
 * to know the optimum: 20, and now and then as many as possible. */
TEST(approximations_are_near_the_optimum) {
    struct quality paper = {0, 0, 0}, better = {0, 0, 0};
    uint64_t random = 4;
    for (unsigned p = 0; p < PROBLEMS; p++) {
        make_random(&random, p % 40 ? SPEX_HYBRID_EXACT - 4 : SPEX_HYBRID_EXACT, false);
        make_candidates();
        assert_true(spex_hybrid_approximate(&hybrid));
        double approximate = spex_hybrid_information(&hybrid);
        assert_true(spex_hybrid_improve(&hybrid));
        double improved = spex_hybrid_information(&hybrid);
        struct spex_hybrid_choice choice;
        assert_int_equal(spex_hybrid_search(&hybrid, SPEX_HYBRID_EXACT, &choice, 1), 1);
        rate(&paper, approximate, choice.information);
        rate(&better, improved, choice.information);
        assert_true(improved >= approximate * (1 - 1e-12));
    }
    print_message("the paper's approximation: %.4f of the optimum on average, %.4f at least\n",
                  paper.sum / paper.count, paper.least);
    print_message("the better one:            %.6f of the optimum on average, %.6f at least\n",
                  better.sum / better.count, better.least);
    assert_true(paper.least > 0.5);
    assert_true(better.least > 0.5);
    assert_true(better.sum / better.count > 0.98);
}

static struct answer answer;

static void assert_plan_keeps_its_word(void) {
    double overhead = answer.plan.probing_frequency * problem.sample_cost;
    for (size_t c = 0; c < problem.class_count; c++) {
        const struct spex_rate_decision *decision = &answer.decisions[c];
        const struct spex_rate_class *cls = &classes[c];
        if (decision->mode == SPEX_RATE_TRACED) {
            overhead += cls->frequency * (cls->detect_cost + cls->report_cost);
        } else if (answer.plan.feasible) {
            assert_false(cls->pinned);
            assert_true(answer.plan.probing_frequency >= cls->min_frequency * (1 - 1e-9));
        }
    }
    assert_float_equal(answer.plan.overhead, overhead, 1e-9 * problem.budget);
    assert_true(overhead <= problem.budget * (1 + 1e-9));
}

TEST(large_plans_are_within_their_limits) {
    uint64_t random = 5;
    unsigned feasible = 0;
    for (unsigned p = 0; p < PROBLEMS; p++) {
        make_random(&random, 13 + random_below(&random, CLASSES_MAX - 12), true);
        ask(&answer, "hybrid", &problem);
        assert_int_equal(answer.err, 0);
        assert_plan_keeps_its_word();
        feasible += answer.plan.feasible;
    }
    assert_in_range(feasible, PROBLEMS / 4, PROBLEMS - 1);
}

TEST(large_problems_have_combinations) {
    uint64_t random = 6;
    for (unsigned p = 0; p < 10; p++) {
        make_random(&random, CLASSES_MAX, false);
        ask(&answer, "hybrid", &problem);
        assert_int_equal(ask_combinations(), TOP);
        assert_true(combinations[0].information >= answer.plan.information * (1 - 1e-12));
        for (size_t b = 0; b < TOP; b++)
            assert_true(combinations[b].overhead <= problem.budget * (1 + 1e-9));
    }
}

static void small_set_up(double budget) {
    memset(classes, 0, sizeof(classes));
    for (size_t c = 0; c < 3; c++)
        classes[c] = (struct spex_rate_class){
            .name = "", .frequency = 100, .share = .5, .weight = 1, .report_cost = 1e-4};
    problem = (struct spex_rate_problem){.size = sizeof(problem),
                                         .budget = budget,
                                         .sample_cost = 1e-4,
                                         .class_count = 3,
                                         .classes = classes};
}

TEST(everything_is_traced_when_that_fits) {
    small_set_up(.1); /* probing at 1000 Hz would "hit" 1500 of 300 events */
    ask(&answer, "hybrid", &problem);
    for (size_t c = 0; c < 3; c++)
        assert_int_equal(answer.decisions[c].mode, SPEX_RATE_TRACED);
    assert_float_equal(answer.plan.overhead, .03, 1e-12);
    assert_true(answer.plan.probing_frequency == 0);
}

TEST(what_is_pinned_is_traced) {
    small_set_up(.015);
    classes[1].pinned = true;
    ask(&answer, "hybrid", &problem);
    assert_int_equal(answer.decisions[1].mode, SPEX_RATE_TRACED);
    assert_string_equal(answer.decisions[1].reason, "pinned");
    assert_float_equal(answer.plan.probing_frequency, 50, 1e-9);
    assert_true(answer.plan.feasible);
    assert_string_equal(answer.plan.reason, "of tracing and polling, the division that tells most "
                                            "within the budget");
    assert_int_equal(ask_combinations(), 1);
    assert_true(combinations[0].traced[1]);
}

TEST(of_too_many_pins_the_least_weight_is_probed) {
    small_set_up(.015);
    for (size_t c = 0; c < 3; c++)
        classes[c].pinned = true;
    classes[2].weight = 2;
    ask(&answer, "hybrid", &problem);
    assert_int_equal(answer.decisions[0].mode, SPEX_RATE_PROBED);
    assert_int_equal(answer.decisions[2].mode, SPEX_RATE_TRACED);
    assert_non_null(strstr(answer.decisions[0].reason, "pinned, but polled"));
    assert_false(answer.plan.feasible);
    assert_true(answer.plan.overhead <= .015 * (1 + 1e-12));
    assert_int_equal(ask_combinations(), 0);
}

TEST(minimal_probing_is_kept) {
    small_set_up(.025);
    for (size_t c = 0; c < 3; c++)
        classes[c].share = .001;
    classes[0].min_frequency = 100;
    ask(&answer, "hybrid", &problem);
    assert_int_equal(answer.decisions[0].mode, SPEX_RATE_TRACED);
    assert_true(answer.plan.feasible);
    classes[1].min_frequency = classes[2].min_frequency = 100;
    ask(&answer, "hybrid", &problem);
    assert_float_equal(answer.plan.probing_frequency, 150, 1e-9);
    classes[0].min_frequency = classes[1].min_frequency = classes[2].min_frequency = 300;
    ask(&answer, "hybrid", &problem);
    assert_false(answer.plan.feasible);
    assert_non_null(strstr(answer.plan.reason, "minimal"));
    assert_float_equal(answer.plan.information, 200.05, 1e-9);
}

TEST(what_gets_nothing_is_off) {
    small_set_up(.02);
    for (size_t c = 0; c < 3; c++)
        classes[c].share = .001;
    ask(&answer, "hybrid", &problem);
    assert_int_equal(answer.decisions[2].mode, SPEX_RATE_OFF);
    assert_float_equal(answer.plan.overhead, .02, 1e-12);
}
