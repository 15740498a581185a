/* SPDX-License-Identifier: MIT */
/* What an explorer that was killed has left is removed: processes and files of each place, and
 * nothing that is not its own. */
#include "explore/abandoned.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "explore/trial/cpu_parts.h"
#include "explore/trial/load.h"
#include "explore/trial/program_run.h"
#include "scratch.h"

static char path[1024];

__attribute__((format(printf, 1, 2))) static const char *in_scratch(const char *format, ...) {
    size_t length = (size_t)snprintf(path, sizeof(path), "%s/", scratch_path);
    va_list args;
    va_start(args, format);
    vsnprintf(path + length, sizeof(path) - length, format, args);
    va_end(args);
    return path;
}

static bool is_there(const char *name) {
    struct stat status;
    return lstat(in_scratch("%s", name), &status) == 0;
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(in_scratch("%s", name), 0700), 0);
}

/* With all that a trial has there. */
static void make_place(const char *directory, unsigned place) {
    char name[256];
    snprintf(name, sizeof(name), "%s/%u", directory, place);
    make_folder(name);
    scratch_text(in_scratch("%s/" SPEX_TRIAL_CONFIG, name), "a=1\n");
    scratch_text(in_scratch("%s/" SPEX_TRIAL_SOCKET, name), "");
    assert_int_equal(mkdir(in_scratch("%s/" SPEX_TRIAL_LOADS, name), 0700), 0);
    assert_int_equal(mkdir(in_scratch("%s/" SPEX_TRIAL_LOADS "/tmp", name), 0700), 0);
    scratch_text(in_scratch("%s/" SPEX_TRIAL_LOADS "/tmp/file", name), "x");
}

/* A process with the configuration of a place in its environment; back when it has executed. */
static pid_t start_process(const char *directory, unsigned place) {
    char variable[1200];
    int ready[2];
    snprintf(variable, sizeof(variable), "SPEX_CONFIG=%s",
             in_scratch("%s/%u/" SPEX_TRIAL_CONFIG, directory, place));
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *const argv[] = {(char *)(uintptr_t) "sleep", (char *)(uintptr_t) "1000", NULL};
        char *const environment[] = {variable, NULL};
        execve("/bin/sleep", argv, environment);
        _exit(1);
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

TEST(everything_is_removed) {
    static const unsigned places[] = {0, 3, SPEX_CPU_PARTS_MAX - 1};
    pid_t pids[COUNT_OF(places)];
    make_folder("spex-here");
    make_folder("spex-there");
    for (size_t p = 0; p < COUNT_OF(places); p++) {
        make_place("spex-here", places[p]);
        pids[p] = start_process("spex-here", places[p]);
    }
    make_place("spex-there", 0);
    pid_t other = start_process("spex-there", 0), next = start_process("spex-here", 1);
    spex_abandoned_clean(in_scratch("spex-here"));
    assert_false(is_there("spex-here"));
    for (size_t p = 0; p < COUNT_OF(places); p++)
        assert_true(kill(pids[p], 0) < 0 && errno == ESRCH);
    assert_true(is_there("spex-there/0/" SPEX_TRIAL_CONFIG));
    assert_int_equal(kill(other, SIGKILL), 0); /* of another, and of a place that was not there */
    assert_int_equal(kill(next, SIGKILL), 0);
    assert_true(waitpid(other, NULL, 0) == other && waitpid(next, NULL, 0) == next);
    spex_abandoned_clean(in_scratch("spex-there"));
    assert_false(is_there("spex-there"));
}

/* Files of others stay, and with them their folders. */
TEST(files_of_others_stay) {
    make_folder("spex-mixed");
    make_place("spex-mixed", 0);
    make_place("spex-mixed", 1);
    scratch_text(in_scratch("spex-mixed/1/notes"), "mine");
    spex_abandoned_clean(in_scratch("spex-mixed"));
    assert_false(is_there("spex-mixed/0"));
    assert_true(is_there("spex-mixed/1/notes"));
    assert_false(is_there("spex-mixed/1/" SPEX_TRIAL_CONFIG));
    assert_false(is_there("spex-mixed/1/" SPEX_TRIAL_SOCKET));
    assert_false(is_there("spex-mixed/1/" SPEX_TRIAL_LOADS));
}

/* A folder of another name, a link to one, a file, and what is not there. */
TEST(other_folders_stay) {
    static const char *const names[] = {"other-here", "xspex-here", "spex-link", "spex-file",
                                        "spex-absent"};
    make_folder("other-here");
    make_place("other-here", 0);
    make_folder("xspex-here");
    make_place("xspex-here", 0);
    make_folder("spex-target");
    make_place("spex-target", 0);
    assert_int_equal(symlink("spex-target", in_scratch("spex-link")), 0);
    scratch_text(in_scratch("spex-file"), "");
    for (size_t n = 0; n < COUNT_OF(names); n++)
        spex_abandoned_clean(in_scratch("%s", names[n]));
    spex_abandoned_clean("spex-target"); /* not from the root on */
    assert_true(is_there("other-here/0/" SPEX_TRIAL_CONFIG));
    assert_true(is_there("xspex-here/0/" SPEX_TRIAL_CONFIG));
    assert_true(is_there("spex-target/0/" SPEX_TRIAL_CONFIG));
    assert_true(is_there("spex-link") && is_there("spex-file"));
}

/* The folder of another user, which only root can make. */
TEST(folders_of_others_stay) {
    if (geteuid() != 0)
        skip();
    make_folder("spex-foreign");
    make_place("spex-foreign", 0);
    if (lchown(in_scratch("spex-foreign"), 1, 1) != 0)
        skip();
    spex_abandoned_clean(in_scratch("spex-foreign"));
    assert_true(is_there("spex-foreign/0/" SPEX_TRIAL_CONFIG));
    assert_int_equal(lchown(in_scratch("spex-foreign"), 0, 0), 0);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
