/* SPDX-License-Identifier: MIT */
/* The control thread, its start and its end. The thread holds `control_lock` while it serves, and
 * not while it sleeps. Under it the thread takes the locks of sites, metrics and counters. It only
 * tries the lock of start and stop, through the requests, since its holder may wait for this
 * thread's end. */
#define _GNU_SOURCE
#include "serve/control.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/last_thread.h"
#include "base/lock.h"
#include "base/memory/memory.h"
#include "base/service_thread.h"
#include "serve/call.h"
#include "serve/clients.h"
#include "serve/control_wait.h"
#include "serve/own_profile.h"
#include "serve/report.h"
#include "site/registry.h"
#include "text/at_start.h"
#include "text/waits.h"
#include "wire/standing.h"

/* Nanoseconds. */
#define MS 1000000u

/* Time limit of the last reports. */
#define FINAL_NS (2000ull * MS)

/* Milliseconds between two looks at the clock meanwhile. */
#define FINAL_LOOK_MS 10

static struct spex_lock control_lock SPEX_AT_START = SPEX_LOCK_FREE;
/* NULL until the first start. */
static struct spex_control *control SPEX_AT_START;

static int wake_open(struct spex_control *c) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return -errno;
    c->waking = spex_descriptor_of(pair[0]);
    c->woken = spex_descriptor_of(pair[1]);
    return 0;
}

static void wake_close(struct spex_control *c) {
    spex_descriptor_close(&c->waking);
    spex_descriptor_close(&c->woken);
}

/* Wakes the thread. Where there are no sockets, or the program has closed them, the thread notices
 * within SPEX_CONTROL_LOOK_MOST_NS. */
