/* SPDX-License-Identifier: MIT */
/* A request is checked when its headers are there, before any of its body is taken. MHD calls the
 * handler again for each part of the body, when the body is complete, and after it was resumed. */
#include "tools/serve/http.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/serve/api.h"
#include "tools/serve/page/page.h"

static uint64_t now_ns(void) {
    return spex_clock_ns(CLOCK_MONOTONIC);
}

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

void spex_http_connected(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_ConnectionNotificationCode what) {
    struct spex_server *server = user;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
        *place = spex_pace_open(&server->pace, socket_of(connection), now_ns());
    else if (*place)
        spex_pace_close(&server->pace, *place);
}

/* CPU time of this process. */
static double cpu_seconds(void) {
    return (double)spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static enum MHD_Result answer_metrics(struct spex_request *request) {
    struct spex_server *server = request->server;
    struct spex_metrics_program list[SPEX_PROGRAMS_NAMES];
    long count = spex_programs_sums(&server->programs, list);
    enum spex_metrics_format format = spex_metrics_format_for(
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Accept"));
    const struct spex_metrics_server own = {
        .programs_left_out = spex_programs_left_out(&server->programs),
        .processes_left_out = server->programs.processes_left_out,
        .reports_refused = (double)server->programs.refused,
        .cpu_seconds = cpu_seconds(),
        .refused = (double)server->refused,
        .buckets = server->buckets,
    };
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = count < 0 ? NULL : open_memstream(&text, &bytes);
    if (out) {
        spex_metrics_write(out, format, list, (size_t)count, &own);
        bool failed = ferror(out);
        failed |= fclose(out) != 0;
        if (failed) {
            free(text);
            text = NULL;
        }
    }
    return spex_http_answer(request, MHD_HTTP_OK, spex_metrics_content_type(format), text, bytes);
}

static enum MHD_Result answer_page(struct spex_request *request) {
    const struct spex_page_file *file = request->file;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        (size_t)(file->end - file->begin), (void *)file->begin, MHD_RESPMEM_PERSISTENT);
    if (response && file->compressed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    return spex_http_send(request, MHD_HTTP_OK, file->type, response);
}

static const struct spex_route routes[] = {
    {"/metrics", false, SPEX_ROUTE_SUMS, answer_metrics, false},
    {"/api/programs", false, SPEX_ROUTE_SUMS, spex_api_programs, false},
    {"/api/probes", false, SPEX_ROUTE_REPORT, spex_api_probes, false},
    {"/api/events", false, SPEX_ROUTE_NOTHING, spex_api_events, false},
    {"/api/history", false, SPEX_ROUTE_NOTHING, spex_api_history, false},
    {"/api/exploration", false, SPEX_ROUTE_NOTHING, spex_shown_exploration, false},
    {"/api/fleet", false, SPEX_ROUTE_NOTHING, spex_shown_fleet, false},
    {"/api/models", false, SPEX_ROUTE_NOTHING, spex_shown_models, false},
    {"/api/anomalies", false, SPEX_ROUTE_NOTHING, spex_shown_anomalies, false},
    {"/api/traces", false, SPEX_ROUTE_NOTHING, spex_shown_traces, false},
    {"/api/trace", false, SPEX_ROUTE_NOTHING, spex_download_answer, false},
    {"/api/set", true, SPEX_ROUTE_NOTHING, spex_switch_answer, false},
};
static const struct spex_route page_route = {"", false, SPEX_ROUTE_NOTHING, answer_page, true};

bool spex_http_watches(const struct spex_server *server, pid_t process) {
    for (const struct spex_request *r = server->waiting; r; r = r->next)
        if (r->watched == process)
            return true;
    return server->asking == process;
}

static const struct spex_route *route_of(const char *url) {
    for (size_t r = 0; r < sizeof(routes) / sizeof(routes[0]); r++)
        if (strcmp(routes[r].path, url) == 0)
            return &routes[r];
    return NULL;
}

/* Headers that decide who asks, for what, and where the request ends. */
enum { HOST, ORIGIN, AUTHORIZATION, SITE, TYPE, LENGTH, DECISIVE };
static const char *const decisive[DECISIVE] = {"Host",           "Origin",       "Authorization",
                                               "Sec-Fetch-Site", "Content-Type", "Content-Length"};

struct headers {
    const char *values[DECISIVE];
    /* The reason, where somebody between the client and here may have read the request in another
     * way; NULL: it has one meaning. */
    const char *unclear;
};

/* Characters of a name; others between a name and its colon are none to some readers. */
static bool is_token(const char *name, size_t length) {
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t c = 0; c < length; c++)
        if (!isalnum((unsigned char)name[c]) && (!name[c] || !strchr(others, name[c])))
            return false;
    return length > 0;
}

static bool is_line(const char *value, size_t length) {
    for (size_t c = 0; c < length; c++)
        if (((unsigned char)value[c] < ' ' && value[c] != '\t') || value[c] == 0x7f)
            return false;
    return true;
}

static enum MHD_Result take_header(void *user, enum MHD_ValueKind kind, const char *name,
                                   size_t name_length, const char *value, size_t length) {
    struct headers *headers = user;
    (void)kind;
    if (!is_token(name, name_length) || !is_line(value, length))
        headers->unclear = "headers of printable characters were expected";
    if (strcasecmp(name, "Transfer-Encoding") == 0)
        headers->unclear = "a body with Content-Length was expected, without Transfer-Encoding";
    for (size_t d = 0; d < DECISIVE; d++) {
        if (strcasecmp(name, decisive[d]) != 0)
            continue;
        if (headers->values[d])
            headers->unclear = "one header of a kind was expected: Host, Origin, Authorization, "
                               "Sec-Fetch-Site, Content-Type, Content-Length";
        headers->values[d] = value ? value : "";
    }
    return MHD_YES;
}

static bool method_fits(const struct spex_route *route, const char *method) {
    if (route->changes)
        return strcmp(method, MHD_HTTP_METHOD_POST) == 0;
    return strcmp(method, MHD_HTTP_METHOD_GET) == 0 || strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

/* Browsers send JSON to another server only after asking it. */
static bool is_json(const char *type) {
    size_t length = type ? strcspn(type, "; \t") : 0;
    return length == strlen("application/json") &&
           strncasecmp(type, "application/json", length) == 0;
}

/* By what the client says of it; who sends more than that is noticed by take_body. */
static bool body_fits(const struct spex_request *request, const char *length) {
    return !length || strtoull(length, NULL, 10) <=
                          (request->route->changes ? (unsigned)SPEX_HTTP_BODY_BYTES : 0);
}

/* 0, or the status of the refusal with the reason. */
static unsigned check(struct spex_request *request, const char *method, const char **why) {
    struct headers sent = {.unclear = NULL};
    MHD_get_connection_values_n(request->connection, MHD_HEADER_KIND, take_header, &sent);
    *why = sent.unclear;
    if (*why)
        return MHD_HTTP_BAD_REQUEST;
    const struct spex_guard_headers headers = {.host = sent.values[HOST],
                                               .origin = sent.values[ORIGIN],
                                               .authorization = sent.values[AUTHORIZATION],
                                               .site = sent.values[SITE]};
    const struct spex_guard *guard = &request->server->guard;
    unsigned status =
        request->route && request->route->open
            ? spex_guard_check_open(guard, &headers, why)
            : spex_guard_check(guard, &headers, request->route && request->route->changes, why);
    if (status)
        return status;
    *why = "there is no such page";
    if (!request->route)
        return MHD_HTTP_NOT_FOUND;
    *why = request->route->changes ? "POST was expected" : "GET was expected";
    if (!method_fits(request->route, method))
        return MHD_HTTP_METHOD_NOT_ALLOWED;
    *why = "a body of application/json was expected";
    if (request->route->changes && !is_json(sent.values[TYPE]))
        return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
    *why = request->route->changes ? "a body of at most 20 KiB was expected"
                                   : "a request without a body was expected";
    return body_fits(request, sent.values[LENGTH]) ? 0 : MHD_HTTP_CONTENT_TOO_LARGE;
}

/* A refusal is sent at once, so that no body is taken for it. */
static enum MHD_Result begin(struct spex_server *server, struct MHD_Connection *connection,
                             const char *url, const char *method, void **user) {
    const char *why;
    struct spex_request *request = spex_http_place(connection) ? calloc(1, sizeof(*request)) : NULL;
    if (!request)
        return MHD_NO;
    *user = request;
    request->server = server;
    request->connection = connection;
    request->file = spex_page_find(url);
    request->route = request->file ? &page_route : route_of(url);
    unsigned status = check(request, method, &why);
    if (!status)
        return MHD_YES;
    spex_pace_enter(spex_http_place(connection), SPEX_PACE_ANSWER, now_ns());
    return spex_http_refuse(request, status, why);
}

/* A body that is longer than it was to be ends the connection: MHD takes no answer before its
 * end. */
static enum MHD_Result take_body(struct spex_request *request, const char *data, size_t bytes) {
    if (!request->route->changes || bytes > SPEX_HTTP_BODY_BYTES - request->body_bytes) {
        request->server->refused++;
        return MHD_NO;
    }
    memcpy(request->body + request->body_bytes, data, bytes);
    request->body_bytes += bytes;
    return MHD_YES;
}

/* Whether the report of the process that it asks for is not there, as it was not kept. */
static bool lacks_report(const struct spex_request *request) {
    const struct spex_program_process *process =
        spex_programs_find(&request->server->programs, request->watched);
    return process && !process->latest.types;
}

/* Asks for what the request needs, or joins the round under way. A report that has come, and was not
 * kept, is asked for once more. */
static bool needs_round(struct spex_request *request) {
    struct spex_server *server = request->server;
    bool report = request->route->needs == SPEX_ROUTE_REPORT;
    if (report && request->rounds && !lacks_report(request))
        return false;
    server->asking = request->watched;
    bool under_way =
        request->rounds++ < (unsigned)request->route->needs &&
        spex_programs_ask(&server->programs, report ? SPEX_PROGRAMS_REPORT : SPEX_PROGRAMS_SUMS,
                          request->watched, now_ns());
    server->asking = 0;
    return under_way;
}

enum MHD_Result spex_http_handle(void *user, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_bytes, void **place) {
    struct spex_server *server = user;
    struct spex_request *request = *place;
    (void)version;
    if (!request)
        return begin(server, connection, url, method, place);
    if (*data_bytes) {
        enum MHD_Result taken = take_body(request, data, *data_bytes);
        *data_bytes = 0;
        return taken;
    }
    if (!request->rounds)
        spex_http_note_answer(connection);
    if (request->route->needs == SPEX_ROUTE_REPORT)
        request->watched = spex_http_process(connection);
    return needs_round(request) ? spex_http_wait(request) : request->route->answer(request);
}

/* Leaves the list of those that wait. */
static void forget(struct spex_server *server, const struct spex_request *request) {
    for (struct spex_request **at = &server->waiting; *at; at = &(*at)->next)
        if (*at == request) {
            *at = request->next;
            return;
        }
}

/* Another request may follow on the connection. */
void spex_http_completed(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode how) {
    struct spex_server *server = user;
    struct spex_pace_connection *connected = spex_http_place(connection);
    (void)how;
    if (connected)
        spex_pace_enter(connected, SPEX_PACE_REQUEST, now_ns());
    if (*place)
        forget(server, *place);
    if (*place && server->by.request == *place)
        spex_switch_end(&server->by);
    if (*place)
        spex_download_forget(server, *place);
    free(*place);
    *place = NULL;
}

void spex_http_resume(struct spex_server *server) {
    while (server->waiting) {
        struct spex_request *request = server->waiting;
        server->waiting = request->next;
        spex_http_go_on(request->connection);
    }
}

void spex_http_resume_all(struct spex_server *server) {
    for (unsigned c = 0; c < SPEX_PACE_CONNECTIONS; c++)
        if (server->pace.connections[c].suspended)
            spex_http_go_on(server->pace.connections[c].suspended);
}
