/* SPDX-License-Identifier: MIT */
/* The thread, its start and its end. The lock is held while the thread serves and not while it
 * sleeps. Of other modules' locks the thread takes those of sites, metrics and counters. The
 * lock of start and stop it only tries, by the requests: its holder may wait for this thread's
 * end. */
#define _GNU_SOURCE
#include "serve/control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "serve/call.h"
#include "serve/clients.h"

#define MS 1000000u

/* For the last reports. */
#define FINAL_NS (2000ull * MS)

/* What clients can make this thread use: a quarter of a CPU, and as much at once as it would
 * have had in the last 400 ms. Thirty thousand selections a second of a few probes take about
 * that. */
#define CPU_SHARE     4
#define ALLOWANCE_MAX (100 * (int64_t)MS)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct spex_control *control; /* made at the first start */

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

/* Where the program has closed our ends, this is heard at the next look around. */
static void wake(const struct spex_control *c) {
    if (spex_descriptor_is_ours(&c->waking))
        send(c->waking.number, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Takes what it was woken with; makes a new pair when the program has closed the old one. */
static void wake_answer(struct spex_control *c) {
    char nothing[8];
    if (!spex_descriptor_is_ours(&c->woken) || !spex_descriptor_is_ours(&c->waking)) {
        wake_close(c);
        wake_open(c);
        return;
    }
    while (recv(c->woken.number, nothing, sizeof(nothing), MSG_DONTWAIT) > 0)
        continue;
}

static void earn(struct spex_control *c, uint64_t now) {
    uint64_t before_ns = c->cpu_ns;
    spex_service_cpu_note(&c->cpu_ns);
    c->allowance_ns +=
        (int64_t)((now - c->earned_ns) / CPU_SHARE) - (int64_t)(c->cpu_ns - before_ns);
    if (c->allowance_ns > ALLOWANCE_MAX)
        c->allowance_ns = ALLOWANCE_MAX;
    c->earned_ns = now;
}

/* `events`: what poll has said of it. */
static void serve(struct spex_control *c, struct spex_connection *connection, short events,
                  uint64_t now) {
    enum spex_connection_end end = SPEX_CONNECTION_STAYS;
    spex_call_again(connection, c->called);
    spex_connection_retry(connection, c->requests);
    spex_connection_report(connection, now, false);
    if (!spex_connection_busy(connection) && events)
        end = spex_connection_read(connection, c->requests, c->buffer);
    if (end != SPEX_CONNECTION_GONE && connection->reply.next)
        end = spex_connection_write(connection, c->buffer);
    if (end == SPEX_CONNECTION_GONE && spex_call_again(connection, c->called))
        return;
    if (end == SPEX_CONNECTION_GONE || spex_clients_expired(connection, now))
        spex_clients_drop(c, connection);
}

static void probes_off(struct spex_control *c) {
    char answer[SPEX_CONTROL_ANSWER_BYTES];
    if (c->requests->select("", answer, sizeof(answer)) != -EBUSY)
        c->orphaned = false;
}

enum { WOKEN, DOOR, FIRST, POLLED = FIRST + SPEX_CONTROL_CONNECTIONS };

static int prepare(const struct spex_control *c, uint64_t now, struct pollfd fds[POLLED]) {
    fds[WOKEN] = (struct pollfd){.fd = c->woken.number, .events = POLLIN};
    if (c->allowance_ns < 0)
        return WOKEN + 1;
    fds[DOOR] = (struct pollfd){.fd = spex_clients_door_open(c, now) ? c->door.socket.number : -1,
                                .events = POLLIN};
    for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++) {
        const struct spex_connection *connection = &c->connections[i];
        fds[FIRST + i] = (struct pollfd){
            .fd = connection->waits ? -1 : connection->socket.number,
            .events = connection->reply.next ? POLLOUT : POLLIN,
        };
    }
    return POLLED;
}

static void sooner(uint64_t *when, uint64_t other) {
    if (other < *when)
        *when = other;
}

/* When something is to be done, whoever calls. */
static uint64_t next_time(const struct spex_control *c, uint64_t now) {
    uint64_t when = now + SPEX_CONTROL_LOOK_NS;
    if (c->allowance_ns < 0)
        return now + (uint64_t)-c->allowance_ns * CPU_SHARE;
    if (c->orphaned)
        when = now + MS;
    if (c->has_door && !spex_clients_door_open(c, now))
        sooner(&when, c->rest_ns);
    for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++) {
        const struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            continue;
        if (connection->waits)
            sooner(&when, now + MS);
        if (connection->reports && !spex_connection_busy(connection))
            sooner(&when, connection->due_ns);
        else if (!connection->ours)
            sooner(&when, connection->active_ns + spex_clients_quiet_most(connection));
    }
    return when;
}

