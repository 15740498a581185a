/* SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <microhttpd.h>

#include <spex/probe.h>

#include "crew.h"
#include "pages.h"

/* How often a worker that has nothing to do looks whether the program ends. */
enum { LOOK_MS = 50 };

struct request {
    struct MHD_Connection *connection;
    struct page_request asked;
    struct text text;
    unsigned status; /* 0: not answered yet */
    struct request *next;
};

static struct {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct request *first, **last;
} server = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static void put(struct request *request) {
    SPEX_SPAN_BEGIN("queued", request);
    pthread_mutex_lock(&server.lock);
    *server.last = request;
    server.last = &request->next;
    pthread_cond_signal(&server.filled);
    pthread_mutex_unlock(&server.lock);
}

/* NULL: there was none for LOOK_MS. */
static struct request *take(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&server.lock);
    if (!server.first)
        pthread_cond_timedwait(&server.filled, &server.lock, &until);
    struct request *request = server.first;
    if (request) {
        server.first = request->next;
        if (!server.first)
            server.last = &server.first;
        SPEX_SPAN_END("queued", request);
    }
    pthread_mutex_unlock(&server.lock);
    return request;
}

static void ask_other_machine(double seconds) {
    SPEX_LAT_SCOPE("wait");
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    if (seconds > 0)
        nanosleep(&time, NULL);
}

void *server_work(void *argument) {
    const struct server_settings *settings = argument;
    struct store *store = store_open(settings->database);
    if (!store)
        exit(1);
    while (!crew_ends()) {
        struct request *request = take();
        if (!request)
            continue;
        ask_other_machine(settings->wait_seconds);
        request->status = page_write(store, &request->asked, &request->text);
        MHD_resume_connection(request->connection);
    }
    store_close(store);
    return NULL;
}

static int64_t number_of(struct MHD_Connection *connection, const char *name) {
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

static void read_url(struct request *request, const char *url) {
    SPEX_LAT_SCOPE("read_url");
    struct MHD_Connection *connection = request->connection;
    const char *word = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "word");
    snprintf(request->asked.name, sizeof(request->asked.name), "%s", url + (*url == '/'));
    snprintf(request->asked.word, sizeof(request->asked.word), "%s", word ? word : "");
    request->asked.id = number_of(connection, "id");
    request->asked.page = number_of(connection, "page");
    request->asked.user = number_of(connection, "user");
}

/* MHD owns the text from here on. */
static enum MHD_Result send_text(struct request *request) {
    SPEX_LAT_SCOPE("send");
    unsigned status = request->text.failed ? MHD_HTTP_SERVICE_UNAVAILABLE : request->status;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        request->text.length, request->text.data, MHD_RESPMEM_MUST_FREE);
    if (!response)
        return MHD_NO;
    request->text.data = NULL;
    MHD_add_response_header(response, "Content-Type", "text/html; charset=utf-8");
    enum MHD_Result result = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* MHD calls this for a request's header, for each part of its body, which the shop ignores, at its
 * end, and when it is resumed. */
static enum MHD_Result answer(void *user, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_size, void **request_of) {
    struct request *request = *request_of;
    (void)user, (void)method, (void)version, (void)body;
    if (!request) {
        *request_of = request = calloc(1, sizeof(*request));
        if (!request)
            return MHD_NO;
        SPEX_SPAN_BEGIN("request", request);
        request->connection = connection;
        return MHD_YES;
    }
    if (*body_size) {
        *body_size = 0;
        return MHD_YES;
    }
    if (request->status)
        return send_text(request);
    read_url(request, url);
    MHD_suspend_connection(connection);
    put(request);
    return MHD_YES;
}

static void completed(void *user, struct MHD_Connection *connection, void **request_of,
                      enum MHD_RequestTerminationCode how) {
    struct request *request = *request_of;
    (void)user, (void)connection, (void)how;
    if (!request)
        return;
    SPEX_SPAN_END("request", request);
    free(request->text.data);
    free(request);
}

void server_start(const struct server_settings *settings) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(settings->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.last = &server.first;
    server.daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME,
                                     settings->port, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR,
                                     &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
                                     MHD_OPTION_CONNECTION_LIMIT, 1000u, MHD_OPTION_END);
    if (!server.daemon)
        err(1, "cannot listen on port %d", (int)settings->port);
}

/* What still waits is resumed, or MHD would wait for it. */
void server_stop(void) {
    MHD_quiesce_daemon(server.daemon);
    while (server.first) {
        struct request *request = server.first;
        server.first = request->next;
        request->status = MHD_HTTP_SERVICE_UNAVAILABLE;
        MHD_resume_connection(request->connection);
    }
    MHD_stop_daemon(server.daemon);
}
