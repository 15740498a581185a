/* SPDX-License-Identifier: MIT */
/* The listening socket: where it is, which users it keeps out, and what stays behind. */
#include "serving.h"

#include <grp.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "wire/listening_socket.h"
#include "wire/standing.h"

enum { NOBODY = 65534 };

#define SKIP_WITHOUT_ROOT()                                                                        \
    if (geteuid() != 0) {                                                                          \
        print_message("SKIP: only root can become another user\n");                                \
        skip();                                                                                    \
    }

static const char *own_name(void) {
    static char name[SPEX_CONTROL_NAME_BYTES];
    spex_control_name(name);
    return name;
}

static const char *in_directory(const char *name) {
    static char path[SPEX_CONTROL_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", serving_directory, name);
    return path;
}

static bool is_there(const char *name) {
    struct stat file;
    return lstat(in_directory(name), &file) == 0;
}

static int begin(void **state) {
    (void)state;
    serving_begin();
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_stop();
    serving_end();
    return 0;
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

static void it_is_for_its_user_alone(void **state) {
    const mode_t umasks[] = {0, 022, 077, 0277, 0777};
    char path[128];
    struct spex_error error;
    (void)state;
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

static void it_closes_with_spex(void **state) {
    (void)state;
    assert_int_equal(serving_start(NULL), 0);
    assert_true(is_there(own_name()));
    close(caller_connect());
    spex_stop();
    assert_int_equal(serving_count(serving_directory), 0);
}

static void it_is_gone_after_an_exit(void **state) {
    int end_of, status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        exit(serving_start(NULL) != 0 || !is_there(own_name()));
    end_of = waitpid(child, &status, 0);
    assert_int_equal(end_of, child);
    assert_int_equal(status, 0);
    assert_int_equal(serving_count(serving_directory), 0);
}

/* A library that was linked with a spex of its own, and started it first, keeps its socket. */
static void another_copy_in_this_process_keeps_its_socket(void **state) {
    struct spex_listening_socket first, second;
    struct spex_error error;
    (void)state;
    assert_int_equal(spex_listening_socket_open(&first, serving_directory, &error), 0);
    assert_int_equal(spex_listening_socket_open(&second, serving_directory, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, "another copy of spex"));
    assert_true(spex_listening_socket_is_there(&first));
    spex_listening_socket_close(&first);
    assert_int_equal(spex_listening_socket_open(&second, serving_directory, &error), 0);
    spex_listening_socket_close(&second);
}

static void there_is_none_when_it_is_off(void **state) {
    (void)state;
    setenv("SPEX_CONTROL", "off", 1);
    assert_int_equal(serving_start(NULL), 0);
    setenv("SPEX_CONTROL", serving_directory, 1);
    assert_int_equal(serving_count(serving_directory), 0);
}

static void a_path_that_depends_on_where_one_is_is_refused(void **state) {
    (void)state;
    setenv("SPEX_CONTROL", "tmp/sockets", 1);
    assert_int_equal(serving_start(NULL), -EINVAL);
    setenv("SPEX_CONTROL", serving_directory, 1);
}

/* Which is no reason for the program not to run. */
static void odd_places_are_refused(void **state) {
    char link[128], file[128], *longer = malloc(10000);
    struct spex_error error;
    (void)state;
    snprintf(link, sizeof(link), "%s/link", serving_directory);
    snprintf(file, sizeof(file), "%s/file", serving_directory);
    assert_int_equal(symlink(serving_directory, link), 0);
    close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    memset(longer, '/', 9999);
    strcpy(longer + 9996, "tmp");
    assert_true(open_in(link, &error) < 0);
    assert_true(open_in(file, &error) < 0);
    assert_true(open_in("/nowhere/at/all", &error) < 0);
    assert_true(open_in("/dev/null", &error) < 0);
    assert_int_equal(open_in(longer, &error), -ENAMETOOLONG);
    assert_int_equal(open_in("/tmp", &error), -EPERM);
    assert_non_null(strstr(error.text, "does not belong to this user alone"));
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

static void somebody_elses_directory_is_refused(void **state) {
    struct spex_error error;
    (void)state;
    SKIP_WITHOUT_ROOT();
    assert_int_equal(chown(serving_directory, NOBODY, NOBODY), 0);
    assert_int_equal(open_in(serving_directory, &error), -EPERM);
    assert_int_equal(chown(serving_directory, 0, 0), 0);
}

/* As it is after sudo -E. */
static void somebody_elses_runtime_directory_is_left_alone(void **state) {
    struct spex_listening_socket listening;
    struct spex_error error;
    (void)state;
    SKIP_WITHOUT_ROOT();
    assert_int_equal(chown(serving_directory, NOBODY, NOBODY), 0);
    setenv("XDG_RUNTIME_DIR", serving_directory, 1);
    int err = spex_listening_socket_open(&listening, NULL, &error);
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(err, 0);
    assert_int_equal(serving_count(serving_directory), 0);
    spex_listening_socket_close(&listening);
}

static void the_next_place_is_taken_where_one_cannot_be(void **state) {
    struct spex_listening_socket listening;
    char path[128], next[128];
    struct spex_error error;
    (void)state;
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

static void paths_may_be_longer_than_an_address(void **state) {
    char path[600], part[256];
    struct spex_error error;
    struct spex_listening_socket listening;
    (void)state;
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

static void what_others_left_is_removed_and_nothing_else(void **state) {
    static const char *const foreign[] = {"agent", "123",   "0-7",   "-1-7",      "12-",
                                          "12-7x", "012-7", "12-07", "new-agent", "new-12-7"};
    char name[64], parent[64], hidden[64];
    struct spex_error error;
    unsigned long space = strtoul(strchr(own_name(), '-') + 1, NULL, 10);
    (void)state;
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

/* Sockets that are left, of `spex run`, and one that listens though the date says otherwise. */
static void what_is_older_than_the_process_of_its_number_is_removed(void **state) {
    const struct timespec of_1970[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    struct spex_error error;
    char names[3][64];
    int fd = -1;
    (void)state;
    for (int n = 0; n < 3; n++) {
        snprintf(names[n], sizeof(names[n]), "%d%s%s", n < 2 ? (int)getppid() : 1,
                 strchr(own_name(), '-'), n == 1 ? "-run" : "");
        fd = socket_in(names[n], SOCK_SEQPACKET, n == 2);
        assert_int_equal(utimensat(AT_FDCWD, in_directory(names[n]), of_1970, 0), 0);
    }
    assert_int_equal(open_in(serving_directory, &error), 0);
    assert_false(is_there(names[0]));
    assert_true(is_there(names[1]) && is_there(names[2]));
    close(fd);
}

static void its_own_old_socket_is_replaced(void **state) {
    (void)state;
    socket_in(own_name(), SOCK_SEQPACKET, false);
    assert_int_equal(serving_start(NULL), 0);
    close(caller_connect());
}

/* As when the name was taken away, and another copy of spex has it now. */
static void somebody_elses_socket_of_the_same_name_stays(void **state) {
    struct spex_listening_socket one, other;
    struct spex_error error;
    (void)state;
    assert_int_equal(spex_listening_socket_open(&one, serving_directory, &error), 0);
    assert_int_equal(unlink(in_directory(own_name())), 0);
    assert_int_equal(spex_listening_socket_open(&other, serving_directory, &error), 0);
    spex_listening_socket_close(&one);
    assert_true(is_there(own_name()));
    assert_true(spex_listening_socket_is_there(&other));
    spex_listening_socket_close(&other);
    assert_false(is_there(own_name()));
}

static void a_socket_that_was_taken_away_comes_back(void **state) {
    (void)state;
    assert_int_equal(serving_start(NULL), 0);
    assert_int_equal(unlink(in_directory(own_name())), 0);
    WAIT_UNTIL(is_there(own_name()));
    close(caller_connect());
    assert_int_equal(unlink(in_directory(own_name())), 0);
    assert_int_equal(rmdir(serving_directory), 0);
    WAIT_UNTIL(is_there(own_name()));
    close(caller_connect());
}

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

static void other_users_are_kept_out(void **state) {
    (void)state;
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

static void root_may_call_everybody(void **state) {
    int ready[2], ask[2];
    char byte = 0;
    struct spex_profile_reader reader = {0};
    (void)state;
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
static void set_user_id_programs_have_none(void **state) {
    char self[256], copy[128], command[1024];
    (void)state;
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

static int standing(char text[SPEX_CONTROL_TEXT_BYTES + 1]) {
    return spex_standing_read(serving_directory, "app", text);
}

/* In a directory of mode 0700, which serving_begin makes. */
static void a_standing_selection_is_its_users(void **state) {
    char text[SPEX_CONTROL_TEXT_BYTES + 1], path[SPEX_CONTROL_PATH_BYTES];
    int place = open(serving_directory, O_PATH | O_CLOEXEC), fds = serving_count("/proc/self/fd");
    (void)state;
    strcpy(path, in_directory("select-app"));
    assert_int_equal(standing(text), -ENOENT);
    assert_int_equal(spex_standing_write(place, "../app", "query"), -EINVAL);
    assert_int_equal(spex_standing_write(place, "app", "query,parse"), 0);
    assert_int_equal(spex_standing_write(place, "app", "query"), 0);
    assert_int_equal(standing(text), 0);
    assert_string_equal(text, "query");
    assert_int_equal(serving_count(serving_directory), 1);
    assert_int_equal(chmod(serving_directory, 0755), 0);
    assert_int_equal(standing(text), -EPERM);
    assert_int_equal(chmod(serving_directory, 0700), 0);
    assert_int_equal(truncate(path, SPEX_CONTROL_TEXT_BYTES + 1), 0);
    assert_int_equal(standing(text), -E2BIG);
    assert_int_equal(truncate(path, 100), 0); /* zeros */
    assert_int_equal(standing(text), -EINVAL);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, NOBODY, (gid_t)-1), 0);
        assert_int_equal(standing(text), -EPERM);
    }
    assert_int_equal(spex_standing_write(place, "app", NULL), 0);
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_int_equal(standing(text), -ELOOP);
    assert_int_equal(serving_count("/proc/self/fd"), fds);
    close(place);
}

/* As the set-user-ID program: it starts spex, and has no thread but this one. */
static int started(void) {
    if (geteuid() == getuid())
        return 98;
    if (serving_start(NULL) != 0)
        return 1;
    return serving_count("/proc/self/task") == 1 ? 0 : 2;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        TEST(it_is_for_its_user_alone),
        TEST(it_closes_with_spex),
        TEST(it_is_gone_after_an_exit),
        TEST(another_copy_in_this_process_keeps_its_socket),
        TEST(there_is_none_when_it_is_off),
        TEST(a_path_that_depends_on_where_one_is_is_refused),
        TEST(odd_places_are_refused),
        TEST(somebody_elses_directory_is_refused),
        TEST(somebody_elses_runtime_directory_is_left_alone),
        TEST(the_next_place_is_taken_where_one_cannot_be),
        TEST(paths_may_be_longer_than_an_address),
        TEST(what_others_left_is_removed_and_nothing_else),
        TEST(what_is_older_than_the_process_of_its_number_is_removed),
        TEST(its_own_old_socket_is_replaced),
        TEST(somebody_elses_socket_of_the_same_name_stays),
        TEST(a_socket_that_was_taken_away_comes_back),
        TEST(other_users_are_kept_out),
        TEST(root_may_call_everybody),
        TEST(set_user_id_programs_have_none),
        TEST(a_standing_selection_is_its_users),
    };
    if (argc > 1)
        return strcmp(argv[1], "started") == 0 ? started() : 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
