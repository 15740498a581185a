/* SPDX-License-Identifier: MIT */
/* Tuning from within. The workload is a thread with a probe whose value is a known function of the configuration, so that
 * what a run must come to is known exactly; configure() returns when the thread has seen the configuration. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>
#include <spex/tune.h>

#include "../check.h"
#include "messages.h"
#include "site/registry.h"

enum { VALUE = 1, OTHER = 2, BATCHES = 5, MODES = 2, CONFIGURATIONS = BATCHES * MODES };

SPEX_PROBE_NAME(VALUE, "tune.value");
SPEX_PROBE_NAME(OTHER, "tune.other");

/* ThreadSanitizer would end a child of a program with threads that starts threads itself. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
    return "die_after_fork=0";
}

static struct {
    pthread_t thread;
    uint32_t wanted; /* configuration, 1 + an index */
    uint32_t seen;
    bool ending;
} work;

static uint64_t truth_of(size_t batch, size_t mode) {
    return 100 + 10 * (uint64_t)labs((long)batch - 3) + 5 * mode;
}

static void *work_run(void *arg) {
    const struct timespec pause = {.tv_nsec = 20000};
    (void)arg;
    while (!spex_load_acquire(&work.ending)) {
        uint32_t now = spex_load_acquire(&work.wanted);
        spex_store_release(&work.seen, now);
        if (now)
            SNAPSHOT_PROBE(VALUE, 1, truth_of((now - 1) / MODES, (now - 1) % MODES), 7);
        CNT_PROBE_BEGIN(OTHER, 1);
        CNT_PROBE_END(OTHER);
        nanosleep(&pause, NULL); /* so that rings do not fill */
    }
    return NULL;
}

static void work_begin(void) {
    work.wanted = work.seen = 0;
    work.ending = false;
    assert_int_equal(pthread_create(&work.thread, NULL, work_run, NULL), 0);
}

static void work_end(void) {
    spex_store_release(&work.ending, true);
    pthread_join(work.thread, NULL);
}

static uint32_t in_force(void) {
    return spex_load_acquire(&work.seen);
}

static uint32_t configuration(const size_t *levels) {
    return (uint32_t)(levels[0] * MODES + levels[1] + 1);
}

/* What callbacks have seen; of the tuning thread until it has ended. */
struct seen {
    unsigned configured;
    unsigned finished;
    int result;
    char why[256];
    uint64_t records;
    unsigned wrong;
    size_t refused; /* batch level that configure() refuses */
    bool stop;      /* configure() asks for the end */
    int nested;     /* what starting another from configure() says */
};

static struct seen seen;

static int configure(void *user, const struct spex_space *space, const size_t *levels) {
    struct seen *s = user;
    (void)space;
    s->configured++;
    if (levels[0] == s->refused)
        return -EIO;
    if (s->stop)
        spex_tune_stop();
    uint32_t wanted = configuration(levels);
    spex_store_release(&work.wanted, wanted);
    while (spex_load_acquire(&work.seen) != wanted)
        sched_yield();
    return 0;
}

static void finished(void *user, const struct spex_tune_report *report) {
    struct seen *s = user;
    s->finished++;
    s->result = report->result;
    s->wrong += !report->running;
    memcpy(s->why, report->why, sizeof(s->why));
    spex_tune_stop(); /* does not wait for itself */
}

static const struct spex_value batches[BATCHES] = {
    {.integer = 1}, {.integer = 2}, {.integer = 4}, {.integer = 8}, {.integer = 16}};
static const struct spex_value modes[MODES] = {{.text = "calm"}, {.text = "wild"}};
static const struct spex_parameter parameters[] = {
    {.name = "batch",
     .kind = SPEX_INTEGER,
     .logarithmic = true,
     .count = BATCHES,
     .values = batches,
     .default_level = 1},
    {.name = "mode", .kind = SPEX_CATEGORICAL, .count = MODES, .values = modes},
};
static const struct spex_criterion criterion = {
    .probe = "tune.value:snapshot", .metric = "mean", .goal = SPEX_MINIMISE};

static struct spex_space space_for(void) {
    return (struct spex_space){
        .size = sizeof(struct spex_space),
        .name = "test",
        .parameter_count = 2,
        .parameters = parameters,
        .threads_parameter = 2,
        .criterion_count = 1,
        .criteria = &criterion,
        .rules = {.trials_per_config = 2, .records_per_thread = 20},
    };
}

