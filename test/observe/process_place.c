/* SPDX-License-Identifier: MIT */
/* Where processes are, and whose children they are, by made files of /proc. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/process_place.h"
#include "observe/workers.h"
#include "scratch.h"

/* The first number of made processes: the kernel gives none so great. */
enum { FIRST = 1 << 30 };

/* Files of made processes are in folders here. */
static FILE *made_fopen(const char *path, const char *mode) {
    int made = 0, length = 0;
    if (sscanf(path, "/proc/%d/%n", &made, &length) == 1 && length && made >= FIRST)
        path += strlen("/proc/");
    int flags = mode[0] == 'w' ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY;
    int fd = open(path, flags | O_CLOEXEC, 0600);
    return fd < 0 ? NULL : fdopen(fd, mode);
}

FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode) {
    return made_fopen(path, mode);
}

FILE *__wrap_fopen64(const char *path, const char *mode) {
    return made_fopen(path, mode);
}

static void made_bytes(int process, const char *file, const void *bytes, size_t length) {
    char path[64];
    snprintf(path, sizeof(path), "%d", process);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    snprintf(path, sizeof(path), "%d/%s", process, file);
    scratch_write(path, bytes, length);
}

static void made_text(int process, const char *file, const char *text) {
    made_bytes(process, file, text, strlen(text));
}

/* Removes the made files, so that the next test begins without. */
static int end(void **state) {
    char path[64];
    (void)state;
    for (int process = FIRST; process < FIRST + 100; process++) {
        snprintf(path, sizeof(path), "%d", process);
        if (access(path, F_OK) == 0)
            nftw(path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS);
    }
    return 0;
}

/* ---- places ---- */

#define ENTRIES(text) (text), sizeof(text)

static struct spex_process_place place_of(int process) {
    struct spex_process_place place;
    assert_int_equal(spex_process_place(process, &place), 0);
    assert_int_equal(place.process, process);
    return place;
}

static void expect_users(const struct spex_process_place *place,
                         const uid_t expected[SPEX_PLACE_USERS]) {
    for (int u = 0; u < SPEX_PLACE_USERS; u++)
        assert_int_equal(place->users[u], expected[u]);
}

/* The number in its innermost namespace, and of this namespace, since the made process has none. */
static void expect_name(const struct spex_process_place *place, int inside) {
    char own[SPEX_CONTROL_NAME_BYTES], expected[SPEX_CONTROL_NAME_BYTES * 2];
    spex_control_name(own);
    snprintf(expected, sizeof(expected), "%d%s", inside, strchr(own, '-'));
    assert_string_equal(place->name, expected);
}

TEST_WITH(a_place_is_as_the_files_say, NULL, end) {
    made_text(FIRST, "status",
              "Name:\tits\\nname 1\x01\xff.\n"
              "Umask:\t0022\nState:\tS (sleeping)\n"
              "Tgid:\t77\nNgid:\t0\nPid:\t77\nPPid:\t1\n"
              "Uid:\t1001\t1002\t1003\t1004\n"
              "Gid:\t5\t6\t7\t8\n"
              "NStgid:\t900\t80\t7\n"
              "NSpid:\t901\t81\t9\n"
              "NSpgid:\t902\t82\t11\n");
    made_text(FIRST, "uid_map",
              "         0        900         10\n"
              "      5000       1000          8\n"
              "      7000       2000          8\n");
    made_bytes(FIRST, "environ",
               ENTRIES("SPEX_CONTROLS=/no\0XSPEX_CONTROL=/no\0SPEX_CONTROL=\0SPEX_CONTROL\0"
                       "XDG_RUNTIME_DIR=\0\0SPEX_CONTROL=/first=one\0SPEX_CONTROL=/second\0"
                       "XDG_RUNTIME_DIR=/run/first\0XDG_RUNTIME_DIR=/run/second"));
    struct spex_process_place place = place_of(FIRST);
    expect_users(&place, (const uid_t[]){1002, 1001, 1003, 1004, 5002, 0});
    assert_string_equal(place.command, "its\\nname 1??.");
    expect_name(&place, 9);
    assert_string_equal(place.chosen, "/first=one");
    assert_string_equal(place.runtime, "/run/first");
    spex_process_place_free(&place);
    assert_true(!place.chosen && !place.runtime);
}

