/* SPDX-License-Identifier: MIT */
/* Directories of control sockets. A program makes its socket in the first of these in which it can;
 * commands look into all of them.
 *
 *     SPEX_CONTROL            if it is set
 *     $XDG_RUNTIME_DIR/spex
 *     /run/user/UID/spex
 *     /tmp/spex-UID
 *     /dev/shm/spex-UID       writable in many containers with a read-only root
 *     the last two with the user's number outside of the process's user namespace, in which the
 *                             number inside may be another user's
 *
 * A socket's name is PID-NAMESPACE: the process id and the number of its PID namespace, since
 * containers may share a directory and have PID namespaces of their own. */
#ifndef SPEX_WIRE_DIRECTORY_H
#define SPEX_WIRE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPEX_CONTROL_PATH_BYTES 4096
/* Suffix of the name of the socket of `spex run`, which its programs call. */
#define SPEX_CONTROL_RUN        "-run"

#define SPEX_CONTROL_NAME_BYTES 48

/* Writes directory number `n`, from 0 on, to `path` (SPEX_CONTROL_PATH_BYTES); false behind the
 * last. `chosen` (SPEX_CONTROL) and `runtime` (XDG_RUNTIME_DIR) may be NULL. */
bool spex_control_directory(unsigned n, const char *chosen, const char *runtime, uid_t user,
                            char *path);

/* The number of the PID namespace to which a link in /proc points; 0: not known. */
unsigned long spex_control_namespace(const char *link);

/* The name of this process's socket; "PID-0" where its namespace is not known. */
void spex_control_name(char name[SPEX_CONTROL_NAME_BYTES]);

/* The name of a socket until it listens. */
void spex_control_hidden_name(const char *name, char to[SPEX_CONTROL_NAME_BYTES]);

/* Removes the control sockets on which no process listens any more. */
void spex_control_clean(int directory);

/* Connects to, or binds, a socket in a directory, however long its path is. 0 or a negative errno
 * value. Where there is no /proc, a socket is bound by the directory's path, which must then be
 * short; the caller checks that it has come into the directory. */
int spex_control_connect_at(int socket, int directory, const char *name);
int spex_control_bind_at(int socket, int directory, const char *path, const char *name);

#endif
