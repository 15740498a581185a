/* SPDX-License-Identifier: MIT */
/* Whole explorations: what is run, measured, stored and told, and how it goes on after an end. */
#include "explore/trial/cpu_parts.h"
#include "explore/trial/load.h"
#include "explore/trial/program_run.h"
#include "explored.h"
#include "measure/criterion.h"
#include "text/quantity.h"

static char why[512];

/* What the progress function has seen. */
static struct {
    unsigned calls;
    struct spex_progress last;
    char best[64], failure[256], running[64], figure[64], interval[96];
} told;

static void note_text(char *to, size_t size, const char *text) {
    snprintf(to, size, "%s", text ? text : "(none)");
}

static void see_progress(void *user, const struct spex_progress *progress) {
    assert_ptr_equal(user, &told);
    assert_int_equal(progress->size, sizeof(*progress));
    told.calls++;
    told.last = *progress;
    note_text(told.best, sizeof(told.best), progress->have_best ? progress->best : NULL);
    note_text(told.figure, sizeof(told.figure), progress->have_best ? progress->best_figure : NULL);
    note_text(told.interval, sizeof(told.interval), progress->best_interval);
    note_text(told.failure, sizeof(told.failure), progress->last_failure);
    note_text(told.running, sizeof(told.running), progress->running);
}

static struct spex_explore_options options_of(const char *xml, char *const *argv) {
    write_space(xml);
    memset(&told, 0, sizeof(told));
    why[0] = '\0';
    return (struct spex_explore_options){.size = sizeof(struct spex_explore_options),
                                         .space = "space.xml",
                                         .policy = "grid",
                                         .store = "trials.db",
                                         .argv = argv,
                                         .stop_fd = -1,
                                         .progress = see_progress,
                                         .user = &told};
}

/* No descriptor is left, however it ends. */
static void explore_with(const struct spex_explore_options *options, int err) {
    size_t descriptors = open_descriptors();
    int got = spex_explore(options, why, sizeof(why));
    if (got != err)
        fail_msg("%d: %s", got, why);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(adopts_orphans(), 0);
    expect_nothing_left();
}

/* Into a store of its own. */
static void explore(const char *xml, char *const *argv) {
    unlink("trials.db");
    struct spex_explore_options options = options_of(xml, argv);
    explore_with(&options, 0);
}

static struct spex_study study;

static void read_study(size_t trials) {
    struct spex_error error = {""};
    if (spex_study_read(&study, "trials.db", &error))
        fail_msg("%s", error.text);
    if (study.trials.count != trials)
        fail_msg("%zu trials", study.trials.count);
}

static void close_study(void) {
    spex_study_free(&study);
}

/* The trial, by its number from 0, has this status. */
static void expect_status(size_t trial, const char *status) {
    assert_string_equal(study.trials.items[trial].status, status);
    assert_int_equal(study.trials.items[trial].ok, strcmp(status, "ok") == 0);
}

static void expect_refused(const struct spex_explore_options *options, int err, const char *part) {
    explore_with(options, err);
    if (!strstr(why, part))
        fail_msg("%s", why);
}

/* ---- what is explored ---- */

TEST(every_configuration_is_measured) {
    static const double values[] = {3, 10, 20};
    explore(SPACE(A("3 10 20"), RUN("trials_per_config='2'")), PROGRAM("steady"));
    assert_int_equal(told.last.trials, 6);
    assert_int_equal(told.last.trials_expected, 6);
    assert_int_equal(told.last.resumed + told.last.failed, 0);
    assert_true(fabs(told.last.best_objective - 20) < 0.1);
    assert_string_equal(told.best, "a=20");
    assert_true(fabs(strtod(told.figure, NULL) - 20) < 0.1);
    assert_string_equal(told.running, "(none)");
    assert_string_equal(told.failure, "(none)");
    assert_true(told.last.seconds_per_trial > 0 && told.last.seconds_per_trial < 60);
    assert_int_equal(told.calls, 7); /* when each of them begins, and at the end */
    read_study(6);
    for (size_t t = 0; t < 6; t++) {
        const struct spex_trial *trial = &study.trials.items[t];
        expect_status(t, "ok");
        assert_true(trial->measured[0].value == values[trial->levels[0]]);
        assert_true(trial->records_used >= RECORDS && trial->records_lost == 0);
        assert_true(trial->seconds > 0 && trial->seconds < 60);
        assert_int_equal(trial->asked, t + 1);
        assert_int_equal(trial->told, t);
        assert_true(trial->usage.known && trial->usage.max_rss_bytes > 0);
        assert_null(trial->note);
    }
    assert_int_equal(study.summary.groups[study.findings.best].levels[0], 2);
    /* As the report says. */
    char interval[96];
    const struct spex_ranking *standing = &study.findings.standings[study.findings.best];
    spex_range_text(standing->low, standing->high, spex_criterion_unit(study.file->space.criteria),
                    interval, sizeof(interval));
    assert_string_equal(told.interval, interval);
    assert_int_equal(told.last.tied, study.findings.tied_count);
    close_study();
}

