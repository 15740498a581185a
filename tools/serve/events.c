/* SPDX-License-Identifier: MIT */
/* A stream's connection is suspended while there is nothing to send, and resumed once a second, so
 * that one whose client has gone is noticed. */
#include "tools/serve/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/serve/api.h"
#include "tools/serve/gzip.h"
#include "tools/serve/http.h"

#define INTERVAL_NS 1000000000u

/* Bytes that MHD asks for at once. */
enum { BLOCK_BYTES = 16 * 1024 };

/* For MHD: the next bytes of a stream. Returning 0 is allowed for a connection that is
 * suspended. */
static ssize_t read_more(void *user, uint64_t position, char *block, size_t most) {
    struct spex_events_client *client = user;
    (void)position;
    size_t left = client->bytes - client->sent;
    if (!left) {
        /* The first state is sent at once. */
        if (!client->text)
            client->server->events.due_ns = spex_clock_ns(CLOCK_MONOTONIC);
        client->suspended = true;
        spex_http_suspend(client->connection);
        return 0;
    }
    size_t bytes = left < most ? left : most;
    memcpy(block, client->text + client->sent, bytes);
    client->sent += bytes;
    return (ssize_t)bytes;
}

static void end(void *user) {
    struct spex_events_client *client = user;
    free(client->text);
    spex_gzip_end(client->gzip);
    *client = (struct spex_events_client){.connection = NULL};
}

static struct spex_events_client *free_place(struct spex_events *events) {
    for (size_t c = 0; c < SPEX_EVENTS_CLIENTS; c++)
        if (!events->clients[c].connection)
            return &events->clients[c];
    return NULL;
}

/* Begins a client's stream. -EBUSY: there are too many, -ENOMEM, or 0 with the answer queued. */
static int begin(struct spex_request *request, pid_t process) {
    struct spex_server *server = request->server;
    struct spex_events_client *client = free_place(&server->events);
    if (!client)
        return -EBUSY;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_more, client, end);
    if (!response)
        return -ENOMEM;
    if (!spex_events_watch(&server->events, process))
        spex_programs_begin(&server->programs, process);
    *client = (struct spex_events_client){
        .connection = request->connection, .server = server, .process = process};
    const char *accept =
        MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Accept-Encoding");
    client->gzip = spex_gzip_is_accepted(accept) ? spex_gzip_begin() : NULL;
    if (client->gzip)
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    MHD_add_response_header(response, "Vary", "Accept-Encoding");
    spex_http_send(request, MHD_HTTP_OK, "text/event-stream; charset=utf-8", response);
    return 0;
}

enum MHD_Result spex_api_events(struct spex_request *request) {
    pid_t pid = spex_http_process(request->connection);
    if (pid < 0)
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST, "?process=PID was expected");
    int err = begin(request, pid);
    if (err == -EBUSY)
        return spex_http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "too many clients have events already");
    return err ? spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory")
               : MHD_YES;
}

bool spex_events_watch(const struct spex_events *events, pid_t process) {
    for (size_t c = 0; c < SPEX_EVENTS_CLIENTS; c++)
        if (events->clients[c].connection && events->clients[c].process == process)
            return true;
    return false;
}

/* An event with a name and JSON, which it releases. Empty where memory is short. As one text, JSON
 * is written in a fraction of the time that its parts take through a stream. */
static void write_event(FILE *out, const char *name, json_t *json) {
    char *text = json ? json_dumps(json, SPEX_HTTP_JSON) : NULL;
    if (text)
        fprintf(out, "event: %s\ndata: %s\n\n", name, text);
    free(text);
    json_decref(json);
}

/* The last interval of a process, for all that watch it, once; NULL: there is none. */
static json_t *interval_take(struct spex_server *server, pid_t process) {
    const struct spex_program_process *watched = spex_programs_find(&server->programs, process);
    json_t *json = watched ? spex_api_interval_json(watched) : NULL;
    if (json)
        spex_intervals_take(&server->events.past, process, &watched->latest.process, json);
    return json;
}

/* JSON has no line breaks within, so that each event has one line of data. */
static char *state_text(struct spex_server *server, json_t *interval, size_t *bytes) {
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    if (!out)
        return NULL;
    write_event(out, "programs", spex_api_programs_json(server));
    if (interval)
        write_event(out, "interval", json_incref(interval));
    fclose(out);
    return text;
}

/* Replaces the text by a compressed one. Empty where memory is short. */
static void compress_text(struct spex_events_client *client) {
    size_t bytes = 0;
    char *to =
        client->text ? spex_gzip_part(client->gzip, client->text, client->bytes, &bytes) : NULL;
    free(client->text);
    client->text = to;
    client->bytes = bytes;
}

static void client_resume(struct spex_events_client *client, json_t *interval) {
    free(client->text);
    client->sent = 0;
    client->bytes = 0;
    client->text = state_text(client->server, interval, &client->bytes);
    if (client->gzip)
        compress_text(client);
    client->suspended = false;
    spex_http_note_answer(client->connection);
    spex_http_go_on(client->connection);
}

/* Gives clients that have taken the last state the new one. */
static void hand_out(struct spex_server *server) {
    struct spex_events_client *clients = server->events.clients;
    for (size_t c = 0; c < SPEX_EVENTS_CLIENTS; c++) {
        if (!clients[c].connection || !clients[c].suspended)
            continue;
        json_t *interval = interval_take(server, clients[c].process);
        for (size_t o = SPEX_EVENTS_CLIENTS; o > c; o--)
            if (clients[o - 1].connection && clients[o - 1].suspended &&
                clients[o - 1].process == clients[c].process)
                client_resume(&clients[o - 1], interval);
        json_decref(interval);
    }
    spex_programs_told(&server->programs);
}

bool spex_events_anybody(const struct spex_events *events) {
    for (size_t c = 0; c < SPEX_EVENTS_CLIENTS; c++)
        if (events->clients[c].connection)
            return true;
    return false;
}

uint64_t spex_events_run(struct spex_server *server, uint64_t now_ns) {
    struct spex_events *events = &server->events;
    if (!spex_events_anybody(events))
        return UINT64_MAX;
    if (!events->asked && now_ns >= events->due_ns) {
        spex_programs_ask(&server->programs, SPEX_PROGRAMS_EVENTS, 0, now_ns);
        events->asked = true;
        events->due_ns = now_ns + INTERVAL_NS;
    }
    if (events->asked && !server->programs.round_ns) {
        hand_out(server);
        events->asked = false;
    }
    return events->due_ns;
}

void spex_events_close(struct spex_events *events) {
    spex_intervals_free(&events->past);
}
