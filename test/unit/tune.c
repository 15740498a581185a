/* SPDX-License-Identifier: MIT */
/* Tuning from within: results, limits, failures, and which options and spaces are refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>

#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/tune.h>

#include "../check.h"
#include "../status.h"
#include "messages.h"
#include "site/registry.h"
#include "tune/own_space.h"
#include "tuned.h"

TEST_WITH(there_is_nothing_to_look_at_before, set_up, tear_down) {
    struct spex_tune_report report = {.size = sizeof(report)};
    assert_int_equal(spex_tune_look(&report), -ENODATA);
    assert_int_equal(spex_tune_stop(), 0);
    report.size--;
    assert_int_equal(spex_tune_look(&report), -EINVAL);
}

TEST_WITH(the_best_is_found_and_applied, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    size_t best[2], now[2];
    struct spex_measured measured;
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = &measured, .levels = now};
    unsigned wrong = 0;
    tune_begin(&options);
    tune_wait();
    assert_int_equal(spex_tune_look(&report), 0);
    assert_int_equal(report.result, 0);
    assert_int_equal(report.trials, 2 * CONFIGURATIONS);
    assert_int_equal(report.trials_expected, 2 * CONFIGURATIONS);
    assert_int_equal(report.failed, 0);
    assert_int_equal(report.best_trials, 2);
    assert_true(report.best_allowed && report.applied && !report.running);
    assert_string_equal(report.why, "");
    assert_int_equal(best[0], 3);
    assert_int_equal(best[1], 0);
    assert_memory_equal(now, best, sizeof(now));
    assert_true(measured.value == 100);
    assert_false(measured.error > 0);
    assert_int_equal(in_force(), configuration(best));
    assert_int_equal(seen.configured, 2 * CONFIGURATIONS + 1);
    assert_int_equal(seen.finished, 1);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(spex_tune_trials(check_trial, &wrong), 2 * CONFIGURATIONS);
    assert_int_equal(wrong, 0);
    assert_int_equal(status_now().sites_on, 0);
}

static void note_levels(void *user, const struct spex_tune_trial *trial) {
    memcpy(user, trial->levels, 2 * sizeof(*trial->levels));
}

TEST_WITH(something_else_can_be_left, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = options_for(&space);
    size_t levels[2] = {1, 0};
    options.leave = SPEX_TUNE_DEFAULTS;
    tune_begin(&options);
    tune_wait();
    assert_int_equal(in_force(), configuration(levels));
    options.leave = SPEX_TUNE_LAST;
    tune_begin(&options);
    tune_wait();
    spex_tune_trials(note_levels, levels);
    assert_int_equal(in_force(), configuration(levels));
}

TEST_WITH(limits_are_kept_to, set_up, tear_down) {
    const struct spex_criterion criteria[] = {
        criterion,
        {.probe = "tune.value:snapshot",
         .metric = "max",
         .field = 0,
         .goal = SPEX_AT_LEAST,
         .bound = 112},
    };
    struct spex_space space = space_for();
    size_t best[2];
    struct spex_measured measured[2];
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = measured};
    space.criteria = criteria;
    space.criterion_count = 2;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    tune_wait();
    assert_int_equal(spex_tune_look(&report), 0);
    assert_true(report.best_allowed);
    assert_true(measured[0].value == 115 && measured[1].value == 115);
    assert_int_equal(truth_of(best[0], best[1]), 115);
}

TEST_WITH(what_the_user_selects_stays, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    char text[64];
    assert_int_equal(spex_set("tune.other"), 1);
    tune_begin(&options);
    assert_int_equal(status_now().sites_on, 2);
    messages_begin();
    int on = spex_set("+tune.none@off");
    messages_end();
    assert_int_equal(on, 2);
    tune_wait();
    assert_int_equal(look().failed, 0);
    assert_int_equal(spex_sites_selection(text, sizeof(text)), 0);
    assert_string_equal(text, "tune.other,tune.none@off");
    assert_int_equal(status_now().sites_on, 1);
}

TEST_WITH(the_user_has_the_last_word, set_up, tear_down) {
    struct spex_space space = space_for();
    space.rules.startup_seconds = 0.02;
    space.rules.trials_max = 1;
    const struct spex_tune_options options = options_for(&space);
    assert_int_equal(spex_set("*@off"), 0);
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.trials, 1);
    assert_int_equal(report.failed, 1);
    assert_int_equal(report.best_trials, 0);
    assert_string_equal(report.why, "no record of tune.value:snapshot in 0.02 s: it is off");
    assert_int_equal(in_force(), configuration((const size_t[]){1, 0})); /* the defaults */
}

