/* SPDX-License-Identifier: MIT */
/* Tuning with a policy of the program's own; the end of a tuning, by request, by spex_stop, and in
 * the child of a fork. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/tune.h>

#include "../check.h"
#include "../children.h"
#include "../status.h"
#include "tuned.h"

/* A policy of the program's own: the state is its program. */
struct own {
    const struct spex_space *space;
    unsigned planned;
    size_t batch;
    double best;
};

static struct {
    unsigned runs; /* to be planned */
    bool endless;  /* they are never enough */
    size_t level;  /* of every plan's batch, when it is not searched for */
    bool search;   /* as long as the next level is better */
    uint64_t records;
    unsigned wrong; /* records of another probe, or with another value than they should have */
    unsigned finals;
    size_t now[2];
} own;

static size_t own_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct own);
}

static int own_init(void *state, const struct spex_space *space) {
    const struct spex_parameter *batch = &space->parameters[0];
    *(struct own *)state = (struct own){.space = space, .best = INFINITY};
    bool complete = strcmp(batch->values[3].text, "8") == 0 && batch->values[3].number == 8 &&
                    fabs(batch->values[3].position - 0.75) < 1e-9 &&
                    batch->values[4].position == 1 && strcmp(batch->unit, "") == 0 &&
                    space->parameters != parameters && space->objective_count == 1 &&
                    space->rules.seed == 1 && space->rules.duration_seconds == 60;
    return complete ? 0 : -EDOM;
}

static int own_next(void *state, struct spex_plan *plan) {
    struct own *self = state;
    if (self->planned++ == own.runs)
        return 0;
    plan->levels[0] = own.search ? self->batch : own.level;
    plan->levels[1] = 1;
    memcpy(own.now, plan->levels, sizeof(own.now));
    return 1;
}

static bool own_stop_run(void *state, const struct spex_run *run) {
    (void)state;
    own.wrong += run->threads != 1 || run->records == 0;
    return !own.endless && run->records >= 30;
}

static void own_records(void *state, const struct spex_record *records, size_t count) {
    (void)state;
    for (size_t r = 0; r < count; r++)
        own.wrong += records[r].probe_id != VALUE || records[r].probe_type != SPEX_SNAPSHOT ||
                     records[r].fields[0] != truth_of(own.now[0], own.now[1]);
    spex_fetch_add_relaxed(&own.records, count);
}

static void own_finished(void *state, const struct spex_result *result) {
    struct own *self = state;
    if (!result->ok || result->measured[0].value >= self->best ||
        self->batch + 1 == self->space->parameters[0].count)
        self->planned = own.runs;
    else
        self->best = result->measured[0].value;
    self->batch++;
}

static void own_fini(void *state) {
    (void)state;
    own.finals++;
}

static const struct spex_policy_ops own_policy = {
    .size = sizeof(own_policy),
    .abi = SPEX_POLICY_ABI,
    .name = "own",
    .summary = "as this test wants",
    .state_size = own_state_size,
    .init = own_init,
    .next = own_next,
    .stop_run = own_stop_run,
    .process_records = own_records,
    .run_finished = own_finished,
    .fini = own_fini,
};

static struct spex_tune_options own_options(const struct spex_space *space) {
    struct spex_tune_options options = options_for(space);
    memset(&own, 0, sizeof(own));
    options.policy = &own_policy;
    return options;
}

TEST_WITH(a_policy_of_ones_own_decides, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    own.runs = 100;
    own.search = true;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, 0);
    assert_int_equal(report.trials, 5); /* up to the first that is worse */
    assert_int_equal(report.trials_expected, 0);
    assert_int_equal(own.wrong, 0);
    assert_true(own.records >= 5 * 30);
    assert_int_equal(own.finals, 1);
    assert_int_equal(in_force(), configuration((const size_t[]){3, 1}));
}

TEST_WITH(a_policy_may_end_at_once, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, 0);
    assert_int_equal(report.trials, 0);
    assert_int_equal(seen.finished, 1);
    assert_int_equal(own.finals, 1);
    assert_int_equal(seen.configured, 1); /* the defaults */
    assert_int_equal(in_force(), configuration((const size_t[]){1, 0}));
    assert_int_equal(spex_tune_trials(check_trial, NULL), 0);
}

TEST_WITH(a_plan_outside_of_the_space_ends_it, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    own.runs = 1;
    own.level = BATCHES;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, -ERANGE);
    assert_string_equal(report.why, "policy \"own\" planned what is not in the space");
    assert_int_equal(seen.result, -ERANGE);
    assert_string_equal(seen.why, report.why);
}

