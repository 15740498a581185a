/* SPDX-License-Identifier: MIT */
/* A connection with a client of the control socket: reads requests and writes answers, a packet at
 * a time, and never blocks. For the control thread alone. */
#ifndef SPEX_SERVE_CONNECTION_H
#define SPEX_SERVE_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/descriptor.h"
#include "serve/control.h"
#include "serve/reply.h"
#include "wire/control_format.h"

struct spex_connection {
    /* Number -1: the place is free. */
    struct spex_descriptor socket;
    /* This process has connected to a command: it may be silent, and all probes go off at its
     * end. */
    bool ours;
    bool reports;           /* subscribed */
    bool waits;             /* `request` is still to be carried out */
    uint32_t interval_ms;   /* of the subscription */
    uint32_t report_number; /* number of the subscription's request */
    uint64_t due_ns;        /* time of its next report */
    bool fetches;           /* collectors take in records for it; due_ns is later by that */
    uint64_t early_ns;  /* to the report after that, while less than the interval; 0: it is not */
    bool profiling;     /* the answer under way is a profile */
    uint64_t cost_ns;   /* CPU time that it has taken so far */
    uint32_t rest_ms;   /* between the last one and the next one, at least; 0: as asked for */
    uint64_t active_ns; /* time of the last packet read or written */
    struct spex_reply reply;
    struct spex_control_request request;
    /* The descriptor that came with the request, or SPEX_NO_DESCRIPTOR. */
    struct spex_descriptor passed;
    char *text; /* of the request: SPEX_CONTROL_TEXT_BYTES + 1 bytes */
};

/* Result of a read or a write. */
enum spex_connection_end {
    SPEX_CONNECTION_STAYS,
    /* The other end must send or receive first. */
    SPEX_CONNECTION_WAITS,
    /* The connection is to be closed. */
    SPEX_CONNECTION_GONE,
};

void spex_connection_open(struct spex_connection *connection, struct spex_descriptor socket,
                          bool ours);
void spex_connection_close(struct spex_connection *connection);

/* Answers that there is no place, and closes `socket`. */
void spex_connection_turn_away(struct spex_descriptor socket,
                               char buffer[SPEX_CONTROL_FRAME_BYTES]);

static inline bool spex_connection_there(const struct spex_connection *connection) {
    return connection->socket.number >= 0;
}

/* Returns whether an answer is under way or a request waits. */
static inline bool spex_connection_busy(const struct spex_connection *connection) {
    return connection->reply.next || connection->waits;
}

/* Reads a request, if there is one, and begins its answer; `buffer` is for a packet. */
enum spex_connection_end spex_connection_read(struct spex_connection *connection,
                                              const struct spex_control_requests *requests,
                                              char buffer[SPEX_CONTROL_FRAME_BYTES]);

/* Retries a request that found spex busy. A request for a stream takes the socket over, and the
 * place is free. */
void spex_connection_retry(struct spex_connection *connection,
                           const struct spex_control_requests *requests);

/* A packet of frames, and the first frame that it does not hold. */
#define SPEX_CONNECTION_BUFFER_BYTES (2 * SPEX_CONTROL_FRAME_BYTES)

/* Writes frames of the answer, as many as the socket takes now and a round allows. */
enum spex_connection_end spex_connection_write(struct spex_connection *connection,
                                               char buffer[SPEX_CONNECTION_BUFFER_BYTES]);

#endif