/* Of a kernel without namespaces, and a process that this user may not look into. */
TEST_WITH(what_is_not_there_is_left_out, NULL, end) {
    made_text(FIRST, "status", "Name:\tone\nUid:\nUid:\t5\t6\t7\n");
    struct spex_process_place place = place_of(FIRST);
    expect_users(&place, (const uid_t[]){0, 0, 0, 0, 0, 0});
    assert_string_equal(place.command, "one");
    expect_name(&place, FIRST);
    assert_true(!place.chosen && !place.runtime);
    spex_process_place_free(&place);
    made_text(FIRST, "status", "");
    made_text(FIRST, "environ", "");
    place = place_of(FIRST);
    assert_string_equal(place.command, "");
    assert_true(!place.chosen && !place.runtime);
    spex_process_place_free(&place);
}

/* A program whose main thread ends before its other one, which says so when it is gone. */
static void *left_alone(void *unused) {
    (void)unused;
    for (char state = 0; state != 'Z'; sched_yield()) {
        FILE *file = fopen("/proc/self/stat", "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            _exit(1);
        fclose(file);
    }
    (void)!write(STDOUT_FILENO, "", 1);
    pause();
    return NULL;
}

static void end_main_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, left_alone, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

TEST_WITH(a_process_without_its_main_thread_has_its_variables, NULL, end) {
    char *const arguments[] = {(char *)"process_place", (char *)"ended", NULL};
    char *const variables[] = {(char *)"SPEX_CONTROL=/own", (char *)"XDG_RUNTIME_DIR=/run/own",
                               NULL};
    struct spex_process_place place;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[1]);
        close(ends[0]);
        execve("/proc/self/exe", arguments, variables);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    int err = spex_process_place(child, &place);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ends[0]);
    assert_int_equal(err, 0);
    assert_non_null(place.chosen);
    assert_string_equal(place.chosen, "/own");
    assert_string_equal(place.runtime, "/run/own");
    spex_process_place_free(&place);
}

TEST_WITH(without_a_status_there_is_no_process, NULL, end) {
    struct spex_process_place place;
    assert_int_equal(spex_process_place(FIRST, &place), -ESRCH);
    made_text(FIRST, "environ", "SPEX_CONTROL=/a");
    assert_int_equal(spex_process_place(FIRST, &place), -ESRCH);
    assert_int_equal(symlink("status", "1073741824/status"), 0);
    assert_int_equal(spex_process_place(FIRST, &place), -ELOOP);
    assert_true(!place.chosen && !place.runtime);
}

/* The effective user's number by ranges, of which the ends belong to them. */
TEST_WITH(users_are_mapped_by_ranges, NULL, end) {
    static const struct {
        unsigned user, inside;
    } cases[] = {{99, 99},    {100, 0},    {101, 1},
                 {109, 9},    {110, 110},  {199, 199},
                 {200, 7},    {201, 201},  {4294967294, 4294967294},
                 {300, 1000}, {1299, 1999}};
    char status[64];
    made_text(FIRST, "uid_map", "0 100 10\n7 200 1\n1000 300 1000\n");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        snprintf(status, sizeof(status), "Uid:\t0\t%u\t0\t0\n", cases[c].user);
        made_text(FIRST, "status", status);
        struct spex_process_place place = place_of(FIRST);
        if (place.users[SPEX_PLACE_OWN_USERS] != cases[c].inside)
            fail_msg("%u: %u", cases[c].user, place.users[SPEX_PLACE_OWN_USERS]);
        assert_int_equal(place.users[0], cases[c].user);
        spex_process_place_free(&place);
    }
    /* All users, as in the first namespace. */
    made_text(FIRST, "uid_map", "0 0 4294967295\n");
    made_text(FIRST, "status", "Uid:\t0\t4294967294\t0\t0\n");
    struct spex_process_place place = place_of(FIRST);
    assert_int_equal(place.users[SPEX_PLACE_OWN_USERS], 4294967294);
    spex_process_place_free(&place);
}

