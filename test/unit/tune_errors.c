/* SPDX-License-Identifier: MIT */
/* Tunings that cannot begin, or go wrong on their way: what is said of them, and that they leave
 * nothing behind. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "../status.h"
#include "base/service_thread.h"
#include "tuned.h"

/* ---- a policy that does as it is told ---- */

static struct {
    int init, next; /* what these say */
    unsigned runs;  /* planned before that */
    size_t level;   /* of the batch */
    unsigned inits, finals, planned;
} told;

static size_t no_state(const struct spex_space *space) {
    (void)space;
    return 0;
}

static int told_init(void *state, const struct spex_space *space) {
    assert_non_null(state);
    assert_int_equal(space->parameter_count, 2);
    told.inits++;
    return told.init;
}

static int told_next(void *state, struct spex_plan *plan) {
    (void)state;
    if (told.planned++ == told.runs)
        return told.next;
    plan->levels[0] = told.level;
    plan->levels[1] = 1;
    return 1;
}

static void told_fini(void *state) {
    (void)state;
    told.finals++;
}

static const struct spex_policy_ops told_policy = {.size = sizeof(told_policy),
                                                   .abi = SPEX_POLICY_ABI,
                                                   .name = "told",
                                                   .summary = "as it is told",
                                                   .state_size = no_state,
                                                   .init = told_init,
                                                   .next = told_next,
                                                   .fini = told_fini};

static struct spex_tune_options told_options(const struct spex_space *space, size_t level) {
    struct spex_tune_options options = options_for(space);
    memset(&told, 0, sizeof(told));
    told.runs = 2;
    told.level = level;
    options.policy = &told_policy;
    return options;
}

/* ---- threads that cannot be started ---- */

static bool without_thread;

int __real_spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                                     void *(*run)(void *), void *arg);
int __wrap_spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                                     void *(*run)(void *), void *arg);

int __wrap_spex_service_thread_start(pthread_t *thread, const char *name, size_t stack,
                                     void *(*run)(void *), void *arg) {
    return without_thread && strcmp(name, "spex-tuner") == 0
               ? -EAGAIN
               : __real_spex_service_thread_start(thread, name, stack, run, arg);
}

/* ---- */

static void expect_no_start(const struct spex_tune_options *options, int err, const char *words) {
    struct spex_tune_report report = {.size = sizeof(report)};
    char why[256] = "";
    int before = errno = EDOM;
    assert_int_equal(spex_tune_start(options, why, sizeof(why)), err);
    assert_string_equal(why, words);
    assert_int_equal(errno, before);
    assert_int_equal(spex_tune_start(options, NULL, 0), err);
    assert_int_equal(spex_tune_look(&report), -ENODATA);
    assert_int_equal(spex_tune_trials(NULL, NULL), 0);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(seen.configured + seen.finished, 0);
}

TEST_WITH(what_cannot_begin, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = told_options(&space, 3);
    told.init = -ENOSPC;
    expect_no_start(&options, -ENOSPC,
                    "policy \"told\" cannot explore this space: No space left on device");
    assert_int_equal(told.inits, 2);
    assert_int_equal(told.finals, 0); /* it was not initialised */
    told.init = 0;
    without_thread = true;
    expect_no_start(&options, -EAGAIN, "cannot start a thread: Resource temporarily unavailable");
    without_thread = false;
    assert_int_equal(told.inits, 4);
    assert_int_equal(told.finals, 2);
    tune_begin(&options); /* nothing is in its way */
    assert_int_equal(tune_wait().result, 0);
    assert_int_equal(told.finals, 3);
}

TEST_WITH(a_policy_that_fails, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = told_options(&space, 3);
    told.next = -EIO;
    options.finished = NULL;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, -EIO);
    assert_int_equal(report.trials, 2);
    assert_int_equal(report.failed, 0);
    assert_true(report.applied && report.best_trials == 2);
    assert_string_equal(report.why, "policy \"told\" gave up: Input/output error");
    assert_int_equal(told.finals, 1);
    assert_int_equal(seen.configured, 2); /* the best is in force */
    assert_int_equal(status_now().sites_on, 0);
}

TEST_WITH(what_is_left_may_be_refused, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = told_options(&space, 3);
    char why[128];
    options.leave = SPEX_TUNE_DEFAULTS;
    seen.refused = 1;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    snprintf(why, sizeof(why), "what is to be left cannot be configured: %s", strerror(EIO));
    assert_int_equal(report.result, 0);
    assert_false(report.applied);
    assert_string_equal(report.why, why);
    assert_string_equal(seen.why, why);
    assert_int_equal(seen.configured, 3);
}

/* A run that could not be configured leaves it open what is in force, so it is configured again. */
TEST_WITH(what_was_refused_is_not_in_force, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = told_options(&space, 1);
    seen.refused = 1; /* the default */
    options.leave = SPEX_TUNE_DEFAULTS;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.failed, 2);
    assert_int_equal(report.best_trials, 0);
    assert_false(report.applied);
    assert_int_equal(seen.configured, 3);
    options = told_options(&space, 1);
    seen.refused = 1;
    options.leave = SPEX_TUNE_LAST;
    tune_begin(&options);
    assert_int_equal(tune_wait().failed, 2);
    assert_int_equal(seen.configured, 2);
}