/* Of each probe that is on, with its name, provider and id. */
TEST(the_metrics_are_stored) {
    explore("<space name='s'>" A("3 5") OBJECTIVE
            "<objective probe='kernel:kernel' metric='mean' goal='minimise'/>" RUN("") "</space>",
            PROGRAM("steady"));
    char *text = NULL;
    size_t size;
    struct spex_explain_options options = {.size = sizeof(options),
                                           .store = "trials.db",
                                           .a = "a=3",
                                           .b = "a=5",
                                           .json = open_memstream(&text, &size),
                                           .all = true};
    if (spex_explain(&options, why, sizeof(why)))
        fail_msg("%s", why);
    fclose(options.json);
    assert_non_null(strstr(text, "\"value:snapshot mean\""));
    assert_non_null(strstr(text, "\"kernel:kernel throughput\""));
    assert_non_null(strstr(text, "\"kernel:kernel mean\""));
    free(text);
    read_study(2);
    double seconds = study.trials.items[0].measured[1].value;
    assert_true(seconds > 0 && seconds < 60);
    close_study();
}

TEST(trials_at_a_time) {
    unlink("trials.db");
    struct spex_explore_options options =
        options_of(SPACE(A("1 2 3 4 5 6"), RUN("")), PROGRAM("steady"));
    options.jobs = 3;
    options.share_cpus = true;
    explore_with(&options, 0);
    read_study(6);
    bool seen[6] = {false};
    for (size_t t = 0; t < 6; t++) {
        const struct spex_trial *trial = &study.trials.items[t];
        assert_true(trial->measured[0].value == (double)trial->levels[0] + 1);
        assert_true(trial->told < trial->asked && trial->asked <= trial->told + 3);
        seen[trial->levels[0]] = true;
    }
    for (size_t l = 0; l < 6; l++)
        assert_true(seen[l]);
    close_study();
}

/* The line of a process's status that tells its processors. */
static void read_processors(const char *path, char *line, size_t size) {
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    do
        assert_non_null(fgets(line, (int)size, file));
    while (strncmp(line, "Cpus_allowed_list", strlen("Cpus_allowed_list")) != 0);
    fclose(file);
}

