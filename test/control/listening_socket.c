/* SPDX-License-Identifier: MIT */
/* The listening socket: where it is, and what stays behind. */
#include "listening.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "wire/listening_socket.h"

static bool is_there(const char *name) {
    struct stat file;
    return lstat(in_directory(name), &file) == 0;
}

static int open_in(const char *chosen, struct spex_error *error) {
    struct spex_listening_socket listening;
    int err = spex_listening_socket_open(&listening, chosen, error);
    if (!err)
        spex_listening_socket_close(&listening);
    return err;
}

static unsigned mode_of(const char *path) {
    struct stat file;
    return lstat(path, &file) == 0 ? file.st_mode & 07777 : 0;
}

TEST_WITH(it_is_for_its_user_alone, serving_begin, serving_end) {
    const mode_t umasks[] = {0, 022, 077, 0277, 0777};
    char path[128];
    struct spex_error error;
    snprintf(path, sizeof(path), "%s/made", serving_directory);
    for (size_t u = 0; u < COUNT_OF(umasks); u++) {
        struct spex_listening_socket listening;
        mode_t before = umask(umasks[u]);
        int err = spex_listening_socket_open(&listening, path, &error);
        umask(before);
        assert_int_equal(err, 0);
        assert_int_equal(mode_of(path), 0700);
        char file[256];
        snprintf(file, sizeof(file), "%s/%s", path, own_name());
        assert_int_equal(mode_of(file), 0600);
        spex_listening_socket_close(&listening);
        assert_int_equal(serving_count(path), 0);
        assert_int_equal(rmdir(path), 0);
    }
}

TEST_WITH(it_closes_with_spex, serving_begin, serving_end) {
    assert_int_equal(serving_start(NULL), 0);
    assert_true(is_there(own_name()));
    close(caller_connect());
    spex_stop();
    assert_int_equal(serving_count(serving_directory), 0);
}

TEST_WITH(it_is_gone_after_an_exit, serving_begin, serving_end) {
    int end_of, status;
    pid_t child = fork();
    if (child == 0)
        exit(serving_start(NULL) != 0 || !is_there(own_name()));
    end_of = waitpid(child, &status, 0);
    assert_int_equal(end_of, child);
    assert_int_equal(status, 0);
    assert_int_equal(serving_count(serving_directory), 0);
}

/* As in programs that have closed their standard streams: the numbers 0 and 1 are as good as
 * others, and nothing stays open. */
TEST_WITH(any_number_is_a_descriptor, serving_begin, serving_end) {
    struct spex_listening_socket listening, twice;
    struct spex_error error;
    for (int closed = 1; closed <= 2; closed++) {
        int input = dup(0), output = dup(1);
        close(0);
        if (closed == 2)
            close(1);
        int opened = spex_listening_socket_open(&listening, serving_directory, &error);
        int number = listening.socket.number;
        int again = spex_listening_socket_open(&twice, serving_directory, &error);
        bool there = is_there(own_name());
        spex_listening_socket_close(&listening);
        bool left = fcntl(0, F_GETFD) >= 0 || (closed == 2 && fcntl(1, F_GETFD) >= 0);
        assert_true(dup2(input, 0) == 0 && dup2(output, 1) == 1);
        close(input);
        close(output);
        assert_int_equal(opened, 0);
        assert_int_equal(again, -EADDRINUSE);
        assert_true(number >= 0 && there);
        assert_false(left);
        assert_int_equal(serving_count(serving_directory), 0);
    }
}

/* A library that was linked with a spex of its own, and started it first, keeps its socket. */
TEST_WITH(another_copy_in_this_process_keeps_its_socket, serving_begin, serving_end) {
    struct spex_listening_socket first, second;
    struct spex_error error;
    assert_int_equal(spex_listening_socket_open(&first, serving_directory, &error), 0);
    assert_int_equal(spex_listening_socket_open(&second, serving_directory, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, "another copy of spex"));
    assert_true(spex_listening_socket_is_there(&first));
    spex_listening_socket_close(&first);
    assert_int_equal(spex_listening_socket_open(&second, serving_directory, &error), 0);
    spex_listening_socket_close(&second);
}

