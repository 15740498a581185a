/* SPDX-License-Identifier: MIT */
/* Whom the listening socket of a command lets in: as many as there is room for, while there are
 * descriptors; and which of a process's connections stand beside another. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../scarce_descriptors.h"
#include "observe/listener.h"
#include "scratch.h"

static struct spex_listener listener;

static int begin(void **state) {
    struct spex_error error;
    (void)state;
    setenv("SPEX_CONTROL", scratch_path, 1);
    chmod(scratch_path, 0700);
    return spex_listener_open(&listener, &error);
}

static int end(void **state) {
    (void)state;
    spex_listener_close(&listener);
    return 0;
}

static int call(void) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[300];
    snprintf(path, sizeof(path), "%.200s/%.50s", listener.listening.path, listener.listening.name);
    assert_in_range(strlen(path), 1, sizeof(address.sun_path) - 1);
    strcpy(address.sun_path, path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

TEST_WITH(more_than_there_is_room_for_are_refused, begin, end) {
    for (size_t n = 0; n < SPEX_CALLERS_MAX; n++) {
        int fd = call();
        const struct spex_caller *caller = spex_listener_accept(&listener);
        assert_non_null(caller);
        assert_ptr_equal(caller, listener.callers[n]);
        assert_int_equal(caller->process, getpid());
        assert_int_equal(listener.count, n + 1);
        close(fd);
    }
    assert_int_equal(listener.refused, 0);
    size_t open = open_descriptors();
    int fds[] = {call(), call(), call()};
    assert_null(spex_listener_accept(&listener));
    assert_int_equal(listener.count, SPEX_CALLERS_MAX);
    assert_int_equal(listener.refused, COUNT_OF(fds));
    for (size_t f = 0; f < COUNT_OF(fds); f++)
        close(fds[f]);
    assert_int_equal(open_descriptors(), open);
}

/* Those whose other end is closed do not count, though what they have sent is not taken yet. */
TEST_WITH(a_second_connection_stands_beside_an_open_one, begin, end) {
    int first = call();
    assert_false(spex_listener_accept(&listener)->beside);
    int second = call();
    assert_true(spex_listener_accept(&listener)->beside);
    assert_int_equal(send(first, "x", 1, 0), 1);
    close(first);
    int third = call();
    assert_true(spex_listener_accept(&listener)->beside);
    assert_int_equal(send(second, "x", 1, 0), 1);
    close(second);
    close(third);
    int fourth = call();
    assert_false(spex_listener_accept(&listener)->beside);
    listener.callers[3]->process++;
    int fifth = call();
    assert_false(spex_listener_accept(&listener)->beside); /* of another process */
    close(fourth);
    close(fifth);
}

/* A socket that is not waited at would be reported again and again. */
TEST_WITH(without_descriptors_nobody_is_let_in_any_more, begin, end) {
    struct scarce_descriptors scarce;
    int caller = call();
    descriptors_take(&scarce, 0);
    int refused = spex_listener_accept_socket(&listener);
    descriptors_give_back(&scarce);
    assert_int_equal(refused, -EMFILE);
    assert_int_equal(listener.refused, 1);
    assert_int_equal(listener.listening.socket.number, -1);
    assert_null(spex_listener_accept(&listener));
    assert_int_equal(spex_listener_accept_socket(&listener), -EAGAIN);
    assert_int_equal(listener.refused, 1);
    close(caller);
}

/* A command may be started without its first descriptors: then the socket, or a calling process's
 * descriptor, is number 0. */
TEST_WITH(a_socket_may_have_number_0, begin, end) {
    int input = fcntl(0, F_DUPFD_CLOEXEC, 3), number = listener.listening.socket.number;
    assert_int_equal(dup2(number, 0), 0);
    close(number);
    listener.listening.socket.number = 0;
    int first = call();
    assert_non_null(spex_listener_accept(&listener));
    spex_listener_close(&listener);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    close(first);
    struct spex_error error;
    dup2(input, 0);
    assert_int_equal(spex_listener_open(&listener, &error), 0);
    first = call();
    close(0);
    const struct spex_caller *caller = spex_listener_accept(&listener);
    assert_non_null(caller);
    assert_int_equal(caller->pidfd, 0);
    int second = call();
    assert_true(spex_listener_accept(&listener)->beside);
    assert_int_equal(listener.refused, 0);
    spex_listener_close(&listener);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    dup2(input, 0);
    close(input);
    close(first);
    close(second);
}

/* `why`: why the chosen directory is not the one; NULL: it is, or there is none. */
static void expect_at(const char *directory, const char *why) {
    char expected[256], output[256];
    struct spex_error error = {"of before"};
    struct stat file;
    assert_int_equal(spex_listener_open(&listener, &error), 0);
    assert_string_equal(listener.listening.path, directory);
    snprintf(expected, sizeof(expected), "no socket in %.150s: %.90s", getenv("SPEX_CONTROL"),
             why ? why : "");
    assert_string_equal(error.text, why ? expected : "");
    snprintf(expected, sizeof(expected), "record:%.150s/%.50s", directory, listener.listening.name);
    spex_listener_output(&listener, "record", output, sizeof(output));
    assert_string_equal(output, expected);
    assert_int_equal(stat(output + strlen("record:"), &file), 0);
    int fd = call();
    assert_non_null(spex_listener_accept(&listener));
    close(fd);
    spex_listener_close(&listener);
    assert_int_equal(stat(output + strlen("record:"), &file), -1);
}

/* In the directory that is chosen, if the whole path has room in a socket's address and it is this
 * user's alone; else in the user's own. */
TEST_WITH(the_directory_is_the_first_usable_one, begin, end) {
    const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);
    char own[300], chosen[200] = "";
    const size_t name = strlen(listener.listening.name);
    spex_listener_close(&listener);
    size_t open = open_descriptors();
    snprintf(own, sizeof(own), "%.200s/run", scratch_path);
    assert_int_equal(mkdir(own, 0700), 0);
    setenv("XDG_RUNTIME_DIR", own, 1);
    strcat(own, "/spex");
    for (size_t whole = room - 3; whole < room + 3; whole++) {
        size_t length = whole - 1 - name;
        assert_in_range(strlen(scratch_path) + 2, 0, length);
        snprintf(chosen, sizeof(chosen), "%.150s/", scratch_path);
        while (strlen(chosen) < length)
            strcat(chosen, "a");
        assert_int_equal(mkdir(chosen, 0700), 0);
        setenv("SPEX_CONTROL", chosen, 1);
        expect_at(whole < room ? chosen : own, whole < room ? NULL : strerror(ENAMETOOLONG));
        if (whole == room - 3) {
            assert_int_equal(chmod(chosen, 0777), 0);
            expect_at(own, "it does not belong to this user alone" SPEX_CONTROL_ANOTHER);
        }
        assert_int_equal(rmdir(chosen), 0);
    }
    setenv("SPEX_CONTROL", "off", 1);
    expect_at(own, NULL);
    unsetenv("SPEX_CONTROL");
    expect_at(own, NULL);
    unsetenv("XDG_RUNTIME_DIR");
    assert_int_equal(open_descriptors(), open);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