/* A MiB of an environment is read; its last entry may be cut. */
TEST_WITH(a_long_environment_is_read_in_part, NULL, end) {
    enum { MOST = 1 << 20 };
    static const char entry[] = "SPEX_CONTROL=/abc";
    static char text[MOST + 64];
    static const struct {
        size_t at;
        const char *chosen;
    } cases[] = {{MOST - 18, "/abc"}, {MOST - 17, "/abc"}, {MOST - 16, "/ab"},
                 {MOST - 14, "/"},    {MOST - 13, NULL},   {MOST - 12, NULL}};
    made_text(FIRST, "status", "Name:\tone\n");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        memset(text, 'x', sizeof(text));
        text[cases[c].at - 1] = '\0';
        strcpy(text + cases[c].at, entry);
        made_bytes(FIRST, "environ", text, sizeof(text));
        struct spex_process_place place = place_of(FIRST);
        if (cases[c].chosen)
            assert_string_equal(place.chosen, cases[c].chosen);
        else
            assert_null(place.chosen);
        spex_process_place_free(&place);
    }
}

/* ---- parents ---- */

static void made_child(int process, int parent, const char *name) {
    char line[700];
    snprintf(line, sizeof(line), "%d (%s) S %d 5 6 7\n", process, name, parent);
    made_text(process, "stat", line);
}

/* Each has the one before as its parent, whatever their names are. */
TEST_WITH(descent_is_followed_upwards, NULL, end) {
    static const char *const names[] = {"a", "", ")", ") S 3 (", "a b c", "(("};
    enum { LINE = 80 };
    for (int n = 0; n < LINE; n++)
        made_child(FIRST + n, n ? FIRST + n - 1 : 0, names[(unsigned)n % COUNT_OF(names)]);
    for (int child = 0; child < LINE; child++)
        for (int ancestor = 0; ancestor < LINE; ancestor++) {
            /* As far as parents are asked for. */
            bool is = ancestor < child && child - ancestor <= 64;
            if (spex_workers_descend(FIRST + child, FIRST + ancestor) != is)
                fail_msg("%d of %d", child, ancestor);
        }
    assert_false(spex_workers_descend(FIRST + 5, 0));
    assert_false(spex_workers_descend(0, FIRST));
}

/* Managers of sessions, and process 1, are parents of programs that are not theirs. */
TEST_WITH(another_session_is_not_of_the_ancestor, NULL, end) {
    made_text(FIRST, "stat", "1 (a) S 1 5 6 7\n");
    made_text(FIRST + 1, "stat", "1 (a) S 1073741824 5 6 7\n");
    made_text(FIRST + 2, "stat", "1 (a) S 1073741824 6 5 7\n");
    made_text(1, "stat", "1 (a) S 0 5 6 7\n");
    assert_true(spex_workers_descend(FIRST + 1, FIRST));
    assert_false(spex_workers_descend(FIRST + 2, FIRST));
    assert_false(spex_workers_descend(FIRST + 1, 1));
}

TEST_WITH(lines_that_tell_no_parent, NULL, end) {
    static const char *const lines[] = {"", "1 (a", "1 (a) S", "1 (a) S ", "1 (a) S x"};
    made_child(FIRST, 0, "a");
    for (size_t l = 0; l < COUNT_OF(lines); l++) {
        made_text(FIRST + 1, "stat", lines[l]);
        assert_false(spex_workers_descend(FIRST + 1, FIRST));
    }
    made_text(FIRST + 1, "stat", "1 (a) S 1073741824");
    assert_false(spex_workers_descend(FIRST + 1, FIRST));
    made_text(FIRST + 1, "stat", "1 (a) S 1073741824 5 6");
    assert_true(spex_workers_descend(FIRST + 1, FIRST));
    made_child(FIRST + 2, FIRST + 3, "a"); /* who has gone */
    assert_false(spex_workers_descend(FIRST + 2, FIRST + 3));
    assert_false(spex_workers_descend(FIRST + 2, FIRST));
    made_child(FIRST + 3, FIRST + 2, "a"); /* no such parents can be, and no end of them */
    assert_false(spex_workers_descend(FIRST + 2, FIRST));
    assert_true(spex_workers_descend(FIRST + 2, FIRST + 2));
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "ended") == 0)
        end_main_thread();
    return tests_run(scratch_enter, scratch_leave);
}