TEST_WITH(there_is_none_when_it_is_off, serving_begin, serving_end) {
    setenv("SPEX_CONTROL", "off", 1);
    assert_int_equal(serving_start(NULL), 0);
    setenv("SPEX_CONTROL", serving_directory, 1);
    assert_int_equal(serving_count(serving_directory), 0);
}

TEST_WITH(a_path_that_depends_on_where_one_is_is_refused, serving_begin, serving_end) {
    setenv("SPEX_CONTROL", "tmp/sockets", 1);
    assert_int_equal(serving_start(NULL), -EINVAL);
    setenv("SPEX_CONTROL", serving_directory, 1);
}

/* Which is no reason for the program not to run. */
TEST_WITH(odd_places_are_refused, serving_begin, serving_end) {
    char link[128], file[128], *longer = malloc(10000);
    struct spex_error error;
    snprintf(link, sizeof(link), "%s/link", serving_directory);
    snprintf(file, sizeof(file), "%s/file", serving_directory);
    assert_int_equal(symlink(serving_directory, link), 0);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    memset(longer, '/', 9999);
    strcpy(longer + 9996, "tmp");
    assert_int_equal(open_in(link, &error), -ENOTDIR);
    assert_int_equal(open_in(file, &error), -ENOTDIR);
    assert_int_equal(open_in("/nowhere/at/all", &error), -ENOENT);
    assert_string_equal(error.text, "/nowhere/at/all: No such file or directory");
    assert_int_equal(open_in("/dev/null", &error), -ENOTDIR);
    assert_int_equal(open_in(longer, &error), -ENAMETOOLONG);
    assert_int_equal(open_in("/tmp", &error), -EPERM);
    assert_string_equal(error.text, "/tmp: does not belong to this user alone; "
                                    "SPEX_CONTROL=DIRECTORY names another one");
    chmod(serving_directory, 0710);
    assert_int_equal(open_in(serving_directory, &error), -EPERM);
    chmod(serving_directory, 0700);
    assert_int_equal(open_in(serving_directory, &error), 0);
    setenv("SPEX_CONTROL", link, 1);
    assert_int_equal(serving_start(NULL), 0);
    unlink(link);
    unlink(file);
    free(longer);
}

TEST_WITH(somebody_elses_directory_is_refused, serving_begin, serving_end) {
    struct spex_error error;
    SKIP_WITHOUT_ROOT();
    assert_int_equal(chown(serving_directory, NOBODY, NOBODY), 0);
    assert_int_equal(open_in(serving_directory, &error), -EPERM);
    assert_int_equal(chown(serving_directory, 0, 0), 0);
}

/* As it is after sudo -E. */
TEST_WITH(somebody_elses_runtime_directory_is_left_alone, serving_begin, serving_end) {
    struct spex_listening_socket listening;
    struct spex_error error;
    SKIP_WITHOUT_ROOT();
    assert_int_equal(chown(serving_directory, NOBODY, NOBODY), 0);
    setenv("XDG_RUNTIME_DIR", serving_directory, 1);
    int err = spex_listening_socket_open(&listening, NULL, &error);
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(err, 0);
    assert_int_equal(serving_count(serving_directory), 0);
    spex_listening_socket_close(&listening);
}