static struct spex_tune_options options_for(const struct spex_space *space) {
    memset(&seen, 0, sizeof(seen));
    seen.refused = SIZE_MAX;
    return (struct spex_tune_options){
        .size = sizeof(struct spex_tune_options),
        .space = space,
        .policy = spex_policy_named("grid"),
        .configure = configure,
        .finished = finished,
        .user = &seen,
    };
}

static struct spex_status status(void) {
    struct spex_status now = {.size = sizeof(now)};
    if (spex_status_get(&now) != 0)
        abort();
    return now;
}

static int start_spex(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null"};
    return spex_start(&options);
}

static void tune_begin(const struct spex_tune_options *options) {
    char why[256] = "";
    int err = spex_tune_start(options, why, sizeof(why));
    if (err)
        fail_msg("%d: %s", err, why);
}

static struct spex_tune_report look(void) {
    struct spex_tune_report report = {.size = sizeof(report)};
    assert_int_equal(spex_tune_look(&report), 0);
    return report;
}

/* Until its thread has done all. */
static struct spex_tune_report tune_wait(void) {
    while (look().running)
        sched_yield();
    return look();
}

static int set_up(void **state) {
    (void)state;
    work_begin();
    return start_spex(NULL);
}

static int tear_down(void **state) {
    (void)state;
    spex_tune_stop();
    spex_stop();
    work_end();
    return 0;
}

static void check_trial(void *user, const struct spex_tune_trial *trial) {
    unsigned *wrong = user;
    double truth = (double)truth_of(trial->levels[0], trial->levels[1]);
    *wrong += trial->size != sizeof(*trial) || !trial->ok || strcmp(trial->status, "ok") != 0 ||
              trial->measured[0].value != truth || trial->records_used < 20 ||
              trial->records_lost != 0 || !(trial->seconds > 0);
}

static void the_best_is_found_and_applied(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    size_t best[2], now[2];
    struct spex_measured measured;
    struct spex_tune_report report = {
        .size = sizeof(report), .best_levels = best, .best_measured = &measured, .levels = now};
    unsigned wrong = 0;
    (void)state;
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
    assert_int_equal(status().sites_on, 0);
}

static void note_levels(void *user, const struct spex_tune_trial *trial) {
    memcpy(user, trial->levels, 2 * sizeof(*trial->levels));
}

static void something_else_can_be_left(void **state) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = options_for(&space);
    size_t levels[2] = {1, 0};
    (void)state;
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