TEST_WITH(a_probe_that_is_not_there_is_named, set_up, tear_down) {
    const struct spex_criterion missing = {
        .probe = "tune.missing:lat", .metric = "p99", .goal = SPEX_MINIMISE};
    struct spex_space space = space_for();
    space.rules.startup_seconds = 0.02;
    space.rules.trials_max = 1;
    space.criteria = &missing;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    assert_string_equal(tune_wait().why, "has no probe tune.missing:lat");
}

/* Two libraries with a probe 700, whose sites are registered as their constructors do it. */
TEST_WITH(probes_of_two_providers_are_not_one, set_up, tear_down) {
    static const char file[] = "library.c";
    static const struct spex_probe_name declared[] = {{0, "/liba"}, {0, "/libb"}};
    const struct spex_criterion ambiguous = {
        .probe = "700:lat", .metric = "p99", .goal = SPEX_MINIMISE};
    struct spex_space space = space_for();
    struct spex_site sites[2];
    for (int l = 0; l < 2; l++) {
        sites[l] = (struct spex_site){
            .probe_id = 700, .type_number = SPEX_TYPE_NUMBER_(SPEX_LAT), .subsample = 1};
        sites[l].file_offset = (intptr_t)file - (intptr_t)&sites[l].file_offset;
        spex_module_register(&sites[l], &sites[l] + 1, &declared[l], &declared[l] + 1);
    }
    space.rules.startup_seconds = 0.02;
    space.rules.trials_max = 1;
    space.criteria = &ambiguous;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    assert_string_equal(tune_wait().why,
                        "700:lat names two probes of the program, liba/700 and libb/700");
    for (int l = 0; l < 2; l++)
        spex_module_unregister(&sites[l]);
}

TEST_WITH(a_configuration_that_fails_is_a_failed_run, set_up, tear_down) {
    struct spex_space space = space_for();
    struct spex_tune_options options = options_for(&space);
    seen.refused = 3;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, 0);
    assert_int_equal(report.trials, 2 * CONFIGURATIONS);
    assert_int_equal(report.failed, 2 * MODES);
    char why[100];
    snprintf(why, sizeof(why), "cannot be configured: %s", strerror(EIO));
    assert_string_equal(report.why, why);
    assert_int_equal(truth_of((in_force() - 1) / MODES, (in_force() - 1) % MODES), 110);
}

TEST_WITH(it_ends_by_itself_after_so_many_runs, set_up, tear_down) {
    struct spex_space space = space_for();
    space.rules.trials_max = 3;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    assert_int_equal(tune_wait().trials, 3);
    assert_int_equal(look().result, 0);
}

static void expect_refused(const struct spex_tune_options *options, int err, const char *words) {
    char why[512] = "";
    int got = spex_tune_start(options, why, sizeof(why));
    if (got != err || !strstr(why, words))
        fail_msg("%d, \"%s\" is not %d, \"%s\"", got, why, err, words);
    assert_int_equal(status_now().sites_on, 0);
}

TEST_WITH(bad_options_are_refused, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options;
    struct spex_policy_ops old = *spex_policy_named("grid");
    old.abi--;
    expect_refused(NULL, -EINVAL, "options of this version");
#define EXPECT_REFUSED(member, value, err, words)                                                  \
    options = options_for(&space);                                                                 \
    options.member = (value);                                                                      \
    expect_refused(&options, err, words)
    EXPECT_REFUSED(size, 8, -EINVAL, "options of this version");
    EXPECT_REFUSED(space, NULL, -EINVAL, "a space of this version");
    EXPECT_REFUSED(policy, spex_policy_named("none"), -EINVAL, "a policy was expected");
    EXPECT_REFUSED(policy, &old, -ENOTSUP, "another version");
    EXPECT_REFUSED(configure, NULL, -EINVAL, "configure: a function");
    EXPECT_REFUSED(leave, (enum spex_tune_leave)3, -EINVAL, "leave: ");
#undef EXPECT_REFUSED
    assert_null(spex_policy_named(NULL));
    assert_string_equal(spex_policy_named("grid")->name, "grid");
    spex_stop();
    options = options_for(&space);
    expect_refused(&options, -EPERM, "spex has not been started");
}

