/* SPDX-License-Identifier: MIT */
/* Limits of time for connections: who sends a request, or takes an answer, byte by byte must not
 * keep a place for long. Times are the caller's, so that tests need not wait. */
#ifndef SPEX_TOOLS_SERVE_PACE_H
#define SPEX_TOOLS_SERVE_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Connections at one time; others wait in the socket's queue. */
enum { SPEX_PACE_CONNECTIONS = 64 };

/* Nanoseconds for a request, and for its answer; for a request where half of the places are taken,
 * and where all are. */
#define SPEX_PACE_REQUEST_NS 10000000000u
#define SPEX_PACE_SCARCE_NS  1000000000u
#define SPEX_PACE_FULL_NS    100000000u
#define SPEX_PACE_ANSWER_NS  30000000000u

enum spex_pace_state {
    /* The place is free. */
    SPEX_PACE_NONE,
    /* A request is expected, or on its way. */
    SPEX_PACE_REQUEST,
    /* It is complete, and answered. Of a stream, each part is an answer. */
    SPEX_PACE_ANSWER
};

struct MHD_Connection;

struct spex_pace_connection {
    enum spex_pace_state state;
    int socket;
    uint64_t since_ns;
    /* Set while MHD has it suspended. */
    struct MHD_Connection *suspended;
};

struct spex_pace {
    struct spex_pace_connection connections[SPEX_PACE_CONNECTIONS];
    unsigned count;
};

/* A place for a new connection; NULL: there is none. */
struct spex_pace_connection *spex_pace_open(struct spex_pace *pace, int socket, uint64_t now_ns);
void spex_pace_close(struct spex_pace *pace, struct spex_pace_connection *connection);

/* The state begins now. */
void spex_pace_enter(struct spex_pace_connection *connection, enum spex_pace_state state,
                     uint64_t now_ns);

/* Calls `drop` for the socket of each connection whose time is over, once. Returns when the next
 * one's will be; UINT64_MAX: there is none. */
uint64_t spex_pace_drop(struct spex_pace *pace, uint64_t now_ns, void (*drop)(int socket));

#endif
