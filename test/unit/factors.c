/* SPDX-License-Identifier: MIT */
/* What the controller makes of what experiments have found, and when it ends a session. */
#include "rate/experiments.c"

#include <math.h>
#include <string.h>

#include "../check.h"

static struct spex_controlled probes[2];

static int setup(void **state) {
    (void)state;
    memset(probes, 0, sizeof(probes));
    memset(&spex_controller, 0, sizeof(spex_controller));
    spex_controller.probes = probes;
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 2;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    return 0;
}

/* `before`: 0: there is none; `found`: the last one of another probe. */
static void factors_are_taken_where_they_are_sure(void **state) {
    static const struct {
        double before, found, factor, error, expected;
    } cases[] = {
        {0, 0, 2, 0.1, 2},     /* the first one counts whole */
        {0, 0, 2, 0.99, 2},    /* also where it is not precise */
        {0, 0, 2, 1.01, 0},    /* but not where it is not sure */
        {0, 0, 1.24, 0.01, 1}, /* as calibrated */
        {0, 0, 1.26, 0.01, 1.26},
        {0, 0, 0.9, 0.99, 1},
        {0, 0, 0.9, 1.01, 0},
        {0, 3, 6, 1, 6},
        {0, 3, 3.1, 0.2, 3},
        {0, 3, 1, 0.9, 1},
        {0, 3, 1, 0.99, 1},
        {0, 3, 1, 1.01, 0},
        {0, 0.5, 1.3, 0.2, 1.3},
        {2, 0, 4, 1, 2 + 0.6 * 2},
        {2, 0, 4, 0.41, 2 + 0.6 * 2},
        {2, 0, 4, 0.39, 4},
        {2, 0, 4, 1.99, 2 + 0.6 * 2},
        {2, 0, 4, 2.01, 2},
        {2, 0, 2.49, 0.1, 2},
        {2, 0, 2.51, 0.1, 2.51},
        {2, 0, 1, 0.49, 2 - 0.6},
        {2, 0, 1, 0.51, 2},
        {2, 0, 1.61, 0.01, 2},
        {2, 0, 1.59, 0.01, 1.59},
        {2, 0, 1.59, 0.17, 2 - 0.6 * 0.41},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const uint32_t firsts[] = {1};
        const struct spex_finding finding = {
            .firsts = firsts, .count = 1, .factor = cases[c].factor, .error = cases[c].error};
        probes[1].factor = cases[c].before;
        spex_controller.found = cases[c].found;
        take_finding(&finding);
        if (!(fabs(probes[1].factor - cases[c].expected) < 1e-12))
            fail_msg("case %zu: %g", c, probes[1].factor);
        double found = cases[c].expected > 0 ? cases[c].expected : cases[c].found;
        assert_true(fabs(spex_controller.found - found) < 1e-12);
        assert_true(probes[0].factor == 0);
    }
}

/* In debt of more than 20 ms' worth of tokens that is as much greater than at the last decision, or
 * 100 ms' worth below those of that. */
static void sessions_end_in_a_rush(void **state) {
    static const struct {
        double tokens, decided;
        bool rush;
    } cases[] = {
        {-0.0007, 0.0009, false}, {-0.0009, -0.00009, true}, {-0.0009, -0.00011, false},
        {0.001, 0.0049, false},   {0.001, 0.0051, true},     {0.1, 0.05, false},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        spex_controller.budget.tokens = cases[c].tokens;
        spex_controller.decided_tokens = cases[c].decided;
        assert_int_equal(spex_experiments_rush(), cases[c].rush);
    }
}

static void parts_are_cheap_or_dear(void **state) {
    struct spex_controlled probe = {.slice = 0.5};
    (void)state;
    assert_int_equal(slice_over(&probe, false, true), SPEX_SLICE_CHEAP);
    assert_int_equal(slice_over(&probe, false, false), SPEX_SLICE_DEAR);
    assert_int_equal(slice_over(&probe, true, true), SPEX_SLICE_NEITHER);
    assert_int_equal(slice_over(&probe, true, false), SPEX_SLICE_CHEAP);
    probe.sliced.called = true;
    assert_int_equal(slice_over(&probe, true, true), SPEX_SLICE_NEITHER);
    assert_int_equal(slice_over(&probe, true, false), SPEX_SLICE_DEAR);
    spex_controller.next_weight = 121;
    assert_true(slice_has_witness(&probe));
    spex_controller.next_weight = 119;
    assert_false(slice_has_witness(&probe));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(factors_are_taken_where_they_are_sure, setup, teardown),
        cmocka_unit_test_setup_teardown(sessions_end_in_a_rush, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_are_cheap_or_dear, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
