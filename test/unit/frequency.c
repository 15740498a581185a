/* SPDX-License-Identifier: MIT */
/* Frequencies of probes alone, with costs and times that the test tells. */
#include "rate/frequency.h"

#include <math.h>
#include <string.h>

#include "../check.h"
#include "rate/accounts.h"

struct spex_controller spex_controller;

static double skip_cost, report_cost;
static struct spex_controlled probe;

enum { PROBE = 4 };

bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report) {
    assert_int_equal(first, PROBE);
    *skip = skip_cost;
    *report = report_cost;
    return true;
}

double spex_accounts_decision_cost(void) {
    return spex_controller.deciding;
}

/* A budget of 2 % of one CPU. */
static int setup(void **state) {
    (void)state;
    memset(&spex_controller, 0, sizeof(spex_controller));
    memset(&probe, 0, sizeof(probe));
    spex_controller.budget.share = 0.02;
    spex_controller.cpus = 1;
    spex_controller.now = spex_controller.decided = 10;
    skip_cost = 1e-9;
    report_cost = 100e-9;
    return 0;
}

static bool measure_after(double seconds, uint64_t executions) {
    spex_controller.now += seconds;
    return spex_frequency_measure(PROBE, &probe, probe.count + executions);
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fmax(fabs(expected), 1)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* A tenth of a second, or 2 ms with 500 executions; in a trial 100. */
static void a_measurement_takes_time_or_executions(void **state) {
    (void)state;
    assert_false(measure_after(0.0019, 100000));
    assert_true(probe.seen && probe.measured == 10 && probe.count == 0);
    assert_false(measure_after(0.0002, 499));
    assert_true(measure_after(0, 500));
    expect_near(probe.fresh, 500 / 0.0021);
    assert_int_equal(probe.count, 500);
    assert_true(probe.measured == spex_controller.now);
    assert_false(measure_after(0.0999, 3));
    assert_true(measure_after(0.0002, 3));
    expect_near(probe.fresh, 3 / 0.1001);
    probe.trying = true;
    assert_false(measure_after(0.01, 99));
    assert_true(measure_after(0, 100));
    spex_controller.now++;
    assert_true(spex_frequency_measure(PROBE, &probe, probe.count - 50)); /* begun anew */
    assert_true(probe.fresh == 0);
}

/* It rises at once, and in 60 ms loses half of what it was too high. */
static void frequencies_fall_slowly(void **state) {
    (void)state;
    assert_true(measure_after(0.1, 1000));
    expect_near(probe.frequency, 10000);
    assert_true(measure_after(0.12, 240));
    expect_near(probe.frequency, 2000 + 8000 / 4.0);
    assert_true(measure_after(0.2, 5000));
    expect_near(probe.frequency, 25000);
    assert_true(measure_after(3, 3));
    expect_near(probe.frequency, 1 + 24999 * exp2(-50));
    assert_true(measure_after(3, 0));
    assert_true(probe.frequency == 0);
}

/* Between slices the mean has a half-life of 170 ms, hold-offs included, up and down. */
static void of_slices_it_is_a_mean(void **state) {
    (void)state;
    assert_true(measure_after(0.1, 1000));
    probe.tried = 1;
    probe.held.length = 0.24;
    assert_true(measure_after(0.1, 600));
    expect_near(probe.frequency, 6000 + 4000 / 4.0);
    probe.held.length = 0.07;
    assert_true(measure_after(0.1, 2000));
    expect_near(probe.frequency, (20000 + 7000) / 2.0);
}

/* A rise by half or more, of a probe whose executions take a tenth of the budget. */
static void a_rise_that_matters_is_noted(void **state) {
    static const struct {
        double frequency, skip;
        bool rising;
    } cases[] = {
        {3.1e6, 1e-9, true}, {2.9e6, 1e-9, false}, {3.1e6, 0.64e-9, false}, {3.1e6, 0.65e-9, true}};
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        setup(NULL);
        assert_true(measure_after(1, 2000000));
        spex_controller.rising = false;
        skip_cost = cases[c].skip;
        assert_true(measure_after(1, (uint64_t)cases[c].frequency));
        assert_int_equal(spex_controller.rising, cases[c].rising);
        assert_true(measure_after(1, 0));
        assert_int_equal(spex_controller.rising, cases[c].rising);
    }
}

/* As much as planned is a half of a second times a quarter, and the hold-off as long. */
static void what_has_cost_as_much_as_planned_is_over(void **state) {
    (void)state;
    spex_controller.budget.share = 0.25;
    skip_cost = 0x1p-20;
    report_cost = 0;
    assert_true(measure_after(1, 10));
    probe.trying = true;
    probe.slice = probe.held.length = 0.5;
    assert_false(measure_after(0.25, (1 << 18) - 1));
    assert_true(measure_after(0, 1 << 18));
}

static void slice_begin(uint32_t period) {
    setup(NULL);
    assert_true(measure_after(1, 10));
    probe.trying = true;
    probe.period = period;
    probe.slice = 0.01;
    probe.held.length = 0.09;
}

/* A slice of 10 ms after a hold-off of 90 ms, which has earned 2 ms for both, and 18 µs for the
 * time after. An execution costs 1 ns, and with a period of 100 another one for records. */
static void slices_go_on_as_planned(void **state) {
    static const struct {
        double seconds;
        uint64_t executions;
        bool ends;
    } cases[] = {
        {0.009, 900000, false}, {0.009, 1100000, true}, {0.011, 8500, false}, {0.011, 9500, true},
        {0.099, 8500, false},   {0.101, 8500, true},    {0.003, 99, false},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        slice_begin(100);
        assert_int_equal(measure_after(cases[c].seconds, cases[c].executions), cases[c].ends);
        probe.trying = false;
        if (!cases[c].ends && cases[c].executions >= 500)
            assert_true(measure_after(0, cases[c].executions));
    }
    slice_begin(0); /* in full: an execution costs 101 ns */
    assert_false(measure_after(0.009, 19700));
    assert_true(measure_after(0, 19900));
    /* Nor does a slice go on for the sake of a look that costs more than that. */
    for (unsigned dear = 0; dear < 2; dear++) {
        slice_begin(100);
        spex_controller.deciding = dear ? 12e-6 : 8e-6;
        assert_int_equal(measure_after(0.011, 4000), dear);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_measurement_takes_time_or_executions, setup),
        cmocka_unit_test_setup(frequencies_fall_slowly, setup),
        cmocka_unit_test_setup(of_slices_it_is_a_mean, setup),
        cmocka_unit_test_setup(a_rise_that_matters_is_noted, setup),
        cmocka_unit_test_setup(what_has_cost_as_much_as_planned_is_over, setup),
        cmocka_unit_test_setup(slices_go_on_as_planned, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