TEST_WITH(the_next_place_is_taken_where_one_cannot_be, serving_begin, serving_end) {
    struct spex_listening_socket listening;
    char path[128], next[128];
    struct spex_error error;
    snprintf(path, sizeof(path), "%s/spex", serving_directory);
    setenv("XDG_RUNTIME_DIR", serving_directory, 1);
    assert_int_equal(spex_listening_socket_open(&listening, NULL, &error), 0);
    assert_string_equal(listening.path, path);
    spex_listening_socket_close(&listening);
    assert_int_equal(rmdir(path), 0);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* not a directory */
    assert_int_equal(spex_listening_socket_open(&listening, NULL, &error), 0);
    assert_string_not_equal(listening.path, path);
    spex_listening_socket_close(&listening);
    unsetenv("XDG_RUNTIME_DIR");
    unlink(path);
    assert_true(
        spex_control_directory(2, NULL, NULL, 7, next) ? strcmp(next, "/dev/shm/spex-7") == 0 : 0);
    assert_true(spex_control_directory(3, NULL, "/x", 7, next));
    /* Nobody's number, so that no namespace has another one for it. */
    assert_false(spex_control_directory(4, NULL, "/x", UINT32_MAX - 1, next));
    assert_false(spex_control_directory(3, NULL, "relative", UINT32_MAX - 1, next));
    assert_false(spex_control_directory(1, "/chosen", "/x", 7, next));
}

TEST_WITH(paths_may_be_longer_than_an_address, serving_begin, serving_end) {
    char path[600], part[256];
    struct spex_error error;
    struct spex_listening_socket listening;
    memset(part, 'p', 200);
    part[200] = '\0';
    snprintf(path, sizeof(path), "%s/%s", serving_directory, part);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%s/%s", serving_directory, part, part);
    assert_int_equal(spex_listening_socket_open(&listening, path, &error), 0);
    int place = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(spex_control_connect_at(fd, place, own_name()), 0);
    close(fd);
    close(place);
    spex_listening_socket_close(&listening);
    assert_int_equal(rmdir(path), 0);
}