static void limits_are_kept_to(void **state) {
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
    (void)state;
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

static void what_the_user_selects_stays(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    char text[64];
    (void)state;
    assert_int_equal(spex_set("tune.other"), 1);
    tune_begin(&options);
    assert_int_equal(status().sites_on, 2);
    messages_begin();
    int on = spex_set("+tune.none@off");
    messages_end();
    assert_int_equal(on, 2);
    tune_wait();
    assert_int_equal(look().failed, 0);
    assert_int_equal(spex_sites_selection(text, sizeof(text)), 0);
    assert_string_equal(text, "tune.other,tune.none@off");
    assert_int_equal(status().sites_on, 1);
}

static void the_user_has_the_last_word(void **state) {
    struct spex_space space = space_for();
    (void)state;
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

static void a_probe_that_is_not_there_is_named(void **state) {
    const struct spex_criterion missing = {
        .probe = "tune.missing:lat", .metric = "p99", .goal = SPEX_MINIMISE};
    struct spex_space space = space_for();
    (void)state;
    space.rules.startup_seconds = 0.02;
    space.rules.trials_max = 1;
    space.criteria = &missing;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    assert_string_equal(tune_wait().why, "has no probe tune.missing:lat");
}

static void a_configuration_that_fails_is_a_failed_run(void **state) {
    struct spex_space space = space_for();
    struct spex_tune_options options = options_for(&space);
    (void)state;
    seen.refused = 3;
    tune_begin(&options);
    struct spex_tune_report report = tune_wait();
    assert_int_equal(report.result, 0);
    assert_int_equal(report.trials, 2 * CONFIGURATIONS);
    assert_int_equal(report.failed, 2 * MODES);
    assert_string_equal(report.why, "cannot be configured: Input/output error");
    assert_int_equal(truth_of((in_force() - 1) / MODES, (in_force() - 1) % MODES), 110);
}

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

static void a_policy_of_ones_own_decides(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    (void)state;
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

static void a_policy_may_end_at_once(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    (void)state;
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

static void a_plan_outside_of_the_space_ends_it(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = own_options(&space);
    (void)state;
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

static void it_stops_in_mid_run(void **state) {
    const struct spex_space space = space_for();
    (void)state;
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
    assert_int_equal(status().sites_on, 0);
    assert_int_equal(spex_tune_stop(), 0);
}

static void it_stops_when_spex_does(void **state) {
    const struct spex_space space = space_for();
    (void)state;
    endless_begin(&space);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(tune_wait().result, -ECANCELED);
    assert_int_equal(status().sites_on, 0);
    assert_int_equal(start_spex(NULL), 0);
    endless_begin(&space);
    assert_int_equal(spex_tune_stop(), 0);
}

static void configure_may_ask_for_the_end(void **state) {
    const struct spex_space space = space_for();
    const struct spex_tune_options options = options_for(&space);
    (void)state;
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

static void there_is_one_at_a_time(void **state) {
    const struct spex_space space = space_for();
    struct spex_tune_options options = own_options(&space);
    char why[64] = "";
    (void)state;
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

static void it_ends_by_itself_after_so_many_runs(void **state) {
    struct spex_space space = space_for();
    (void)state;
    space.rules.trials_max = 3;
    const struct spex_tune_options options = options_for(&space);
    tune_begin(&options);
    assert_int_equal(tune_wait().trials, 3);
    assert_int_equal(look().result, 0);
}

static int child_checks(void) {
    struct spex_tune_report report = {.size = sizeof(report)};
    const struct spex_space space = space_for();
    struct spex_tune_options options;
    if (spex_tune_look(&report) != -ENODATA || spex_tune_trials(check_trial, NULL) != 0)
        return 10;
    if (spex_tune_stop() != 0)
        return 11;
    if (status().sites_on != 0)
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
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
    print_message("skipped: gcc's ThreadSanitizer dies when the child of a fork starts threads\n");
    return;
#endif
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(child_checks());
    int result;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        fail_msg("the child has ended with 0x%x", (unsigned)result);
}

static void a_child_has_none_and_may_start_one(void **state) {
    const struct spex_space space = space_for();
    (void)state;
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

static void expect_refused(const struct spex_tune_options *options, int err, const char *words) {
    char why[512] = "";
    int got = spex_tune_start(options, why, sizeof(why));
    if (got != err || !strstr(why, words))
        fail_msg("%d, \"%s\" is not %d, \"%s\"", got, why, err, words);
    assert_int_equal(status().sites_on, 0);
}

static void bad_options_are_refused(void **state) {
    const struct spex_space space = space_for();
    struct spex_tune_options options;
    struct spex_policy_ops old = own_policy;
    (void)state;
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

static void bad_spaces_are_refused(void **state) {
    struct spex_parameter bad[2];
    struct spex_criterion goals[2];
    struct spex_space space;
    struct spex_tune_options options;
    (void)state;
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
    EXPECT_REFUSED(space.criterion_count = 0, "1 to 16 criteria");
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
    EXPECT_REFUSED(space.rules.precision = 1, "precision");
#undef EXPECT_REFUSED
}

static void there_is_nothing_to_look_at_before(void **state) {
    struct spex_tune_report report = {.size = sizeof(report)};
    (void)state;
    assert_int_equal(spex_tune_look(&report), -ENODATA);
    assert_int_equal(spex_tune_stop(), 0);
    report.size--;
    assert_int_equal(spex_tune_look(&report), -EINVAL);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(there_is_nothing_to_look_at_before),
        TEST(the_best_is_found_and_applied),
        TEST(something_else_can_be_left),
        TEST(limits_are_kept_to),
        TEST(what_the_user_selects_stays),
        TEST(the_user_has_the_last_word),
        TEST(a_probe_that_is_not_there_is_named),
        TEST(a_configuration_that_fails_is_a_failed_run),
        TEST(a_policy_of_ones_own_decides),
        TEST(a_policy_may_end_at_once),
        TEST(a_plan_outside_of_the_space_ends_it),
        TEST(it_stops_in_mid_run),
        TEST(it_stops_when_spex_does),
        TEST(configure_may_ask_for_the_end),
        TEST(there_is_one_at_a_time),
        TEST(it_ends_by_itself_after_so_many_runs),
        TEST(a_child_has_none_and_may_start_one),
        TEST(bad_options_are_refused),
        TEST(bad_spaces_are_refused),
    };
    if (getenv("TEST_EMULATED"))
        puts("SKIP: of a fork's child the start: the emulator (QEMU 7.2) ends a child that starts "
             "threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