/* Begins a run that nothing but a stop ends, and waits until it is measured. */
static void endless_begin(const struct spex_space *space) {
    const struct spex_tune_options options = own_options(space);
    own.runs = 1;
    own.endless = true;
    own.level = 4;
    tune_begin(&options);
    while (spex_fetch_add_relaxed(&own.records, 0) == 0)
        sched_yield();
}

TEST_WITH(it_stops_in_mid_run, set_up, tear_down) {
    const struct spex_space space = space_for();
    endless_begin(&space);
    assert_true(look().running);
    assert_int_equal(spex_tune_stop(), 0);
    struct spex_tune_report report = look();
    assert_false(report.running);
    assert_int_equal(report.result, -ECANCELED);
    assert_int_equal(report.trials, 0);
    assert_int_equal(seen.finished, 1);
    assert_int_equal(own.wrong, 0);
    assert_int_equal(in_force(), configuration((const size_t[]){1, 0}));
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(spex_tune_stop(), 0);
}

TEST_WITH(it_stops_when_spex_does, set_up, tear_down) {
    const struct spex_space space = space_for();
    endless_begin(&space);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(tune_wait().result, -ECANCELED);
    assert_int_equal(status_now().sites_on, 0);
    assert_int_equal(start_spex(NULL), 0);
    endless_begin(&space);
    assert_int_equal(spex_tune_stop(), 0);
}

TEST_WITH(configure_may_ask_for_the_end, set_up, tear_down) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    seen.stop = true;
    tune_begin(&options);
    assert_int_equal(tune_wait().result, -ECANCELED);
    assert_int_equal(look().trials, 0);
    assert_int_equal(seen.configured, 2);
}

static int configure_and_start(void *user, const struct spex_space *space, const size_t *levels) {
    struct seen *s = user;
    const struct spex_tune_options again = {.size = sizeof(again),
                                            .space = space,
                                            .policy = spex_policy_named("grid"),
                                            .configure = configure,
                                            .user = user};
    s->nested = spex_tune_start(&again, NULL, 0);
    return configure(user, space, levels);
}

TEST_WITH(there_is_one_at_a_time, set_up, tear_down) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = own_options(&space);
    char why[64] = "";
    endless_begin(&space);
    assert_int_equal(spex_tune_start(&options, why, sizeof(why)), -EBUSY);
    assert_string_equal(why, "another tuning is running");
    spex_tune_stop();
    options = own_options(&space);
    options.configure = configure_and_start;
    own.runs = 1;
    tune_begin(&options);
    tune_wait();
    assert_int_equal(seen.nested, -EBUSY);
    for (unsigned round = 0; round < 3; round++) {
        options = own_options(&space);
        own.runs = 1;
        tune_begin(&options); /* the former one's thread may still be about to end */
        assert_int_equal(tune_wait().trials, 1);
    }
}

static int child_checks(void) {
    struct spex_tune_report report = {.size = sizeof(report)};
    const struct spex_space space = space_for();
    struct spex_tune_options options;
    if (spex_tune_look(&report) != -ENODATA || spex_tune_trials(check_trial, NULL) != 0)
        return 10;
    if (spex_tune_stop() != 0)
        return 11;
    if (status_now().sites_on != 0)
        return 12;
    if (getenv("TEST_EMULATED")) /* main says why */
        return 0;
    options = options_for(&space);
    if (spex_tune_start(&options, NULL, 0) != -EPERM)
        return 13;
    if (start_spex(NULL) != 0)
        return 14;
    work_begin();
    if (spex_tune_start(&options, NULL, 0) != 0)
        return 15;
    if (tune_wait().trials != 2 * CONFIGURATIONS || seen.result != 0)
        return 16;
    return tear_down(NULL);
}

static void fork_and_check(void) {
    if (!CHILDREN_MAY_START) {
        print_message(
            "skipped: gcc's ThreadSanitizer dies when the child of a fork starts threads\n");
        return;
    }
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(child_checks());
    assert_int_equal(child_exit_status(child), 0);
}

TEST_WITH(a_child_has_none_and_may_start_one, set_up, tear_down) {
    const struct spex_space space = space_for();
    endless_begin(&space);
    uint64_t before = spex_fetch_add_relaxed(&own.records, 0);
    fork_and_check();
    while (spex_fetch_add_relaxed(&own.records, 0) == before) /* it goes on here */
        sched_yield();
    assert_true(look().running);
    spex_tune_stop();
    assert_int_equal(seen.finished, 1);
    fork_and_check();
}

int main(void) {
    if (getenv("TEST_EMULATED"))
        puts("SKIP: of a fork's child the start: the emulator (QEMU 7.2) ends a child that starts "
             "threads");
    return tests_run(NULL, NULL);
}
