/* SPDX-License-Identifier: MIT */
/* Connections that this process makes itself, to a command that waits for it at a socket. */
#ifndef SPEX_SERVE_CALL_H
#define SPEX_SERVE_CALL_H

#include <stdint.h>

#include "serve/connection.h"

/* As spex_command_socket; the socket is non-blocking. */
struct spex_descriptor spex_call_connect(const char *path, const struct spex_descriptor *handover);

/* The connection over `socket` is subscribed to a report every `interval_ms`, the first at once. */
void spex_call_open(struct spex_connection *connection, struct spex_descriptor socket,
                    uint32_t interval_ms);

/* Whether there is a connection that this process has made. */
enum spex_call_end {
    SPEX_CALL_STANDS,
    /* It is new, or may be at the next attempt, since the program is closing descriptors now. */
    SPEX_CALL_AGAIN,
    /* The command cannot be reached any more. */
    SPEX_CALL_LOST,
};

/* Connects again where the program has closed the descriptor of a connection that this process
 * made, as daemons do that close all descriptors. A connection that another process made stands. */
enum spex_call_end spex_call_again(struct spex_connection *connection, const char *path,
                                   const struct spex_descriptor *handover);

#endif
