/* SPDX-License-Identifier: MIT */
/* A program that watches itself. The test hands over records as a collector does, so that times are
 * as it says. */
#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#include <spex/kernel.h>
#include <spex/spex.h>
#include <spex/watch.h>

#include "../check.h"
#include "../children.h"
#include "base/clock.h"
#include "collect/sinks.h"

enum { WORK = 70, USUAL = 2000, SLOW = 300 };

SPEX_PROBE_NAME(WORK, "watch.work");

/* One kernel, 100 µs at rows of 1 to 1000. */
static const char models_text[] =
    "spex-models 3\nkernel watch.work\nexecutions 5000\nleast 9e-05\nparameters 1\n"
    "parameter 1 1000 rows\nclass constant\nadjusted-r2 1\nspread 0 0.05 100\n"
    "constant 0.0001 1e-07\nchanges 0 0\nterms 0\ncovariance 1e-14\npoints 0\nend 1\n";

static char models_path[] = "/tmp/spex-watch-XXXXXX";
static double ticks_per_second;
static uint64_t context, ticks, random_state = 1;

static struct {
    unsigned begun, ended, goes_on;
    double median, lasted;
    bool shift;
    int stopped;
    struct spex_watch_anomaly last;
} seen;

static void told(void *user, const struct spex_watch_anomaly *anomaly) {
    char why[128];
    const struct spex_watch_options again = {
        .size = sizeof(again), .models = models_path, .told = told};
    assert_ptr_equal(user, &seen);
    assert_string_equal(anomaly->kernel, "watch.work");
    assert_string_equal(anomaly->names[0], "rows");
    assert_true(anomaly->parameters[0] == 10);
    seen.begun += anomaly->what == SPEX_WATCH_BEGINS;
    seen.ended += anomaly->what == SPEX_WATCH_ENDS;
    seen.goes_on += anomaly->what == SPEX_WATCH_GOES_ON;
    seen.median = anomaly->median_ratio;
    seen.lasted = anomaly->lasted_seconds;
    seen.shift = anomaly->shift;
    seen.last = *anomaly;
    seen.stopped = spex_watch_stop();
    assert_int_equal(spex_watch_start(&again, why, sizeof(why)), -EBUSY);
}

static struct spex_watch_options options(void) {
    return (struct spex_watch_options){.size = sizeof(struct spex_watch_options),
                                       .models = models_path,
                                       .told = told,
                                       .user = &seen};
}

/* So that there are the site and its context. */
COMPILED_ONCE static void work(uint64_t rows) {
    KERNEL_PROBE_BEGIN(WORK, 1, rows);
    context = spex_context;
    KERNEL_PROBE_END(WORK);
}

static int set_up(void **state) {
    const struct spex_options started = {
        .size = sizeof(started), .probes = "watch.work@1000000", .out = "/dev/null"};
    char why[256];
    struct spex_watch_options watched = options();
    (void)state;
    memset(&seen, 0, sizeof(seen));
    if (spex_start(&started) || spex_watch_start(&watched, why, sizeof(why)))
        return -1;
    work(10);
    ticks = spex_ticks();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return spex_watch_stop() || spex_stop();
}

/* One that takes `times` as long, more or less, 10 ms after the one before, and stands for
 * `weight`. */
static void hand_over_weighing(double times, uint32_t weight) {
    double noise = 0.95 + 0.1 * (double)random_below(&random_state, 1000) / 1000;
    ticks += (uint64_t)(0.01 * ticks_per_second);
    const struct spex_record record = {
        .timestamp = ticks,
        .probe_type = SPEX_KERNEL,
        .thread_id = 1,
        .weight = weight,
        .probe_id = WORK,
        .field_count = SPEX_KERNEL_VALUES + 1,
        .fields = {(uint64_t)(times * noise * 1e-4 * ticks_per_second), context, 10}};
    spex_sinks_records(&(struct spex_batch){.records = &record, .count = 1});
}

static void hand_over(double times) {
    hand_over_weighing(times, 1);
}

