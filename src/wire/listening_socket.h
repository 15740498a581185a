/* SPDX-License-Identifier: MIT */
/* A listening socket of this process, mode 0600, in a directory of mode 0700 of its user. A program
 * has one as its control socket, and `spex run` one that its programs call. */
#ifndef SPEX_WIRE_LISTENING_SOCKET_H
#define SPEX_WIRE_LISTENING_SOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/descriptor.h"
#include "text/error.h"
#include "wire/directory.h"

/* What a user can do whose directories others have made before. */
#define SPEX_CONTROL_ANOTHER "; SPEX_CONTROL=DIRECTORY names another one"

struct spex_listening_socket {
    struct spex_descriptor socket;
    /* Device and inode of the socket's file, to notice when another file has replaced it. */
    dev_t device;
    ino_t inode;
    char name[SPEX_CONTROL_NAME_BYTES];
    char path[SPEX_CONTROL_PATH_BYTES]; /* of its directory */
    /* Nobody waits at it, and its file has the execute bit (dormant.h). */
    bool dormant;
};

/* XDG_RUNTIME_DIR; NULL when it does not belong to this user, as after a change of user that keeps
 * the environment. */
const char *spex_listening_socket_runtime_directory(void);

/* Opens a directory for control sockets, which is made if it is not there. A descriptor that is
 * closed soon, or, as its number, a negative errno value; -EPERM: the directory is not this user's
 * alone. */
struct spex_descriptor spex_control_directory_open(const char *path);

/* `chosen`: SPEX_CONTROL's directory, or NULL. 0, or a negative errno value with the reason;
 * -EADDRINUSE: another copy of spex in this process has its socket there. */
int spex_listening_socket_open(struct spex_listening_socket *door, const char *chosen,
                               struct spex_error *error);

/* The same for a program that is dormant. */
int spex_listening_socket_open_dormant(struct spex_listening_socket *door, const char *chosen,
                                       struct spex_error *error);

/* Opens the socket in the directory `path` under the name `name`, which the caller has set, as
 * `dormant`. 0 or a
 * negative errno value; -EPERM: the directory is not this user's alone. */
int spex_listening_socket_open_at(struct spex_listening_socket *door);

/* Somebody waits at it from now on: takes the bit from its file. */
void spex_listening_socket_wake(struct spex_listening_socket *door);

/* Whether the descriptor is still the socket's and its file is still there. Cleaners of old files,
 * or the program's chroot, may have removed it. */
bool spex_listening_socket_is_there(const struct spex_listening_socket *door);

/* Closes the socket and removes its file; or closes it alone, in the child of a fork. */
void spex_listening_socket_close(struct spex_listening_socket *door);
void spex_listening_socket_abandon(struct spex_listening_socket *door);

/* Accepts a connection: returns a non-blocking socket whose other end belongs to this process's
 * user or to root; or, as its number, -EAGAIN: nobody waits. -EPERM: another user's connection was closed. -EBADF: the
 * program has closed the descriptor. */
struct spex_descriptor spex_listening_socket_accept(const struct spex_listening_socket *door);

#endif