static void control_wake(const struct spex_control *c) {
    if (spex_descriptor_is_ours(&c->waking))
        send(c->waking.number, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Empties the socket by which the thread was woken; opens a pair when there is none yet, or the
 * program has closed it. */
static void wake_answer(struct spex_control *c) {
    char nothing[8];
    if (!spex_descriptor_is_ours(&c->woken) || !spex_descriptor_is_ours(&c->waking)) {
        wake_close(c);
        wake_open(c);
        c->opened_ns = spex_clock_ns(CLOCK_MONOTONIC);
        return;
    }
    while (recv(c->woken.number, nothing, sizeof(nothing), MSG_DONTWAIT) > 0)
        continue;
}

/* Until `now`. */
static void allowance_earn(struct spex_control *c, uint64_t now) {
    uint64_t before_ns = c->cpu_ns;
    spex_service_cpu_note(&c->cpu_ns);
    spex_control_wait_earn(c, now, c->cpu_ns - before_ns);
}

/* Serves one connection: retries a waiting request, begins a due report, reads, and writes.
 * `events`: as poll has set them. A request is read only when no answer is under way, so each
 * client has one request in work. A connection that this process made is made again where the
 * program has closed it. */
static void connection_serve(struct spex_control *c, struct spex_connection *connection,
                             short events, uint64_t now) {
    enum spex_connection_end end = SPEX_CONNECTION_STAYS;
    if (spex_call_again(connection, c->called, &c->handover) == SPEX_CALL_LOST) {
        spex_clients_drop(c, connection);
        return;
    }
    spex_connection_retry(connection, c->requests);
    spex_report_begin(connection, now, false);
    if (!spex_connection_busy(connection) && events)
        end = spex_connection_read(connection, c->requests, c->room->buffer);
    if (end != SPEX_CONNECTION_GONE && connection->reply.next)
        end = spex_connection_write(connection, c->room->buffer);
    if (end == SPEX_CONNECTION_GONE &&
        spex_call_again(connection, c->called, &c->handover) == SPEX_CALL_AGAIN)
        return;
    if (end == SPEX_CONNECTION_GONE || spex_clients_expired(connection, now))
        spex_clients_drop(c, connection);
}

/* The command that this process called is gone: nobody wants its probes any more. Where spex is
 * busy, `orphaned` stays, and the thread tries again after a millisecond. */
static void probes_off(struct spex_control *c) {
    char answer[SPEX_CONTROL_ANSWER_BYTES] = "";
    if (c->requests->select(&(struct spex_control_selection){.probes = ""}, answer,
                            sizeof(answer)) != -EBUSY)
        c->orphaned = false;
}

/* One round after poll. */
static void serve_all(struct spex_control *c, const struct spex_control_wait *waiting) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    wake_answer(c);
    spex_last_thread_look();
    spex_leases_pass();
    if (waiting->count > SPEX_CONTROL_WAIT_DOOR) {
        for (int i = 0; i < c->places; i++)
            if (spex_connection_there(&c->connections[i]))
                connection_serve(c, &c->connections[i], spex_control_wait_events(c, i, waiting),
                                 now);
        if (c->has_door && (waiting->fds[SPEX_CONTROL_WAIT_DOOR].revents ||
                            !spex_descriptor_is_ours(&c->door.socket)))
            spex_clients_let_in(c, now);
        spex_clients_look_after_door(c, now);
        if (c->orphaned)
            probes_off(c);
    }
    allowance_earn(c, spex_clock_ns(CLOCK_MONOTONIC));
}

/* Waits as poll(). Where that fails, since the program has lowered its limit of descriptors, or is
 * in a sandbox without this call, the thread rests, and all descriptors are taken for ready: none
 * of them blocks. Returns how many are ready as poll() tells. */
static int wait_for(struct pollfd *fds, int count, int timeout_ms) {
    static int32_t never;
    const struct timespec rest = {.tv_nsec = SPEX_CONTROL_REST_NS};
    int ready = spex_wait_ready(fds, (nfds_t)count, timeout_ms);
    if (ready >= 0)
        return ready;
    spex_futex_wait(&never, 0, &rest);
    for (int i = 0; i < count; i++)
        fds[i].revents = fds[i].fd >= 0 ? fds[i].events : 0;
    return 0;
}

/* Continues answers under way, then sends the last report to subscribers. False: nothing is left to
 * be sent. */
static bool reports_send_last(struct spex_control *c, struct pollfd fds[SPEX_CONTROL_WAIT_COUNT]) {
    bool more = false;
    for (int i = 0; i < c->places; i++) {
        struct spex_connection *connection = &c->connections[i];
        fds[i] = (struct pollfd){.fd = -1};
        if (!spex_connection_there(connection))
            continue;
        connection->waits = false;
        spex_call_again(connection, c->called, &c->handover);
        if (!connection->reply.next && connection->reports) {
            spex_report_begin(connection, 0, true);
            connection->reports = false;
        }
        if (spex_connection_write(connection, c->room->buffer) == SPEX_CONNECTION_GONE &&
            spex_call_again(connection, c->called, &c->handover) != SPEX_CALL_AGAIN)
            spex_connection_close(connection);
        else if (connection->reply.next || connection->reports)
            fds[i] = (struct pollfd){.fd = connection->socket.number, .events = POLLOUT};
        more |= fds[i].fd >= 0;
    }
    return more;
}

/* Runs on the control thread when it is to stop. Readers get FINAL_NS to take their last report, by
 * the clock and by the waits in which none of them took anything: a clock may stand still. */
static void control_finish(struct spex_control *c) {
    struct pollfd fds[SPEX_CONTROL_WAIT_COUNT];
    uint64_t until = spex_clock_ns(CLOCK_MONOTONIC) + FINAL_NS;
    int vain = FINAL_NS / (FINAL_LOOK_MS * MS);
    while (reports_send_last(c, fds) && spex_clock_ns(CLOCK_MONOTONIC) < until && vain > 0)
        vain -= wait_for(fds, c->places, FINAL_LOOK_MS) == 0;
    for (int i = 0; i < c->places; i++)
        spex_connection_close(&c->connections[i]);
    wake_close(c);
    allowance_earn(c, spex_clock_ns(CLOCK_MONOTONIC));
}

/* The thread's first wait, prepared by who starts it and holds the lock: a thread that waited for
 * the lock would cost the starting program two switches between threads. */
static struct spex_control_wait first_wait SPEX_AT_START;

/* The thread's function. The lock is held except in poll, so that start, call and fork find the
 * state between two rounds. */
static void *control_run(void *arg) {
    struct spex_control *c = arg;
    struct spex_control_wait waiting = first_wait;
    wait_for(waiting.fds, waiting.count, waiting.timeout_ms);
    spex_lock_take(&control_lock);
    c->cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    c->earned_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (c->door.dormant) {
        spex_sites_answer_calls();
        spex_listening_socket_wake(&c->door);
    }
    serve_all(c, &waiting);
    while (!c->stopping) {
        spex_control_wait_prepare(&waiting, c, spex_clock_ns(CLOCK_MONOTONIC));
        spex_lock_give(&control_lock);
        wait_for(waiting.fds, waiting.count, waiting.timeout_ms);
        spex_lock_take(&control_lock);
        serve_all(c, &waiting);
    }
    control_finish(c);
    spex_lock_give(&control_lock);
    return NULL;
}

/* The thread begins with a full allowance. The caller holds the lock. A listening socket ends the
 * first wait by its shutdown, so that short programs need no pair of sockets. */
static int thread_start(struct spex_control *c) {
    int err = c->has_door ? 0 : wake_open(c);
    if (err)
        return err;
    c->stopping = c->orphaned = false;
    c->rest_ns = 0;
    c->opened_ns = spex_clock_ns(CLOCK_MONOTONIC);
    c->look_ns = c->opened_ns + SPEX_CONTROL_LOOK_NS;
    c->allowance_ns = SPEX_CONTROL_WAIT_ALLOWANCE_NS;
    spex_control_wait_prepare(&first_wait, c, spex_clock_ns(CLOCK_MONOTONIC));
    err = spex_service_thread_start(&c->thread, "spex-control", SPEX_SERVICE_STACK, control_run, c);
    c->running = !err;
    if (err)
        wake_close(c);
    return err;
}

/* Makes the state at the first call in the process. */
static void control_make(const struct spex_control_requests *requests) {
    static struct spex_control state;
    if (control)
        return;
    control = &state;
    control->requests = requests;
    control->waking = control->woken = control->door.socket = control->handover =
        SPEX_NO_DESCRIPTOR;
}

/* The socket is opened by the caller's thread, so that the caller gets the error. A thread that
 * runs already, for a command that was called, serves the socket, too. */
static int start_locked(const struct spex_control_requests *requests, const char *chosen,
                        bool polled, bool dormant, struct spex_error *error) {
    control_make(requests);
    spex_free(control->chosen);
    control->chosen = chosen ? spex_strdup(chosen) : NULL;
    int err = dormant ? spex_listening_socket_open_dormant(&control->door, control->chosen, error)
                      : spex_listening_socket_open(&control->door, control->chosen, error);
    if (err)
        return err;
    control->has_door = control->wants_door = true;
    err = control->running || polled ? 0 : thread_start(control);
    control_wake(control);
    if (err) {
        spex_error_set(error, "cannot start its thread: %s", strerror(-err));
        spex_listening_socket_close(&control->door);
        control->has_door = control->wants_door = false;
    }
    return err;
}

int spex_control_start(const struct spex_control_requests *requests, const char *chosen,
                       bool polled, struct spex_error *error) {
    spex_lock_take(&control_lock);
    int err = start_locked(requests, chosen, polled, false, error);
    spex_lock_give(&control_lock);
    return err;
}

int spex_control_start_dormant(const struct spex_control_requests *requests, const char *chosen,
                               struct spex_error *error) {
    spex_lock_take(&control_lock);
    int err = start_locked(requests, chosen, true, true, error);
    spex_lock_give(&control_lock);
    return err;
}

int spex_control_wake(void) {
    if (!spex_lock_try(&control_lock))
        return -EBUSY;
    int err = control && control->has_door && !control->running ? thread_start(control) : 0;
    spex_lock_give(&control_lock);
    return err;
}

void spex_control_nudge(void) {
    if (!spex_lock_take_unless_mine(&control_lock))
        return;
    if (control && control->running)
        control_wake(control);
    spex_lock_give(&control_lock);
}

static bool is_called(const struct spex_control *c) {
    struct pollfd door = {.fd = c->door.socket.number, .events = POLLIN};
    return c->has_door && spex_wait_ready(&door, 1, 0) > 0 && door.revents & POLLIN;
}

/* The program may have closed the socket's descriptor, or its file may be gone, as the thread would
 * notice. */
static int poll_locked(struct spex_control *c) {
    if (!c->running)
        spex_clients_look_after_door(c, spex_clock_ns(CLOCK_MONOTONIC));
    if (!c->running && is_called(c)) {
        int err = thread_start(c);
        if (err)
            return err;
    }
    return c->running;
}

/* Who has the lock is the thread, which may be busy for milliseconds, or starts or stops spex: the
 * next call tells. */
int spex_control_poll(void) {
    if (!spex_lock_try(&control_lock))
        return 0;
    int result = control ? poll_locked(control) : 0;
    spex_lock_give(&control_lock);
    return result;
}

int spex_control_poll_descriptor(void) {
    bool taken = spex_lock_take_unless_mine(&control_lock);
    int descriptor =
        control && control->has_door && !control->running ? control->door.socket.number : -1;
    if (taken)
        spex_lock_give(&control_lock);
    return descriptor;
}

static void tell_locked(struct spex_control *c) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < c->places; i++) {
        struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection) || !connection->ours || connection->reply.next)
            continue;
        connection->due_ns = now;
        spex_report_begin(connection, now, false);
        spex_connection_write(connection, c->room->buffer);
    }
}

