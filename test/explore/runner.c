/* SPDX-License-Identifier: MIT */
/* Trials side by side: what is returned of each, how a stop or an error ends all, and what is left
 * when there is too little to begin. */
#include <sys/wait.h>

#include "../scarce_descriptors.h"
#include "../scarce_memory.h"
#include "explore/trial/runner.h"
#include "explored.h"
#include "spaces.h"

enum { PLACES = 3 };

static struct spex_space_file *file;
static struct spex_runner *runner;
static const struct spex_cpu_parts parts = {.count = PLACES};
static const struct spex_policy_ops policy = {.size = sizeof(policy), .abi = SPEX_POLICY_ABI};

/* How often the runner has waited, and what happens when it does so again. */
static unsigned waits;
static bool released_at_second_wait;

int __real_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout) {
    if (runner && count == 2 && fds[0].fd == spex_runner_finished_fd(runner) && ++waits == 2 &&
        released_at_second_wait)
        close(open("fifo", O_WRONLY | O_CLOEXEC)); /* waits for its reader */
    return __real_spex_wait_ready(fds, count, timeout);
}

static struct spex_trial_setup setup_of(const char *what, int stop_fd) {
    static char *argv[5];
    memcpy(argv, PROGRAM(what), sizeof(argv));
    return (struct spex_trial_setup){.file = file,
                                     .policy = &policy,
                                     .argv = argv,
                                     .directory = "run",
                                     .ticks_per_second = 1e9,
                                     .stop_fd = stop_fd};
}

static void must(int err, const struct spex_error *why) {
    if (err)
        fail_msg("%d: %s", err, why->text);
}

static void begin(const char *xml, const char *what, int stop_fd) {
    struct spex_error why = {""};
    struct spex_trial_setup setup = setup_of(what, stop_fd);
    file = space_of(xml);
    setup.file = file;
    waits = 0;
    if (spex_runner_create(&setup, &parts, &runner, &why))
        fail_msg("%s", why.text);
    assert_int_equal(spex_runner_places(runner), PLACES);
    assert_int_equal(spex_runner_running(runner), 0);
}

/* Runs a = 3 + level. */
static void start_for(size_t level, double seconds) {
    struct spex_error why = {""};
    char probes[] = "value";
    const struct spex_plan plan = {
        .size = sizeof(plan), .levels = &level, .duration_seconds = seconds, .probes = probes};
    if (spex_runner_start(runner, &plan, 10 + level, 20 + level, &why))
        fail_msg("%s", why.text);
    memset(probes, 0, sizeof(probes)); /* it has copies */
    level = 99;
}

static void start(size_t level) {
    start_for(level, 60);
}

static void end(void) {
    struct spex_runner *ended = runner;
    runner = NULL;
    spex_runner_destroy(ended);
    spex_space_free(file);
    assert_int_equal(rmdir("run"), 0); /* it is empty */
    assert_int_equal(mkdir("run", 0700), 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* Those under way are levels from `first` on. */
static void expect_unfinished(uint64_t levels) {
    struct spex_unfinished all[PLACES];
    size_t count = spex_runner_unfinished(runner, all);
    assert_int_equal(count, __builtin_popcountll(levels));
    assert_int_equal(spex_runner_running(runner), count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].told, all[i].asked + 10);
        assert_true(levels >> (all[i].asked - 10) & 1);
        levels &= ~(UINT64_C(1) << (all[i].asked - 10));
    }
    assert_int_equal(levels, 0);
}

/* Waits for a trial; returns its level. */
static size_t expect_trial(void) {
    struct spex_error why = {""};
    struct spex_trial trial;
    if (spex_runner_wait(runner, &trial, &why))
        fail_msg("%s", why.text);
    size_t level = trial.levels[0];
    if (!trial.ok)
        fail_msg("%s", trial.status);
    assert_true(trial.measured[0].value == 3 + (double)level);
    assert_int_equal(trial.asked, 10 + level);
    assert_int_equal(trial.told, 20 + level);
    spex_trial_free(&trial);
    return level;
}

#define LEVELS A("3 4 5 6 7")

TEST(trials_side_by_side) {
    size_t descriptors = open_descriptors();
    uint64_t under_way = 7;
    begin(SPACE(LEVELS, RUN("")), "steady", -1);
    for (size_t level = 0; level < PLACES; level++)
        start(level);
    expect_unfinished(under_way);
    for (size_t more = PLACES; under_way; more++) {
        struct pollfd finished = {.fd = spex_runner_finished_fd(runner), .events = POLLIN};
        assert_int_equal(__real_spex_wait_ready(&finished, 1, -1), 1);
        under_way &= ~(UINT64_C(1) << expect_trial());
        expect_unfinished(under_way);
        if (more < 5) {
            start(more);
            under_way |= UINT64_C(1) << more;
            expect_unfinished(under_way);
        }
        if (spex_runner_running(runner) == 1 && more >= 5) {
            expect_unfinished(under_way);
            break;
        }
    }
    end(); /* with one under way */
    assert_int_equal(open_descriptors(), descriptors);
}

