/* SPDX-License-Identifier: MIT */
/* What runs around an explored program: setup, teardown and loads. */
#include <sys/stat.h>

#include "explore/trial/trial_agent.h"
#include "explored.h"

static char why[512];

#define LOAD(workers, options)                                                                     \
    "<load stressor='cpu' workers='" workers "' options='--cpu-load 5 " options "'/>"

static struct spex_study study;

/* A new exploration, of so many trials. */
static void explore(const char *xml, char *const *argv, size_t trials) {
    struct spex_error error = {""};
    write_space(xml);
    unlink("trials.db");
    unlink("log");
    struct spex_explore_options options = {.size = sizeof(options),
                                           .space = "space.xml",
                                           .policy = "grid",
                                           .store = "trials.db",
                                           .argv = argv,
                                           .stop_fd = -1};
    if (spex_explore(&options, why, sizeof(why)))
        fail_msg("%s", why);
    expect_nothing_left();
    if (spex_study_read(&study, "trials.db", &error))
        fail_msg("%s", error.text);
    assert_int_equal(study.trials.count, trials);
}

static void close_study(void) {
    spex_study_free(&study);
}

static void expect_log(const char *lines) {
    char text[512] = "";
    FILE *file = fopen("log", "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, lines);
}

/* ---- setup and teardown ---- */

/* The folders of an exploration and of a trial are the user's alone, whatever new files are. */
TEST(whose_the_folders_are) {
    mode_t before = umask(0);
    explore(
        SPACE(A("1"), RUN("") SETUP("cd ${SPEX_CONFIG%/*}; stat -c %a . .. &gt;&gt; $OLDPWD/log; "
                                    "stat -c %a $SPEX_CONFIG &gt;&gt; $OLDPWD/log",
                                    "")),
        PROGRAM("end"), 1);
    umask(before);
    expect_log("700\n700\n644\n");
    close_study();
}

TEST(commands_before_and_after_each_trial) {
    explore(SPACE(A("1 2"), RUN("") SETUP("echo setup {a} $SPEX_PARAMETER_A &gt;&gt; log", "")
                                TEARDOWN("echo teardown {a} &gt;&gt; log", "")),
            (char *const[]){(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                            (char *)(uintptr_t) "echo program >> log; exec \"$0\" program end {a}",
                            self_path, NULL},
            2);
    expect_log("setup 1 1\nprogram\nteardown 1\nsetup 2 2\nprogram\nteardown 2\n");
    for (size_t t = 0; t < 2; t++)
        assert_true(study.trials.items[t].ok && !study.trials.items[t].note);
    close_study();
}

TEST(a_setup_that_fails) {
    explore(SPACE(A("1"), RUN("") SETUP("echo no disk; exit 3", "")
                              TEARDOWN("echo teardown &gt;&gt; log", "")),
            PROGRAM("steady"), 1);
    assert_string_equal(study.trials.items[0].status, "setup: exited with status 3: no disk");
    assert_false(study.trials.items[0].usage.known);
    expect_log("teardown\n");
    close_study();
    explore(SPACE(A("1"), RUN("") SETUP("sleep 1000; true", "timeout='0.1'")), PROGRAM("steady"),
            1);
    const char *status = study.trials.items[0].status;
    assert_memory_equal(status, "setup: did not end in 0.1 s",
                        strlen("setup: did not end in 0.1 s"));
    close_study();
}

/* The trial has its result all the same. */
TEST(a_teardown_that_fails_is_a_note) {
    static const char *const commands[][2] = {
        {TEARDOWN("echo still mounted; exit 5", ""),
         "teardown: exited with status 5: still mounted"},
        {TEARDOWN("sleep 1000; true", "timeout='0.1'"), "teardown: did not end in 0.1 s"},
        {TEARDOWN("kill -9 $$", ""), "teardown: killed by signal 9 (Killed)"},
    };
    for (size_t c = 0; c < COUNT_OF(commands); c++) {
        char xml[512];
        snprintf(xml, sizeof(xml), "<space name='s'>" A("1") OBJECTIVE RUN("") "%s</space>",
                 commands[c][0]);
        explore(xml, PROGRAM("steady"), 1);
        assert_string_equal(study.trials.items[0].status, "ok");
        assert_string_equal(study.trials.items[0].note, commands[c][1]);
        close_study();
    }
}

/* What the setup has started is there for the teardown, and gone after it; what the program has
 * left is gone before. */
TEST(processes_that_are_left) {
    explore(SPACE(A("1"), RUN("") SETUP("sleep 1000 &amp; echo $! &gt; server", "") TEARDOWN(
                              "kill -0 $(cat server) &amp;&amp; echo server &gt;&gt; log; "
                              "grep -q ^State:.[^Z] /proc/$(cat daemon)/status &amp;&amp; echo "
                              "daemon &gt;&gt; log; true",
                              "")),
            (char *const[]){(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
                            (char *)(uintptr_t) "setsid sleep 1000 & echo $! > daemon; "
                                                "exec \"$0\" program steady {a}",
                            self_path, NULL},
            1);
    assert_string_equal(study.trials.items[0].status, "ok");
    assert_null(study.trials.items[0].note);
    expect_log("server\n");
    close_study();
    char pid[32] = "";
    FILE *server = fopen("server", "re");
    assert_non_null(fgets(pid, sizeof(pid), server));
    fclose(server);
    assert_int_equal(kill((pid_t)atoi(pid), 0), -1);
}

/* Neither a program nor a load begins after a setup that was interrupted. */
TEST(an_interrupted_setup) {
    struct spex_space_file *file;
    struct spex_error error = {""};
    struct spex_trial_agent around;
    struct spex_trial trial;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(spex_space_parse("made",
                                      SPACE(A("1"), SETUP("sleep 1000; true", "")
                                                        TEARDOWN("echo over &gt;&gt; log", "")),
                                      &file, &error),
                     0);
    assert_int_equal(spex_trial_init(&trial, &file->space, (size_t[]){0}), 0);
    unlink("log");
    const struct spex_launch base = {.config = "a-configuration.xml"};
    assert_int_equal(spex_trial_agent_init(&around, file, PROGRAM("steady"), trial.levels, &base,
                                           pipes[0], &error),
                     0);
    assert_int_equal(spex_trial_agent_begin(&around, scratch_path, &error), -EINTR);
    assert_string_equal(error.text, "interrupted");
    assert_int_equal(spex_trial_agent_end(&around, &trial), 0);
    expect_log("over\n");
    assert_null(trial.note);
    close(pipes[0]);
    close(pipes[1]);
    spex_trial_free(&trial);
    spex_space_free(file);
}

/* ---- loads ---- */

static void need_stress_ng(void) {
    if (system("stress-ng --version >/dev/null 2>&1") == 0)
        return;
    print_message("SKIP: stress-ng is not installed\n");
    skip();
}

/* All workers are there when the program begins; a load of none is none. */
TEST(loads_run_beside_the_program) {
    static char script[] = "pgrep -c -P $(pgrep -s 0 -x stress-ng | head -1) stress-ng-cpu >> log; "
                           "exec \"$0\" program steady {a}";
    need_stress_ng();
    explore(SPACE(A("0 2"), RUN("") LOAD("{a}", "")),
            (char *const[]){(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", script, self_path,
                            NULL},
            2);
    for (size_t t = 0; t < 2; t++) {
        const struct spex_trial *trial = &study.trials.items[t];
        assert_string_equal(trial->status, "ok");
        assert_int_equal(trial->load_count, 1);
        assert_string_equal(trial->loads[0].stressor, "cpu");
        assert_int_equal(trial->loads[0].workers, 2 * t);
        assert_int_equal(trial->loads[0].usage.known, t == 1);
    }
    close_study();
}

TEST(loads_that_do_not_run) {
    need_stress_ng();
    explore(SPACE(A("1"), RUN("") LOAD("1", "--cpu-load many")), PROGRAM("steady"), 1);
    const char *status = study.trials.items[0].status;
    if (strncmp(status, "load cpu: exited with status ", 29) != 0)
        fail_msg("%s", status);
    close_study();
    explore("<space name='s'>" A("1") OBJECTIVE
            "<run records_per_thread='100000000' warmup='0' duration='600'/>" LOAD(
                "1", "--timeout 1") "</space>",
            PROGRAM("steady"), 1);
    status = study.trials.items[0].status;
    if (strncmp(status, "load cpu: exited with status 0", 30) != 0)
        fail_msg("%s", status);
    close_study();
}

static void expect_refused(const char *xml, int err, const char *part) {
    write_space(xml);
    struct spex_explore_options options = {.size = sizeof(options),
                                           .space = "space.xml",
                                           .store = "refused.db",
                                           .argv = PROGRAM("steady"),
                                           .stop_fd = -1};
    assert_int_equal(spex_explore(&options, why, sizeof(why)), err);
    if (!strstr(why, part))
        fail_msg("%s", why);
    assert_int_equal(access("refused.db", F_OK), -1);
}

TEST(loads_that_cannot_be) {
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nowhere", 1);
    expect_refused(SPACE(A("1"), RUN("") LOAD("1", "")), -ENOENT, "needs stress-ng: install");
    /* One that fails is none, whatever it prints. */
    static const char *const broken[] = {"echo cpu; exit 1", "exit 0"};
    for (size_t b = 0; b < COUNT_OF(broken); b++) {
        char script[64];
        snprintf(script, sizeof(script), "#!/bin/sh\n%s\n", broken[b]);
        scratch_write("stress-ng", script, strlen(script));
        assert_int_equal(chmod("stress-ng", 0700), 0);
        setenv("PATH", scratch_path, 1);
        expect_refused(SPACE(A("1"), RUN("") LOAD("1", "")), -ENOENT, "needs stress-ng: install");
    }
    unlink("stress-ng");
    setenv("PATH", path, 1);
    free(path);
    need_stress_ng();
    expect_refused(SPACE(A("1"), RUN("") "<load stressor='cp' workers='1'/>"), -EINVAL,
                   "stressor=\"cp\": one of those that \"stress-ng --stressors\" lists");
}

int main(int argc, char **argv) {
    int status;
    if (is_the_program(argc, argv, &status))
        return status;
    return tests_run(explored_enter, explored_leave);
}
