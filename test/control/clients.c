/* SPDX-License-Identifier: MIT */
/* Who is let in, and after what no more are accepted for a while. */
#include "listening.h"

#include <sys/resource.h>
#include <sys/un.h>

#include "../open_descriptors.h"
#include "serve/clients.h"

#define MS UINT64_C(1000000)

/* Numbers of descriptors that are looked at: spex takes none beyond. */
enum { DESCRIPTORS = 1024 };

static const uint64_t now = 7;
static struct spex_control *control;

static int begin(void **state) {
    struct spex_error error;
    serving_begin(state);
    control = calloc(1, sizeof(*control));
    assert_non_null(control);
    assert_int_equal(spex_listening_socket_open(&control->door, serving_directory, &error), 0);
    control->has_door = control->wants_door = true;
    return 0;
}

static int end(void **state) {
    for (int p = 0; p < control->places; p++)
        if (spex_connection_there(&control->connections[p]))
            spex_connection_close(&control->connections[p]);
    spex_listening_socket_close(&control->door);
    free(control);
    return serving_end(state);
}

static int call(void) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.40s/%.40s", control->door.path,
             control->door.name);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static int connections(void) {
    int there = 0;
    for (int p = 0; p < control->places; p++)
        there += spex_connection_there(&control->connections[p]);
    return there;
}

TEST_WITH(all_who_wait_are_let_in_without_a_pause, begin, end) {
    spex_clients_let_in(control, now);
    assert_int_equal(control->rest_ns, 0);
    int fds[] = {call(), call(), call()};
    spex_clients_let_in(control, now);
    assert_int_equal(connections(), COUNT_OF(fds));
    assert_in_range(control->places, COUNT_OF(fds), COUNT_OF(fds) + 1);
    assert_int_equal(control->rest_ns, 0);
    spex_clients_drop(control, &control->connections[1]);
    assert_ptr_equal(spex_clients_place(control, now), &control->connections[1]);
    for (size_t f = 0; f < COUNT_OF(fds); f++)
        close(fds[f]);
}

/* All places are taken, since 1 ms, 2 ms, … */
static int *fill_places(void) {
    static int fds[SPEX_CONTROL_CONNECTIONS];
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++)
        fds[p] = call();
    spex_clients_let_in(control, now);
    assert_int_equal(connections(), SPEX_CONTROL_CONNECTIONS);
    assert_int_equal(control->places, SPEX_CONTROL_CONNECTIONS);
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++)
        control->connections[p].active_ns = (uint64_t)(p + 1) * MS;
    return fds;
}

/* Who has been silent the longest makes room, after a while; who is being answered keeps the place
 * for longer, and subscribers and the command that was called keep theirs. */
TEST_WITH(who_is_silent_loses_his_place, begin, end) {
    const uint64_t silent = 200 * MS, stuck = 2000 * MS;
    struct spex_connection *places = control->connections;
    const int *fds = fill_places();
    assert_null(spex_clients_place(control, 1 * MS + silent));
    assert_ptr_equal(spex_clients_place(control, 1 * MS + silent + 1), &places[0]);
    places[0].reports = true;
    assert_null(spex_clients_place(control, 2 * MS + silent));
    assert_ptr_equal(spex_clients_place(control, 2 * MS + silent + 1), &places[1]);
    places[1].ours = true;
    places[2].waits = true;
    places[3].active_ns = 100 * MS;
    assert_ptr_equal(spex_clients_place(control, 20 * MS + silent), &places[4]);
    assert_ptr_equal(spex_clients_place(control, 3 * MS + stuck), &places[4]);
    places[4].reports = true;
    for (int p = 5; p < SPEX_CONTROL_CONNECTIONS; p++)
        places[p].active_ns = 5000 * MS;
    assert_ptr_equal(spex_clients_place(control, 3 * MS + stuck), &places[3]);
    assert_ptr_equal(spex_clients_place(control, 3 * MS + stuck + 1), &places[2]);
    /* A free one is taken before. */
    spex_clients_drop(control, &places[9]);
    assert_false(control->orphaned);
    assert_ptr_equal(spex_clients_place(control, 3 * MS + stuck + 1), &places[9]);
    spex_clients_drop(control, &places[1]);
    assert_true(control->orphaned);
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++)
        close(fds[p]);
}

/* Who comes takes the place of who is silent, waits for it for a while, or is told that there will
 * be none. */
TEST_WITH(who_comes_to_a_full_house, begin, end) {
    struct spex_profile_reader reader = {0};
    const int *fds = fill_places();
    int late = call();
    spex_clients_let_in(control, 150 * MS);
    assert_int_equal(control->rest_ns, 150 * MS + SPEX_CONTROL_REST_NS);
    assert_false(spex_clients_door_open(control, control->rest_ns - 1));
    assert_true(spex_clients_door_open(control, control->rest_ns));
    spex_clients_let_in(control, 202 * MS);
    assert_true(caller_is_dropped(fds[0]));
    assert_int_equal(connections(), SPEX_CONTROL_CONNECTIONS);
    int away = call();
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++)
        control->connections[p].reports = true;
    spex_clients_let_in(control, 500 * MS);
    assert_int_equal(caller_receive(away, &reader), 1);
    assert_int_equal(reader.status, -EBUSY);
    assert_true(caller_is_dropped(away));
    assert_int_equal(connections(), SPEX_CONTROL_CONNECTIONS);
    spex_profile_reader_free(&reader);
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++)
        close(fds[p]);
    close(late);
    close(away);
}