/* A program with too few records, which lives on: it makes no more, or has ended them. */
TEST(programs_that_stay) {
    static const struct {
        const char *what, *status;
    } cases[] = {
        {"stalls", "hung: the records of value:snapshot ended "},
        {"leaves", "ended its records before the run was over"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error why = {""};
        struct spex_trial trial;
        begin(SPACE(LEVELS, RUN("")), cases[c].what, -1);
        start_for(0, 0.2);
        must(spex_runner_wait(runner, &trial, &why), &why);
        assert_false(trial.ok);
        if (strncmp(trial.status, cases[c].status, strlen(cases[c].status)) != 0)
            fail_msg("%s", trial.status);
        assert_true(isnan(trial.measured[0].value));
        spex_trial_free(&trial);
        end();
    }
}

/* After the stop the runner only waits for the ends of trials: once for each, at most. */
TEST(a_stop_ends_all) {
    struct spex_error why = {""};
    struct spex_trial trial;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    begin(SPACE(LEVELS, RUN("") TEARDOWN("read x &lt; fifo", "")), "silent", pipes[0]);
    start(1);
    released_at_second_wait = true;
    assert_int_equal(spex_runner_wait(runner, &trial, &why), -EINTR);
    released_at_second_wait = false;
    assert_string_equal(why.text, "interrupted");
    assert_in_range(waits, 2, 3);
    end();
    begin(SPACE(LEVELS, RUN("")), "silent", pipes[0]);
    for (size_t level = 0; level < PLACES; level++)
        start(level);
    assert_int_equal(spex_runner_wait(runner, &trial, &why), -EINTR);
    assert_int_equal(spex_runner_running(runner), 0);
    end();
    close(pipes[0]);
    close(pipes[1]);
}

/* The others, which would run for ever, are ended, and the error is that of the first. */
TEST(an_error_ends_all) {
    struct spex_error why = {""};
    struct spex_trial trial;
    for (size_t wrong = 0; wrong < PLACES; wrong++) {
        char folder[16];
        snprintf(folder, sizeof(folder), "run/%zu", wrong);
        begin(SPACE(LEVELS, RUN("")), "silent", -1);
        assert_int_equal(rmdir(folder), 0);
        for (size_t level = 0; level < PLACES; level++)
            start(level);
        assert_int_equal(spex_runner_wait(runner, &trial, &why), -ENOENT);
        if (!strstr(why.text, folder) || !strstr(why.text, "No such file or directory"))
            fail_msg("%s", why.text);
        assert_int_equal(spex_runner_running(runner), 0);
        end();
    }
}

static void expect_no_runner(int err, const char *reason) {
    struct spex_error why = {""};
    struct spex_trial_setup setup = setup_of("silent", -1);
    struct spex_runner *none = (void *)1;
    assert_int_equal(spex_runner_create(&setup, &parts, &none, &why), err);
    assert_string_equal(why.text, reason);
    assert_null(none);
}

static int runner_is_made(void *user) {
    struct spex_error why = {""};
    struct spex_trial_setup setup = setup_of("silent", -1);
    struct spex_runner *made;
    (void)user;
    int err = spex_runner_create(&setup, &parts, &made, &why);
    if (err)
        assert_string_equal(why.text, "out of memory");
    assert_true(!made == (err != 0));
    spex_runner_destroy(made);
    return err;
}

TEST(what_cannot_begin) {
    size_t descriptors = open_descriptors();
    file = space_of(SPACE(LEVELS, RUN("")));
    for (int left = 0; left < 2; left++) {
        struct scarce_descriptors scarce;
        descriptors_take(&scarce, left);
        expect_no_runner(-EMFILE, "cannot make an event: Too many open files");
        descriptors_give_back(&scarce);
    }
    assert_int_equal(mkdir("run/1", 0700), 0);
    expect_no_runner(-EEXIST, "cannot make a directory run/1: File exists");
    assert_int_equal(access("run/0", F_OK), -1);
    assert_int_equal(access("run/2", F_OK), -1);
    rmdir("run/1");
    assert_int_equal(without_each_allocation(runner_is_made, NULL), 2 + 2 * PLACES);
    assert_int_equal(rmdir("run"), 0);
    expect_no_runner(-ENOENT, "cannot make a directory run/0: No such file or directory");
    assert_int_equal(mkdir("run", 0700), 0);
    spex_space_free(file);
    spex_runner_destroy(NULL);
    assert_int_equal(open_descriptors(), descriptors);
}

static int enter(void **state) {
    return explored_enter(state) || mkdir("run", 0700) || mkfifo("fifo", 0600);
}

int main(int argc, char **argv) {
    int status;
    if (is_the_program(argc, argv, &status))
        return status;
    return tests_run(enter, explored_leave);
}
