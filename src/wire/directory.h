/* SPDX-License-Identifier: MIT */
/* Where control sockets are: in the first directory of these that can be had, for programs to make and commands to
 * look into.
 *
 *     SPEX_CONTROL            if it is set
 *     $XDG_RUNTIME_DIR/spex
 *     /run/user/UID/spex
 *     /tmp/spex-UID
 *     /dev/shm/spex-UID       which can be written in many containers whose root cannot
 *
 * A socket is called PID-NAMESPACE, by the process's number and the number of the namespace in which it has that,
 * since containers may share a directory and not the numbers. */
#ifndef SPEX_WIRE_DIRECTORY_H
#define SPEX_WIRE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SPEX_CONTROL_PATH_BYTES 4096
/* Behind the name of the process that runs `spex run`, whose socket its programs call. */
#define SPEX_CONTROL_RUN        "-run"

#define SPEX_CONTROL_NAME_BYTES 48

/* The `n`th place, from 0 on, into `path` (SPEX_CONTROL_PATH_BYTES of them); false behind the
 * last. `chosen` (SPEX_CONTROL) and `runtime` (XDG_RUNTIME_DIR) may be NULL. */
bool spex_control_directory(unsigned n, const char *chosen, const char *runtime, uid_t user,
                            char *path);

/* The number of the PID namespace that such a link in /proc leads to; 0: not known. */
unsigned long spex_control_namespace(const char *link);

/* Of this process; "PID-0" where the system does not tell its namespace. */
void spex_control_name(char name[SPEX_CONTROL_NAME_BYTES]);

/* The name that a socket has until it listens. */
void spex_control_hidden_name(const char *name, char to[SPEX_CONTROL_NAME_BYTES]);

/* Removes control sockets to which nobody listens any more. */
void spex_control_clean(int directory);

/* Connects to, or binds, a socket in a directory, however long its path is. 0 or a negative
 * errno value. */
int spex_control_connect_at(int socket, int directory, const char *name);
int spex_control_bind_at(int socket, int directory, const char *name);

#endif
