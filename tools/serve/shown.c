/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tools/serve/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "explore/store/store.h"
#include "text/number.h"
#include "tools/serve/http.h"

#define LOOK_NS 1000000000u

/* The commands that tell of a file: its path is in place of PATH. A path may begin with "-". */
enum { PATH = 4 };
static const char *report[] = {"report", "--json", "--no-trials", "--", NULL, NULL};
static const char *fleet[] = {"fleet", "history", "--json", "--", NULL, NULL};
static const char *models[] = {"models", "--json", "--curves", "--", NULL, NULL};

static int store_open(struct spex_shown *shown, const char *path, struct spex_error *error) {
    struct spex_store *store;
    int err = spex_store_read(path, &store, error);
    if (err)
        return -EINVAL;
    spex_store_close(store);
    report[PATH] = path;
    shown->exploration = (struct spex_document){
        .path = path, .arguments = report, .is_written = spex_store_is_written};
    return 0;
}

static int traces_open(struct spex_shown *shown, const char *path, struct spex_error *error) {
    shown->traces = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return shown->traces >= 0 ? 0 : spex_fail(error, -EINVAL, "%s: %s", path, strerror(errno));
}

int spex_shown_open(struct spex_shown *shown, const struct spex_shown_settings *settings,
                    struct spex_error *error) {
    shown->traces = -1;
    shown->watching.children = &shown->children;
    shown->watching.models = settings->models;
    if (settings->models) {
        models[PATH] = settings->models;
        shown->models = (struct spex_document){.path = settings->models, .arguments = models};
    }
    if (settings->fleet) {
        fleet[PATH] = settings->fleet;
        shown->fleet = (struct spex_document){.path = settings->fleet, .arguments = fleet};
    }
    int err = settings->store ? store_open(shown, settings->store, error) : 0;
    return err || !settings->traces ? err : traces_open(shown, settings->traces, error);
}

void spex_shown_close(struct spex_shown *shown) {
    spex_children_close(&shown->children);
    spex_downloads_close(shown);
    spex_document_free(&shown->exploration);
    spex_document_free(&shown->models);
    spex_document_free(&shown->fleet);
    spex_watching_free(&shown->watching);
    if (shown->traces >= 0)
        close(shown->traces);
}

/* Those that have told what they are called. */
static void watch_processes(struct spex_server *server, uint64_t now_ns) {
    const struct spex_programs *programs = &server->programs;
    struct spex_watching *watching = &server->shown.watching;
    spex_watching_begin(watching);
    for (size_t p = 0; p < programs->process_count; p++)
        if (programs->processes[p]->program)
            spex_watching_process(watching, programs->processes[p]->caller.process,
                                  programs->processes[p]->program->name, now_ns);
    spex_watching_end(watching);
}

/* Files are looked at while somebody follows; processes are watched all the time. */
uint64_t spex_shown_run(struct spex_server *server, bool followed, uint64_t now_ns) {
    struct spex_shown *shown = &server->shown;
    if (now_ns < shown->next_ns)
        return shown->next_ns;
    shown->next_ns = now_ns + LOOK_NS;
    if (followed) {
        spex_document_look(&shown->exploration, &shown->children, now_ns);
        spex_document_look(&shown->models, &shown->children, now_ns);
        spex_document_look(&shown->fleet, &shown->children, now_ns);
    }
    if (shown->watching.models)
        watch_processes(server, now_ns);
    spex_downloads_run(server, now_ns);
    return shown->next_ns;
}

static json_t *version_json(const struct spex_document *document) {
    return document->path ? json_integer(document->version) : json_null();
}

json_t *spex_shown_json(const struct spex_shown *shown) {
    return json_pack("{s:o, s:o, s:o, s:o, s:b}", "exploration", version_json(&shown->exploration),
                     "models", version_json(&shown->models), "fleet", version_json(&shown->fleet),
                     "anomalies",
                     shown->watching.models ? json_integer(shown->watching.version) : json_null(),
                     "traces", shown->traces >= 0);
}

/* A request that has come while it is read waits for that: it is asked again whenever the others
 * that wait are. */
static enum MHD_Result answer_document(struct spex_request *request,
                                       struct spex_document *document) {
    if (!document->path)
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND,
                                "the server was started without such a file");
    spex_http_note_answer(request->connection);
    uint64_t now = spex_clock_ns(CLOCK_MONOTONIC);
    if (spex_document_look(document, &request->server->shown.children, now))
        return spex_http_wait(request);
    if (!document->text)
        return spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR,
                                document->version ? document->why : "it cannot be read now");
    return spex_http_send(
        request, MHD_HTTP_OK, "application/json",
        MHD_create_response_from_buffer(document->bytes, document->text, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result spex_shown_exploration(struct spex_request *request) {
    return answer_document(request, &request->server->shown.exploration);
}

enum MHD_Result spex_shown_fleet(struct spex_request *request) {
    return answer_document(request, &request->server->shown.fleet);
}

enum MHD_Result spex_shown_models(struct spex_request *request) {
    return answer_document(request, &request->server->shown.models);
}

/* A client of a server that has begun anew knows higher numbers: it gets all. */
enum MHD_Result spex_shown_anomalies(struct spex_request *request) {
    const struct spex_watching *watching = &request->server->shown.watching;
    const char *text =
        MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "since");
    int64_t since = 0;
    if (text && (!spex_number_integer(text, &since) || since < 0))
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST, "?since=NUMBER was expected");
    if (!watching->models)
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND,
                                "the server was started without --model");
    return spex_http_json(request, MHD_HTTP_OK,
                          spex_watching_json(watching, since > watching->newest ? 0 : since));
}

static json_t *entry_json(const struct spex_trace_entry *entry) {
    return json_pack("{s:s, s:I, s:I}", "name", entry->name, "bytes", (json_int_t)entry->bytes,
                     "modified", (json_int_t)entry->modified);
}

static json_t *traces_json(const struct spex_trace_list *list) {
    json_t *entries = json_array();
    int err = !entries;
    for (size_t e = 0; !err && e < list->count; e++)
        err = json_array_append_new(entries, entry_json(&list->entries[e]));
    return spex_json_unless(err, json_pack("{s:o, s:I, s:o}", "traces", entries, "left_out",
                                           (json_int_t)list->left_out, "formats",
                                           spex_download_formats()));
}

enum MHD_Result spex_shown_traces(struct spex_request *request) {
    struct spex_trace_list list;
    if (request->server->shown.traces < 0)
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND,
                                "the server was started without --trace");
    int err = spex_traces_list(request->server->shown.traces, &list);
    json_t *json = err ? NULL : traces_json(&list);
    spex_traces_free(&list);
    if (err && err != -ENOMEM)
        return spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-err));
    return spex_http_json(request, MHD_HTTP_OK, json);
}
