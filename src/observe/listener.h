/* SPDX-License-Identifier: MIT */
/* The socket of a command that programs call when they start spex (SPEX_OUT=metrics:PATH), and all who have
 * called. */
#ifndef SPEX_OBSERVE_LISTENER_H
#define SPEX_OBSERVE_LISTENER_H

#include <stddef.h>

#include "observe/caller.h"
#include "wire/listening_socket.h"

/* Beyond these nobody is let in. */
#define SPEX_CALLERS_MAX 256

struct spex_listener {
    struct spex_listening_socket door;
    struct spex_caller *callers[SPEX_CALLERS_MAX]; /* in the order of their calls */
    size_t count;
    size_t refused; /* who came when there was no room, or no descriptor */
};

/* In the first place for control sockets that can be had. 0, or a negative errno value with the reason. */
int spex_listener_open(struct spex_listener *listener, char *why, size_t why_size);

/* What SPEX_OUT is for those who are to call. */
void spex_listener_output(const struct spex_listener *listener, char *text, size_t size);

/* Lets in one who waits. NULL: there is none. */
struct spex_caller *spex_listener_accept(struct spex_listener *listener);

/* Nobody comes any more; who is there stays. */
void spex_listener_shut(struct spex_listener *listener);

void spex_listener_close(struct spex_listener *listener);

#endif
