/* SPDX-License-Identifier: MIT */
/* What goes around a trial's program, without the program: commands that fail, hang or are stopped,
 * what is noted of them, and loads that never began. */
#include "explore/trial/trial_agent.h"

#include <sys/wait.h>

#include "../scarce_memory.h"
#include "explore/trial/load.h"
#include "explored.h"
#include "spaces.h"

#define LOADS                                                                                      \
    "<load stressor='cpu' workers='{a}'/><load stressor='vm' workers='0' options='--vm-bytes "     \
    "1m'/>"

static struct spex_trial_agent around;
static struct spex_trial trial;

static int begin(const struct spex_space_file *file, int stop_fd, struct spex_error *why) {
    static char *argv[] = {self_path, NULL};
    static char config[320];
    const size_t levels[] = {1};
    snprintf(config, sizeof(config), "%s/config.xml", scratch_path);
    const struct spex_launch base = {.config = config};
    trial = (struct spex_trial){.ok = false};
    return spex_trial_agent_init(&around, file, argv, levels, &base, stop_fd, why);
}

static int end(void) {
    return spex_trial_agent_end(&around, &trial);
}

static void expect_note(const char *note) {
    if (note)
        assert_string_equal(trial.note, note);
    else
        assert_null(trial.note);
}

static void read_log(char *text, size_t size) {
    FILE *log = fopen("log", "re");
    text[log ? fread(text, 1, size - 1, log) : 0] = '\0';
    if (log)
        fclose(log);
    unlink("log");
}

struct around_case {
    const char *agent;
    int over;
    const char *why, *note, *log;
};

/* The teardown runs after each setup, and sees the parameters as the setup does. */
static const struct around_case cases[] = {
    {SETUP("echo s$a {a} >>log", "") TEARDOWN("echo t$a {a} >>log", ""), 0, "", NULL, "s 4\nt 4\n"},
    {SETUP("echo s >>log; echo lost; exit 3", "") TEARDOWN("echo t >>log", ""), 1,
     "setup: exited with status 3: lost", NULL, "s\nt\n"},
    {SETUP("echo s >>log; kill -15 $$", ""), 1, "setup: killed by signal 15 (Terminated)", NULL,
     "s\n"},
    {TEARDOWN("echo t >>log; echo still there; exit 2", ""), 0, "",
     "teardown: exited with status 2: still there", "t\n"},
    {SETUP("echo hung; exec sleep 1000", "timeout=\"0.05\"") TEARDOWN("echo t >>log", ""), 1,
     "setup: did not end in 0.05 s; its last output: hung", NULL, "t\n"},
    {TEARDOWN("echo hung; exec sleep 1000", "timeout=\"0.05\""), 0, "",
     "teardown: did not end in 0.05 s; its last output: hung", ""},
    {"", 0, "", NULL, ""},
};

TEST(commands) {
    size_t descriptors = open_descriptors();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        char xml[1024], log[256];
        struct spex_error why = {""};
        snprintf(xml, sizeof(xml), "<space name='s'>" A("3 4") OBJECTIVE "%s</space>",
                 cases[c].agent);
        struct spex_space_file *file = space_of(xml);
        assert_int_equal(begin(file, -1, &why), 0);
        int over = spex_trial_agent_begin(&around, scratch_path, &why);
        if (over != cases[c].over || strcmp(why.text, cases[c].why) != 0)
            fail_msg("%zu: %d, %s", c, over, why.text);
        assert_int_equal(spex_trial_agent_step(&around, &why), 0);
        assert_int_equal(end(), 0);
        expect_note(cases[c].note);
        read_log(log, sizeof(log));
        assert_string_equal(log, cases[c].log);
        assert_int_equal(trial.load_count, 0);
        spex_trial_free(&trial);
        spex_space_free(file);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
    assert_int_equal(open_descriptors(), descriptors);
}

/* What stops everything ends the setup, but not the teardown. */
TEST(a_stop) {
    struct spex_error why = {""};
    char log[64];
    int pipes[2];
    struct spex_space_file *file = space_of(
        SPACE(A("3 4"), SETUP("exec sleep 1000", "") TEARDOWN("sleep 0; echo t >>log", "")));
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(begin(file, pipes[0], &why), 0);
    assert_int_equal(spex_trial_agent_begin(&around, scratch_path, &why), -EINTR);
    assert_string_equal(why.text, "interrupted");
    assert_int_equal(end(), 0);
    expect_note(NULL);
    read_log(log, sizeof(log));
    assert_string_equal(log, "t\n");
    spex_trial_free(&trial);
    spex_space_free(file);
    close(pipes[0]);
    close(pipes[1]);
}

/* A stress-ng of the test's own, which is found first. */
static void make_stressor(const char *does) {
    char path[512];
    snprintf(path, sizeof(path), "#!/bin/sh\n%s\n", does);
    scratch_text("stress-ng", path);
    assert_int_equal(chmod("stress-ng", 0700), 0);
}

