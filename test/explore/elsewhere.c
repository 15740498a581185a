/* SPDX-License-Identifier: MIT */
/* Explorations whose trials run elsewhere, in any order, with as many places as there are at the
 * moment, interrupted at any moment and gone on with: each plan has one trial in the store, and it
 * is that of the plan. */
#include "../check.h"

#include <errno.h>
#include <math.h>

#include "explore/elsewhere.h"
#include "explore/findings/study.h"
#include "scratch.h"

#define STORE "trials.db"
enum {
    A_LEVELS = 9,
    B_LEVELS = 4,
    CONFIGURATIONS = A_LEVELS * B_LEVELS,
    PLACES = 5,
    TASKS = 64,
    ASKED_MAX = 4096
};

static const char space_xml[] =
    "<space name='s'><parameter name='a' type='integer' min='1' max='9'/>"
    "<parameter name='b' type='integer' min='1' max='4'/>"
    "<objective probe='q:lat' metric='mean' goal='minimise'/><run trials_per_config='2'/></space>";

struct task {
    struct spex_trial_id id;
    size_t levels[2];
};

/* Where the trials run. */
static struct {
    struct spex_exploration of;
    uint64_t random;
    /* Results that are brought before it is interrupted. */
    unsigned left;
    /* Of so many trials one fails; 0: none. */
    unsigned fail_one_in;
    struct task tasks[TASKS];
    size_t task_count;
    bool waits;
    struct spex_trial_id brought;
    /* By the number of the plan: how often it is in the store, and its levels. */
    unsigned stored[ASKED_MAX];
    size_t planned[ASKED_MAX][2];
    unsigned starts, opens, overs, repeats;
} away;

static double truth_of(const size_t *levels) {
    return 1 + pow((double)levels[0] - 6, 2) + (double)levels[1];
}

static enum spex_trial_state state_of(struct spex_trial_id id) {
    return away.of.state(away.of.explorer, &id);
}

/* What others send at any time is known for what it is. */
static void check_states(void) {
    uint64_t most = 0;
    for (size_t t = 0; t < away.task_count; t++) {
        struct spex_trial_id id = away.tasks[t].id;
        assert_int_equal(state_of(id), SPEX_TRIAL_AWAITED);
        id.repeat += 7;
        assert_int_not_equal(state_of(id), SPEX_TRIAL_AWAITED);
        assert_int_not_equal(state_of(id), SPEX_TRIAL_WAITS);
        most = id.asked > most ? id.asked : most;
    }
    assert_int_equal(state_of((struct spex_trial_id){0, 0}), SPEX_TRIAL_UNKNOWN);
    assert_int_equal(state_of((struct spex_trial_id){most + ASKED_MAX, 0}), SPEX_TRIAL_UNKNOWN);
    for (uint64_t asked = 1; asked < most; asked++) {
        bool handed = false;
        for (size_t t = 0; t < away.task_count; t++)
            handed |= away.tasks[t].id.asked == asked;
        enum spex_trial_state state = state_of((struct spex_trial_id){asked, 0});
        if (away.stored[asked] && !handed)
            assert_true(state == SPEX_TRIAL_OVER);
        else if (!away.stored[asked] && !handed)
            assert_true(state == SPEX_TRIAL_WAITS);
    }
}

static int away_open(void *user, const struct spex_exploration *of, struct spex_error *error) {
    (void)error;
    assert_ptr_equal(user, &away);
    away.of = *of;
    away.opens++;
    away.task_count = 0;
    if (!of->fleet->class[0])
        snprintf(of->fleet->class, sizeof(of->fleet->class), "kind");
    assert_string_equal(of->fleet->class, "kind");
    assert_int_equal(strlen(of->fleet->exploration), 16);
    return 0;
}

/* At least what is under way: places do not end under a trial. */
static size_t away_places(void *user) {
    (void)user;
    size_t places = 1 + random_below(&away.random, PLACES);
    return places > away.task_count ? places : away.task_count;
}

