/* SPDX-License-Identifier: MIT */
/* Requests and answers: what is asked for, who answers it, and what all answers have in common. */
#ifndef SPEX_TOOLS_SERVE_HTTP_H
#define SPEX_TOOLS_SERVE_HTTP_H

#include "text/quantity.h"
#include "tools/common/json.h"
#include "tools/serve/server.h"

/* How JSON is written: on one line. */
#define SPEX_HTTP_JSON (JSON_COMPACT | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS))

/* The longest body of a request: a selection of probes with what stands around it. */
enum { SPEX_HTTP_BODY_BYTES = 20 * 1024 };

struct spex_route;

struct spex_request {
    struct spex_server *server;
    struct MHD_Connection *connection;
    const struct spex_route *route;
    /* In server->waiting. */
    struct spex_request *next;
    /* Of the page, if that is what it asks for. */
    const struct spex_page_file *file;
    /* Rounds that it has waited for. */
    unsigned rounds;
    /* The process of which the next report is kept for it; 0: none. */
    pid_t watched;
    /* It waits for programs to answer, in server->by. */
    bool suspended;
    char body[SPEX_HTTP_BODY_BYTES + 1];
    size_t body_bytes;
};

struct spex_route {
    const char *path;
    /* It changes something: POST, with the token. Otherwise GET and HEAD. */
    bool changes;
    /* It is answered after a round; with reports, if need be after another one in which they are
     * kept. */
    enum spex_route_needs { SPEX_ROUTE_NOTHING, SPEX_ROUTE_SUMS, SPEX_ROUTE_REPORT } needs;
    enum MHD_Result (*answer)(struct spex_request *request);
    /* Without the token: it tells nothing of programs. */
    bool open;
};

/* For MHD_start_daemon; `user` is the server. */
enum MHD_Result spex_http_handle(void *user, struct MHD_Connection *connection, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *data_bytes, void **place);
void spex_http_completed(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_RequestTerminationCode how);
void spex_http_connected(void *user, struct MHD_Connection *connection, void **place,
                         enum MHD_ConnectionNotificationCode what);

/* Whether a request waits for the report of a process. */
bool spex_http_watches(const struct spex_server *server, pid_t process);

/* Lets requests that have waited for a round go on. */
void spex_http_resume(struct spex_server *server);

/* Lets all connections go on that are suspended, before the daemon stops. */
void spex_http_resume_all(struct spex_server *server);

/* In answer.c, for all that answers. */

/* The connection's place; NULL: there was none, and the connection is closed. */
struct spex_pace_connection *spex_http_place(struct MHD_Connection *connection);

/* A connection is suspended until somebody lets it go on, and in no other way: MHD ends the process
 * where one is suspended when the daemon stops. */
void spex_http_suspend(struct MHD_Connection *connection);
void spex_http_go_on(struct MHD_Connection *connection);

/* The part ?process=PID of the URL: 0 where there is none, negative where it is no number. */
pid_t spex_http_process(struct MHD_Connection *connection);

/* The time for the answer begins anew: a part of it is sent. */
void spex_http_note_answer(struct MHD_Connection *connection);

/* Answers with a text, which was allocated and is freed; NULL: there was no memory for it. */
enum MHD_Result spex_http_answer(struct spex_request *request, unsigned status, const char *type,
                                 char *text, size_t bytes);

/* Answers with JSON, which is released. */
enum MHD_Result spex_http_json(struct spex_request *request, unsigned status, json_t *json);

/* The request waits: it is answered anew when there is something new. */
enum MHD_Result spex_http_wait(struct spex_request *request);

/* Answers with a line that says why the request is refused. */
enum MHD_Result spex_http_refuse(struct spex_request *request, unsigned status, const char *why);

/* Adds what every answer has, and sends it; `response` is released. */
enum MHD_Result spex_http_send(struct spex_request *request, unsigned status, const char *type,
                               struct MHD_Response *response);

#endif