/* What becomes of a load that `does` so: its trial fails, or the wait for it is stopped. */
static void expect_load(const char *does, const char *directory, int stop_fd, int over,
                        const char *reason) {
    struct spex_error why = {""};
    size_t descriptors = open_descriptors();
    struct spex_space_file *file = space_of(SPACE(A("3 4"), LOADS));
    make_stressor(does);
    assert_int_equal(begin(file, stop_fd, &why), 0);
    int found = spex_trial_agent_begin(&around, directory, &why);
    if (found != over || strcmp(why.text, reason) != 0)
        fail_msg("%d, %s", found, why.text);
    if (!over)
        assert_int_equal(spex_trial_agent_step(&around, &why), 0);
    assert_int_equal(end(), 0);
    expect_note(NULL);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(trial.load_count, 2);
    assert_int_equal(trial.loads[0].usage.known, over != -ENOENT);
    assert_false(trial.loads[1].usage.known);
    spex_trial_free(&trial);
    spex_space_free(file);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(access(SPEX_TRIAL_LOADS, F_OK), -1);
}

TEST(loads) {
    char missing[320], reason[512];
    int pipes[2];
    char *before = strdup(getenv("PATH")), path[4608];
    snprintf(path, sizeof(path), "%s:%s", scratch_path, before);
    setenv("PATH", path, 1);
    expect_load("echo lost; exit 4", scratch_path, -1, 1, "load cpu: exited with status 4: lost");
    expect_load("kill -9 $$", scratch_path, -1, 1, "load cpu: killed by signal 9 (Killed)");
    assert_int_equal(symlink("/bin/sleep", "stress-ng-cpu"), 0);
    expect_load("for w in 1 2 3 4; do ./stress-ng-cpu 1000 & done; wait", scratch_path, -1, 0, "");
    expect_load("for w in 1 2 3; do ./stress-ng-cpu 1000 & done; echo gone; exit 5", scratch_path,
                -1, 1, "load cpu: exited with status 5: gone");
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    expect_load("exec sleep 1000", scratch_path, pipes[0], -EINTR, "interrupted");
    close(pipes[0]);
    close(pipes[1]);
    snprintf(missing, sizeof(missing), "%s/missing", scratch_path);
    snprintf(reason, sizeof(reason),
             "cannot make a directory %s/" SPEX_TRIAL_LOADS ": No such file or directory", missing);
    expect_load("exit 0", missing, -1, -ENOENT, reason);
    setenv("PATH", before, 1);
    free(before);
}

/* They have rows in the trial all the same. */
static int loads_that_never_began(void *user) {
    struct spex_error why = {""};
    int err = begin(user, -1, &why);
    int ended = end();
    if (!err && !ended) {
        assert_int_equal(trial.load_count, 2);
        assert_string_equal(trial.loads[0].stressor, "cpu");
        assert_string_equal(trial.loads[1].stressor, "vm");
        assert_int_equal(trial.loads[0].workers, 4);
        assert_int_equal(trial.loads[1].workers, 0);
        assert_false(trial.loads[0].usage.known);
        expect_note(NULL);
    }
    if (err)
        assert_string_equal(why.text, "did not start: out of memory");
    spex_trial_free(&trial);
    return err ? err : ended;
}

/* A program that has no name in this configuration fails the trial, whose loads have rows. */
TEST(a_program_without_a_name) {
    static char name[] = "./{b}", *argv[] = {name, NULL};
    struct spex_space_file *file =
        space_of("<space name='s'><parameter name='on' type='boolean'/>"
                 "<parameter name='b' type='integer' values='1 2' when='$on'/>" OBJECTIVE
                 "<load stressor='cpu' workers='1'/><load stressor='vm' workers='{b}'/></space>");
    const struct spex_launch base = {.config = scratch_path};
    struct spex_error why = {""};
    for (size_t on = 0; on < 2; on++) {
        const size_t levels[] = {on, 0};
        trial = (struct spex_trial){.ok = false};
        assert_int_equal(spex_trial_agent_init(&around, file, argv, levels, &base, -1, &why), !on);
        assert_string_equal(why.text, "did not start: ./{b} names a parameter that does not apply");
        assert_int_equal(end(), 0);
        assert_int_equal(trial.load_count, 2);
        assert_string_equal(trial.loads[0].stressor, "cpu");
        assert_string_equal(trial.loads[1].stressor, "vm");
        assert_int_equal(trial.loads[1].workers, on);
        spex_trial_free(&trial);
    }
    spex_space_free(file);
}

TEST(without_memory) {
    struct spex_space_file *file = space_of(SPACE(A("3 4"), LOADS));
    assert_int_equal(loads_that_never_began(file), 0);
    assert_true(without_each_allocation(loads_that_never_began, file) >= 8);
    spex_space_free(file);
}

int main(void) {
    return tests_run(explored_enter, explored_leave);
}
