/* SPDX-License-Identifier: MIT */
/* Connections to a command that has started this program and waits at a socket
 * (SPEX_OUT=metrics:). */
#include "serve/call.h"

#include <errno.h>
#include <fcntl.h>

#include "base/clock.h"
#include "wire/command_socket.h"

struct spex_descriptor spex_call_connect(const char *path, const struct spex_descriptor *handover) {
    struct spex_descriptor fresh = spex_command_socket(path, handover);
    if (fresh.number < 0)
        return fresh;
    int err = !spex_descriptor_is_ours(&fresh)                ? -EBADF
              : fcntl(fresh.number, F_SETFL, O_NONBLOCK) == 0 ? 0
                                                              : -errno;
    if (err) {
        spex_descriptor_close(&fresh);
        fresh.number = err;
    }
    return fresh;
}

/* From the first to the second report. */
enum { EARLY_NS = 10000000 };

/* The command sends no request for the subscription: the program begins it, the first report at
 * once. The distance of those that follow doubles up to the interval: a process that ends early,
 * without stopping spex, has told most of what it did. */
void spex_call_open(struct spex_connection *connection, struct spex_descriptor socket,
                    uint32_t interval_ms) {
    spex_connection_open(connection, socket, true);
    connection->reports = true;
    connection->interval_ms = interval_ms;
    connection->due_ns = spex_clock_ns(CLOCK_MONOTONIC);
    connection->early_ns = EARLY_NS;
}

/* EBADF and ENOTSOCK: the program has closed the new descriptor, or reused its number, before it
 * was connected. */
enum spex_call_end spex_call_again(struct spex_connection *connection, const char *path,
                                   const struct spex_descriptor *handover) {
    if (!connection->ours || spex_descriptor_is_ours(&connection->socket))
        return SPEX_CALL_STANDS;
    struct spex_descriptor fresh = spex_call_connect(path, handover);
    if (fresh.number >= 0)
        spex_call_open(connection, fresh, connection->interval_ms);
    bool again = fresh.number >= 0 || fresh.number == -EBADF || fresh.number == -ENOTSOCK;
    return again ? SPEX_CALL_AGAIN : SPEX_CALL_LOST;
}
