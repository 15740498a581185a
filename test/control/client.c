/* SPDX-License-Identifier: MIT */
/* How commands find programs: this one again, which is there until its standard input ends. */
#include "base/deadline.h"
#include "observe/workers.h"
#include "serving.h"
#include "wire/stream_format.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../open_descriptors.h"
#include "../scarce_descriptors.h"

extern char **environ;

enum { NOBODY = 65534 };

struct program {
    pid_t process;
    int to, from;
};

static const char *self;

static void program_start(struct program *program, const char *what) {
    char *arguments[] = {(char *)(uintptr_t)self, (char *)(uintptr_t)what, NULL};
    int to[2], from[2];
    char byte;
    posix_spawn_file_actions_t files;
    assert_true(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, to[0], 0);
    posix_spawn_file_actions_adddup2(&files, from[1], 1);
    assert_int_equal(posix_spawn(&program->process, self, &files, NULL, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(to[0]);
    close(from[1]);
    program->to = to[1];
    program->from = from[0];
    assert_int_equal(read(program->from, &byte, 1), 1);
}

static void program_end(const struct program *program) {
    int status;
    close(program->to);
    waitpid(program->process, &status, 0);
    close(program->from);
    assert_int_equal(status, 0);
}

/* Of one that does not end well as the user, or below the root, that it has become. */
static void program_kill(const struct program *program) {
    assert_int_equal(kill(program->process, SIGKILL), 0);
    assert_int_equal(waitpid(program->process, NULL, 0), program->process);
    close(program->to);
    close(program->from);
}

/* Listens under this process's name as another user, as if a process of that user had had this
 * number before. */
static int listen_as_nobody(void) {
    char name[SPEX_CONTROL_NAME_BYTES];
    spex_control_name(name);
    int place = open(getenv("SPEX_CONTROL"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return spex_control_bind_at(fd, place, getenv("SPEX_CONTROL"), name) == 0 &&
                   seteuid(NOBODY) == 0 && listen(fd, 16) == 0 && seteuid(0) == 0
               ? 0
               : 1;
}

/* Or not: an idle one has not started spex. One that hides has chosen its directory itself, so
 * that its environment as of its start does not tell it. */
static int serve(const char *what) {
    char byte;
    if (strcmp(what, "hide") == 0 && setenv("SPEX_CONTROL", getenv("TEST_HIDDEN"), 1) != 0)
        return 1;
    if (strcmp(what, "hide") == 0)
        what = "serve";
    if (strcmp(what, "jailed") == 0) {
        if (chroot(getenv("TEST_HIDDEN")) != 0)
            return 1;
        what = "serve";
    }
    if (strcmp(what, "nobody") == 0 && listen_as_nobody() != 0)
        return 1;
    bool humble = strcmp(what, "humble") == 0;
    if ((strcmp(what, "serve") == 0 || humble) && serving_start(NULL) != 0)
        return 1;
    if ((humble && setresuid(NOBODY, NOBODY, NOBODY) != 0) || write(1, "", 1) != 1)
        return 1;
    return read(0, &byte, 1) == 0 ? 0 : 1;
}

static int profile_of(pid_t process, pid_t *told, struct spex_error *error) {
    struct spex_profile_reader reader = {0};
    int err = spex_client_ask(process, SPEX_CONTROL_PROFILE, NULL, &reader, error);
    *told = (pid_t)reader.profile.process.process_id;
    spex_profile_reader_free(&reader);
    return err;
}

static bool is_listed(pid_t process) {
    pid_t *processes;
    long count = spex_processes_list(&processes);
    bool found = false;
    for (long p = 0; p < count; p++)
        found = found || processes[p] == process;
    free(processes);
    return found;
}

TEST(a_process_is_found_by_its_number) {
    struct program program;
    pid_t told;
    struct spex_error error;
    char expected[64];
    program_start(&program, "serve");
    assert_int_equal(profile_of(program.process, &told, &error), 0);
    assert_int_equal(told, program.process);
    assert_true(is_listed(program.process));
    assert_false(is_listed(getpid()));
    program_end(&program);
    assert_false(is_listed(program.process));
    assert_int_equal(profile_of(program.process, &told, &error), -ESRCH);
    snprintf(expected, sizeof(expected), "there is no process %d", (int)program.process);
    assert_string_equal(error.text, expected);
}

/* Attempts to connect, and limits of the time of waiting at them. */
static unsigned connects, limits;
static struct timeval limit_before, limit_after;

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t size);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size);

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
    if (level == SOL_SOCKET && name == SO_SNDTIMEO) {
        assert_int_equal(size, sizeof(limit_after));
        limit_before = limit_after;
        memcpy(&limit_after, value, sizeof(limit_after));
        limits++;
    }
    return __real_setsockopt(fd, level, name, value, size);
}

int __real_spex_control_connect_at(int fd, int directory, const char *name);
int __wrap_spex_control_connect_at(int fd, int directory, const char *name);

/* What the next attempts meet, 0 behind them; NULL: what there is. */
static const int *met;

int __wrap_spex_control_connect_at(int fd, int directory, const char *name) {
    connects++;
    if (met)
        return *met ? *met++ : -ENOENT;
    return __real_spex_control_connect_at(fd, directory, name);
}

/* And not longer, but for what is sent later. */
TEST(connecting_takes_so_long_at_most) {
    struct program program;
    struct spex_error error;
    program_start(&program, "serve");
    limits = 0;
    int fd = spex_client_connect(program.process, 61999, &error);
    assert_true(fd >= 0);
    assert_true(limits >= 2 && limits % 2 == 0);
    assert_true(limit_before.tv_sec == 61 && limit_before.tv_usec == 999000);
    assert_true(limit_after.tv_sec == 0 && limit_after.tv_usec == 0);
    assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    limits = 0;
    fd = spex_client_connect(program.process, 0, &error);
    assert_true(fd >= 0);
    assert_int_equal(limits, 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    close(fd);
    program_end(&program);
}

/* Of what is met at several places the worse is told; at one that does not answer the search
 * ends. Each place is tried by two names, where there is none by the first. */
TEST(the_worst_of_several_places_is_told) {
    static const struct {
        int met[5], err;
        unsigned tries;
        const char *said;
    } cases[] = {
        {{-EAGAIN}, -ETIMEDOUT, 1, "does not answer"},
        {{-ENOENT, -EAGAIN}, -ETIMEDOUT, 2, "does not answer"},
        {{-EACCES, -EAGAIN}, -ETIMEDOUT, 2, "does not answer"},
        {{-EACCES, -ENOENT, -ENOENT}, -EACCES, 3, "is not yours"},
        {{-ENOENT, -ENOENT, -EACCES}, -EACCES, 3, "is not yours"},
        {{-EPERM, -ENOENT, -EAGAIN}, -ETIMEDOUT, 3, "does not answer"},
        {{-ECONNREFUSED, -EPERM}, -EACCES, 2, "is not yours"},
        {{-EACCES, -EMFILE}, -EMFILE, 2, "cannot be reached: Too many open files"},
        {{-ENFILE, -EACCES}, -ENFILE, 2, "cannot be reached: Too many open files in system"},
        {{-ECONNREFUSED, -ECONNREFUSED}, -ENOENT, 2, "has no control socket"},
    };
    struct program program;
    program_start(&program, "idle");
    size_t open = open_descriptors();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error error = {""};
        connects = 0;
        met = cases[c].met;
        int err = spex_client_connect(program.process, 0, &error);
        met = NULL;
        if (err != cases[c].err || connects != cases[c].tries || !strstr(error.text, cases[c].said))
            fail_msg("case %zu: %d after %u, %s", c, err, connects, error.text);
    }
    assert_int_equal(open_descriptors(), open);
    program_end(&program);
}

/* Whoever looks for programs tries all processes: by two names in one directory, which it looks for
 * below the root of the process and below its own, however many users the process may have. */
TEST(no_place_is_tried_twice) {
    struct program program;
    struct spex_error error;
    program_start(&program, "idle");
    connects = 0;
    assert_int_equal(spex_client_connect(program.process, 0, &error), -ENOENT);
    assert_in_range(connects, 1, 4);
    program_end(&program);
}

TEST(it_is_said_why_a_process_cannot_be_called) {
    struct program program;
    pid_t told;
    struct spex_error error;
    program_start(&program, "idle");
    assert_int_equal(profile_of(program.process, &told, &error), -ENOENT);
    assert_non_null(strstr(error.text, "has no control socket"));
    program_end(&program);
    setenv("SPEX_CONTROL", "off", 1);
    program_start(&program, "serve");
    setenv("SPEX_CONTROL", serving_directory, 1);
    assert_int_equal(profile_of(program.process, &told, &error), -ENOENT);
    assert_non_null(strstr(error.text, "SPEX_CONTROL=off"));
    program_end(&program);
}

/* It is looked for where the command itself would be, in a directory alone. */
TEST(a_process_that_hides_is_found_by_the_command_s_directory) {
    struct program program;
    struct spex_error error;
    char expected[256];
    pid_t told;
    setenv("TEST_HIDDEN", serving_directory, 1);
    unsetenv("SPEX_CONTROL");
    program_start(&program, "hide");
    int without = profile_of(program.process, &told, &error);
    snprintf(
        expected, sizeof(expected),
        "process %d (control-client) has no control socket: it was not built with spex, has not "
        "called spex_start itself, as a child of a fork has to, or has no directory for the socket",
        (int)program.process);
    setenv("SPEX_CONTROL", serving_directory + 1, 1);
    int relative = spex_client_connect(program.process, 0, &error);
    setenv("SPEX_CONTROL", serving_directory, 1);
    assert_int_equal(without, -ENOENT);
    assert_string_equal(error.text, expected);
    assert_int_equal(relative, -ENOENT);
    assert_int_equal(profile_of(program.process, &told, &error), 0);
    assert_int_equal(told, program.process);
    int directory = spex_client_directory(program.process, 1000, &error);
    struct stat one, other;
    assert_true(directory >= 0 && fstat(directory, &one) == 0);
    assert_int_equal(stat(serving_directory, &other), 0);
    assert_true(one.st_dev == other.st_dev && one.st_ino == other.st_ino);
    close(directory);
    program_end(&program);
}

/* Whoever can write to a directory could: nobody listens there for another process. */
TEST(who_pretends_to_be_another_is_not_believed) {
    struct program program;
    char name[64];
    struct spex_error error;
    pid_t told;
    program_start(&program, "serve");
    char own[SPEX_CONTROL_NAME_BYTES];
    spex_control_name(own);
    snprintf(name, sizeof(name), "%d%s", (int)program.process, strchr(own, '-'));
    int place = open(serving_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(renameat(place, name, place, "away"), 0);
    assert_int_equal(spex_control_bind_at(fd, place, serving_directory, name), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(profile_of(program.process, &told, &error), -ENOENT);
    assert_int_equal(renameat(place, "away", place, name), 0);
    assert_int_equal(profile_of(program.process, &told, &error), 0);
    close(fd);
    close(place);
    program_end(&program);
}

TEST(a_socket_of_another_user_is_not_believed) {
    struct program program;
    struct spex_error error;
    pid_t told;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(serving_directory, NOBODY, (gid_t)-1), 0);
    program_start(&program, "nobody");
    int listens = profile_of(program.process, &told, &error);
    program_end(&program);
    assert_int_equal(chown(serving_directory, 0, (gid_t)-1), 0);
    assert_int_equal(listens, -ENOENT);
    program_start(&program, "serve");
    assert_int_equal(chown(serving_directory, NOBODY, (gid_t)-1), 0);
    int owns = profile_of(program.process, &told, &error);
    assert_int_equal(chown(serving_directory, 0, (gid_t)-1), 0);
    assert_int_equal(owns, -ENOENT);
    assert_int_equal(profile_of(program.process, &told, &error), 0);
    program_end(&program);
}

/* It listens as root, as whom it began, which is no user of it any more. */
TEST(a_process_that_is_not_root_any_more_is_believed) {
    struct program program;
    struct spex_error error;
    if (geteuid() != 0)
        skip();
    program_start(&program, "humble");
    int fd = spex_client_connect(program.process, 1000, &error);
    program_kill(&program);
    assert_true(fd >= 0);
    close(fd);
    serving_remove(serving_directory);
    assert_int_equal(mkdir(serving_directory, 0700), 0);
}

/* Though the directory of root's sockets, where one is looked for that began as root, is closed to
 * its user. */
TEST(a_process_without_a_socket_has_none_whoever_asks) {
    struct spex_error error;
    int status;
    if (geteuid() != 0)
        skip();
    assert_true(mkdir("/tmp/spex-0", 0700) == 0 || errno == EEXIST);
    pid_t child = fork();
    if (child == 0) {
        unsetenv("SPEX_CONTROL");
        unsetenv("XDG_RUNTIME_DIR");
        bool humble = setresuid(NOBODY, NOBODY, NOBODY) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0;
        _exit(humble ? -spex_client_connect(getpid(), 1000, &error) : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ENOENT);
}

/* Its directory is below its own root, where it has no /proc to tell the namespace of its
 * number. */
TEST(a_process_with_another_root_is_found) {
    struct program program;
    struct spex_error error;
    pid_t told;
    char inside[128];
    if (geteuid() != 0)
        skip();
    snprintf(inside, sizeof(inside), "%s/inside", serving_directory);
    assert_int_equal(mkdir(inside, 0700), 0);
    setenv("TEST_HIDDEN", serving_directory, 1);
    setenv("SPEX_CONTROL", "/inside", 1);
    program_start(&program, "jailed");
    setenv("SPEX_CONTROL", serving_directory, 1);
    int listens = serving_count(inside);
    int err = profile_of(program.process, &told, &error);
    int directory = spex_client_directory(program.process, 1000, &error);
    struct stat one, other;
    assert_true(directory >= 0 && fstat(directory, &one) == 0 && stat(inside, &other) == 0);
    close(directory);
    program_kill(&program);
    serving_remove(inside);
    assert_int_equal(listens, 1);
    assert_int_equal(err, 0);
    assert_int_equal(told, program.process);
    assert_true(one.st_dev == other.st_dev && one.st_ino == other.st_ino);
}

/* Has `left` more descriptors. */
static int connect_with(int left, pid_t process, struct spex_error *error) {
    struct scarce_descriptors scarce;
    descriptors_take(&scarce, left);
    int fd = spex_client_connect(process, 1000, error);
    if (fd < 0)
        assert_int_equal(spex_client_has_socket(process), fd);
    descriptors_give_back(&scarce);
    return fd;
}

/* Nothing is said of the process then; and no descriptor is lost on any of the ways. */
TEST(who_has_no_descriptors_does_not_know) {
    struct program program;
    struct spex_error error;
    char expected[96];
    size_t open = open_descriptors();
    program_start(&program, "serve");
    assert_int_equal(connect_with(0, program.process, &error), -EMFILE);
    snprintf(expected, sizeof(expected), "process %d: Too many open files", (int)program.process);
    assert_string_equal(error.text, expected);
    assert_int_equal(connect_with(1, program.process, &error), -EMFILE);
    snprintf(expected, sizeof(expected),
             "process %d (control-client) cannot be reached: Too many open files",
             (int)program.process);
    assert_string_equal(error.text, expected);
    int fd = connect_with(2, program.process, &error);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(spex_client_has_socket(program.process), 1);
    program_end(&program);
    assert_int_equal(spex_client_has_socket(program.process), 0);
    program_start(&program, "idle");
    assert_int_equal(spex_client_connect(program.process, 0, &error), -ENOENT);
    assert_int_equal(spex_client_directory(program.process, 1000, &error), -ENOENT);
    assert_int_equal(spex_client_has_socket(program.process), 0);
    program_end(&program);
    assert_int_equal(open_descriptors(), open);
}

/* Its queue is full of those who have called before and gone. */
TEST(a_stopped_process_does_not_hold_up_its_callers) {
    struct program program;
    struct spex_error error;
    pid_t told;
    int status, fd;
    program_start(&program, "serve");
    assert_int_equal(kill(program.process, SIGSTOP), 0);
    assert_int_equal(waitpid(program.process, &status, WUNTRACED), program.process);
    while ((fd = spex_client_connect(program.process, 0, &error)) >= 0)
        close(fd);
    assert_int_equal(fd, -ETIMEDOUT);
    assert_non_null(strstr(error.text, "does not answer"));
    assert_true(is_listed(program.process));
    assert_int_equal(kill(program.process, SIGCONT), 0);
    while (profile_of(program.process, &told, &error) == -ETIMEDOUT)
        continue;
    assert_int_equal(told, program.process);
    program_end(&program);
}

/* What a program answers to a request for a stream, whose first frame is `first`; 0 bytes: it goes.
 */
static int stream_answered(const void *first, size_t bytes, struct spex_error *error) {
    char request[256];
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    if (bytes)
        assert_int_equal(send(pair[1], first, bytes, 0), bytes);
    else
        assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
    error->text[0] = '\0';
    int err = spex_client_stream_over(
        pair[0], &(struct spex_client_stream){.types = "lat", .dumps = true}, error);
    ssize_t got = recv(pair[1], request, sizeof(request), 0);
    const struct spex_control_request *asked = (const void *)request;
    assert_int_equal(got, sizeof(*asked) + strlen("lat"));
    assert_int_equal(asked->kind, SPEX_CONTROL_STREAM);
    assert_int_equal(asked->interval_ms, SPEX_CONTROL_STREAM_DUMPS);
    assert_memory_equal(request + sizeof(*asked), "lat", 3);
    close(pair[0]);
    close(pair[1]);
    return err;
}

TEST(a_stream_is_given_or_refused) {
    struct spex_control_frame done = {.magic = SPEX_CONTROL_MAGIC,
                                      .version = SPEX_CONTROL_VERSION,
                                      .kind = SPEX_CONTROL_DONE,
                                      .entry_bytes = 1,
                                      .status = -ENOSYS};
    const uint32_t stream = SPEX_STREAM_MAGIC;
    struct spex_error error;
    assert_int_equal(stream_answered(&stream, sizeof(stream), &error), 0);
    assert_int_equal(stream_answered(&done, sizeof(done), &error), -ENOSYS);
    assert_string_equal(error.text, strerror(ENOSYS));
    done.status = -EACCES;
    assert_int_equal(stream_answered(&done, sizeof(done), &error), -EACCES);
    assert_string_equal(error.text, "Permission denied");
    done.status = 3;
    assert_int_equal(stream_answered(&done, sizeof(done), &error), -EPROTO);
    struct {
        struct spex_control_frame head;
        char text[7];
    } why = {.head = done, .text = "no more"};
    why.head.status = -EUSERS;
    why.head.count = sizeof(why.text);
    assert_int_equal(stream_answered(&why, sizeof(why.head) + sizeof(why.text), &error), -EUSERS);
    assert_string_equal(error.text, "no more");
    assert_int_equal(stream_answered(NULL, 0, &error), -ECONNRESET);
    assert_string_equal(error.text, "the program has gone");
}

/* A deadline that has passed lets nobody wait for a program that is stopped. */
TEST(an_answer_is_waited_for_until_the_deadline) {
    struct spex_profile_reader reader = {0};
    struct program program;
    struct spex_error error;
    char expected[64];
    int status;
    program_start(&program, "serve");
    assert_int_equal(kill(program.process, SIGSTOP), 0);
    assert_int_equal(waitpid(program.process, &status, WUNTRACED), program.process);
    snprintf(expected, sizeof(expected), "process %d does not answer", (int)program.process);
    for (unsigned n = 0; n < 20; n++) {
        assert_int_equal(spex_client_ask_until(program.process, SPEX_CONTROL_PROFILE, NULL, &reader,
                                               spex_deadline_in(0), &error),
                         -ETIMEDOUT);
        assert_string_equal(error.text, expected);
    }
    spex_profile_reader_free(&reader);
    assert_int_equal(kill(program.process, SIGCONT), 0);
    program_end(&program);
}

/* Callers of many processes share the time that they have. */
TEST(whoever_does_not_answer_takes_a_share_of_the_time) {
    struct spex_deadline passed = spex_deadline_in(0), later = spex_deadline_in(1e6);
    assert_int_equal(spex_deadline_share_ms(passed, 1), 1);
    assert_int_equal(spex_deadline_share_ms(spex_deadline_in(1), 1000000), 1);
    assert_in_range(spex_deadline_share_ms(later, 1000), 900000, 1000000);
    assert_in_range(spex_deadline_share_ms(later, 1), 900000000, 1000000001);
}

int main(int argc, char **argv) {
    if (getenv("TEST_EMULATED")) {
        puts("SKIP: a program that is emulated cannot start another of its kind");
        return 77;
    }
    self = argv[0];
    if (argc > 1)
        return serve(argv[1]);
    return tests_run(serving_begin, serving_end);
}
