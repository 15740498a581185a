/* SPDX-License-Identifier: MIT */
/* Connections of a program to the command that has started it. */
#ifndef SPEX_WIRE_COMMAND_SOCKET_H
#define SPEX_WIRE_COMMAND_SOCKET_H

#include "base/descriptor.h"

/* Connects to the command at the socket `path`. Where that fails, sends the other end of a new pair
 * of sockets over `handover`, which this process has inherited from the command
 * (wire/handover.h); it may be SPEX_NO_DESCRIPTOR. A blocking socket with a time limit for sends,
 * or, as its number, a negative errno value, that of the path. */
struct spex_descriptor spex_command_socket(const char *path,
                                           const struct spex_descriptor *handover);

/* The same by `handover` alone: -EAGAIN where it is full, and what the command reads by it comes
 * first. */
struct spex_descriptor spex_command_handed(const struct spex_descriptor *handover);

#endif