void spex_control_tell(void) {
    spex_lock_take(&control_lock);
    if (control)
        tell_locked(control);
    spex_lock_give(&control_lock);
}

/* The path is copied for later connections. Where the copy fails, the connection is not made
 * again. */
static int call_locked(const struct spex_control_requests *requests, const char *path,
                       const struct spex_descriptor *handover, uint32_t interval_ms,
                       struct spex_error *error) {
    control_make(requests);
    int err = 0;
    struct spex_descriptor fresh = spex_call_connect(path, handover);
    if (fresh.number < 0)
        return spex_fail(error, fresh.number, "cannot connect to %s: %s", path,
                         strerror(-fresh.number));
    struct spex_connection *connection =
        spex_clients_place(control, spex_clock_ns(CLOCK_MONOTONIC));
    if (!connection) {
        spex_descriptor_close(&fresh);
        return spex_fail(error, -EBUSY, "too many commands are connected");
    }
    if (spex_connection_there(connection))
        spex_clients_drop(control, connection);
    spex_free(control->called);
    control->called = spex_strdup(path);
    control->handover = *handover;
    spex_call_open(connection, fresh, interval_ms);
    if (control->running)
        control_wake(control);
    else if ((err = thread_start(control))) {
        spex_connection_close(connection);
        spex_error_set(error, "cannot start the control thread: %s", strerror(-err));
    }
    return err;
}

