/* SPDX-License-Identifier: MIT */
/* Where the search of tracing or probing starts, against a plain model of each way to start, and the
 * search of a core. */
#include <math.h>

#include "hybrid_problems.h"
#include "policies/rate/hybrid_start.h"

enum { PROBLEMS = 1000 };

/* Of the candidates that are marked, by the formulas of hybrid_search.h. */
static double marked_information(double *cost) {
    double profit = 0, hit = 0, need = 0;
    *cost = 0;
    for (size_t c = 0; c < hybrid.count; c++) {
        *cost += candidates[c].traced ? candidates[c].cost : 0;
        profit += candidates[c].traced ? candidates[c].profit : 0;
        hit += candidates[c].traced ? 0 : candidates[c].hit;
        need = fmax(need, candidates[c].traced ? 0 : candidates[c].minimum);
    }
    double probing = hybrid.max_f - *cost, slack = 1e-9 * hybrid.max_f;
    return probing < -slack || probing < need - slack ? -1 : profit + fmax(probing, 0) * hit;
}

static uint64_t marks_now(void) {
    uint64_t marks = 0;
    for (size_t c = 0; c < hybrid.count; c++)
        marks |= (uint64_t)candidates[c].traced << c;
    return marks;
}

static void mark_none(void) {
    for (size_t c = 0; c < hybrid.count; c++)
        candidates[c].traced = false;
}

/* The best of what the paper's algorithm looks at: nothing, one alone, what fits in order. */
static double best_of_the_paper(void) {
    double cost;
    mark_none();
    double best = marked_information(&cost);
    for (size_t c = 0; c < hybrid.count; c++) {
        candidates[c].traced = true;
        best = fmax(best, marked_information(&cost));
        candidates[c].traced = false;
    }
    for (size_t c = 0; c < hybrid.count; c++) {
        candidates[c].traced = true;
        double found = marked_information(&cost);
        candidates[c].traced = cost <= hybrid.max_f * (1 + 1e-9);
        best = candidates[c].traced ? fmax(best, found) : best;
    }
    return best;
}

/* Of the candidates of the greatest minima the number that is best. */
static double best_of_minima(void) {
    double cost, best = -1;
    mark_none();
    for (size_t n = 0; n <= hybrid.count; n++) {
        size_t next = hybrid.count;
        best = fmax(best, marked_information(&cost));
        for (size_t c = 0; c < hybrid.count; c++)
            if (!candidates[c].traced &&
                (next == hybrid.count || candidates[c].minimum > candidates[next].minimum))
                next = c;
        if (next < hybrid.count)
            candidates[next].traced = true;
    }
    return best;
}

/* Traces by the knapsack for a sampling frequency: what is needed first, then by worth over cost,
 * until something does not fit. */
static double knapsack(double probing) {
    double cost = 0, room = hybrid.max_f * (1 + 1e-9) - probing;
    mark_none();
    for (;;) {
        size_t next = hybrid.count;
        double rank = 0;
        for (size_t c = 0; c < hybrid.count; c++) {
            double worth = candidates[c].profit - probing * candidates[c].hit;
            double of_c = worth / candidates[c].cost;
            bool needed = candidates[c].minimum > probing;
            of_c = needed ? of_c + 1e12 : of_c;
            if (!candidates[c].traced && (worth > 0 || needed) &&
                (next == hybrid.count || of_c > rank)) {
                next = c;
                rank = of_c;
            }
        }
        if (next == hybrid.count || candidates[next].cost > room)
            return marked_information(&cost);
        room -= candidates[next].cost;
        candidates[next].traced = true;
    }
}

/* The best of even steps, and, in *refined, of ever smaller steps around it, too. */
static double best_of_knapsacks(double *refined) {
    double best = -1, step = hybrid.max_f / 8, chosen = hybrid.max_f;
    for (unsigned s = 0; s <= 8; s++) {
        double found = knapsack(step * s);
        chosen = found > best ? step * s : chosen;
        best = fmax(best, found);
    }
    *refined = best;
    for (unsigned half = 1; half <= 5; half++) {
        step /= 2;
        double around[] = {fmax(chosen - step, 0), fmin(chosen + step, hybrid.max_f)};
        for (unsigned side = 0; side < 2; side++) {
            double found = knapsack(around[side]);
            chosen = found > *refined ? around[side] : chosen;
            *refined = fmax(*refined, found);
        }
    }
    return best;
}

/* The paper's solution exactly; the start is at least as good as each of its parts, and what it
 * says is allowed. Each part is the best now and then, and nothing is better. Rounding may lead smaller steps to another
 * place, seldom. */
