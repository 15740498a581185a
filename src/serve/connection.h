/* SPDX-License-Identifier: MIT */
/* One client of the control socket: takes its request, sends its answer, both a packet at a time
 * and never waiting for it. For the control thread alone. */
#ifndef SPEX_SERVE_CONNECTION_H
#define SPEX_SERVE_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/descriptor.h"
#include "serve/control.h"
#include "serve/reply.h"
#include "wire/control_format.h"

struct spex_connection {
    struct spex_descriptor socket; /* number -1: the place is free */
    /* This process called: the connection may be silent, and when it is gone all probes go off. */
    bool ours;
    bool reports;           /* subscribed */
    bool waits;             /* `request` is a selection or a stream that is still to be made */
    uint32_t interval_ms;   /* of the subscription, */
    uint32_t report_number; /* its request's number */
    uint64_t due_ns;        /* and when its next report is */
    uint64_t active_ns;     /* when something last went over it */
    struct spex_reply reply;
    struct spex_control_request request;
    char text[SPEX_CONTROL_TEXT_BYTES + 1];
};

/* What came of it. */
enum spex_connection_end {
    SPEX_CONNECTION_STAYS,
    SPEX_CONNECTION_WAITS, /* for the other end */
    SPEX_CONNECTION_GONE,  /* to be closed */
};

void spex_connection_open(struct spex_connection *connection, int socket, bool ours);
void spex_connection_close(struct spex_connection *connection);

/* Tells a caller for whom there is no place, and closes. */
void spex_connection_turn_away(int socket, char buffer[SPEX_CONTROL_FRAME_BYTES]);

static inline bool spex_connection_there(const struct spex_connection *connection) {
    return connection->socket.number >= 0;
}

/* Whether it is at an answer, or has one to make. */
static inline bool spex_connection_busy(const struct spex_connection *connection) {
    return connection->reply.next || connection->waits;
}

/* Reads a request, if there is one, and begins its answer; `buffer` is for a packet. */
enum spex_connection_end spex_connection_read(struct spex_connection *connection,
                                              const struct spex_control_requests *requests,
                                              char buffer[SPEX_CONTROL_FRAME_BYTES]);

/* Carries out a request that waits for somebody else's to end. One for a stream takes the socket
 * along: the place is free then. */
void spex_connection_retry(struct spex_connection *connection,
                           const struct spex_control_requests *requests);

/* Begins the next report when it is time; at the end the last. */
void spex_connection_report(struct spex_connection *connection, uint64_t now_ns, bool final);

/* Sends what can be sent of the answer. */
enum spex_connection_end spex_connection_write(struct spex_connection *connection,
                                               char buffer[SPEX_CONTROL_FRAME_BYTES]);

#endif