/* Of two trials at a time each has a part of the processors, where there are cores enough. */
TEST(trials_at_a_time_on_processors) {
    static char script[] = "cat /proc/self/status > status-{a}; exec \"$0\" program steady {a}";
    struct spex_cpu_parts parts;
    struct spex_error error;
    char ours[256], theirs[256];
    if (spex_cpu_parts_make(2, &parts, &error))
        skip();
    spex_cpu_parts_free(&parts);
    unlink("trials.db");
    struct spex_explore_options options =
        options_of(SPACE(A("1 2 3 4"), RUN("")),
                   (char *const[]){(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", script,
                                   self_path, NULL});
    options.jobs = 2;
    explore_with(&options, 0);
    read_processors("/proc/self/status", ours, sizeof(ours));
    for (int a = 1; a <= 4; a++) {
        char path[32];
        snprintf(path, sizeof(path), "status-%d", a);
        read_processors(path, theirs, sizeof(theirs));
        assert_string_not_equal(theirs, ours);
    }
}

/* ---- programs that do not do what they should ---- */

TEST(trials_that_fail) {
    static const struct {
        const char *what, *status;
    } cases[] = {
        {"fail", "exited with status 3: no luck"},
        {"kill", "killed by signal 9 (Killed)"},
        {"few", "exited with status 0, before it had 5 records a thread of value:snapshot after "
                "the first, which begins the time"},
        {"end", "ok"},
        {"plain", "exited with status 0"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        explore(SPACE(A("4"), RUN("")), PROGRAM(cases[i].what));
        read_study(1);
        expect_status(0, cases[i].status);
        assert_int_equal(told.last.failed, strcmp(cases[i].status, "ok") != 0);
        assert_string_equal(told.failure, told.last.failed ? cases[i].status : "(none)");
        assert_true(study.trials.items[0].usage.known);
        close_study();
    }
}

/* What has become of a program in the time for its startup, which is longer each time that it did
 * not come so far. */
static void expect_startup(const char *probe, const char *format) {
    static const char *const startups[] = {"0.1", "0.5", "2.5", "12.5", "60"};
    bool same = false;
    for (size_t s = 0; s < COUNT_OF(startups) && !same; s++) {
        char xml[512], expected[256];
        snprintf(xml, sizeof(xml),
                 "<space name='s'>" A(
                     "4") "<objective probe='%s' metric='mean' goal='maximise'/>"
                          "<run records_per_thread='5' warmup='0' least='0' startup='%s'/></space>",
                 probe, startups[s]);
        explore(xml, PROGRAM("silent"));
        read_study(1);
        snprintf(expected, sizeof(expected), format, startups[s]);
        same = strcmp(study.trials.items[0].status, expected) == 0;
        close_study();
    }
    assert_true(same);
    assert_int_equal(told.last.failed, 1);
}

TEST(programs_without_a_record) {
    expect_startup("value:snapshot", "hung: no record of value:snapshot in %s s");
    expect_startup("other:snapshot",
                   "has no probe other:snapshot; it has: value:snapshot, kernel:kernel");
    explore(SPACE(A("4"), RUN("")), (char *const[]){(char *)(uintptr_t) "/nowhere/{a}", NULL});
    read_study(1);
    expect_status(0, "did not start: /nowhere/4: No such file or directory");
    assert_false(study.trials.items[0].usage.known);
    close_study();
    explore(SPACE(A("4"), RUN("startup='0.1'")),
            (char *const[]){(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "9999", NULL});
    read_study(1);
    expect_status(0, "did not connect in 0.1 s: no spex_start with the SPEX_OUT given");
    close_study();
}

/* What makes records to the end is measured as long as a run may be: longer runs where the program
 * does not get a CPU at the end of one. */
TEST(the_duration_ends_a_run) {
    static const char *const durations[] = {"0.1", "1", "10", "60"};
    bool ok = false;
    for (size_t d = 0; d < COUNT_OF(durations) && !ok; d++) {
        char xml[512];
        snprintf(xml, sizeof(xml),
                 "<space name='s'>" A("4") OBJECTIVE "<run records_per_thread='100000000' "
                                                     "warmup='0' least='0' duration='%s'/></space>",
                 durations[d]);
        explore(xml, PROGRAM("steady"));
        read_study(1);
        ok = study.trials.items[0].ok;
        if (ok)
            assert_true(study.trials.items[0].measured[0].value == 4);
        close_study();
    }
    assert_true(ok);
}

/* ---- ends and continuations ---- */

/* A pipe that is readable: the user has interrupted. */
static int interruption(void) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    close(pipes[1]);
    return pipes[0];
}

TEST(an_interruption_keeps_the_trials) {
    unlink("trials.db");
    struct spex_explore_options options = options_of(SPACE(A("1 2 3"), RUN("")), PROGRAM("silent"));
    options.stop_fd = interruption();
    explore_with(&options, -EINTR);
    assert_string_equal(why, "interrupted");
    assert_int_equal(told.last.trials, 0);
    assert_string_equal(told.best, "(none)");
    assert_string_equal(told.interval, "(none)");
    assert_int_equal(told.last.tied, 0);
    assert_int_equal(told.calls, 2); /* when the first begins, and at the end */
    assert_string_equal(told.running, "(none)");
    close(options.stop_fd);
    read_study(0);
    close_study();
}

/* The third run is under way, and waits, when the user interrupts. */
static void interrupt_the_third(void *user, const struct spex_progress *progress) {
    if (progress->trials == 2 && progress->running)
        assert_int_equal(write(*(int *)user, "x", 1), 1);
}

TEST(it_goes_on_where_it_ended) {
    int pipes[2];
    unlink("trials.db");
    assert_int_equal(pipe(pipes), 0);
    struct spex_explore_options options =
        options_of(SPACE(A("1 2 3 4"), RUN("")), PROGRAM("third-waits"));
    options.progress = interrupt_the_third;
    options.user = &pipes[1];
    options.stop_fd = pipes[0];
    explore_with(&options, -EINTR);
    read_study(2);
    close_study();
    close(pipes[0]);
    close(pipes[1]);
    scratch_write("open", "", 0);
    options = options_of(SPACE(A("1 2 3 4"), RUN("")), PROGRAM("third-waits"));
    explore_with(&options, 0);
    assert_int_equal(told.last.trials, 4);
    assert_int_equal(told.last.resumed, 2);
    read_study(4);
    for (size_t t = 0; t < 4; t++)
        assert_true(study.trials.items[t].measured[0].value == (double)t + 1);
    close_study();
}

/* Only when asked to; the new trial stands in the place of the old. */
TEST(failed_trials_are_repeated) {
    static char script[] =
        "test -e luck || test $LUCK != 2 || exit 4; exec \"$0\" program steady {a}";
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", script, self_path,
                          NULL};
    static const char xml[] = SPACE(A("1 2 3"), "<environment name='LUCK' value='{a}'/>" RUN(""));
    explore(xml, argv);
    read_study(3);
    expect_status(1, "exited with status 4");
    close_study();
    scratch_write("luck", "", 0);
    struct spex_explore_options options = options_of(xml, argv);
    for (int again = 0; again < 2; again++) {
        options.retry_failed = again;
        explore_with(&options, 0);
        assert_int_equal(told.last.trials, 3);
        assert_int_equal(told.last.resumed, again ? 2 : 3);
        assert_int_equal(told.last.failed, !again);
        read_study(3);
        expect_status(1, again ? "ok" : "exited with status 4");
        assert_true(study.trials.items[2].measured[0].value == 3);
        close_study();
    }
    unlink("luck");
}

/* The files of an explorer that was killed, in the directory that its store names. */
TEST(what_an_explorer_has_left_is_removed) {
    char directory[300], path[400];
    struct spex_error error = {""};
    explore(SPACE(A("1 2"), RUN("")), PROGRAM("steady"));
    snprintf(directory, sizeof(directory), "%s/spex-left", scratch_path);
    read_study(2);
    struct spex_store *store;
    assert_int_equal(
        spex_store_open("trials.db", study.file, "grid", PROGRAM("steady"), &store, &error), 0);
    assert_int_equal(spex_store_set_directory(store, directory, &error), 0);
    spex_store_close(store);
    close_study();
    assert_int_equal(mkdir(directory, 0700), 0);
    for (int place = 0; place < 2; place++) {
        snprintf(path, sizeof(path), "%s/%d", directory, place);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/%d/" SPEX_TRIAL_CONFIG, directory, place);
        scratch_write(path, "x", 1);
        snprintf(path, sizeof(path), "%s/%d/" SPEX_TRIAL_LOADS, directory, place);
        assert_int_equal(mkdir(path, 0700), 0);
        snprintf(path, sizeof(path), "%s/%d/" SPEX_TRIAL_LOADS "/file", directory, place);
        scratch_write(path, "x", 1);
    }
    struct spex_explore_options options = options_of(SPACE(A("1 2"), RUN("")), PROGRAM("steady"));
    explore_with(&options, 0);
    assert_int_equal(told.last.resumed, 2);
}

/* ---- options ---- */

TEST(options_that_are_refused) {
    unlink("trials.db");
    struct spex_explore_options good = options_of(SPACE(A("1 2"), RUN("")), PROGRAM("steady")),
                                options = good;
    options.size--;
    expect_refused(&options, -EINVAL, "space, store and argv were expected");
    options = good;
    options.store = NULL;
    expect_refused(&options, -EINVAL, "space, store and argv were expected");
    options = good;
    options.argv = (char *const[]){NULL};
    expect_refused(&options, -EINVAL, "space, store and argv were expected");
    options = good;
    options.space = "nowhere.xml";
    expect_refused(&options, -ENOENT, "nowhere.xml");
    options = good;
    options.policy = "luck";
    expect_refused(&options, -EINVAL, "unknown policy \"luck\"; there are: ");
    assert_non_null(strstr(why, "grid, "));
    options.policy = "./luck.so";
    expect_refused(&options, -ENOENT, "policy \"./luck.so\": ");
    options = good;
    options.jobs = 100000;
    expect_refused(&options, -EINVAL, "trials at a time were expected, not 100000");
    assert_int_equal(access("trials.db", F_OK), -1);
    assert_int_equal(told.calls, 0);
}

TEST(a_store_of_another_exploration) {
    explore(SPACE(A("1 2"), RUN("")), PROGRAM("steady"));
    struct spex_explore_options options = options_of(SPACE(A("1 3"), RUN("")), PROGRAM("steady"));
    expect_refused(&options, -EEXIST, "trials.db");
    options = options_of(SPACE(A("1 2"), RUN("")), PROGRAM("steady"));
    options.policy = "random";
    expect_refused(&options, -EEXIST, "trials.db");
    setenv("TMPDIR", "/nowhere", 1);
    options.policy = "grid";
    expect_refused(&options, -ENOENT, "cannot make a directory in /nowhere");
    setenv("TMPDIR", "/proc", 1);
    expect_refused(&options, -ENOENT, "cannot make a directory /proc/spex-");
    setenv("TMPDIR", scratch_path, 1);
}

int main(int argc, char **argv) {
    int status;
    if (is_the_program(argc, argv, &status))
        return status;
    return tests_run(explored_enter, explored_leave);
}
