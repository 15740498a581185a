/* SPDX-License-Identifier: MIT */
/* What all answers have in common. */
#include "tools/serve/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "text/number.h"
#include "tools/serve/gzip.h"

struct spex_pace_connection *spex_http_place(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

void spex_http_suspend(struct MHD_Connection *connection) {
    spex_http_place(connection)->suspended = connection;
    MHD_suspend_connection(connection);
}

void spex_http_go_on(struct MHD_Connection *connection) {
    spex_http_place(connection)->suspended = NULL;
    MHD_resume_connection(connection);
}

pid_t spex_http_process(struct MHD_Connection *connection) {
    int64_t process = 0;
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "process");
    if (text && (!spex_number_integer(text, &process) || process <= 0 || process > INT32_MAX))
        return -1;
    return (pid_t)process;
}

void spex_http_note_answer(struct MHD_Connection *connection) {
    spex_pace_enter(spex_http_place(connection), SPEX_PACE_ANSWER, spex_clock_ns(CLOCK_MONOTONIC));
}

/* What browsers are told: the answer is no page that others may use, or that runs what it
 * quotes. */
static const struct {
    const char *name, *value;
} common_headers[] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src "
     "'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
};

enum MHD_Result spex_http_send(struct spex_request *request, unsigned status, const char *type,
                               struct MHD_Response *response) {
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t h = 0; h < sizeof(common_headers) / sizeof(common_headers[0]); h++)
        MHD_add_response_header(response, common_headers[h].name, common_headers[h].value);
    /* Nobody can be sure where the next request begins. */
    if (status == MHD_HTTP_BAD_REQUEST)
        MHD_add_response_header(response, "Connection", "close");
    if (status == MHD_HTTP_UNAUTHORIZED)
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, "Allow", request->route->changes ? "POST" : "GET, HEAD");
    enum MHD_Result queued = MHD_queue_response(request->connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

/* Replaces the text by a compressed one where the client asks for it. Without memory it stays. */
static bool compress_text(const struct spex_request *request, char **text, size_t *bytes) {
    const char *accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Accept-Encoding");
    size_t compressed;
    char *other = *bytes >= SPEX_GZIP_LEAST && spex_gzip_is_accepted(accept)
                      ? spex_gzip_text(*text, *bytes, &compressed)
                      : NULL;
    if (!other)
        return false;
    free(*text);
    *text = other;
    *bytes = compressed;
    return true;
}

enum MHD_Result spex_http_answer(struct spex_request *request, unsigned status, const char *type,
                                 char *text, size_t bytes) {
    if (!text)
        return spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
    bool compressed = compress_text(request, &text, &bytes);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
    if (!response)
        free(text);
    else if (compressed)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    if (response)
        MHD_add_response_header(response, "Vary", "Accept, Accept-Encoding");
    return spex_http_send(request, status, type, response);
}

enum MHD_Result spex_http_refuse(struct spex_request *request, unsigned status, const char *why) {
    char text[256];
    int bytes = snprintf(text, sizeof(text), "%s\n", why);
    request->server->refused++;
    return spex_http_send(
        request, status, "text/plain; charset=utf-8",
        MHD_create_response_from_buffer((size_t)bytes, text, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result spex_http_json(struct spex_request *request, unsigned status, json_t *json) {
    char *text = json ? json_dumps(json, SPEX_HTTP_JSON) : NULL;
    json_decref(json);
    return spex_http_answer(request, status, "application/json", text, text ? strlen(text) : 0);
}

enum MHD_Result spex_http_wait(struct spex_request *request) {
    request->next = request->server->waiting;
    request->server->waiting = request;
    spex_http_suspend(request->connection);
    return MHD_YES;
}
