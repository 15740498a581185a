/* SPDX-License-Identifier: MIT */
/* What the server shows beside programs that run: an exploration, models, anomalies, a fleet,
 * recorded traces. Other commands of spex tell all of it (commands/children.h). */
#ifndef SPEX_TOOLS_SERVE_SHOWN_H
#define SPEX_TOOLS_SERVE_SHOWN_H

#include <microhttpd.h>

#include "text/error.h"
#include "tools/common/json.h"
#include "tools/serve/commands/document.h"
#include "tools/serve/commands/traces.h"
#include "tools/serve/commands/watching.h"

/* Exports at one time, until they are taken; others are refused. */
enum { SPEX_DOWNLOADS = 4 };

struct spex_request;
struct spex_server;

/* A trace as a file in another format. */
struct spex_download {
    enum spex_download_state {
        /* The place is free. */
        SPEX_DOWNLOAD_NONE,
        /* The request is suspended. */
        SPEX_DOWNLOAD_EXPORTS,
        SPEX_DOWNLOAD_EXPORTED,
        SPEX_DOWNLOAD_SENDS
    } state;
    struct spex_request *request;
    struct MHD_Connection *connection;
    struct spex_child *child;
    char file[512], name[NAME_MAX + 32];
    /* Of the child; its message where it has failed. */
    int status;
    char why[256];
    /* While it is sent. */
    int fd;
    uint64_t sent, noted;
};

struct spex_shown {
    struct spex_children children;
    struct spex_document exploration, models, fleet;
    struct spex_watching watching;
    /* The folder of traces; -1: there is none. */
    int traces;
    /* Where exports are made; NULL: none was. */
    char *folder;
    unsigned long exports;
    struct spex_download downloads[SPEX_DOWNLOADS];
    /* When it is looked at again. */
    uint64_t next_ns;
};

/* Paths; NULL: none. */
struct spex_shown_settings {
    const char *store, *traces, *models, *fleet;
};

/* 0, or -EINVAL with the reason. To be closed in any case. */
int spex_shown_open(struct spex_shown *shown, const struct spex_shown_settings *settings,
                    struct spex_error *error);
void spex_shown_close(struct spex_shown *shown);

/* Does what is due. `followed`: somebody has events. Returns when it is due again. */
uint64_t spex_shown_run(struct spex_server *server, bool followed, uint64_t now_ns);

/* What is there, and the versions of what can be asked for, for clients that follow. */
json_t *spex_shown_json(const struct spex_shown *shown);

/* For the routes. */
enum MHD_Result spex_shown_exploration(struct spex_request *request);
enum MHD_Result spex_shown_fleet(struct spex_request *request);
enum MHD_Result spex_shown_models(struct spex_request *request);
enum MHD_Result spex_shown_anomalies(struct spex_request *request);
enum MHD_Result spex_shown_traces(struct spex_request *request);

/* In downloads.c. Exports that the clients do not wait for are ended. */
enum MHD_Result spex_download_answer(struct spex_request *request);
void spex_downloads_run(struct spex_server *server, uint64_t now_ns);
void spex_download_forget(struct spex_server *server, const struct spex_request *request);
void spex_downloads_close(struct spex_shown *shown);

/* The formats, as a list of their names. */
json_t *spex_download_formats(void);

#endif
