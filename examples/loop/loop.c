/* SPDX-License-Identifier: MIT */
/* A server with an event loop. A request is read in one function, waits for a worker, is worked on
 * by that thread, and is answered in another function, while the loop serves other connections. No
 * BEGIN and END in one function see how long a request takes; SPANs do, with the connection as
 * their key.
 *
 *     loop [REQUESTS]     serves so many to each of 16 clients (2000), and ends
 *
 * Probes: request and queued are spans; readable and work are LATs of what one function does. */
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <spex/spex.h>

enum { CLIENTS = 16, WORKERS = 2, EVENTS = 16 };

/* A client's, with one request at a time. */
struct connection {
    int fd;
    uint64_t request;
    struct connection *next;
};

/* Connections whose request waits for a worker, and those whose answer waits for the loop. */
struct list {
    struct connection *first, **end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct list waiting = {NULL, &waiting.first}, worked = {NULL, &worked.first};
static bool closed;
static int wake; /* an eventfd: there are answers */
static uint64_t requests = 2000;

static void list_add(struct list *list, struct connection *connection) {
    connection->next = NULL;
    *list->end = connection;
    list->end = &connection->next;
}

static struct connection *list_take(struct list *list) {
    struct connection *first = list->first;
    if (first && !(list->first = first->next))
        list->end = &list->first;
    return first;
}

/* The loop: a request has come. It says false when the client has gone. */
static bool on_readable(struct connection *connection) {
    SPEX_LAT_SCOPE("readable");
    if (read(connection->fd, &connection->request, sizeof(connection->request)) <= 0)
        return false;
    SPEX_SPAN_BEGIN("request", connection);
    SPEX_SPAN_BEGIN("queued", connection);
    pthread_mutex_lock(&lock);
    list_add(&waiting, connection);
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
    return true;
}

/* The loop: workers have finished some. */
static void on_worked(void) {
    struct connection *connection;
    uint64_t count;
    if (read(wake, &count, sizeof(count)) < 0)
        err(1, "eventfd");
    do {
        pthread_mutex_lock(&lock);
        connection = list_take(&worked);
        pthread_mutex_unlock(&lock);
        if (!connection)
            break;
        /* Before the answer: with it the client may send the next request. */
        SPEX_SPAN_END("request", connection);
        if (write(connection->fd, &connection->request, sizeof(connection->request)) < 0)
            err(1, "write");
    } while (connection);
}

static void work(struct connection *connection) {
    SPEX_LAT_SCOPE("work");
    for (int step = 0; step < 5000; step++)
        connection->request = connection->request * 6364136223846793005u + 1442695040888963407u;
}

static void *worker(void *arg) {
    const uint64_t one = 1;
    pthread_mutex_lock(&lock);
    while (!closed) {
        struct connection *connection = list_take(&waiting);
        if (!connection) {
            pthread_cond_wait(&filled, &lock);
            continue;
        }
        pthread_mutex_unlock(&lock);
        SPEX_SPAN_END("queued", connection);
        work(connection);
        pthread_mutex_lock(&lock);
        list_add(&worked, connection);
        if (write(wake, &one, sizeof(one)) < 0)
            err(1, "eventfd");
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *client(void *arg) {
    int fd = *(int *)arg;
    for (uint64_t r = 0, answer; r < requests; r++)
        if (write(fd, &r, sizeof(r)) < 0 || read(fd, &answer, sizeof(answer)) < 0)
            err(1, "client");
    close(fd);
    return NULL;
}

static void watch(int poll, int fd, struct connection *connection) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
        err(1, "epoll_ctl");
}

/* Until all clients have gone. */
static void serve(int poll) {
    struct epoll_event events[EVENTS];
    for (unsigned left = CLIENTS; left > 0;) {
        int count = epoll_wait(poll, events, EVENTS, -1);
        for (int e = 0; e < count; e++) {
            struct connection *connection = events[e].data.ptr;
            if (!connection) {
                on_worked();
            } else if (!on_readable(connection)) {
                close(connection->fd);
                left--;
            }
        }
    }
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg) {
    if (pthread_create(thread, NULL, run, arg) != 0)
        errx(1, "cannot start a thread");
}

int main(int argc, char **argv) {
    static struct connection connections[CLIENTS];
    static int ends[CLIENTS][2];
    pthread_t clients[CLIENTS], workers[WORKERS];
    int poll = epoll_create1(EPOLL_CLOEXEC);
    wake = eventfd(0, EFD_CLOEXEC);
    if (argc > 1)
        requests = strtoull(argv[1], NULL, 10);
    if (poll < 0 || wake < 0)
        err(1, "epoll");
    spex_start(NULL);
    watch(poll, wake, NULL);
    for (int w = 0; w < WORKERS; w++)
        start(&workers[w], worker, NULL);
    for (int c = 0; c < CLIENTS; c++) {
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[c]) != 0)
            err(1, "socketpair");
        connections[c].fd = ends[c][1];
        watch(poll, ends[c][1], &connections[c]);
        start(&clients[c], client, &ends[c][0]);
    }
    serve(poll);
    pthread_mutex_lock(&lock);
    closed = true;
    pthread_cond_broadcast(&filled);
    pthread_mutex_unlock(&lock);
    for (int c = 0; c < CLIENTS; c++)
        pthread_join(clients[c], NULL);
    for (int w = 0; w < WORKERS; w++)
        pthread_join(workers[w], NULL);
    return spex_stop();
}