/* What is told of the anomaly of this number, of executions that take `times` as long as usual. */
static void expect_told(uint64_t number, double times, unsigned executions_least,
                        unsigned executions_most) {
    const struct spex_watch_anomaly *is = &seen.last;
    assert_int_equal(is->size, sizeof(*is));
    assert_int_equal(is->number, number);
    assert_int_equal(is->thread, 1);
    assert_int_equal(is->parameter_count, 1);
    assert_in_range(is->executions, executions_least, executions_most);
    assert_true(fabs(is->predicted_seconds / 1e-4 - 1) < 1e-3);
    assert_true(is->low_seconds > 0.7e-4 && is->low_seconds < 0.96e-4);
    assert_true(is->high_seconds > 1.04e-4 && is->high_seconds < 1.4e-4);
    assert_true(fabs(is->seconds / (times * 1e-4) - 1) < 0.06);
    assert_true(fabs(is->median_ratio / times - 1) < 0.06);
    assert_true(fabs(is->worst_ratio / times - 1) < 0.06);
}

static struct spex_watch_account account(void) {
    struct spex_watch_account now = {.size = sizeof(now)};
    assert_int_equal(spex_watch_look(&now), 0);
    return now;
}

TEST_WITH(a_shift_is_told_when_it_begins_and_ends, set_up, tear_down) {
    for (int e = 0; e < USUAL; e++)
        hand_over(1);
    assert_int_equal(seen.begun, 0);
    for (int e = 0; e < SLOW; e++)
        hand_over(3);
    assert_int_equal(seen.begun, 1);
    assert_int_equal(seen.ended, 0);
    expect_told(1, 3, 1, SLOW);
    for (int e = 0; e < USUAL; e++)
        hand_over(1);
    expect_told(1, 3, SLOW - 1, SLOW + 1);
    assert_int_equal(seen.begun, 1);
    assert_int_equal(seen.ended, 1);
    assert_true(seen.shift);
    assert_true(seen.median > 2.8 && seen.median < 3.2);
    assert_true(seen.lasted > 2.9 && seen.lasted < 3.1);
    assert_int_equal(seen.stopped, -EDEADLK);
    assert_int_equal(account().judged, 2 * USUAL + SLOW);
    assert_int_equal(account().not_judged, 0);
    assert_int_equal(account().anomalies, 1);
    assert_int_equal(account().kernels, 1);
    for (int e = 0; e < SLOW; e++)
        hand_over(2);
    expect_told(2, 2, 1, SLOW);
}

/* Where no execution follows, by the watermark of the first collector. */
TEST_WITH(a_shift_ends_in_time, set_up, tear_down) {
    for (int e = 0; e < USUAL; e++)
        hand_over(1);
    for (int e = 0; e < SLOW; e++)
        hand_over(3);
    assert_true(seen.begun == 1 && seen.ended == 0);
    uint64_t later = ticks + (uint64_t)(1000 * ticks_per_second);
    spex_sinks_pass(1, later);
    assert_int_equal(seen.ended, 0);
    spex_sinks_pass(0, later);
    assert_int_equal(seen.ended, 1);
}

/* A time that contains the making ready of a counter is no time of the kernel. */
TEST_WITH(what_cannot_be_judged_is_counted, set_up, tear_down) {
    struct spex_record records[3];
    for (size_t r = 0; r < COUNT_OF(records); r++)
        records[r] = (struct spex_record){.timestamp = ticks,
                                          .probe_type = SPEX_KERNEL,
                                          .weight = 1,
                                          .probe_id = WORK,
                                          .marks = r ? SPEX_MARK_OPENING : 0,
                                          .field_count = SPEX_KERNEL_VALUES + 1,
                                          .fields = {1000, context, 10}};
    spex_sinks_records(&(struct spex_batch){.records = records, .count = COUNT_OF(records)});
    assert_int_equal(account().judged, 1);
    assert_int_equal(account().not_judged, 2);
}

/* A sample of an execution that has not ended says nothing of its time. */
TEST_WITH(what_has_not_ended_is_not_judged, set_up, tear_down) {
    hand_over(1);
    hand_over_weighing(1, 0);
    assert_int_equal(account().judged, 1);
}

TEST_WITH(what_goes_on_is_told_at_the_stop, set_up, tear_down) {
    for (int e = 0; e < SLOW; e++)
        hand_over(1);
    for (int e = 0; e < SLOW; e++)
        hand_over(3);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(seen.goes_on, 1);
    assert_int_equal(account().judged, 2 * SLOW);
    assert_int_equal(spex_watch_stop(), 0);
    assert_int_equal(seen.goes_on, 1);
    struct spex_watch_account none = {.size = sizeof(none)};
    assert_int_equal(spex_watch_look(&none), -ENODATA);
}