/* The socket is looked after each second: where it has gone, there is another. */
TEST_WITH(the_door_is_opened_again, begin, end) {
    char file[256];
    snprintf(file, sizeof(file), "%.100s/%.100s", control->door.path, control->door.name);
    control->chosen = serving_directory;
    spex_clients_look_after_door(control, 5);
    assert_int_equal(control->look_ns, 5 + SPEX_CONTROL_LOOK_NS);
    int first = control->door.socket.number;
    size_t open = open_descriptors();
    assert_int_equal(unlink(file), 0);
    spex_clients_look_after_door(control, 4 + SPEX_CONTROL_LOOK_NS);
    assert_int_not_equal(access(file, F_OK), 0);
    assert_int_equal(control->look_ns, 5 + SPEX_CONTROL_LOOK_NS);
    spex_clients_look_after_door(control, 5 + SPEX_CONTROL_LOOK_NS);
    assert_int_equal(open_descriptors(), open);
    assert_int_equal(control->look_ns, 5 + 2 * SPEX_CONTROL_LOOK_NS);
    assert_int_equal(access(file, F_OK), 0);
    assert_true(control->has_door && first >= 0);
    int fd = call();
    spex_clients_let_in(control, now);
    assert_int_equal(connections(), 1);
    /* Who wants none gets none. */
    control->wants_door = false;
    assert_int_equal(unlink(file), 0);
    spex_clients_look_after_door(control, UINT64_MAX / 2);
    assert_int_not_equal(access(file, F_OK), 0);
    close(fd);
}

/* Root may connect to anybody; here this process stands for another user. */
TEST_WITH(another_user_is_no_reason_for_a_pause, begin, end) {
    SKIP_WITHOUT_ROOT();
    int first = -1, second = -1;
    assert_int_equal(chmod(serving_directory, 0711), 0);
    char file[256];
    snprintf(file, sizeof(file), "%.100s/%.100s", control->door.path, control->door.name);
    assert_int_equal(chmod(file, 0666), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    first = call();
    assert_int_equal(seteuid(0), 0);
    second = call();
    spex_clients_let_in(control, now);
    assert_int_equal(connections(), 1);
    assert_int_equal(control->rest_ns, 0);
    close(first);
    close(second);
}

TEST_WITH(without_descriptors_accepting_pauses, begin, end) {
    struct rlimit before;
    int waiting = call();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    spex_clients_let_in(control, now);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(connections(), 0);
    assert_int_equal(control->rest_ns, now + SPEX_CONTROL_REST_NS);
    assert_false(spex_clients_door_open(control, now));
    spex_clients_let_in(control, control->rest_ns);
    assert_int_equal(connections(), 1);
    close(waiting);
}

__attribute__((noinline, used)) static void work(void) {
    CNT_PROBE_BEGIN(1, 1);
    CNT_PROBE_END(1);
}

/* A socket like that of a command, which programs call. */
static int command_listen(char *path, size_t size) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(path, size, "%.60s/command", serving_directory);
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Of none but those that were open before, which other programs may inherit. */
static unsigned descriptors_since(const bool *before, bool *there) {
    unsigned since = 0;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        int flags = fcntl(fd, F_GETFD);
        bool is_new = flags >= 0 && !(before && before[fd]);
        if (there)
            there[fd] = flags >= 0;
        since += is_new;
        if (before && is_new && !(flags & FD_CLOEXEC))
            fail_msg("descriptor %d is inherited", fd);
    }
    return since;
}

TEST_WITH(no_descriptor_is_inherited, serving_begin, serving_end) {
    struct spex_profile_reader reader = {0};
    bool before[DESCRIPTORS];
    descriptors_since(NULL, before);
    assert_int_equal(serving_start("*"), 0);
    int fd = caller_connect();
    for (int round = 0; round < 3; round++)
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    /* Ours and theirs, the listening socket, and the two that wake the thread. */
    assert_true(descriptors_since(before, NULL) >= 5);
    spex_profile_reader_free(&reader);
    close(fd);
}

/* What is selected after that stays: each request is a round of the thread that has switched all
 * off. */
TEST_WITH(a_command_that_has_gone_takes_its_probes_along_once, serving_begin, serving_end) {
    struct spex_profile_reader reader = {0};
    char path[100], out[128];
    work();
    int command = command_listen(path, sizeof(path));
    snprintf(out, sizeof(out), "metrics:%s", path);
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = "*",
                                         .out = out,
                                         .control = serving_directory,
                                         .no_calibration = true};
    assert_int_equal(spex_start(&options), 0);
    int called = accept(command, NULL, NULL);
    assert_true(called >= 0);
    assert_int_equal(status_now().sites_on, 1);
    assert_int_equal(unlink(path), 0);
    close(command);
    close(called);
    WAIT_UNTIL(status_now().sites_on == 0);
    assert_int_equal(spex_set("*"), 1);
    int fd = caller_connect();
    for (int round = 0; round < 3; round++)
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_int_equal(status_now().sites_on, 1);
    spex_profile_reader_free(&reader);
    close(fd);
}
