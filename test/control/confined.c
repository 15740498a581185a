/* SPDX-License-Identifier: MIT */
/* Programs that are confined, as in a container or a sandbox: without /proc, without poll(), and in
 * a user namespace. They start this file again. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "serving.h"

#include "wire/listening_socket.h"

enum { CANNOT = 77 };

/* What is mounted then is not seen outside. */
static bool have_own_mounts(void) {
    int namespaces = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    return unshare(namespaces) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool hide(const char *directory, unsigned long flags) {
    return mount("none", directory, "tmpfs", flags, NULL) == 0;
}

static bool hide_proc(void) {
    return have_own_mounts() && hide("/proc", 0);
}

static bool deny(unsigned number, unsigned other) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = COUNT_OF(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static bool deny_poll(void) {
#ifdef SYS_poll
    return deny(SYS_poll, SYS_ppoll);
#else
    return deny(SYS_ppoll, SYS_ppoll);
#endif
}

/* The program: it says by a byte that it has started, and ends when its input does. */
static _Noreturn void serve(const char *how) {
    char byte = 0;
    if (!(strcmp(how, "proc") == 0 ? hide_proc() : deny_poll()))
        _exit(CANNOT);
    if (serving_start(NULL) != 0 || write(1, &byte, 1) != 1)
        _exit(1);
    while (read(0, &byte, 1) > 0)
        continue;
    _exit(spex_stop() ? 1 : 0); /* without the search for leaks, which needs /proc */
}

static const char *self;

static pid_t program_start(const char *how, int *output, int *input) {
    int out[2], in[2];
    assert_int_equal(pipe2(out, O_CLOEXEC) | pipe2(in, O_CLOEXEC), 0);
    pid_t program = fork();
    if (program == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl(self, self, how, NULL);
        _exit(1);
    }
    close(out[1]);
    close(in[0]);
    *output = out[0];
    *input = in[1];
    return program;
}

static void expect_success(int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        print_message("SKIP: this process cannot be confined further\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void answers_although(const char *how) {
    struct spex_profile_reader reader = {0};
    struct spex_error error = {""};
    int output, input, status;
    char byte;
    pid_t program = program_start(how, &output, &input);
    bool started = read(output, &byte, 1) == 1;
    int err = started ? spex_client_ask(program, SPEX_CONTROL_PROFILE, NULL, &reader, &error) : 0;
    close(input);
    close(output);
    assert_int_equal(waitpid(program, &status, 0), program);
    spex_profile_reader_free(&reader);
    expect_success(status);
    if (err)
        fail_msg("%s", error.text);
}

TEST(without_proc_there_is_a_socket) {
    answers_although("proc");
}

/* A thread that does not wait for what it cannot have answers after a rest. */
TEST(without_poll_there_is_an_answer) {
    answers_although("poll");
}

/* In a namespace where this user has the number 5, whose directory may be another's. */
static int name_outside(uid_t user) {
    char map[32], path[SPEX_CONTROL_PATH_BYTES], expected[64];
    snprintf(map, sizeof(map), "5 %u 1", (unsigned)user);
    int fd = unshare(CLONE_NEWUSER) == 0 ? open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0 || write(fd, map, strlen(map)) < 0)
        return CANNOT;
    snprintf(expected, sizeof(expected), "/tmp/spex-%u", (unsigned)user);
    return spex_control_directory(4, NULL, "/run", 5, path) && strcmp(path, expected) == 0 ? 0 : 1;
}

TEST(a_number_of_a_namespace_is_not_the_only_one) {
    uid_t user = geteuid();
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(name_outside(user));
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_success(status);
}

static int fail_everywhere(void) {
    struct spex_listening_socket door;
    struct spex_error error;
    unsetenv("XDG_RUNTIME_DIR");
    if (!have_own_mounts() || !hide("/run", MS_RDONLY) || !hide("/tmp", MS_RDONLY) ||
        !hide("/dev/shm", MS_RDONLY))
        return CANNOT;
    int err = spex_listening_socket_open(&door, NULL, &error);
    return err && strstr(error.text, "/run/user/") && strstr(error.text, "; /tmp/spex-") &&
                   strstr(error.text, "; /dev/shm/spex-")
               ? 0
               : 1;
}

/* What is not permitted is not taken for a directory of somebody else. */
static int fail_to_bind(void) {
    struct spex_listening_socket door;
    struct spex_error error = {""};
    if (!deny(SYS_bind, SYS_bind))
        return CANNOT;
    int err = spex_listening_socket_open(&door, serving_directory, &error);
    return err == -EACCES && strstr(error.text, "Permission denied") ? 0 : 1;
}

TEST(a_denied_call_is_said_to_be_denied) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(fail_to_bind());
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_success(status);
}

TEST(it_is_said_why_for_each_directory) {
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(fail_everywhere());
    assert_int_equal(waitpid(child, &status, 0), child);
    expect_success(status);
}

int main(int argc, char **argv) {
    if (getenv("TEST_EMULATED")) {
        puts("SKIP: a program that is emulated cannot start another of its kind");
        return 77;
    }
    self = argv[0];
    if (argc > 1)
        serve(argv[1]);
    return tests_run(serving_begin, serving_end);
}
