/* SPDX-License-Identifier: MIT */
/* The lock is held while the thread serves and not while it sleeps. Of other modules' locks the thread takes
 * those of sites, metrics and counters; that of start and stop (life) it only tries, since who holds it may
 * wait for this thread's end. */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "../clock.h"
#include "../service_thread.h"
#include "../socket_address.h"
#include "connection.h"
#include "door.h"

enum { CONNECTIONS = 16 };

#define MS 1000000u

/* A client that says nothing, and one that takes nothing. */
#define SILENT_NS (10000ull * MS)
#define STUCK_NS  (30000ull * MS)

/* So long they have their place to themselves, though others wait for one. */
#define SILENT_PLACE_NS (200ull * MS)
#define STUCK_PLACE_NS  (2000ull * MS)

/* When nobody can be let in, there being no place or no descriptor, the door is looked at again after so long. */
#define DOOR_REST_NS (50ull * MS)

/* So often the thread looks around, though nobody has called: the program may have put files of its own in the
 * places of ours, of which a sleeping poll hears nothing. */
#define LOOK_NS (1000ull * MS)

/* For the last reports. */
#define FINAL_NS (2000ull * MS)

/* For a command that we call to let us in. */
#define CALL_SECONDS 2

/* What clients can make this thread use: a quarter of a CPU, and as much at once as it would have had in the last
 * 400 ms. Thirty thousand selections a second of a few probes take about that. */
#define CPU_SHARE     4
#define ALLOWANCE_MAX (100 * (int64_t)MS)

