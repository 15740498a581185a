/* SPDX-License-Identifier: MIT */
/* The clients of the control thread: its listening socket, the places for connections, and when a
 * client must go. Called by the control thread, under its lock. */
#ifndef SPEX_SERVE_CLIENTS_H
#define SPEX_SERVE_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/descriptor.h"
#include "serve/connection.h"
#include "serve/control.h"
#include "wire/listening_socket.h"

enum { SPEX_CONTROL_CONNECTIONS = 16 };

/* Time until the next attempt to accept, after there was no place or no descriptor. */
#define SPEX_CONTROL_REST_NS 50000000ull

/* Longest sleep of the thread: the program may have closed the thread's descriptors and reused
 * their numbers, which a sleeping poll does not notice. It does so most likely when it begins, so the sleep is a part of
 * the time since then, or since they were found closed. */
#define SPEX_CONTROL_LOOK_NS      1000000000ull
#define SPEX_CONTROL_LOOK_MOST_NS 5000000000ull
#define SPEX_CONTROL_LOOK_PART    10

/* The state of the control thread. */
struct spex_control {
    const struct spex_control_requests *requests;
    pthread_t thread;
    bool running;
    bool stopping;
    /* The command that this process called is gone: all probes are to go off. */
    bool orphaned;
    /* There is to be a listening socket, and there is one. */
    bool wants_door;
    bool has_door;
    /* When the listening socket is checked next. */
    uint64_t look_ns;
    /* When the thread began, or descriptors were last found closed. */
    uint64_t opened_ns;
    /* No connection is accepted before this time. */
    uint64_t rest_ns;
    /* SPEX_CONTROL's directory, or NULL. Owned. */
    char *chosen;
    /* Path of the socket of the command that this process called. Owned. */
    char *called;
    /* The socket inherited from that command; see spex_call_connect. */
    struct spex_descriptor handover;
    /* A pair of sockets: a byte sent to `waking` wakes the thread, which polls `woken`. There is
     * none in the thread's first wait at a listening socket. */
    struct spex_descriptor waking, woken;
    /* CPU time that the thread may use now; it pauses while this is negative (control_wait.h). */
    int64_t allowance_ns;
    /* Up to when the allowance was earned, and this thread's CPU time as of then. */
    uint64_t earned_ns;
    uint64_t cpu_ns;
    /* Mapped with the first of the places. */
    struct spex_control_room *room;
    /* Those that have been in use: the rest is not touched, which would cost a start their
     * pages. */
    int places;
    struct spex_listening_socket door;
    struct spex_connection connections[SPEX_CONTROL_CONNECTIONS];
};

/* What connections need beside their state. */
struct spex_control_room {
    char texts[SPEX_CONTROL_CONNECTIONS][SPEX_CONTROL_TEXT_BYTES + 1];
    char buffer[SPEX_CONNECTION_BUFFER_BYTES];
};

/* Returns whether connections are accepted now. */
static inline bool spex_clients_door_open(const struct spex_control *control, uint64_t now) {
    return control->has_door && now >= control->rest_ns;
}

/* A place for one more: a free one, or that of the client that has been silent the longest.
 * NULL: there is none, or no memory. */
struct spex_connection *spex_clients_place(struct spex_control *control, uint64_t now);

/* Closes a client's connection. When the command that this process called goes, probes go off. */
void spex_clients_drop(struct spex_control *control, struct spex_connection *connection);

/* Accepts waiting connections. */
void spex_clients_let_in(struct spex_control *control, uint64_t now);

/* The thread's longest sleep, at `now`. */
uint64_t spex_clients_look_ns(const struct spex_control *control, uint64_t now);

/* Checks now and then that the socket is still there, and opens another if not. */
void spex_clients_look_after_door(struct spex_control *control, uint64_t now);

/* How long a client that this process did not call may be quiet, in ns. */
uint64_t spex_clients_quiet_most(const struct spex_connection *connection);

/* Returns whether a client must go, as it has been quiet for too long. */
bool spex_clients_expired(const struct spex_connection *connection, uint64_t now);

#endif