static int timeout_ms(uint64_t when, uint64_t now) {
    return when <= now ? 0 : (int)((when - now) / MS) + 1;
}

static void serve_all(struct spex_control *c, const struct pollfd *fds, int count) {
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    wake_answer(c);
    if (count == POLLED) {
        for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++)
            if (spex_connection_there(&c->connections[i]))
                serve(c, &c->connections[i],
                      fds[FIRST + i].fd == c->connections[i].socket.number ? fds[FIRST + i].revents
                                                                           : 0,
                      now);
        if (c->has_door && (fds[DOOR].revents || !spex_descriptor_is_ours(&c->door.socket)))
            spex_clients_let_in(c, now);
        spex_clients_look_after_door(c, now);
        if (c->orphaned)
            probes_off(c);
    }
    earn(c, spex_clock_ns(CLOCK_MONOTONIC));
}

/* The last report goes to who has asked for reports, once what was under way is through. False
 * when there is no more to be sent. */
static bool send_last(struct spex_control *c, struct pollfd fds[POLLED]) {
    bool more = false;
    for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++) {
        struct spex_connection *connection = &c->connections[i];
        fds[i] = (struct pollfd){.fd = -1};
        if (!spex_connection_there(connection))
            continue;
        connection->waits = false;
        spex_call_again(connection, c->called);
        if (!connection->reply.next && connection->reports) {
            spex_connection_report(connection, 0, true);
            connection->reports = false;
        }
        if (spex_connection_write(connection, c->buffer) == SPEX_CONNECTION_GONE &&
            !spex_call_again(connection, c->called))
            spex_connection_close(connection);
        else if (connection->reply.next || connection->reports)
            fds[i] = (struct pollfd){.fd = connection->socket.number, .events = POLLOUT};
        more |= fds[i].fd >= 0;
    }
    return more;
}

static void finish(struct spex_control *c) {
    struct pollfd fds[POLLED];
    uint64_t until = spex_clock_ns(CLOCK_MONOTONIC) + FINAL_NS;
    /* First of all: who has got the last report must not find it open still. */
    if (c->has_door)
        spex_listening_socket_close(&c->door);
    c->has_door = false;
    while (send_last(c, fds) && spex_clock_ns(CLOCK_MONOTONIC) < until)
        poll(fds, SPEX_CONTROL_CONNECTIONS, 10);
    for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++)
        spex_connection_close(&c->connections[i]);
    wake_close(c);
    earn(c, spex_clock_ns(CLOCK_MONOTONIC));
}

static void *control_run(void *arg) {
    struct spex_control *c = arg;
    struct pollfd fds[POLLED];
    pthread_mutex_lock(&lock);
    c->cpu_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    c->earned_ns = spex_clock_ns(CLOCK_MONOTONIC);
    while (!c->stopping) {
        uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
        int timeout = timeout_ms(next_time(c, now), now);
        int count = prepare(c, now, fds);
        pthread_mutex_unlock(&lock);
        if (poll(fds, (nfds_t)count, timeout) < 0)
            poll(NULL, 0,
                 (int)(SPEX_CONTROL_REST_NS / MS)); /* more than the program may have open */
        pthread_mutex_lock(&lock);
        serve_all(c, fds, count);
    }
    finish(c);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int thread_start(struct spex_control *c) {
    int err = wake_open(c);
    if (err)
        return err;
    c->stopping = c->orphaned = false;
    c->rest_ns = 0;
    c->look_ns = spex_clock_ns(CLOCK_MONOTONIC) + SPEX_CONTROL_LOOK_NS;
    c->allowance_ns = ALLOWANCE_MAX;
    err = spex_service_thread_start(&c->thread, "spex-control", control_run, c);
    c->running = !err;
    if (err)
        wake_close(c);
    return err;
}

static int control_make(const struct spex_control_requests *requests) {
    if (control)
        return 0;
    control = calloc(1, sizeof(*control));
    if (!control)
        return -ENOMEM;
    control->requests = requests;
    control->waking = control->woken = control->door.socket = SPEX_NO_DESCRIPTOR;
    for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++)
        control->connections[i].socket = SPEX_NO_DESCRIPTOR;
    return 0;
}

