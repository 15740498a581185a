/* SPDX-License-Identifier: MIT */
/* Reports of tunings whose runs are made, against a plain count of the runs: the best configuration
 * and how sure its values are. */
#define _GNU_SOURCE
#include <math.h>

#include "../check.h"
#include "base/student.h"
#include "tune/session.h"

enum { PARAMETERS = 3, LEVELS = 3, RUNS = 120, ROUNDS = 60 };

static const struct spex_value values[] = {{.integer = 1}, {.integer = 2}, {.integer = 3}};
#define PARAMETER(of)                                                                              \
    { .name = of, .kind = SPEX_INTEGER, .count = LEVELS, .values = values }
static const struct spex_parameter parameters[PARAMETERS] = {PARAMETER("a"), PARAMETER("b"),
                                                             PARAMETER("c")};
static const struct spex_criterion criteria[] = {
    {"q:lat", "mean", 0, SPEX_MINIMISE, 0},
    {"r:lat", "mean", 0, SPEX_AT_MOST, 50},
};
static const struct spex_space space = {.size = sizeof(space),
                                        .name = "made",
                                        .parameter_count = PARAMETERS,
                                        .parameters = parameters,
                                        .threads_parameter = PARAMETERS,
                                        .criterion_count = COUNT_OF(criteria),
                                        .criteria = criteria};

static struct spex_trial *runs;

static bool same(const size_t *a, const size_t *b) {
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* A run of a configuration of the first `spread` levels. */
static void add_run(struct spex_tune_session *session, uint64_t *random, size_t spread) {
    const size_t levels[] = {random_below(random, spread), random_below(random, spread),
                             random_below(random, spread)};
    struct spex_trial trial;
    assert_int_equal(spex_trial_init(&trial, &space, levels), 0);
    trial.ok = random_below(random, 5) > 0;
    for (size_t c = 0; c < COUNT_OF(criteria) && trial.ok; c++)
        trial.measured[c] = (struct spex_measured){
            .value = (double)(10 * (1 + levels[0] + 3 * levels[1] + (c ? 7 : 5) * levels[2]) +
                              random_below(random, 9)),
            .error = (double)random_below(random, 5)};
    session->failed += !trial.ok;
    assert_int_equal(spex_summary_add(&session->summary, &trial), 0);
    assert_int_equal(spex_trials_add(&session->trials, &trial), 0);
}

/* Of the runs of these levels: how many, and of each criterion the mean and its error. */
static unsigned expected_of(const struct spex_tune_session *session, const size_t *levels,
                            struct spex_measured *expected) {
    unsigned count = 0;
    for (size_t c = 0; c < COUNT_OF(criteria); c++) {
        double sum = 0, within = 0, between = 0;
        count = 0;
        for (size_t t = 0; t < session->trials.count; t++)
            if (runs[t].ok && same(runs[t].levels, levels)) {
                sum += runs[t].measured[c].value;
                within += pow(runs[t].measured[c].error, 2);
                count++;
            }
        expected[c] = (struct spex_measured){sum / count, sqrt(within) / count};
        for (size_t t = 0; t < session->trials.count; t++)
            if (runs[t].ok && same(runs[t].levels, levels))
                between += pow(runs[t].measured[c].value - expected[c].value, 2);
        double error =
            sqrt(between / (count - 1.0) / count) * spex_student_95(count - 1) / 1.959964;
        if (count > 2 && error > expected[c].error)
            expected[c].error = error;
    }
    return count;
}

/* The least mean that keeps to the limit, else the least of all. */
static unsigned expected_best(const struct spex_tune_session *session, size_t *best,
                              struct spex_measured *measured) {
    bool best_allowed = false;
    unsigned best_count = 0;
    for (size_t i = 0; i < LEVELS * LEVELS * LEVELS; i++) {
        const size_t levels[] = {i % 3, i / 3 % 3, i / 9};
        struct spex_measured found[COUNT_OF(criteria)];
        unsigned count = expected_of(session, levels, found);
        bool allowed = count && found[1].value <= 50;
        if (!count || (best_count && (allowed == best_allowed ? found[0].value >= measured[0].value
                                                              : best_allowed)))
            continue;
        memcpy(best, levels, sizeof(levels));
        memcpy(measured, found, sizeof(found));
        best_allowed = allowed;
        best_count = count;
    }
    return best_count;
}

static void expect_report(const struct spex_tune_session *session) {
    size_t best[PARAMETERS], levels[PARAMETERS], expected[PARAMETERS];
    struct spex_measured measured[COUNT_OF(criteria)], right[COUNT_OF(criteria)];
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = measured, .levels = levels};
    unsigned count = expected_best(session, expected, right);
    spex_tune_session_report(session, &report);
    assert_true(report.running && report.applied);
    assert_int_equal(report.result, -7);
    assert_int_equal(report.trials, session->trials.count);
    assert_int_equal(report.failed, session->failed);
    assert_int_equal(report.trials_expected, 77);
    assert_string_equal(report.why, "because");
    assert_memory_equal(levels, session->now, sizeof(levels));
    assert_int_equal(report.best_trials, count);
    if (!count) {
        assert_null(spex_tune_session_best(session));
        assert_false(report.best_allowed);
        return;
    }
    assert_int_equal(report.best_allowed, right[1].value <= 50);
    assert_memory_equal(best, expected, sizeof(best));
    for (size_t c = 0; c < COUNT_OF(criteria); c++) {
        assert_true(fabs(measured[c].value - right[c].value) < 1e-9);
        assert_true(fabs(measured[c].error - right[c].error) < 1e-6);
    }
    struct spex_tune_report little = {.size = sizeof(little)}; /* without arrays */
    spex_tune_session_report(session, &little);
    assert_int_equal(little.best_trials, count);
}

TEST(reports_say_what_the_runs_say) {
    uint64_t random = 5;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct spex_own_space own = {.space = space};
        size_t now[PARAMETERS] = {2, 0, 1};
        struct spex_tune_session session = {.own = &own,
                                            .now = now,
                                            .running = true,
                                            .applied = true,
                                            .result = -7,
                                            .expected = 77,
                                            .why = "because"};
        spex_summary_init(&session.summary, &own.space);
        size_t count = random_below(&random, round % 2 ? RUNS : 8);
        for (size_t r = 0; r < count; r++)
            add_run(&session, &random, 1 + round % LEVELS);
        runs = session.trials.items;
        expect_report(&session);
        spex_summary_free(&session.summary);
        spex_trials_free(&session.trials);
    }
}