/* A socket of that name, listening or left behind. */
static int socket_in(const char *name, int type, bool listening) {
    int place = open(serving_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    assert_int_equal(spex_control_bind_at(fd, place, serving_directory, name), 0);
    if (listening)
        assert_int_equal(listen(fd, 1), 0);
    else
        close(fd);
    close(place);
    return fd;
}

TEST_WITH(what_others_left_is_removed_and_nothing_else, serving_begin, serving_end) {
    static const char *const foreign[] = {"agent", "123",   "0-7",   "-1-7",      "12-",
                                          "12-7x", "012-7", "12-07", "new-agent", "new-12-7"};
    char name[64], parent[64], hidden[64];
    struct spex_error error;
    unsigned long space = strtoul(strchr(own_name(), '-') + 1, NULL, 10);
    for (size_t f = 0; f < COUNT_OF(foreign); f++)
        socket_in(foreign[f], SOCK_SEQPACKET, false);
    socket_in("77-7", SOCK_SEQPACKET, false);           /* of a namespace that has gone */
    int live = socket_in("78-7", SOCK_SEQPACKET, true); /* and of one that has not */
    int stream = socket_in("79-7", SOCK_STREAM, true);
    snprintf(name, sizeof(name), "99999999-%lu", space); /* no process has such a number */
    socket_in(name, SOCK_SEQPACKET, false);
    spex_control_hidden_name(name, hidden);
    socket_in(hidden, SOCK_SEQPACKET, false);
    snprintf(parent, sizeof(parent), "%d-%lu", (int)getppid(), space);
    socket_in(parent, SOCK_SEQPACKET, false); /* it may be about to listen */
    close(open(in_directory("80-7"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(open_in(serving_directory, &error), 0);
    for (size_t f = 0; f < COUNT_OF(foreign); f++)
        assert_true(is_there(foreign[f]));
    assert_false(is_there("77-7"));
    assert_true(is_there("78-7"));
    assert_true(is_there("79-7"));
    assert_true(is_there("80-7"));
    assert_false(is_there(name));
    assert_false(is_there(hidden));
    assert_true(is_there(parent));
    close(live);
    close(stream);
}

/* The parent may be of another namespace, and this process the first of its own. */
static pid_t another_process(void) {
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(process > 0);
    return process;
}

/* Sockets that are left, of `spex run`, and one that listens though the date says otherwise. */
TEST_WITH(what_is_older_than_the_process_of_its_number_is_removed, serving_begin, serving_end) {
    const struct timespec of_1970[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct spex_error error;
    char names[3][64];
    int fd = -1;
    const pid_t others[] = {another_process(), another_process()};
    for (int n = 0; n < 3; n++) {
        snprintf(names[n], sizeof(names[n]), "%d%s%s", (int)others[n / 2], strchr(own_name(), '-'),
                 n == 1 ? "-run" : "");
        fd = socket_in(names[n], SOCK_SEQPACKET, n == 2);
        assert_int_equal(utimensat(AT_FDCWD, in_directory(names[n]), of_1970, 0), 0);
    }
    assert_int_equal(open_in(serving_directory, &error), 0);
    assert_false(is_there(names[0]));
    assert_true(is_there(names[1]) && is_there(names[2]));
    close(fd);
    for (int n = 0; n < 2; n++) {
        kill(others[n], SIGKILL);
        waitpid(others[n], NULL, 0);
    }
}

/* By seconds, of the same boot: left by the one before, and made by this one. */
TEST_WITH(what_was_made_before_its_process_is_removed, serving_begin, serving_end) {
    static const int64_t before_s[] = {5, -5};
    const pid_t others[] = {another_process(), another_process()};
    struct spex_error error;
    struct timespec now;
    char names[2][64];
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &now), 0);
    for (int n = 0; n < 2; n++) {
        const struct timespec made = {.tv_sec = now.tv_sec - before_s[n]};
        const struct timespec both[2] = {made, made};
        snprintf(names[n], sizeof(names[n]), "%d%s", (int)others[n], strchr(own_name(), '-'));
        socket_in(names[n], SOCK_SEQPACKET, false);
        assert_int_equal(utimensat(AT_FDCWD, in_directory(names[n]), both, 0), 0);
    }
    assert_int_equal(open_in(serving_directory, &error), 0);
    assert_false(is_there(names[0]));
    assert_true(is_there(names[1]));
    for (int n = 0; n < 2; n++) {
        kill(others[n], SIGKILL);
        waitpid(others[n], NULL, 0);
    }
}

static unsigned long namespace_of(const char *link) {
    const char *path = in_directory("namespace");
    assert_int_equal(symlink(link, path), 0);
    unsigned long number = spex_control_namespace(path);
    assert_int_equal(unlink(path), 0);
    return number;
}

TEST_WITH(a_namespace_has_its_number, serving_begin, serving_end) {
    assert_int_equal(namespace_of("pid:[4026531836]"), 4026531836);
    assert_int_equal(namespace_of("mnt:[4026531836]"), 0);
    assert_int_equal(namespace_of("pid"), 0);
    assert_int_equal(spex_control_namespace(in_directory("namespace")), 0);
}

TEST_WITH(its_own_old_socket_is_replaced, serving_begin, serving_end) {
    socket_in(own_name(), SOCK_SEQPACKET, false);
    assert_int_equal(serving_start(NULL), 0);
    close(caller_connect());
}

/* As when the name was taken away, and another copy of spex has it now. */
TEST_WITH(somebody_elses_socket_of_the_same_name_stays, serving_begin, serving_end) {
    struct spex_listening_socket one, other;
    struct spex_error error;
    assert_int_equal(spex_listening_socket_open(&one, serving_directory, &error), 0);
    assert_int_equal(unlink(in_directory(own_name())), 0);
    assert_int_equal(spex_listening_socket_open(&other, serving_directory, &error), 0);
    spex_listening_socket_close(&one);
    assert_true(is_there(own_name()));
    assert_true(spex_listening_socket_is_there(&other));
    spex_listening_socket_close(&other);
    assert_false(is_there(own_name()));
}

TEST_WITH(a_socket_that_was_taken_away_comes_back, serving_begin, serving_end) {
    assert_int_equal(serving_start(NULL), 0);
    assert_int_equal(unlink(in_directory(own_name())), 0);
    WAIT_UNTIL(is_there(own_name()));
    close(caller_connect());
    assert_int_equal(unlink(in_directory(own_name())), 0);
    assert_int_equal(rmdir(serving_directory), 0);
    WAIT_UNTIL(is_there(own_name()));
    close(caller_connect());
}
