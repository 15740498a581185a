/* SPDX-License-Identifier: MIT */
/* The overlap percentage: against fleets of which the test knows what all instances would have
 * recorded. */
#include "fleet/lead/overlap.h"

#include <math.h>

#include "../check.h"

enum { PROBES = 20, FLEET = 16, SAMPLE = 8 };

static float fleet[FLEET * PROBES];

/* Instances whose rates differ from those of the program by up to `spread` to either side. */
static void make(uint64_t *seed, double spread) {
    for (size_t i = 0; i < FLEET; i++)
        for (size_t p = 0; p < PROBES; p++) {
            double drawn = 2 * (double)random_below(seed, 1u << 20) / (1u << 20) - 1;
            fleet[i * PROBES + p] = (float)((1 + p) * (1 + spread * drawn));
        }
}

/* That of the first instances' profile with the whole fleet's, by its definition. */
static double overlap_known(size_t sample) {
    double few[PROBES] = {0}, all[PROBES] = {0}, few_sum = 0, all_sum = 0, overlap = 0;
    for (size_t i = 0; i < FLEET; i++)
        for (size_t p = 0; p < PROBES; p++) {
            double rate = (double)fleet[i * PROBES + p];
            few[p] += i < sample ? rate : 0;
            all[p] += rate;
            few_sum += i < sample ? rate : 0;
            all_sum += rate;
        }
    for (size_t p = 0; p < PROBES; p++)
        overlap += fmin(few[p] / few_sum, all[p] / all_sum);
    return overlap;
}

static struct spex_overlap estimate(size_t sample) {
    const struct spex_overlap_rates rates = {fleet, sample, PROBES, FLEET};
    struct spex_overlap overlap = {NAN, NAN, NAN};
    assert_int_equal(spex_overlap_estimate(&rates, &overlap), 1);
    return overlap;
}

TEST(intervals_hold_what_is_known) {
    enum { ROUNDS = 300 };
    static const double spreads[] = {0.05, 0.3, 1};
    uint64_t seed = 1;
    for (size_t s = 0; s < COUNT_OF(spreads); s++) {
        size_t held = 0;
        double error = 0;
        for (int r = 0; r < ROUNDS; r++) {
            make(&seed, spreads[s]);
            double known = overlap_known(SAMPLE);
            struct spex_overlap overlap = estimate(SAMPLE);
            held += known >= overlap.low && known <= overlap.high;
            error += overlap.share - known;
        }
        print_message("spread %g: %zu of %d held, bias %g\n", spreads[s], held, ROUNDS,
                      error / ROUNDS);
        assert_true(held >= 0.9 * ROUNDS);
        assert_true(fabs(error / ROUNDS) < 0.02 * spreads[s]);
    }
}

TEST(equal_instances_overlap_wholly) {
    uint64_t seed = 1;
    make(&seed, 0);
    struct spex_overlap overlap = estimate(SAMPLE);
    assert_true(overlap.low > 1 - 1e-6 && overlap.high <= 1);
    make(&seed, 1);
    overlap = estimate(FLEET);
    assert_true(overlap.low > 1 - 1e-9);
}

/* Halves of the probes at halves of the instances: the shares are of one profile all the same. */
TEST(probes_may_be_divided_among_instances) {
    uint64_t seed = 2;
    make(&seed, 0);
    for (size_t i = 0; i < SAMPLE; i++)
        for (size_t p = 0; p < PROBES; p++)
            if (i % 2 == p % 2)
                fleet[i * PROBES + p] = -1;
    struct spex_overlap overlap = estimate(SAMPLE);
    assert_true(overlap.low > 1 - 1e-6);
}

TEST(what_is_not_known_is_not_told) {
    struct spex_overlap overlap;
    float none[2 * PROBES] = {0};
    struct spex_overlap_rates rates = {fleet, 1, PROBES, FLEET};
    assert_int_equal(spex_overlap_estimate(&rates, &overlap), 0);
    rates = (struct spex_overlap_rates){none, 2, PROBES, FLEET};
    assert_int_equal(spex_overlap_estimate(&rates, &overlap), 0);
    rates = (struct spex_overlap_rates){fleet, 2, 0, FLEET};
    assert_int_equal(spex_overlap_estimate(&rates, &overlap), 0);
}

/* The same rates give the same estimate: of few draws where there is much to draw, and of many. */
TEST(estimates_are_the_same_each_time) {
    enum { MANY = 30000 };
    static float few[] = {10, 20, 30, -1, 12, -1, 33, 5, 9, 28, -1, 7};
    static float many[MANY * 4];
    const struct spex_overlap_rates all[] = {{few, 3, 4, 3},
                                             {few, 3, 4, 10},
                                             {few, 3, 4, 1000},
                                             {few, 2, 4, 7},
                                             {many, MANY, 4, MANY + 50}};
    static const char *const expected[] = {
        "1.000000 1.000000 1.000000", "0.969558 0.927656 0.995433", "0.963027 0.924084 0.999473",
        "0.990288 0.976778 0.997249", "0.999956 0.999912 0.999988"};
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = i % 7 ? (float)(1 + i % 5) : -1;
    for (size_t r = 0; r < COUNT_OF(all); r++) {
        char text[64];
        struct spex_overlap overlap = {NAN, NAN, NAN};
        assert_int_equal(spex_overlap_estimate(&all[r], &overlap), 1);
        snprintf(text, sizeof(text), "%.6f %.6f %.6f", overlap.share, overlap.low, overlap.high);
        assert_string_equal(text, expected[r]);
    }
    const struct spex_overlap_rates smaller = {few, 3, 4, 2};
    struct spex_overlap overlap;
    assert_int_equal(spex_overlap_estimate(&smaller, &overlap), 0);
}

/* Draws in which the sample has executed nothing overlap with none. */
TEST(idle_samples_overlap_with_nothing) {
    static float idle[] = {0, 0, 10, 20, 0, 0};
    const struct spex_overlap_rates rates = {idle, 3, 2, 10};
    struct spex_overlap overlap = {NAN, NAN, NAN};
    assert_int_equal(spex_overlap_estimate(&rates, &overlap), 1);
    assert_true(overlap.low == 0 && overlap.high == 1);
    assert_true(overlap.share > 0 && overlap.share < 1);
}