TEST_WITH(bad_spaces_are_refused, set_up, tear_down) {
    static const struct spex_value from_zero[] = {{.integer = 0}, {.integer = 1}};
    struct spex_parameter bad[2];
    struct spex_criterion goals[2];
    struct spex_space space;
    struct spex_tune_options options;
#define EXPECT_REFUSED(change, words)                                                              \
    space = space_for();                                                                           \
    memcpy(bad, parameters, sizeof(bad));                                                          \
    goals[0] = goals[1] = criterion;                                                               \
    space.parameters = bad;                                                                        \
    space.criteria = goals;                                                                        \
    change;                                                                                        \
    options = options_for(&space);                                                                 \
    expect_refused(&options, -EINVAL, words)
    EXPECT_REFUSED(space.size--, "a space of this version");
    EXPECT_REFUSED(space.parameter_count = 0, "1 to 64 parameters");
    EXPECT_REFUSED(space.parameters = NULL, "1 to 64 parameters");
    EXPECT_REFUSED(bad[1].name = NULL, "parameter 1: a name");
    EXPECT_REFUSED(bad[1].kind = 0, "parameter mode: a kind");
    EXPECT_REFUSED(bad[1].values = NULL, "parameter mode: values");
    EXPECT_REFUSED(bad[1].default_level = 2, "parameter mode: default_level");
    EXPECT_REFUSED(bad[1].values = batches, "parameter mode: value 0: a text");
    EXPECT_REFUSED(bad[0].values = modes; bad[0].count = 2, "ascending");
    EXPECT_REFUSED(space.threads_parameter = 3, "threads_parameter");
    EXPECT_REFUSED(space.threads_parameter = 1, "threads_parameter: mode");
    EXPECT_REFUSED(space.parameter_count = 65, "1 to 64 parameters");
    EXPECT_REFUSED(bad[0].logarithmic = true; bad[0].values = from_zero;
                   bad[0].count = 2, "parameter batch: logarithmic: values above 0");
    EXPECT_REFUSED(space.criterion_count = 0, "1 to 16 criteria");
    EXPECT_REFUSED(space.criterion_count = 17, "1 to 16 criteria");
    EXPECT_REFUSED(space.criteria = NULL, "1 to 16 criteria");
    EXPECT_REFUSED(goals[0].probe = NULL, "criterion 0: a probe and a metric");
    EXPECT_REFUSED(goals[0].metric = NULL, "criterion 0: a probe and a metric");
    EXPECT_REFUSED(space.objective_count = 9, "1 to 8 objectives");
    EXPECT_REFUSED(space.objective_count = 2, "1 to 8 objectives");
    EXPECT_REFUSED(goals[0].goal = SPEX_AT_LEAST + 1, "the goal of an objective");
    EXPECT_REFUSED(goals[0].probe = "tune.value", "one probe and its type");
    EXPECT_REFUSED(goals[0].probe = "tune.*:lat", "one probe and its type");
    EXPECT_REFUSED(goals[0].probe = "tune.value:late", "criterion 0: ");
    EXPECT_REFUSED(goals[0].metric = "throughput", "has no metric \"throughput\"");
    EXPECT_REFUSED(goals[0].goal = SPEX_AT_MOST, "1 to 8 objectives");
    EXPECT_REFUSED(goals[0].goal = 0, "criterion 0: the goal of an objective");
    EXPECT_REFUSED(space.objective_count = 1;
                   space.criterion_count = 2, "criterion 1: the goal of a limit");
    EXPECT_REFUSED(space.rules.warmup_seconds = 60, "warmup_seconds");
    EXPECT_REFUSED(space.rules.duration_seconds = -1, "duration_seconds");
    EXPECT_REFUSED(space.rules.startup_seconds = NAN, "startup_seconds");
    EXPECT_REFUSED(space.rules.duration_seconds = 86401, "duration_seconds: up to a day");
    EXPECT_REFUSED(space.rules.startup_seconds = 86401, "startup_seconds: up to a day");
    EXPECT_REFUSED(space.rules.precision = 1, "precision");
    EXPECT_REFUSED(space.rules.precision = -0.1, "precision");
#undef EXPECT_REFUSED
}

/* 2^40 configurations are taken, and no more; a boolean needs no values. */
TEST_WITH(there_may_be_many_configurations, set_up, tear_down) {
    struct spex_parameter many[42];
    struct spex_own_space *own;
    struct spex_error why = {""};
    struct spex_space space = space_for();
    for (size_t p = 0; p < COUNT_OF(many); p++)
        many[p] = (struct spex_parameter){.name = "p", .kind = SPEX_BOOLEAN};
    space.parameters = many;
    space.threads_parameter = space.parameter_count = 40;
    assert_int_equal(spex_own_space_make(&space, &own, &why), 0);
    const struct spex_space *made = &own->space;
    assert_int_equal(made->parameters[39].count, 2);
    assert_string_equal(made->parameters[39].values[1].text, "true");
    assert_int_equal(made->parameters[39].values[1].integer, 1);
    assert_string_equal(made->parameters[39].unit, "");
    spex_own_space_free(own);
    space.threads_parameter = space.parameter_count = 41;
    assert_int_equal(spex_own_space_make(&space, &own, &why), -EINVAL);
    assert_string_equal(why.text, "at most 2^40 configurations were expected");
}