static int start_locked(const struct spex_control_requests *requests, const char *chosen, char *why,
                        size_t why_size) {
    int err = control_make(requests);
    snprintf(why, why_size, "out of memory");
    if (err)
        return err;
    free(control->chosen);
    control->chosen = chosen ? strdup(chosen) : NULL;
    err = spex_listening_socket_open(&control->door, control->chosen, why, why_size);
    if (err)
        return err;
    control->has_door = control->wants_door = true;
    err = control->running ? 0 : thread_start(control);
    if (err) {
        snprintf(why, why_size, "cannot start its thread: %s", strerror(-err));
        spex_listening_socket_close(&control->door);
        control->has_door = control->wants_door = false;
    }
    return err;
}

int spex_control_start(const struct spex_control_requests *requests, const char *chosen, char *why,
                       size_t why_size) {
    pthread_mutex_lock(&lock);
    int err = start_locked(requests, chosen, why, why_size);
    pthread_mutex_unlock(&lock);
    return err;
}

static int call_locked(const struct spex_control_requests *requests, const char *path,
                       uint32_t interval_ms, char *why, size_t why_size) {
    int err = control_make(requests);
    int fd = err ? err : spex_call_connect(path);
    if (fd < 0) {
        snprintf(why, why_size, "cannot connect to %s: %s", path, strerror(-fd));
        return fd;
    }
    struct spex_connection *connection =
        spex_clients_place(control, spex_clock_ns(CLOCK_MONOTONIC));
    if (!connection) {
        snprintf(why, why_size, "too many commands are connected");
        close(fd);
        return -EBUSY;
    }
    if (spex_connection_there(connection))
        spex_clients_drop(control, connection);
    free(control->called);
    control->called = strdup(path);
    spex_call_open(connection, fd, interval_ms);
    if (control->running)
        wake(control);
    else if ((err = thread_start(control))) {
        spex_connection_close(connection);
        snprintf(why, why_size, "cannot start the control thread: %s", strerror(-err));
    }
    return err;
}

int spex_control_call(const struct spex_control_requests *requests, const char *path,
                      uint32_t interval_ms, char *why, size_t why_size) {
    pthread_mutex_lock(&lock);
    int err = call_locked(requests, path, interval_ms, why, why_size);
    pthread_mutex_unlock(&lock);
    return err;
}

void spex_control_stop(void) {
    pthread_mutex_lock(&lock);
    bool running = control && control->running;
    if (running) {
        control->stopping = true;
        wake(control);
    }
    pthread_mutex_unlock(&lock);
    if (!running)
        return;
    pthread_join(control->thread, NULL);
    pthread_mutex_lock(&lock);
    control->running = control->wants_door = false;
    pthread_mutex_unlock(&lock);
}

void spex_control_fork_prepare(void) {
    pthread_mutex_lock(&lock);
}

void spex_control_fork_parent(void) {
    pthread_mutex_unlock(&lock);
}

void spex_control_fork_child(void) {
    if (control) {
        for (int i = 0; i < SPEX_CONTROL_CONNECTIONS; i++)
            spex_connection_close(&control->connections[i]);
        if (control->has_door)
            spex_listening_socket_abandon(&control->door);
        wake_close(control);
        control->has_door = control->wants_door = control->running = false;
    }
    pthread_mutex_unlock(&lock);
}
