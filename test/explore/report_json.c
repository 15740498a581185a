/* SPDX-License-Identifier: MIT */
/* Reports as JSON, with the trials and without. */
#include "report_stores.h"

TEST(json) {
    make_whole("trials.db", two, 2);
    struct spex_report_options options = report_of("trials.db");
    json_t *report = json_of(&options);
    const json_t *best = json_object_get(report, "best");
    assert_true(fabs(number_at(best, "objective") - 800) < 1e-9);
    assert_true(fabs(number_at(best, "low") - 792) < 1e-9);
    const json_t *interval = json_object_get(best, "interval");
    assert_true(json_number_value(json_array_get(interval, 0)) < 800);
    assert_true(json_number_value(json_array_get(interval, 1)) > 800);
    assert_int_equal(json_array_size(json_object_get(report, "criteria")), 2);
    assert_int_equal(json_array_size(json_object_get(report, "ties")), 1);
    assert_int_equal(json_array_size(json_object_get(report, "trials")), 25);
    assert_int_equal(json_array_size(json_object_get(report, "machines")), 1);
    assert_int_equal(json_array_size(json_object_get(report, "failures")), 1);
    const json_t *trial = json_array_get(json_object_get(report, "trials"), 0);
    const json_t *measured = json_object_get(trial, "measured");
    assert_true(number_at(json_array_get(measured, 0), "error") == 0.99);
    assert_true(number_at(json_array_get(measured, 1), "value") == 0.49);
    assert_true(json_is_null(json_object_get(json_array_get(measured, 1), "error")));
    /* Latencies are all the same, so only the fastest is in front by its mean. */
    const json_t *front = json_object_get(report, "pareto");
    assert_true(json_array_size(front) >= 1);
    size_t in_front = 0, f;
    const json_t *point;
    json_array_foreach(front, f, point) in_front +=
        json_is_true(json_object_get(point, "in_front"));
    assert_int_equal(in_front, 1);
    json_decref(report);
}

/* The heat map's places and means are those of the trials; its title and ring those of a single
 * panel. */
TEST(json_without_trials) {
    make_whole("trials.db", two, 2);
    struct spex_report_options options = report_of("trials.db");
    options.without_trials = true;
    json_t *report = json_of(&options);
    assert_null(json_object_get(report, "trials"));
    assert_true(number_at(report, "trials_finished") == 25);
    assert_true(number_at(report, "trials_failed") == 1);
    assert_true(json_is_false(json_object_get(report, "running")));
    /* Each trial is a point, null for that which has failed; the first of the ranked is the best. */
    const json_t *points = json_object_get(report, "points"),
                 *ranked = json_object_get(report, "ranked");
    size_t failed = 0, ranked_trials = 0;
    for (size_t t = 0; t < json_array_size(points); t++) {
        assert_int_equal(json_integer_value(json_array_get(json_array_get(points, t), 0)), t + 1);
        failed += json_is_null(json_array_get(json_array_get(points, t), 1));
    }
    assert_int_equal(json_array_size(points), 25);
    assert_int_equal(failed, 1);
    for (size_t r = 0; r < json_array_size(ranked); r++)
        ranked_trials += (size_t)number_at(json_array_get(ranked, r), "trials");
    assert_int_equal(ranked_trials, 24);
    assert_true(json_equal(json_object_get(json_array_get(ranked, 0), "config"),
                           json_object_get(json_object_get(report, "best"), "config")));
    assert_true(json_is_null(json_object_get(json_object_get(report, "time"), "limit")));
    const json_t *map = json_object_get(report, "heat_map"), *x = json_object_get(map, "x");
    assert_string_equal(json_string_value(json_object_get(x, "parameter")), "a");
    assert_int_equal(json_array_size(json_object_get(x, "values")), 3);
    assert_int_equal(json_array_size(json_object_get(map, "panels")), 1);
    const json_t *panel = json_array_get(json_object_get(map, "panels"), 0);
    const json_t *cells = json_object_get(panel, "cells");
    assert_int_equal(json_array_size(cells), 6);
    size_t c;
    const json_t *cell;
    json_array_foreach(cells, c, cell) {
        double a = json_number_value(json_array_get(cell, 0));
        double mode = json_number_value(json_array_get(cell, 1));
        assert_true(fabs(json_number_value(json_array_get(cell, 2)) -
                         100 * pow(2, a) * (mode ? 2 : 1)) < 1e-9);
    }
    const json_t *best = json_object_get(panel, "best");
    assert_true(json_number_value(json_array_get(best, 0)) == 2);
    assert_true(json_number_value(json_array_get(best, 1)) == 1);
    json_decref(report);
    /* As long as an exploration has the store. */
    struct making making;
    begin(&making, "trials.db", two);
    report = json_of(&options);
    assert_true(json_is_true(json_object_get(report, "running")));
    json_decref(report);
    end(&making);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