struct control {
    const struct spex_control_requests *requests;
    pthread_t thread;
    bool running;
    bool stopping;
    bool orphaned; /* the command that this process called is gone: its probes are to go off */
    bool wants_door;
    bool has_door;
    uint64_t look_ns; /* when the door is looked after next */
    uint64_t rest_ns; /* until then nobody is let in */
    char *chosen;
    char *called; /* the socket of the command that this process called */
    struct spex_door door;
    struct spex_descriptor waking, woken; /* a pair of sockets */
    int64_t allowance_ns;
    uint64_t earned_ns; /* up to when that was earned */
    uint64_t cpu_ns;    /* this thread's, as of then */
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

static void earn(struct control *c, uint64_t now) {
    uint64_t before_ns = c->cpu_ns;
    spex_service_cpu_note(&c->cpu_ns);
    c->allowance_ns +=
        (int64_t)((now - c->earned_ns) / CPU_SHARE) - (int64_t)(c->cpu_ns - before_ns);
    if (c->allowance_ns > ALLOWANCE_MAX)
        c->allowance_ns = ALLOWANCE_MAX;
    c->earned_ns = now;
}

static void drop(struct control *c, struct spex_connection *connection) {
    c->orphaned |= connection->ours;
    spex_connection_close(connection);
}

static uint64_t quiet_ns(const struct spex_connection *connection, uint64_t now) {
    return now > connection->active_ns ? now - connection->active_ns : 0;
}

/* Whether another may have its place. */
static bool may_go(const struct spex_connection *connection, uint64_t now) {
    return !connection->ours && !connection->reports &&
           quiet_ns(connection, now) >
               (spex_connection_busy(connection) ? STUCK_PLACE_NS : SILENT_PLACE_NS);
}

/* A place for one more: a free one, or that of the client that has been silent the longest. */
static struct spex_connection *place(struct control *c, uint64_t now) {
    struct spex_connection *silent = NULL;
    for (int i = 0; i < CONNECTIONS; i++) {
        struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            return connection;
        if (may_go(connection, now) && (!silent || connection->active_ns < silent->active_ns))
            silent = connection;
    }
    return silent;
}

/* All places are subscribers': waiting does not help. */
static bool subscribed_out(const struct control *c) {
    int stay = 0;
    for (int i = 0; i < CONNECTIONS; i++)
        stay += c->connections[i].ours || c->connections[i].reports;
    return stay == CONNECTIONS;
}

/* The old door stays where there can be no new one, as long as it is ours. */
static void door_reopen(struct control *c) {
    char why[256];
    struct spex_door fresh;
    bool opened = spex_door_open(&fresh, c->chosen, why, sizeof(why)) == 0;
    if (c->has_door && (opened || !spex_descriptor_is_ours(&c->door.socket))) {
        spex_door_close(&c->door);
        c->has_door = false;
    }
    if (opened) {
        c->door = fresh;
        c->has_door = true;
    }
}

static void door_look(struct control *c, uint64_t now) {
    if (!c->wants_door || now < c->look_ns)
        return;
    c->look_ns = now + LOOK_NS;
    if (!c->has_door || !spex_door_is_there(&c->door))
        door_reopen(c);
}

/* False: nobody else for now. */
static bool let_one_in(struct control *c, uint64_t now) {
    struct spex_connection *connection = place(c, now);
    bool away = !connection && subscribed_out(c);
    if (!connection && !away) {
        c->rest_ns = now + DOOR_REST_NS;
        return false;
    }
    int socket = spex_door_accept(&c->door);
    if (socket == -EBADF)
        door_reopen(c);
    else if (socket < 0 && socket != -EAGAIN && socket != -EPERM)
        c->rest_ns =
            now + DOOR_REST_NS; /* no descriptor is left, and the caller stays at the door */
    if (socket < 0)
        return socket == -EPERM;
    if (away) {
        spex_connection_turn_away(socket, c->buffer);
        return true;
    }
    if (spex_connection_there(connection))
        drop(c, connection);
    spex_connection_open(connection, socket, false);
    return true;
}

static void let_in(struct control *c, uint64_t now) {
    for (int n = 0; n < CONNECTIONS && let_one_in(c, now); n++)
        continue;
}

static bool expired(const struct spex_connection *connection, uint64_t now) {
    uint64_t quiet = quiet_ns(connection, now);
    if (connection->ours)
        return !spex_descriptor_is_ours(&connection->socket);
    return spex_connection_busy(connection) ? quiet > STUCK_NS
                                            : !connection->reports && quiet > SILENT_NS;
}

/* Many processes may call one command at once, which then cannot let all of them in at once. */
static int call_out(int fd, const struct sockaddr_un *address) {
    const struct timeval limit = {.tv_sec = CALL_SECONDS};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        return errno == EAGAIN ? -ETIMEDOUT : -errno;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int connected(const char *path) {
    struct sockaddr_un address;
    int err = spex_socket_address(path, &address);
    if (err)
        return err;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    err = call_out(fd, &address);
    if (err)
        close(fd);
    return err ? err : fd;
}

static void call_open(struct spex_connection *connection, int socket, uint32_t interval_ms) {
    spex_connection_open(connection, socket, true);
    connection->reports = true;
    connection->interval_ms = interval_ms;
    connection->due_ns = spex_clock_ns(CLOCK_MONOTONIC);
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
    spex_connection_retry(connection, c->requests);
    spex_connection_report(connection, now, false);
    if (!spex_connection_busy(connection) && events)
        end = spex_connection_read(connection, c->requests, c->buffer);
    if (end != SPEX_CONNECTION_GONE && connection->reply.next)
        end = spex_connection_write(connection, c->buffer);
    if (end == SPEX_CONNECTION_GONE && call_again(c, connection))
        return;
    if (end == SPEX_CONNECTION_GONE || expired(connection, now))
        drop(c, connection);
}

static void probes_off(struct control *c) {
    char answer[SPEX_CONTROL_ANSWER_BYTES];
    if (c->requests->select("", answer, sizeof(answer)) != -EBUSY)
        c->orphaned = false;
}

enum { WOKEN, DOOR, FIRST, POLLED = FIRST + CONNECTIONS };

static bool door_open(const struct control *c, uint64_t now) {
    return c->has_door && now >= c->rest_ns;
}

static int prepare(const struct control *c, uint64_t now, struct pollfd fds[POLLED]) {
    fds[WOKEN] = (struct pollfd){.fd = c->woken.number, .events = POLLIN};
    if (c->allowance_ns < 0)
        return WOKEN + 1;
    fds[DOOR] =
        (struct pollfd){.fd = door_open(c, now) ? c->door.socket.number : -1, .events = POLLIN};
    for (int i = 0; i < CONNECTIONS; i++) {
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
static uint64_t next_time(const struct control *c, uint64_t now) {
    uint64_t when = now + LOOK_NS;
    if (c->allowance_ns < 0)
        return now + (uint64_t)-c->allowance_ns * CPU_SHARE;
    if (c->orphaned)
        when = now + MS;
    if (c->has_door && !door_open(c, now))
        sooner(&when, c->rest_ns);
    for (int i = 0; i < CONNECTIONS; i++) {
        const struct spex_connection *connection = &c->connections[i];
        if (!spex_connection_there(connection))
            continue;
        if (connection->waits)
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
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    wake_answer(c);
    if (count == POLLED) {
        for (int i = 0; i < CONNECTIONS; i++)
            if (spex_connection_there(&c->connections[i]))
                serve(c, &c->connections[i],
                      fds[FIRST + i].fd == c->connections[i].socket.number ? fds[FIRST + i].revents
                                                                           : 0,
                      now);
        if (c->has_door && (fds[DOOR].revents || !spex_descriptor_is_ours(&c->door.socket)))
            let_in(c, now);
        door_look(c, now);
        if (c->orphaned)
            probes_off(c);
    }
    earn(c, spex_clock_ns(CLOCK_MONOTONIC));
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
        connection->waits = false;
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
    uint64_t until = spex_clock_ns(CLOCK_MONOTONIC) + FINAL_NS;
    /* First of all: who has got the last report must not find it open still. */
    if (c->has_door)
        spex_door_close(&c->door);
    c->has_door = false;
    while (send_last(c, fds) && spex_clock_ns(CLOCK_MONOTONIC) < until)
        poll(fds, CONNECTIONS, 10);
    for (int i = 0; i < CONNECTIONS; i++)
        spex_connection_close(&c->connections[i]);
    wake_close(c);
    earn(c, spex_clock_ns(CLOCK_MONOTONIC));
}

static void *control_run(void *arg) {
    struct control *c = arg;
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
            poll(NULL, 0, (int)(DOOR_REST_NS / MS)); /* more than the program may have open */
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
    c->rest_ns = 0;
    c->look_ns = spex_clock_ns(CLOCK_MONOTONIC) + LOOK_NS;
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
    for (int i = 0; i < CONNECTIONS; i++)
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
    err = spex_door_open(&control->door, control->chosen, why, why_size);
    if (err)
        return err;
    control->has_door = control->wants_door = true;
    err = control->running ? 0 : thread_start(control);
    if (err) {
        snprintf(why, why_size, "cannot start its thread: %s", strerror(-err));
        spex_door_close(&control->door);
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
    int fd = err ? err : connected(path);
    if (fd < 0) {
        snprintf(why, why_size, "cannot connect to %s: %s", path, strerror(-fd));
        return fd;
    }
    struct spex_connection *connection = place(control, spex_clock_ns(CLOCK_MONOTONIC));
    if (!connection) {
        snprintf(why, why_size, "too many commands are connected");
        close(fd);
        return -EBUSY;
    }
    if (spex_connection_there(connection))
        drop(control, connection);
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
        for (int i = 0; i < CONNECTIONS; i++)
            spex_connection_close(&control->connections[i]);
        if (control->has_door)
            spex_door_abandon(&control->door);
        wake_close(control);
        control->has_door = control->wants_door = control->running = false;
    }
    pthread_mutex_unlock(&lock);
}
