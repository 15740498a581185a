/* SPDX-License-Identifier: MIT */
/* The lock is held while the thread serves and not while it sleeps. Of other modules' locks the thread takes
 * those of sites, metrics and counters; that of start and stop (life) it only tries, since who holds it may
 * wait for this thread's end. */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "../life.h"
#include "../service_thread.h"
#include "connection.h"
#include "door.h"

enum { CONNECTIONS = 16 };

#define MS 1000000u

/* A client that says nothing, and one that takes nothing. */
#define SILENT_NS (10000ull * MS)
#define STUCK_NS  (30000ull * MS)

/* So often the thread looks around, though nobody has called: the program may have put files of its own in the
 * places of ours, of which a sleeping poll hears nothing. */
#define LOOK_NS (1000ull * MS)

/* For the last reports. */
#define FINAL_NS (2000ull * MS)

/* What clients can make this thread use: a quarter of a CPU, and as much at once as it would have had in the last
 * 400 ms. Thirty thousand selections a second of a few probes take about that. */
#define CPU_SHARE     4
#define ALLOWANCE_MAX (100 * (int64_t)MS)

struct control {
    pthread_t thread;
    bool running;
    bool stopping;
    bool orphaned; /* the command that this process called is gone: its probes are to go off */
    bool has_door;
    char *chosen;
    char *called; /* the socket of the command that this process called */
    struct spex_door door;
    struct spex_descriptor waking, woken; /* a pair of sockets */
    int64_t allowance_ns;
    uint64_t earned_ns; /* up to when that was earned */
    uint64_t cpu_ns;
    struct spex_connection connections[CONNECTIONS];
    char buffer[SPEX_CONTROL_FRAME_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct control *control; /* made at the first start */

static int wake_open(struct control *c) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
        return -errno;
    c->waking = spex_descriptor_of(pair[0]);
    c->woken = spex_descriptor_of(pair[1]);
    return 0;
}

static void wake_close(struct control *c) {
    spex_descriptor_close(&c->waking);
    spex_descriptor_close(&c->woken);
}

/* Where the program has closed our ends, this is heard at the next look around. */
static void wake(const struct control *c) {
    if (spex_descriptor_is_ours(&c->waking))
        send(c->waking.number, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Takes what it was woken with; makes a new pair when the program has closed the old one. */
static void wake_answer(struct control *c) {
    char nothing[8];
    if (!spex_descriptor_is_ours(&c->woken) || !spex_descriptor_is_ours(&c->waking)) {
        wake_close(c);
        wake_open(c);
        return;
    }
    while (recv(c->woken.number, nothing, sizeof(nothing), MSG_DONTWAIT) > 0)
        continue;
}

static uint64_t thread_cpu_ns(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void earn(struct control *c, uint64_t now) {
    uint64_t cpu = thread_cpu_ns();
    c->allowance_ns += (int64_t)((now - c->earned_ns) / CPU_SHARE) - (int64_t)(cpu - c->cpu_ns);
    if (c->allowance_ns > ALLOWANCE_MAX)
        c->allowance_ns = ALLOWANCE_MAX;
    c->earned_ns = now;
    spex_store_relaxed(&c->cpu_ns, cpu);
}

static void drop(struct control *c, struct spex_connection *connection) {
    c->orphaned |= connection->ours;
    spex_connection_close(connection);
}

/* A place for one more: a free one, or that of the client that has been silent the longest. */
static struct spex_connection *place(struct control *c) {
    struct spex_connection *silent = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            return connection;
        if (!connection->ours && !connection->reports &&
            (!silent || connection->active_ns < silent->active_ns))
            silent = connection;
    }
    if (silent)
        drop(c, silent);
    return silent;
}

static void door_reopen(struct control *c) {
    char why[256];
    spex_door_close(&c->door);
    c->has_door = spex_door_open(&c->door, c->chosen, why, sizeof(why)) == 0;
}

static void let_in(struct control *c) {
    for (int n = 0; n < CONNECTIONS; n++) {
        int socket = spex_door_accept(&c->door);
        if (socket == -EPERM)
            continue;
        if (socket == -EBADF)
            door_reopen(c);
        if (socket < 0)
            return;
        struct spex_connection *connection = place(c);
        if (connection)
            spex_connection_open(connection, socket, false);
        else
            close(socket);
    }
}

static bool expired(const struct spex_connection *connection, uint64_t now) {
    uint64_t quiet = now - connection->active_ns;
    if (connection->ours)
        return false;
    return spex_connection_busy(connection) ? quiet > STUCK_NS
                                            : !connection->reports && quiet > SILENT_NS;
}

static int connected(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || *path == '\0')
        return -ENOENT;
    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

static void call_open(struct spex_connection *connection, int socket, uint32_t interval_ms) {
    spex_connection_open(connection, socket, true);
    connection->reports = true;
    connection->interval_ms = interval_ms;
    connection->due_ns = spex_connection_now();
}

/* The program may have closed the connection, and use its number for a file of its own: daemons close what they do not
 * know. The command that was called is there still. True when there is a new connection, or will be at the next
 * attempt, since the program is closing descriptors right now. */
static bool call_again(const struct control *c, struct spex_connection *connection) {
    if (!connection->ours || spex_descriptor_is_ours(&connection->socket))
        return false;
    int socket = connected(c->called);
    if (socket >= 0)
        call_open(connection, socket, connection->interval_ms);
    return socket >= 0 || socket == -EBADF || socket == -ENOTSOCK;
}

/* `events`: what poll has said of it. */
static void serve(struct control *c, struct spex_connection *connection, short events,
                  uint64_t now) {
    enum spex_connection_end end = SPEX_CONNECTION_STAYS;
    call_again(c, connection);
    spex_connection_select(connection);
    spex_connection_report(connection, now, false);
    if (!spex_connection_busy(connection) && events)
        end = spex_connection_read(connection, c->buffer);
    if (end != SPEX_CONNECTION_GONE && connection->reply.next)
        end = spex_connection_write(connection, c->buffer);
    if (end == SPEX_CONNECTION_GONE && call_again(c, connection))
        return;
    if (end == SPEX_CONNECTION_GONE || expired(connection, now))
        drop(c, connection);
}

static void probes_off(struct control *c) {
    char answer[SPEX_CONTROL_ANSWER_BYTES];
    if (spex_life_select("", answer, sizeof(answer)) != -EBUSY)
        c->orphaned = false;
}

enum { WOKEN, DOOR, FIRST, POLLED = FIRST + CONNECTIONS };

static int prepare(const struct control *c, struct pollfd fds[POLLED]) {
    fds[WOKEN] = (struct pollfd){.fd = c->woken.number, .events = POLLIN};
    if (c->allowance_ns < 0)
        return WOKEN + 1;
    fds[DOOR] = (struct pollfd){.fd = c->has_door ? c->door.socket.number : -1, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct spex_connection *connection = &c->connections[i];
        fds[FIRST + i] = (struct pollfd){
            .fd = connection->selects ? -1 : connection->socket.number,
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
static uint64_t next_time(const struct control *c, uint64_t now) {
    uint64_t when = now + LOOK_NS;
    if (c->allowance_ns < 0)
        return now + (uint64_t)-c->allowance_ns * CPU_SHARE;
    if (c->orphaned)
        when = now + MS;
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            continue;
        if (connection->selects)
            sooner(&when, now + MS);
        if (connection->reports && !spex_connection_busy(connection))
            sooner(&when, connection->due_ns);
        else if (!connection->ours)
            sooner(&when, connection->active_ns +
                              (spex_connection_busy(connection) ? STUCK_NS : SILENT_NS));
    }
    return when;
}

static int timeout_ms(uint64_t when, uint64_t now) {
    return when <= now ? 0 : (int)((when - now) / MS) + 1;
}

static void serve_all(struct control *c, const struct pollfd *fds, int count) {
    uint64_t now = spex_connection_now();
    wake_answer(c);
    if (count == POLLED) {
        if (c->has_door && (fds[DOOR].revents || !spex_descriptor_is_ours(&c->door.socket)))
            let_in(c);
        for (int i = 0; i < CONNECTIONS; i++)
            if (spex_connection_there(&c->connections[i]))
                serve(c, &c->connections[i],
                      fds[FIRST + i].fd == c->connections[i].socket.number ? fds[FIRST + i].revents
                                                                           : 0,
                      now);
        if (c->orphaned)
            probes_off(c);
    }
    earn(c, spex_connection_now());
}

/* The last report goes to who has asked for reports, once what was under way is through. False when there is no more
 * to be sent. */
static bool send_last(struct control *c, struct pollfd fds[POLLED]) {
    bool more = false;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct spex_connection *connection = &c->connections[i];
        fds[i] = (struct pollfd){.fd = -1};
        if (!spex_connection_there(connection))
            continue;
        connection->selects = false;
        call_again(c, connection);
        if (!connection->reply.next && connection->reports) {
            spex_connection_report(connection, 0, true);
            connection->reports = false;
        }
        if (spex_connection_write(connection, c->buffer) == SPEX_CONNECTION_GONE &&
            !call_again(c, connection))
            spex_connection_close(connection);
        else if (connection->reply.next || connection->reports)
            fds[i] = (struct pollfd){.fd = connection->socket.number, .events = POLLOUT};
        more |= fds[i].fd >= 0;
    }
    return more;
}

static void finish(struct control *c) {
    struct pollfd fds[POLLED];
    uint64_t until = spex_connection_now() + FINAL_NS;
    while (send_last(c, fds) && spex_connection_now() < until)
        poll(fds, CONNECTIONS, 10);
    for (int i = 0; i < CONNECTIONS; i++)
        spex_connection_close(&c->connections[i]);
    if (c->has_door)
        spex_door_close(&c->door);
    c->has_door = false;
    wake_close(c);
}

static void *control_run(void *arg) {
    struct control *c = arg;
    struct pollfd fds[POLLED];
    pthread_mutex_lock(&lock);
    c->cpu_ns = thread_cpu_ns();
    c->earned_ns = spex_connection_now();
    while (!c->stopping) {
        uint64_t now = spex_connection_now();
        int timeout = timeout_ms(next_time(c, now), now);
        int count = prepare(c, fds);
        pthread_mutex_unlock(&lock);
        poll(fds, (nfds_t)count, timeout);
        pthread_mutex_lock(&lock);
        serve_all(c, fds, count);
    }
    finish(c);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int thread_start(struct control *c) {
    int err = wake_open(c);
    if (err)
        return err;
    c->stopping = c->orphaned = false;
    c->allowance_ns = ALLOWANCE_MAX;
    err = spex_service_thread_start(&c->thread, "spex-control", control_run, c);
    c->running = !err;
    if (err)
        wake_close(c);
    return err;
}

static int control_make(void) {
    if (control)
        return 0;
    control = calloc(1, sizeof(*control));
    if (!control)
        return -ENOMEM;
    control->waking = control->woken = control->door.socket = SPEX_NO_DESCRIPTOR;
    for (int i = 0; i < CONNECTIONS; i++)
        control->connections[i].socket = SPEX_NO_DESCRIPTOR;
    return 0;
}

static int start_locked(const char *chosen, char *why, size_t why_size) {
    int err = control_make();
    snprintf(why, why_size, "out of memory");
    if (err)
        return err;
    free(control->chosen);
    control->chosen = chosen ? strdup(chosen) : NULL;
    err = spex_door_open(&control->door, control->chosen, why, why_size);
    if (err)
        return err;
    control->has_door = true;
    err = control->running ? 0 : thread_start(control);
    if (err) {
        snprintf(why, why_size, "cannot start its thread: %s", strerror(-err));
        spex_door_close(&control->door);
        control->has_door = false;
    }
    return err;
}

int spex_control_start(const char *chosen, char *why, size_t why_size) {
    pthread_mutex_lock(&lock);
    int err = start_locked(chosen, why, why_size);
    pthread_mutex_unlock(&lock);
    return err;
}

static int call_locked(const char *path, uint32_t interval_ms, char *why, size_t why_size) {
    int err = control_make();
    int fd = err ? err : connected(path);
    if (fd < 0) {
        snprintf(why, why_size, "cannot connect to %s: %s", path, strerror(-fd));
        return fd;
    }
    struct spex_connection *connection = place(control);
    if (!connection) {
        snprintf(why, why_size, "too many commands are connected");
        close(fd);
        return -EBUSY;
    }
    free(control->called);
    control->called = strdup(path);
    call_open(connection, fd, interval_ms);
    if (control->running)
        wake(control);
    else if ((err = thread_start(control))) {
        spex_connection_close(connection);
        snprintf(why, why_size, "cannot start the control thread: %s", strerror(-err));
    }
    return err;
}

int spex_control_call(const char *path, uint32_t interval_ms, char *why, size_t why_size) {
    pthread_mutex_lock(&lock);
    int err = call_locked(path, interval_ms, why, why_size);
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
    control->running = false;
    pthread_mutex_unlock(&lock);
}

uint64_t spex_control_cpu_ns(void) {
    const struct control *c = spex_load_relaxed(&control);
    return c ? spex_load_relaxed(&c->cpu_ns) : 0;
}

void spex_control_fork_prepare(void) {
    pthread_mutex_lock(&lock);
}

void spex_control_fork_parent(void) {
    pthread_mutex_unlock(&lock);
}

void spex_control_fork_child(void) {
    if (control) {
        for (int i = 0; i < CONNECTIONS; i++)
            spex_connection_close(&control->connections[i]);
        if (control->has_door)
            spex_door_abandon(&control->door);
        wake_close(control);
        control->has_door = control->running = false;
        control->cpu_ns = 0;
    }
    pthread_mutex_unlock(&lock);
}
