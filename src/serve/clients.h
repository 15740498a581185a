/* SPDX-License-Identifier: MIT */
/* Who may be connected to this process: the door, the places for clients, and when a client must
 * go. For the control thread, and under its lock. */
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

/* When nobody can be let in, there being no place or no descriptor, the door is looked at again
 * after so long. */
#define SPEX_CONTROL_REST_NS 50000000ull

/* So often the thread looks around, though nobody has called: the program may have put files of
 * its own in the places of ours, of which a sleeping poll hears nothing. */
#define SPEX_CONTROL_LOOK_NS 1000000000ull

/* The state of the control thread. */
struct spex_control {
    const struct spex_control_requests *requests;
    pthread_t thread;
    bool running;
    bool stopping;
    /* The command that this process called is gone: its probes are to go off. */
    bool orphaned;
    bool wants_door;
    bool has_door;
    /* When the door is looked after next. */
    uint64_t look_ns;
    /* Until then nobody is let in. */
    uint64_t rest_ns;
    char *chosen;
    /* The socket of the command that this process called. */
    char *called;
    struct spex_listening_socket door;
    /* A pair of sockets. */
    struct spex_descriptor waking, woken;
    int64_t allowance_ns;
    /* Up to when the allowance was earned, and this thread's CPU time as of then. */
    uint64_t earned_ns;
    uint64_t cpu_ns;
    struct spex_connection connections[SPEX_CONTROL_CONNECTIONS];
    char buffer[SPEX_CONTROL_FRAME_BYTES];
};

/* Whether somebody can come in now. */
static inline bool spex_clients_door_open(const struct spex_control *control, uint64_t now) {
    return control->has_door && now >= control->rest_ns;
}

/* A place for one more: a free one, or that of the client that has been silent the longest.
 * NULL: there is none. */
struct spex_connection *spex_clients_place(struct spex_control *control, uint64_t now);

/* Closes a client's connection. */
void spex_clients_drop(struct spex_control *control, struct spex_connection *connection);

/* Lets in those who are at the door. */
void spex_clients_let_in(struct spex_control *control, uint64_t now);

/* Every so often sees that the door is there still, and opens another where it is not. */
void spex_clients_look_after_door(struct spex_control *control, uint64_t now);

/* How long a client that this process did not call may be quiet, in ns. */
uint64_t spex_clients_quiet_most(const struct spex_connection *connection);

/* Whether a client must go: it has been quiet for too long, or its descriptor is another file. */
bool spex_clients_expired(const struct spex_connection *connection, uint64_t now);

#endif
