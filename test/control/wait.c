/* SPDX-License-Identifier: MIT */
/* What the control thread waits for, and how long: of a made state, at a made time. */
#include <poll.h>

#include "../check.h"
#include "serve/control_wait.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

static struct spex_control *control;
static struct spex_control_wait waiting;
static const uint64_t now = 100 * SECOND;

enum { WOKEN = 40, DOOR, CLIENT };

/* A door, and so many clients, which have just sent something. */
static void make(int clients) {
    memset(control, 0, sizeof(*control));
    memset(&waiting, 0x55, sizeof(waiting));
    control->allowance_ns = SPEX_CONTROL_WAIT_ALLOWANCE_NS;
    control->woken.number = WOKEN;
    control->door.socket.number = DOOR;
    control->has_door = control->wants_door = true;
    control->opened_ns = now;
    control->places = clients;
    for (int p = 0; p < SPEX_CONTROL_CONNECTIONS; p++) {
        control->connections[p].socket.number = p < clients ? CLIENT + p : -1;
        control->connections[p].active_ns = now;
    }
}

static void prepare(void) {
    spex_control_wait_prepare(&waiting, control, now);
}

static void expect(int n, int fd, short events) {
    assert_int_equal(waiting.fds[n].fd, fd);
    assert_int_equal(waiting.fds[n].events, events);
    assert_int_equal(waiting.fds[n].revents, 0);
}

TEST(descriptors_are_those_of_who_can_be_served) {
    make(5);
    struct spex_connection *clients = control->connections;
    clients[1].waits = true;
    clients[2].reply.next = 1;
    clients[3].socket.number = -1;
    prepare();
    assert_int_equal(waiting.count, 7);
    expect(0, WOKEN, POLLIN);
    expect(1, DOOR, POLLIN);
    expect(2, CLIENT, POLLIN);
    expect(3, -1, POLLIN);
    expect(4, CLIENT + 2, POLLOUT);
    expect(5, -1, POLLIN);
    expect(6, CLIENT + 4, POLLIN);
    control->rest_ns = now + 1;
    prepare();
    expect(1, -1, POLLIN);
    control->rest_ns = now;
    prepare();
    expect(1, DOOR, POLLIN);
    control->has_door = false;
    prepare();
    expect(1, -1, POLLIN);
    make(SPEX_CONTROL_CONNECTIONS);
    prepare();
    assert_int_equal(waiting.count, SPEX_CONTROL_WAIT_COUNT);
    expect(SPEX_CONTROL_WAIT_COUNT - 1, CLIENT + SPEX_CONTROL_CONNECTIONS - 1, POLLIN);
    make(0);
    prepare();
    assert_int_equal(waiting.count, 2);
}

/* Rounded up, so that the time has come after it. */
static void expect_ms(uint64_t ns) {
    prepare();
    assert_int_equal(waiting.timeout_ms, ns ? ns / MS + 1 : 0);
}

TEST(the_next_time_is_that_of_what_is_due_first) {
    struct spex_connection *clients = control->connections;
    make(0);
    /* A tenth of the time for which descriptors have been well, 1 to 5 s. */
    control->opened_ns = now - 20 * SECOND;
    expect_ms(2 * SECOND);
    control->opened_ns = 0;
    expect_ms(5 * SECOND);
    control->opened_ns = now;
    expect_ms(SECOND);
    control->orphaned = true;
    expect_ms(MS);
    make(3);
    expect_ms(SECOND);
    /* The door is opened again after a rest. */
    control->rest_ns = now + 7 * MS;
    expect_ms(7 * MS);
    control->has_door = false;
    expect_ms(SECOND);
    /* Clients that are silent for 10 s have to go, and after 30 s those that do not read. */
    for (int p = 0; p < 3; p++) {
        make(3);
        clients[p].active_ns = now - 10 * SECOND + 300 * MS;
        expect_ms(300 * MS);
        clients[p].active_ns = now - 10 * SECOND;
        expect_ms(0);
        clients[p].active_ns--;
        expect_ms(0);
        clients[p].reply.next = 1;
        expect_ms(SECOND);
        clients[p].active_ns = now - 30 * SECOND + MS / 2;
        expect_ms(MS / 2);
        clients[p].ours = true;
        expect_ms(SECOND);
        clients[p].ours = false;
        clients[p].socket.number = -1;
        expect_ms(SECOND);
    }
    /* A request that waits is tried again. */
    make(3);
    clients[1].waits = true;
    expect_ms(MS);
    clients[1].ours = true;
    expect_ms(MS);
    clients[1].socket.number = -1;
    expect_ms(SECOND);
    /* Reports are due, unless the one before is under way. Subscribers may be silent. */
    make(3);
    clients[2].reports = true;
    clients[2].due_ns = now + 50 * MS;
    clients[2].active_ns = 0;
    expect_ms(50 * MS);
    clients[0].reports = true;
    clients[0].due_ns = now + 20 * MS + 1;
    expect_ms(20 * MS + 1);
    clients[0].reply.next = 1;
    expect_ms(50 * MS);
    clients[2].reply.next = 1;
    expect_ms(0);
    clients[2].active_ns = now;
    expect_ms(SECOND);
    clients[2].reply.next = 0;
    clients[2].due_ns = now;
    expect_ms(0);
}

