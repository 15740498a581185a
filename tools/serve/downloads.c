/* SPDX-License-Identifier: MIT */
/* Exports of traces: `spex export` writes a file, which is sent when it is whole, so that a failure
 * is told as one. */
#define _GNU_SOURCE
#include "tools/serve/shown.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/private_directory.h"
#include "tools/export/formats.h"
#include "tools/serve/http.h"

/* An export takes so long at most, and so many bytes. */
#define EXPORT_NS    600000000000ull
#define EXPORT_BYTES (UINT64_C(8) << 30)

/* So many bytes must be taken in the time for an answer. */
enum { NOTED_BYTES = 1024 * 1024, BLOCK_BYTES = 64 * 1024 };

#define FORMAT(name, ending) {#name, ending},
static const struct { const char *name, *ending; } formats[] = {SPEX_EXPORT_FORMATS(FORMAT)};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

json_t *spex_download_formats(void) {
    json_t *list = json_array();
    int err = !list;
    for (size_t f = 0; !err && f < FORMATS; f++)
        err = json_array_append_new(list, json_string(formats[f].name));
    return spex_json_unless(err, list);
}

/* FORMATS: there is no such format. */
static size_t format_named(const char *name) {
    size_t f = 0;
    while (name && f < FORMATS && strcmp(formats[f].name, name) != 0)
        f++;
    return name ? f : FORMATS;
}

static void release(struct spex_download *download) {
    if (download->fd >= 0)
        close(download->fd);
    if (download->child)
        spex_child_stop(download->child, spex_clock_ns(CLOCK_MONOTONIC));
    if (download->file[0])
        unlink(download->file);
    *download = (struct spex_download){.fd = -1};
}

/* The name of the file for who takes it: letters, digits, and what cannot be misread. */
static void name_file(struct spex_download *download, const char *trace, const char *ending) {
    if (strcmp(trace, ".") == 0)
        trace = "trace";
    snprintf(download->name, sizeof(download->name), "%.255s.%s", trace, ending);
    for (char *c = download->name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            *c = '_';
}

/* Where exports are made; NULL with the reason. */
static const char *folder_of(struct spex_shown *shown, struct spex_error *error) {
    char path[SPEX_PRIVATE_DIRECTORY_BYTES];
    if (!shown->folder && spex_private_directory("serve", path, error) == 0) {
        shown->folder = strdup(path);
        if (!shown->folder)
            rmdir(path);
    }
    return shown->folder;
}

/* The connection goes on, and its request is answered. */
static void take_end(void *user, struct spex_child *child) {
    struct spex_download *download = user;
    download->status = child->status;
    snprintf(download->why, sizeof(download->why), "%s",
             child->status == -ETIMEDOUT ? "exporting it took too long"
             : *child->why               ? child->why
                                         : "it cannot be exported");
    download->child = NULL;
    download->state = SPEX_DOWNLOAD_EXPORTED;
    spex_http_go_on(download->connection);
}

/* A download: a trace, or its changes since the trace `before`, which may be NULL. */
struct asked {
    const char *trace, *before;
    size_t format;
};

/* False with the reason. */
static bool start(struct spex_shown *shown, struct spex_download *download,
                  const struct asked *asked, struct spex_error *error) {
    char path[NAME_MAX + 4], before[NAME_MAX + 16];
    const char *folder = folder_of(shown, error);
    const char *const arguments[] = {"export",
                                     "--format",
                                     formats[asked->format].name,
                                     "-o",
                                     download->file,
                                     asked->before ? before : "--",
                                     asked->before ? "--" : path,
                                     asked->before ? path : NULL,
                                     NULL};
    const struct spex_child_task task = {.arguments = arguments,
                                         .folder = shown->traces,
                                         .most_ns = EXPORT_NS,
                                         .most_file = EXPORT_BYTES,
                                         .over = take_end,
                                         .user = download};
    if (!folder)
        return false;
    snprintf(path, sizeof(path), "./%s", asked->trace);
    snprintf(before, sizeof(before), "--before=./%s", asked->before ? asked->before : "");
    if ((size_t)snprintf(download->file, sizeof(download->file), "%s/%lu", folder,
                         ++shown->exports) >= sizeof(download->file)) {
        download->file[0] = '\0';
        spex_error_set(error, "%s is too long a path; set TMPDIR to a shorter one", folder);
        return false;
    }
    name_file(download, asked->trace, formats[asked->format].ending);
    download->child = spex_children_start(&shown->children, &task, spex_clock_ns(CLOCK_MONOTONIC));
    if (!download->child)
        spex_error_set(error, "too many commands are under way");
    return download->child != NULL;
}

static struct spex_download *place(struct spex_shown *shown, enum spex_download_state state,
                                   const struct spex_request *request) {
    for (size_t d = 0; d < SPEX_DOWNLOADS; d++)
        if (shown->downloads[d].state == state && shown->downloads[d].request == request)
            return &shown->downloads[d];
    return NULL;
}

static enum MHD_Result begin(struct spex_request *request, const struct asked *asked) {
    struct spex_shown *shown = &request->server->shown;
    struct spex_download *download = place(shown, SPEX_DOWNLOAD_NONE, NULL);
    struct spex_error error;
    if (!download)
        return spex_http_refuse(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                                "too many traces are being exported already");
    *download = (struct spex_download){.fd = -1};
    if (!start(shown, download, asked, &error)) {
        release(download);
        return spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, error.text);
    }
    download->state = SPEX_DOWNLOAD_EXPORTS;
    download->request = request;
    download->connection = request->connection;
    spex_http_suspend(request->connection);
    return MHD_YES;
}

