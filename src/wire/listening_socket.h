/* SPDX-License-Identifier: MIT */
/* The door: a listening socket of this process, mode 0600, in a directory of its user's alone.
 * Programs have one as their control socket, and `spex run` one for the programs that call it. */
#ifndef SPEX_WIRE_LISTENING_SOCKET_H
#define SPEX_WIRE_LISTENING_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/descriptor.h"
#include "wire/directory.h"

struct spex_listening_socket {
    struct spex_descriptor socket;
    dev_t device;                       /* of the socket's file, which */
    ino_t inode;                        /* somebody may have put another in the place of */
    char path[SPEX_CONTROL_PATH_BYTES]; /* of its directory */
    char name[SPEX_CONTROL_NAME_BYTES];
};

/* XDG_RUNTIME_DIR; NULL when it is not this user's: another's, as after a change of user without
 * a change of environment, is not for us to fill. */
const char *spex_listening_socket_runtime_directory(void);

/* `chosen`: SPEX_CONTROL's directory, or NULL. 0, or a negative errno value with the reason. */
int spex_listening_socket_open(struct spex_listening_socket *door, const char *chosen, char *why,
                               size_t why_size);

/* In the directory `path` under the name `name`, which are set. 0 or a negative errno value;
 * -EPERM: the directory is not this user's alone. */
int spex_listening_socket_open_at(struct spex_listening_socket *door);

/* Whether the socket still stands for us and its file is where it was made; who removes files
 * that look old, or the program's chroot, may have taken it away. */
bool spex_listening_socket_is_there(const struct spex_listening_socket *door);

/* Removes it; or, in the child of a fork whose parent it is, leaves it. */
void spex_listening_socket_close(struct spex_listening_socket *door);
void spex_listening_socket_abandon(struct spex_listening_socket *door);

/* Lets one in: a connected socket, non-blocking, whose other end belongs to this process's user
 * or to root. -EAGAIN when nobody waits, -EPERM after somebody else was turned away, -EBADF when
 * the door is not ours any more. */
int spex_listening_socket_accept(const struct spex_listening_socket *door);

#endif
