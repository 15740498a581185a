/* SPDX-License-Identifier: MIT */
/* Loads beside a program: which stressors there are, by a stress-ng of the test's own; whether
 * workers have begun; and that nothing of their files stays. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "explore/trial/load.h"
#include "scratch.h"

/* A stress-ng that tells this list, and ends with this status. */
static void make_command(const char *list, int status) {
    char text[256];
    snprintf(text, sizeof(text),
             "#!/bin/sh\n[ \"$*\" = --stressors ] || exit 9\nprintf '%s'\nexit %d\n", list, status);
    scratch_write("stress-ng", text, strlen(text));
    assert_int_equal(chmod("stress-ng", 0755), 0);
}

static int check(size_t count, const char *const *stressors, struct spex_error *error) {
    static struct spex_agent agent;
    agent.load_count = count;
    for (size_t l = 0; l < count; l++)
        agent.loads[l].stressor = (char *)(uintptr_t)stressors[l];
    return spex_load_check(&agent, error);
}

static void stressors_are_words_of_the_list(void **state) {
    static const struct {
        const char *stressors[3];
        size_t count;
        const char *wrong;
    } cases[] = {
        {{"cpu"}, 1, NULL},  {{"vm-rw", "hdd"}, 2, NULL}, {{"last", "cpu", "vm"}, 3, NULL},
        {{"cp"}, 1, "cp"},   {{"cpu", "rw"}, 2, "rw"},    {{"hdd", "lastly", "no"}, 3, "lastly"},
        {{"vm-"}, 1, "vm-"}, {{"none"}, 0, NULL},
    };
    (void)state;
    make_command("cpu vm vm-rw\\n hdd\\nlast", 0);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error error = {""};
        char expected[256] = "";
        int err = check(cases[c].count, cases[c].stressors, &error);
        if (cases[c].wrong)
            snprintf(expected, sizeof(expected),
                     "<load>: stressor=\"%s\": one of those that \"stress-ng --stressors\" lists "
                     "was expected",
                     cases[c].wrong);
        assert_int_equal(err, cases[c].wrong ? -EINVAL : 0);
        assert_string_equal(error.text, expected);
    }
}

static void without_the_command_there_are_no_loads(void **state) {
    static const char *const stressors[] = {"cpu"};
    struct spex_error error = {""};
    (void)state;
    make_command("cpu", 1);
    assert_int_equal(check(1, stressors, &error), -ENOENT);
    assert_string_equal(error.text, "the space has a <load>, which needs stress-ng: install "
                                    "Debian's package \"stress-ng\"");
    make_command("", 0);
    assert_int_equal(check(1, stressors, &error), -ENOENT);
    assert_int_equal(unlink("stress-ng"), 0);
    assert_int_equal(check(0, stressors, &error), 0);
}

static pid_t begin_child(const char *name) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, name);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0); /* the child has closed it, too */
    close(ready[0]);
    return child;
}

/* Those that have the name of one, and not that of the command alone. */
static void workers_are_children_of_that_name(void **state) {
    static const char *const names[] = {"stress-ng-cpu", "stress-ng", "sh", "stress-ng-vm"};
    const struct spex_program program = {.pid = getpid()};
    char path[64];
    (void)state;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)getpid(), (int)getpid());
    if (access(path, R_OK) < 0)
        skip();
    assert_true(spex_load_runs(&program, 0));
    assert_false(spex_load_runs(&program, 1));
    pid_t children[COUNT_OF(names)];
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        children[n] = begin_child(names[n]);
        assert_true(spex_load_runs(&program, n < 3 ? 1 : 2));
        assert_false(spex_load_runs(&program, n < 3 ? 2 : 3));
    }
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        kill(children[n], SIGKILL);
        assert_int_equal(waitpid(children[n], NULL, 0), children[n]);
    }
    assert_false(spex_load_runs(&program, 1));
    const struct spex_program none = {.pid = INT32_MAX};
    assert_true(spex_load_runs(&none, 5)); /* not known */
}

static void files_are_removed_and_links_not_followed(void **state) {
    (void)state;
    assert_int_equal(mkdir("load", 0755) | mkdir("load/a", 0755) | mkdir("load/a/b", 0755), 0);
    assert_int_equal(mkdir("kept", 0755), 0);
    scratch_write("load/a/file", "1", 1);
    scratch_write("load/a/b/file", "1", 1);
    scratch_write("kept/file", "1", 1);
    assert_int_equal(symlink("../kept", "load/link"), 0);
    spex_load_remove_files("load");
    assert_int_equal(access("load", F_OK), -1);
    assert_int_equal(access("kept/file", F_OK), 0);
    spex_load_remove_files("load");
}

/* The command is the one in the folder of the test. */
static int enter(void **state) {
    char path[1024];
    if (scratch_enter(state) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s:/usr/bin:/bin", scratch_path);
    return setenv("PATH", path, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stressors_are_words_of_the_list),
        cmocka_unit_test(workers_are_children_of_that_name),
        cmocka_unit_test(files_are_removed_and_links_not_followed),
    };
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(without_the_command_there_are_no_loads),
    };
    int failed = cmocka_run_group_tests_name("loads", tests, enter, scratch_leave);
    return failed + cmocka_run_group_tests_name("no loads", alone, enter, scratch_leave);
}