TEST(starts_are_the_best_of_their_parts) {
    uint64_t random = 7;
    unsigned none = 0, worse = 0, better = 0, ahead[3] = {0};
    for (unsigned p = 0; p < PROBLEMS; p++) {
        double cost, refined;
        make_random(&random, 1 + random_below(&random, CLASSES_MAX), p % 2);
        make_candidates();
        double parts[] = {best_of_the_paper(), best_of_minima(), best_of_knapsacks(&refined)};
        double most = fmax(fmax(parts[0], parts[1]), parts[2]);
        assert_true(spex_hybrid_approximate(&hybrid) == (parts[0] >= 0));
        double approximate = marked_information(&cost);
        assert_float_equal(approximate, parts[0], 1e-9 * (1 + fabs(parts[0])));
        uint64_t marks = marks_now();
        bool started = spex_hybrid_start(&hybrid);
        double start = marked_information(&cost);
        /* Where ways are equally good, it is the paper's. */
        if (approximate >= 0 && start == approximate)
            assert_true(marks_now() == marks);
        assert_true(start >= most - 1e-9 * (1 + most));
        assert_true(started == (start >= 0));
        none += !started;
        worse += start < refined - 1e-9 * (1 + refined);
        better += start > fmax(most, refined) + 1e-9 * (1 + start);
        for (unsigned o = 0; o < 3; o++)
            ahead[o] += most > 0 && parts[o] == most && parts[(o + 1) % 3] < most &&
                        parts[(o + 2) % 3] < most;
    }
    assert_true(none && ahead[0] && ahead[1] && ahead[2]);
    assert_true(worse <= PROBLEMS / 500 && better <= PROBLEMS / 500);
}

/* What a sample a second is worth for tracing: the worth over cost of what the knapsack leaves out
 * first, or the hits of all that it leaves. */
static double plain_margin(double probing) {
    bool taken[CLASSES_MAX] = {false};
    double room = hybrid.max_f * (1 + 1e-9) - probing, left = 0;
    for (;;) {
        size_t next = hybrid.count;
        double best = 0;
        for (size_t c = 0; c < hybrid.count; c++) {
            double worth = candidates[c].profit - probing * candidates[c].hit;
            bool needed = candidates[c].minimum > probing;
            double rank = worth / candidates[c].cost + (needed ? 1e12 : 0);
            if (!taken[c] && (worth > 0 || needed) && (next == hybrid.count || rank > best)) {
                next = c;
                best = rank;
            }
        }
        if (next == hybrid.count)
            break;
        if (candidates[next].cost > room)
            return (candidates[next].profit - probing * candidates[next].hit) /
                   candidates[next].cost;
        room -= candidates[next].cost;
        taken[next] = true;
    }
    for (size_t c = 0; c < hybrid.count; c++)
        left += taken[c] ? 0 : candidates[c].hit;
    return left;
}

/* How much a wrong choice about each candidate would cost. */
static void plain_losses(double *losses) {
    double cost;
    marked_information(&cost);
    double probing = fmax(hybrid.max_f - cost, 0), margin = plain_margin(probing);
    for (size_t c = 0; c < hybrid.count; c++)
        losses[c] =
            fabs(candidates[c].profit - probing * candidates[c].hit - margin * candidates[c].cost);
}

/* The greatest informations of all choices about the core, with the others as they are marked. */
static size_t plain_choices(double *best, size_t most) {
    size_t found = 0;
    uint64_t before = marks_now();
    for (uint32_t set = 0; set < (uint32_t)1 << hybrid.core_count; set++) {
        double cost, information;
        for (size_t bit = 0; bit < hybrid.core_count; bit++)
            candidates[hybrid.core[bit]].traced = set >> bit & 1;
        if ((information = marked_information(&cost)) < 0)
            continue;
        size_t at = found < most ? found++ : most;
        for (; at > 0 && best[at - 1] < information; at--)
            if (at < most)
                best[at] = best[at - 1];
        if (at < most)
            best[at] = information;
    }
    for (size_t c = 0; c < hybrid.count; c++)
        candidates[c].traced = before >> c & 1;
    return found;
}

static void expect_core(size_t size, const double *losses) {
    double most = 0;
    assert_int_equal(hybrid.core_count, size);
    for (size_t bit = 0; bit < size; bit++) {
        assert_true(candidates[hybrid.core[bit]].in_core);
        most = fmax(most, losses[hybrid.core[bit]]);
    }
    size_t in_core = 0;
    for (size_t c = 0; c < hybrid.count; c++) {
        in_core += candidates[c].in_core;
        assert_true(candidates[c].in_core || losses[c] >= most * (1 - 1e-9));
    }
    assert_int_equal(in_core, size);
}

TEST(cores_are_searched_exactly) {
    enum { CHOICES = 5 };
    uint64_t random = 8;
    unsigned full = 0;
    for (unsigned p = 0; p < PROBLEMS; p++) {
        double losses[CLASSES_MAX], best[CHOICES], cost;
        struct spex_hybrid_choice choices[CHOICES];
        size_t size = 1 + random_below(&random, 7);
        make_random(&random, 8 + random_below(&random, 6), p % 2);
        make_candidates();
        for (size_t c = 0; c < hybrid.count; c++)
            candidates[c].traced = random_below(&random, 3) == 0;
        plain_losses(losses);
        size_t found = spex_hybrid_search(&hybrid, size, choices, CHOICES);
        expect_core(size, losses);
        assert_int_equal(found, plain_choices(best, CHOICES));
        full += found == CHOICES;
        for (size_t i = 0; i < found; i++) {
            spex_hybrid_mark(&hybrid, &choices[i]);
            assert_float_equal(choices[i].information, best[i], 1e-9 * (1 + best[i]));
            assert_float_equal(marked_information(&cost), best[i], 1e-9 * (1 + best[i]));
        }
    }
    assert_in_range(full, PROBLEMS / 4, PROBLEMS - 1);
}