/* After spex has stopped nothing is judged, and another watching takes the place. The caller's
 * error number stays. */
TEST_WITH(a_stop_ends_it_until_another_begins, set_up, tear_down) {
    const struct spex_options started = {
        .size = sizeof(started), .probes = "watch.work@1000000", .out = "/dev/null"};
    struct spex_watch_options again = options();
    hand_over(1);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(account().judged, 1);
    assert_int_equal(spex_start(&started), 0);
    hand_over(1);
    assert_int_equal(account().judged, 1);
    errno = ENOTTY;
    assert_int_equal(spex_watch_start(&again, NULL, 0), 0);
    assert_int_equal(errno, ENOTTY);
    assert_int_equal(account().judged, 0);
    hand_over(1);
    assert_int_equal(account().judged, 1);
    assert_int_equal(spex_watch_stop(), 0);
    assert_int_equal(errno, ENOTTY);
    assert_int_equal(spex_watch_stop(), 0);
}

TEST_WITH(a_fork_leaves_it_behind, set_up, tear_down) {
    int ended;
    SKIP_WITHOUT_CHILDREN();
    pid_t child = fork();
    if (child == 0) {
        struct spex_watch_options again = options();
        struct spex_watch_account none = {.size = sizeof(none)};
        _exit(spex_watch_look(&none) != -ENODATA || spex_start(NULL) ||
              spex_watch_start(&again, NULL, 0) || spex_watch_stop() || spex_stop());
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    hand_over(1);
    assert_int_equal(account().judged, 1);
}

/* Also after another that has been refused. */
TEST_WITH(who_watches_again_is_handed_each_record_once, set_up, tear_down) {
    struct spex_watch_options again = options();
    for (int n = 0; n < 2; n++) {
        assert_int_equal(spex_watch_start(&again, NULL, 0), -EBUSY);
        assert_int_equal(spex_watch_stop(), 0);
        assert_int_equal(spex_watch_start(&again, NULL, 0), 0);
        hand_over(1);
        assert_int_equal(account().judged, 1);
    }
}

TEST_WITH(what_is_wrong_is_said, set_up, tear_down) {
    char why[256];
    struct spex_watch_options wrong = options();
    struct spex_watch_account other = {.size = 1};
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EBUSY);
    assert_string_equal(why, "another watching is under way");
    assert_int_equal(spex_watch_look(&other), -EINVAL);
    assert_int_equal(spex_watch_stop(), 0);
    static const double bounds[] = {1e-9, 0.01}, beyond[] = {9.99e-10, 0.01001, -1e-5, NAN};
    for (size_t b = 0; b < COUNT_OF(bounds); b++) {
        wrong.alarms = bounds[b];
        assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), 0);
        assert_int_equal(spex_watch_stop(), 0);
    }
    for (size_t b = 0; b < COUNT_OF(beyond); b++) {
        wrong.alarms = beyond[b];
        assert_int_equal(spex_watch_start(&wrong, NULL, 0), -EINVAL);
    }
    wrong.alarms = 0.5;
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "alarms: 1e-9 to 0.01 was expected, not 0.5");
    wrong = options();
    wrong.models = "/nothing/there";
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -ENOENT);
    wrong.models = "/dev/null";
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EINVAL);
    assert_non_null(strstr(why, "/dev/null"));
    wrong = options();
    wrong.models = NULL;
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "models: a file was expected");
    wrong = options();
    wrong.told = NULL;
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "told: a function was expected");
    wrong = options();
    wrong.size--;
    assert_int_equal(spex_watch_start(&wrong, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "options of this version were expected");
    assert_int_equal(spex_watch_start(NULL, why, sizeof(why)), -EINVAL);
}

static int models_write(void **state) {
    (void)state;
    ticks_per_second = spex_tick_rate_since(spex_instant_now());
    int fd = mkstemp(models_path);
    return fd < 0 || write(fd, models_text, strlen(models_text)) != (ssize_t)strlen(models_text) ||
           close(fd);
}

static int models_remove(void **state) {
    (void)state;
    return unlink(models_path);
}

int main(void) {
    return tests_run(models_write, models_remove);
}