/* For MHD: the next bytes of the file. */
static ssize_t read_more(void *user, uint64_t position, char *block, size_t most) {
    struct spex_download *download = user;
    ssize_t bytes = pread(download->fd, block, most, (off_t)position);
    if (bytes <= 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    download->sent = position + (uint64_t)bytes;
    if (download->sent >= download->noted + NOTED_BYTES) {
        download->noted = download->sent;
        spex_http_note_answer(download->connection);
    }
    return bytes;
}

static void end(void *user) {
    release(user);
}

/* Sends the file. What of a damaged trace could not be read does not keep the rest back: it is told
 * in a header. */
static enum MHD_Result send_file(struct spex_request *request, struct spex_download *download) {
    struct stat about;
    char value[NAME_MAX + 64];
    download->fd = open(download->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (download->fd < 0 || fstat(download->fd, &about) != 0) {
        snprintf(value, sizeof(value), "%.200s", download->why);
        release(download);
        return spex_http_refuse(request, MHD_HTTP_INTERNAL_SERVER_ERROR, value);
    }
    unlink(download->file);
    download->file[0] = '\0';
    struct MHD_Response *response = MHD_create_response_from_callback(
        (uint64_t)about.st_size, BLOCK_BYTES, read_more, download, end);
    if (!response) {
        release(download);
        return MHD_NO;
    }
    download->state = SPEX_DOWNLOAD_SENDS;
    download->request = NULL;
    snprintf(value, sizeof(value), "attachment; filename=\"%s\"", download->name);
    MHD_add_response_header(response, "Content-Disposition", value);
    if (download->status)
        MHD_add_response_header(response, "Spex-Problem", download->why);
    return spex_http_send(request, MHD_HTTP_OK, "application/octet-stream", response);
}

static const char *argument(const struct spex_request *request, const char *name) {
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

enum MHD_Result spex_download_answer(struct spex_request *request) {
    struct spex_shown *shown = &request->server->shown;
    struct spex_download *download = place(shown, SPEX_DOWNLOAD_EXPORTED, request);
    if (download)
        return send_file(request, download);
    const struct asked asked = {.trace = argument(request, "name"),
                                .before = argument(request, "before"),
                                .format = format_named(argument(request, "format"))};
    if (shown->traces < 0)
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND,
                                "the server was started without --trace");
    if (!asked.trace || asked.format == FORMATS)
        return spex_http_refuse(
            request, MHD_HTTP_BAD_REQUEST,
            "?name=TRACE&format=FORMAT was expected, as /api/traces lists them");
    if (asked.before && strcmp(formats[asked.format].name, "flamegraph") != 0)
        return spex_http_refuse(request, MHD_HTTP_BAD_REQUEST,
                                "&before=TRACE was expected with format=flamegraph alone");
    if (!spex_traces_has(shown->traces, asked.trace) ||
        (asked.before && !spex_traces_has(shown->traces, asked.before)))
        return spex_http_refuse(request, MHD_HTTP_NOT_FOUND, "there is no such trace");
    return begin(request, &asked);
}

static bool has_gone(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    char byte;
    return info && recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* A suspended connection is not looked at by anybody else. */
void spex_downloads_run(struct spex_server *server, uint64_t now_ns) {
    for (size_t d = 0; d < SPEX_DOWNLOADS; d++) {
        struct spex_download *download = &server->shown.downloads[d];
        if (download->state != SPEX_DOWNLOAD_EXPORTS)
            continue;
        spex_http_note_answer(download->connection);
        if (has_gone(download->connection))
            spex_child_end(download->child, now_ns);
    }
}

void spex_download_forget(struct spex_server *server, const struct spex_request *request) {
    struct spex_download *download = place(&server->shown, SPEX_DOWNLOAD_EXPORTED, request);
    if (download)
        release(download);
}

/* Commands that were ended may have left files. */
static void empty_folder(const char *path) {
    const struct dirent *entry;
    DIR *folder = opendir(path);
    while (folder && (entry = readdir(folder)))
        unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
}

void spex_downloads_close(struct spex_shown *shown) {
    for (size_t d = 0; d < SPEX_DOWNLOADS; d++)
        if (shown->downloads[d].state != SPEX_DOWNLOAD_NONE)
            release(&shown->downloads[d]);
    if (shown->folder) {
        empty_folder(shown->folder);
        rmdir(shown->folder);
    }
    free(shown->folder);
}
