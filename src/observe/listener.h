/* SPDX-License-Identifier: MIT */
/* The socket of a command to which programs connect when they start spex with
 * SPEX_OUT=metrics:PATH or record:PATH, and all connections so far. */
#ifndef SPEX_OBSERVE_LISTENER_H
#define SPEX_OBSERVE_LISTENER_H

#include <stddef.h>

#include "observe/caller.h"
#include "wire/handover.h"
#include "wire/listening_socket.h"

/* Further connections are refused. */
#define SPEX_CALLERS_MAX 256

struct spex_listener {
    struct spex_listening_socket listening;
    /* The program inherits an end of it. */
    struct spex_handover handover;
    /* In the order in which they have connected. */
    struct spex_caller *callers[SPEX_CALLERS_MAX];
    size_t count;
    /* Connections for which there was no room, no descriptor or no memory. */
    size_t refused;
};

/* 0, or a negative errno value with the reason. `error` has a text beside 0 where the socket is not
 * in the directory of SPEX_CONTROL: why not. */
int spex_listener_open(struct spex_listener *listener, struct spex_error *error);

/* The value of SPEX_OUT with which a program connects here: "metrics" or "record", as `prefix`, and
 * the path. */
void spex_listener_output(const struct spex_listener *listener, const char *prefix, char *text,
                          size_t size);

/* Accepts a connection that is waiting; NULL when there is none. Call it until it returns NULL. */
struct spex_caller *spex_listener_accept(struct spex_listener *listener);

/* The same for who keeps connections himself: a non-blocking socket, or a negative number. */
int spex_listener_accept_socket(struct spex_listener *listener);

/* Closes the listening socket. Connections stay open. */
void spex_listener_shut(struct spex_listener *listener);

/* Closes the listening socket and all connections. */
void spex_listener_close(struct spex_listener *listener);

#endif
