/* SPDX-License-Identifier: MIT */
/* /api/events: server-sent events. Each client gets the newest state once a second; what it does
 * not take in time is left out, and not kept for it. */
#ifndef SPEX_TOOLS_SERVE_EVENTS_H
#define SPEX_TOOLS_SERVE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/serve/intervals.h"

/* Clients at one time; others are refused. */
enum { SPEX_EVENTS_CLIENTS = 8 };

struct MHD_Connection;
struct spex_gzip;
struct spex_request;
struct spex_server;

struct spex_events_client {
    /* NULL: the place is free. */
    struct MHD_Connection *connection;
    struct spex_server *server;
    /* Whose probes it watches; 0: of none. */
    pid_t process;
    /* What is being sent; NULL: nothing yet. */
    char *text;
    size_t bytes, sent;
    /* NULL: it takes nothing that is compressed. */
    struct spex_gzip *gzip;
    /* The connection is suspended until there is more. */
    bool suspended;
};

struct spex_events {
    struct spex_events_client clients[SPEX_EVENTS_CLIENTS];
    /* When the next state is due; 0: nobody watches. A round is under way for it. */
    uint64_t due_ns;
    bool asked;
    struct spex_intervals past;
};

/* Whether a client watches the process. */
bool spex_events_watch(const struct spex_events *events, pid_t process);

/* Whether anybody has events. */
bool spex_events_anybody(const struct spex_events *events);

/* Does what is due. Returns when that will be; UINT64_MAX: nobody watches. */
uint64_t spex_events_run(struct spex_server *server, uint64_t now_ns);

/* Forgets what was told. */
void spex_events_close(struct spex_events *events);

#endif