/* An allowance of a quarter of the time, which 400 ms fill. */
TEST(cpu_time_is_earned) {
    make(3);
    control->allowance_ns = 10;
    control->earned_ns = now;
    spex_control_wait_earn(control, now + 400, 30);
    assert_int_equal(control->allowance_ns, 80);
    assert_int_equal(control->earned_ns, now + 400);
    spex_control_wait_earn(control, now + 400, 80);
    assert_int_equal(control->allowance_ns, 0);
    spex_control_wait_earn(control, now + 800, 300);
    assert_int_equal(control->allowance_ns, -200);
    assert_int_equal(control->earned_ns, now + 800);
    control->allowance_ns = 0;
    spex_control_wait_earn(control, now + 800 + 400 * MS, 0);
    assert_int_equal(control->allowance_ns, 100 * MS);
    spex_control_wait_earn(control, now + 804 + 400 * MS, 0);
    assert_int_equal(control->allowance_ns, 100 * MS);
    spex_control_wait_earn(control, now + 804 + 400 * MS, 1);
    assert_int_equal(control->allowance_ns, 100 * MS - 1);
    spex_control_wait_earn(control, now + 3600 * SECOND, 5 * MS);
    assert_int_equal(control->allowance_ns, 100 * MS);
}

/* Whatever else is due. */
TEST(nothing_is_done_with_an_overdrawn_allowance) {
    make(3);
    control->connections[1].waits = control->orphaned = true;
    control->allowance_ns = 0;
    expect_ms(MS);
    assert_int_equal(waiting.count, 5);
    control->allowance_ns = -1;
    expect_ms(4);
    assert_int_equal(waiting.count, 1);
    expect(0, WOKEN, POLLIN);
    control->allowance_ns = -(int64_t)(30 * MS);
    expect_ms(120 * MS);
    control->earned_ns = now;
    spex_control_wait_earn(control, now + (unsigned)waiting.timeout_ms * MS, 0);
    assert_true(control->allowance_ns >= 0);
}

/* Those of a descriptor that was waited for, if it is still the connection's. */
TEST(events_are_those_of_the_same_descriptor) {
    make(3);
    prepare();
    for (int n = 0; n < SPEX_CONTROL_WAIT_COUNT; n++)
        waiting.fds[n].revents = (short)(n + 1);
    for (int p = 0; p < 3; p++)
        assert_int_equal(spex_control_wait_events(control, p, &waiting), p + 3);
    control->connections[1].socket.number = CLIENT + 9;
    assert_int_equal(spex_control_wait_events(control, 1, &waiting), 0);
    control->places = 4;
    control->connections[3].socket.number = waiting.fds[SPEX_CONTROL_WAIT_FIRST + 3].fd;
    assert_int_equal(spex_control_wait_events(control, 3, &waiting), 0);
    waiting.count = 4;
    assert_int_equal(spex_control_wait_events(control, 2, &waiting), 0);
    assert_int_equal(spex_control_wait_events(control, 0, &waiting), 3);
}

int main(void) {
    control = malloc(sizeof(*control));
    int failed = tests_run(NULL, NULL);
    free(control);
    return failed;
}