static int away_start(void *user, const struct spex_plan *plan, const struct spex_trial_id *id,
                      struct spex_error *error) {
    (void)user, (void)error;
    assert_true(id->asked >= 1 && id->asked < ASKED_MAX && away.task_count < PLACES);
    struct task *task = &away.tasks[away.task_count++];
    *task = (struct task){*id, {plan->levels[0], plan->levels[1]}};
    /* What is handed out again after an interruption is the same plan. */
    size_t *planned = away.planned[id->asked];
    if (planned[0] != SIZE_MAX)
        assert_memory_equal(planned, task->levels, sizeof(task->levels));
    memcpy(planned, task->levels, sizeof(task->levels));
    away.starts++;
    away.repeats += id->repeat > 0;
    return 0;
}

static struct spex_circumstances machine_of(void) {
    struct spex_circumstances machine;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++) {
        machine.texts[c] = strdup("same");
        assert_non_null(machine.texts[c]);
    }
    return machine;
}

static int away_wait(void *user, struct spex_trial_result *result, struct spex_error *error) {
    (void)user;
    assert_true(away.task_count > 0 && !away.waits);
    check_states();
    if (!away.left)
        return spex_fail(error, -EINTR, "interrupted");
    away.left--;
    size_t t = random_below(&away.random, away.task_count);
    struct task task = away.tasks[t];
    away.tasks[t] = away.tasks[--away.task_count];
    bool fails = away.fail_one_in && random_below(&away.random, away.fail_one_in) == 0;
    *result = (struct spex_trial_result){.id = task.id, .machine = machine_of()};
    assert_int_equal(spex_trial_init(&result->trial, &away.of.file->space, task.levels), 0);
    result->trial.ok = !fails;
    spex_trial_end(&result->trial, "%s", fails ? "no luck" : "ok");
    if (!fails)
        result->trial.measured[0] = (struct spex_measured){truth_of(task.levels), 0.01};
    result->trial.records_used = 100 + task.id.asked;
    result->trial.seconds = 0.5;
    away.waits = true;
    away.brought = task.id;
    return 0;
}

static int away_stored(void *user, struct spex_error *error) {
    (void)user, (void)error;
    assert_true(away.waits);
    away.waits = false;
    away.stored[away.brought.asked]++;
    return 0;
}

static int away_over(void *user, struct spex_error *error) {
    (void)user, (void)error;
    away.overs++;
    return 0;
}

static const struct spex_elsewhere elsewhere = {.user = &away,
                                                .open = away_open,
                                                .places = away_places,
                                                .start = away_start,
                                                .wait = away_wait,
                                                .stored = away_stored,
                                                .over = away_over};

static struct spex_progress last;

static void see_progress(void *user, const struct spex_progress *progress) {
    (void)user;
    last = *progress;
}

static char *const program[] = {(char *)(uintptr_t) "./served", NULL};

static int explore(const char *policy, bool retry, unsigned results, char *why, size_t size) {
    const struct spex_explore_options options = {.size = sizeof(options),
                                                 .space = "space.xml",
                                                 .policy = policy,
                                                 .store = STORE,
                                                 .argv = program,
                                                 .retry_failed = retry,
                                                 .stop_fd = -1,
                                                 .progress = see_progress};
    away.left = results;
    why[0] = '\0';
    return spex_explore_elsewhere(&options, &elsewhere, why, size);
}

static void begin(uint64_t random, unsigned fail_one_in) {
    memset(&away, 0, sizeof(away));
    away.random = random;
    away.fail_one_in = fail_one_in;
    for (size_t p = 0; p < ASKED_MAX; p++)
        away.planned[p][0] = SIZE_MAX;
    unlink(STORE);
    scratch_text("space.xml", space_xml);
}

