/* SPDX-License-Identifier: MIT */
/* The listening socket and other users: who may call, and programs that run as another. */
#include "listening.h"

#include <grp.h>
#include <sys/un.h>
#include <sys/wait.h>

/* The exit status of `run` as another user. */
static int as_nobody(int (*run)(int), int argument) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0
                  ? 99
                  : run(argument));
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int try_directory(int parent) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/%d%s", serving_directory,
                          parent, strchr(own_name(), '-'));
    if ((size_t)length >= sizeof(address.sun_path))
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 ? 0 : errno;
}

/* The file's own mode keeps others out, too; here it does not. */
static int try_descriptor(int place) {
    struct spex_profile_reader reader = {0};
    char name[64];
    snprintf(name, sizeof(name), "%d%s", (int)getppid(), strchr(own_name(), '-'));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int err = spex_control_connect_at(fd, place, name);
    if (err)
        return 1;
    caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL);
    return caller_receive(fd, &reader) == -ECONNRESET && !reader.complete ? 0 : 2;
}

/* As the commands do. */
static int try_client(int parent) {
    struct spex_error error;
    int fd = spex_client_connect(parent, SPEX_CLIENT_CONNECT_MS, &error);
    return fd == -EACCES && strstr(error.text, "not yours") ? 0 : 1;
}

TEST_WITH(other_users_are_kept_out, serving_begin, serving_end) {
    SKIP_WITHOUT_ROOT();
    assert_int_equal(serving_start(NULL), 0);
    assert_int_equal(as_nobody(try_directory, getpid()), EACCES);
    assert_int_equal(as_nobody(try_client, getpid()), 0);
    int place = open(serving_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(as_nobody(try_descriptor, place), 1);
    assert_int_equal(chmod(in_directory(own_name()), 0666), 0);
    assert_int_equal(as_nobody(try_descriptor, place), 1); /* by its path under /proc */
    assert_int_equal(chmod(serving_directory, 0711), 0);
    assert_int_equal(as_nobody(try_descriptor, place), 0); /* and by the check of who calls */
    assert_int_equal(as_nobody(try_directory, getpid()), 0);
    close(place);
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
}

TEST_WITH(root_may_call_everybody, serving_begin, serving_end) {
    int ready[2], ask[2];
    char byte = 0;
    struct spex_profile_reader reader = {0};
    SKIP_WITHOUT_ROOT();
    assert_true(pipe(ready) == 0 && pipe(ask) == 0);
    assert_int_equal(chmod(serving_directory, 0711), 0);
    assert_int_equal(mkdir(in_directory("his"), 0700), 0);
    assert_int_equal(chown(in_directory("his"), NOBODY, NOBODY), 0);
    setenv("SPEX_CONTROL", in_directory("his"), 1);
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0 || serving_start(NULL) != 0 ||
            write(ready[1], "", 1) != 1 || read(ask[0], &byte, 1) != 1)
            _exit(1);
        exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    strcat(serving_directory, "/his");
    int fd = caller_connect_to(child);
    *strrchr(serving_directory, '/') = '\0';
    assert_true(fd >= 0);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    close(fd);
    assert_int_equal(write(ask[1], "", 1), 1);
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
    spex_profile_reader_free(&reader);
    for (int e = 0; e < 2; e++) {
        close(ready[e]);
        close(ask[e]);
    }
}

/* This program, copied, as another user's: what it says is on its standard output. */
TEST_WITH(set_user_id_programs_have_none, serving_begin, serving_end) {
    char self[256], copy[128], command[1024];
    if (getenv("TEST_EMULATED")) {
        print_message("SKIP: a program that is emulated cannot start another of its kind\n");
        skip();
    }
    SKIP_WITHOUT_ROOT();
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(length > 0);
    self[length] = '\0';
    snprintf(copy, sizeof(copy), "%s/copy", serving_directory);
    assert_int_equal(chmod(serving_directory, 0711), 0);
    snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 4755 '%s'", self, copy, copy);
    assert_int_equal(system(command), 0);
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0)
            execl(copy, copy, "started", (char *)NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 98) {
        print_message("SKIP: set-user-ID programs are not run as such here\n");
        skip();
    }
    assert_int_equal(status, 0);
    unlink(copy);
}

/* As the set-user-ID program: it starts spex, and has no thread but this one. */
static int started(void) {
    if (geteuid() == getuid())
        return 98;
    if (serving_start(NULL) != 0)
        return 1;
    return serving_count("/proc/self/task") == 1 ? 0 : 2;
}

int main(int argc, char **argv) {
    if (argc > 1)
        return strcmp(argv[1], "started") == 0 ? started() : 2;
    return tests_run(NULL, NULL);
}
