/* SPDX-License-Identifier: MIT */
/* A pair of sockets by which programs connect to the command that has started them where they
 * cannot reach its listening socket, as after a change of user or of the root directory. A program
 * inherits one end, and sends over it one end of a new pair. Whoever has inherited the descriptor
 * may connect, and nobody else. This is the command's side; wire/command_socket.h is the
 * program's. */
#ifndef SPEX_WIRE_HANDOVER_H
#define SPEX_WIRE_HANDOVER_H

#include <sys/socket.h>

#include "base/descriptor.h"

struct spex_handover {
    /* What programs inherit. It has FD_CLOEXEC here, which the child that executes the program
     * takes off. Its text (spex_descriptor_text) is SPEX_OUT_SOCKET. */
    struct spex_descriptor given;
    /* Readable when a connection arrives; -1: closed. */
    int own;
};

/* The initial value of a pair that is not open. */
#define SPEX_NO_HANDOVER ((struct spex_handover){.given = SPEX_NO_DESCRIPTOR, .own = -1})

/* Without descriptors for it the pair stays closed, and only programs that reach the listening
 * socket connect. */
void spex_handover_open(struct spex_handover *handover);

/* Takes a connection: a non-blocking socket. -EAGAIN: there is none; -EPERM: what came is no socket
 * for packets. */
int spex_handover_accept(struct spex_handover *handover);

/* The socket of a message with one descriptor, made non-blocking; or -EPERM when it has none that
 * is a socket for packets. */
int spex_handover_socket_of(struct msghdr *message);

/* Receives a packet without waiting, and the descriptor that came with it in *file; -1: none, or
 * the end. As recv with MSG_TRUNC. Further descriptors are closed. */
ssize_t spex_handover_receive(int socket, char *frame, size_t room, int *file);

void spex_handover_close(struct spex_handover *handover);

#endif