/* To its end, with an interruption after every few trials. */
static void explore_all(const char *policy, bool retry, unsigned between) {
    char why[256];
    unsigned ends = 0;
    for (int err = -EINTR; err == -EINTR; ends++) {
        assert_true(ends < 1000);
        unsigned results =
            between ? (unsigned)random_below(&away.random, between) + (ends > 500) : UINT32_MAX;
        err = explore(policy, retry, results, why, sizeof(why));
        if (err && err != -EINTR)
            fail_msg("%s: %d: %s", policy, err, why);
    }
    assert_int_equal(away.overs, 1);
    assert_int_equal(away.opens, ends);
    assert_true(!between || ends > 3);
}

/* Of each plan a trial, with what was measured for it. */
static size_t check_store(void) {
    struct spex_study study = {.file = NULL};
    struct spex_error why = {""};
    static unsigned seen[ASKED_MAX];
    memset(seen, 0, sizeof(seen));
    if (spex_study_read(&study, STORE, &why))
        fail_msg("%s", why.text);
    for (size_t t = 0; t < study.trials.count; t++) {
        const struct spex_trial *trial = &study.trials.items[t];
        assert_true(trial->asked >= 1 && trial->asked < ASKED_MAX);
        assert_int_equal(seen[trial->asked]++, 0);
        assert_memory_equal(trial->levels, away.planned[trial->asked], sizeof(away.planned[0]));
        assert_string_equal(trial->status, trial->ok ? "ok" : "no luck");
        assert_true(!trial->ok || fabs(trial->measured[0].value - truth_of(trial->levels)) < 1e-9);
        assert_int_equal(trial->records_used, 100 + trial->asked);
    }
    size_t count = study.trials.count;
    for (size_t asked = 1; asked <= count; asked++)
        assert_int_equal(seen[asked], 1);
    assert_int_equal(last.trials, count);
    spex_study_free(&study);
    return count;
}

TEST_WITH(a_grid_is_measured_once, scratch_enter, scratch_leave) {
    for (unsigned between = 0; between < 9; between += 4) {
        begin(between + 1, 0);
        explore_all("grid", false, between);
        size_t trials = check_store(); /* finals have a quarter at most */
        assert_in_range(trials, 2 * CONFIGURATIONS, 2 * CONFIGURATIONS * 4 / 3);
        assert_true(between || away.starts == trials);
        assert_int_equal(away.repeats, 0);
        assert_int_equal(last.failed, 0);
        assert_true(last.have_best && fabs(last.best_objective - 1) < 0.1);
        assert_int_equal(last.trials_expected, 2 * CONFIGURATIONS * 4 / 3);
    }
}

/* Policies that learn from results are told the same in the same order when they go on. */
TEST_WITH(policies_that_learn_go_on_as_they_were, scratch_enter, scratch_leave) {
    static const char *const policies[] = {"random", "climb", "tpe", "halving", "gaussian"};
    for (size_t p = 0; p < COUNT_OF(policies); p++)
        for (unsigned between = 0; between < 12; between += 6) {
            begin(17 * p + between, 5);
            explore_all(policies[p], false, between);
            size_t trials = check_store();
            assert_true(trials > 5);
            assert_true(last.failed > 0 && last.have_best && last.best_objective < 10);
        }
}

/* A trial that has failed is run again, once for each time that the exploration goes on. */
TEST_WITH(what_has_failed_is_repeated, scratch_enter, scratch_leave) {
    char why[256];
    begin(3, 3);
    explore_all("grid", false, 0);
    size_t trials = check_store();
    uint64_t failed = last.failed;
    assert_true(failed > trials / 6 && failed < trials / 2);
    away.fail_one_in = 0;
    unsigned before = away.starts;
    assert_int_equal(explore("grid", true, 2, why, sizeof(why)), -EINTR);
    assert_true(away.repeats >= 2);
    assert_int_equal(explore("grid", true, UINT32_MAX, why, sizeof(why)), 0);
    assert_true(away.starts - before >= failed && away.starts - before <= failed + 2 * PLACES);
    assert_int_equal(away.repeats, away.starts - before);
    assert_int_equal(check_store(), trials);
    assert_int_equal(last.failed, 0);
    before = away.starts;
    assert_int_equal(explore("grid", true, 0, why, sizeof(why)), 0);
    assert_int_equal(away.starts, before);
}
