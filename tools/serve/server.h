/* SPDX-License-Identifier: MIT */
/* The server: programs that are followed, and HTTP. One thread does all of it; nothing waits. */
#ifndef SPEX_TOOLS_SERVE_SERVER_H
#define SPEX_TOOLS_SERVE_SERVER_H

#include <microhttpd.h>

#include "text/error.h"
#include "tools/serve/events.h"
#include "tools/serve/guard.h"
#include "tools/serve/pace.h"
#include "tools/serve/programs.h"
#include "tools/serve/shown.h"
#include "tools/serve/switch.h"

struct spex_server_settings {
    /* ADDRESS:PORT or [ADDRESS]:PORT; a port of 0 lets the system choose. */
    const char *listen;
    /* Files; NULL: none. */
    const char *token_file, *cert_file, *key_file;
    const char *host;
    bool behind_proxy;
    struct spex_shown_settings shown;
};

struct spex_request;

struct spex_server {
    struct spex_programs programs;
    struct spex_guard guard;
    struct spex_pace pace;
    struct MHD_Daemon *daemon;
    struct spex_events events;
    struct spex_switch by;
    struct spex_shown shown;
    /* Requests that wait for the end of a round. */
    struct spex_request *waiting;
    /* The process whose report a request is about to ask for; 0: none. */
    pid_t asking;
    uint64_t refused;
    /* Of times in metrics, a decade. */
    unsigned buckets;
    /* What the daemon needs while it runs. */
    char *token, *cert, *key;
    /* The address with the port that was chosen, as in a URL. */
    char address[64];
};

/* 0, or a negative errno value with the reason; -EINVAL: the settings are not allowed. */
int spex_server_open(struct spex_server *server, const struct spex_server_settings *settings,
                     struct spex_error *error);
void spex_server_close(struct spex_server *server);

/* Serves until `stop` is readable. 0 or a negative errno value. */
int spex_server_run(struct spex_server *server, int stop);

#endif