int spex_control_call(const struct spex_control_requests *requests, const char *path,
                      const struct spex_descriptor *handover, uint32_t interval_ms,
                      struct spex_error *error) {
    spex_lock_take(&control_lock);
    int err = call_locked(requests, path, handover, interval_ms, error);
    spex_lock_give(&control_lock);
    return err;
}

int spex_control_standing(char **text) {
    spex_lock_take(&control_lock);
    int err = control && control->has_door
                  ? spex_standing_read(control->door.path, spex_profile_own_name(), text)
                  : -ENOENT;
    spex_lock_give(&control_lock);
    return err;
}

static void door_close(struct spex_control *c) {
    if (c->has_door)
        spex_listening_socket_close(&c->door);
    c->has_door = c->wants_door = false;
}

/* Closes the listening socket itself, while the thread wakes up. It does so before the last report,
 * so that a client with that does not find the socket still listening. Joins without the lock,
 * which the thread needs to finish. Starts and stops are serialised by the lock of start and stop,
 * so nobody else changes `running` meanwhile. */
void spex_control_stop(void) {
    spex_lock_take(&control_lock);
    struct spex_control *c = control;
    bool running = c && c->running;
    if (running) {
        c->stopping = true;
        control_wake(c);
        if (c->waking.number < 0 && spex_descriptor_is_ours(&c->door.socket))
            shutdown(c->door.socket.number, SHUT_RDWR);
    }
    if (c)
        door_close(c);
    spex_lock_give(&control_lock);
    if (!running)
        return;
    pthread_join(c->thread, NULL);
    spex_lock_take(&control_lock);
    c->running = false;
    spex_lock_give(&control_lock);
}

static bool anybody_connected(const struct spex_control *c) {
    for (int i = 0; i < c->places; i++)
        if (spex_connection_there(&c->connections[i]))
            return true;
    return false;
}

/* The thread need not wake up to end, which would take two switches between threads. */
bool spex_control_leave(void) {
    spex_lock_take(&control_lock);
    bool left = !control || !anybody_connected(control);
    if (control && left)
        door_close(control);
    spex_lock_give(&control_lock);
    return left;
}

void spex_control_unmap(void) {
    if (!control || !control->room)
        return;
    munmap(control->room, sizeof(*control->room));
    control->room = NULL;
    control->places = 0;
}

struct spex_lock *spex_control_lock(void) {
    return &control_lock;
}

/* The parent's listening socket is closed without removing its file. */
void spex_control_fork_child(void) {
    spex_lock_take(&control_lock);
    if (control) {
        for (int i = 0; i < control->places; i++)
            spex_connection_close(&control->connections[i]);
        if (control->has_door)
            spex_listening_socket_abandon(&control->door);
        wake_close(control);
        control->has_door = control->wants_door = control->running = false;
    }
    spex_lock_give(&control_lock);
}
