/* SPDX-License-Identifier: MIT */
/* Where the control socket of a process would be, by what /proc says of its users, namespaces
 * and environment. */
#ifndef SPEX_OBSERVE_PROCESS_PLACE_H
#define SPEX_OBSERVE_PROCESS_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "wire/directory.h"

/* Users in whose directories the socket may be. */
#define SPEX_PLACE_USERS 6

/* The first of them are the process's, as numbered here. */
#define SPEX_PLACE_OWN_USERS 4

struct spex_process_place {
    /* The process id as this PID namespace sees it. */
    pid_t process;
    /* Effective, real, saved, of the file system, the effective one as numbered in the namespace of
     * the process, and root. */
    uid_t users[SPEX_PLACE_USERS];
    char command[64];
    /* The name of the socket in its directory. */
    char name[SPEX_CONTROL_NAME_BYTES];
    /* The SPEX_CONTROL and XDG_RUNTIME_DIR of the process; NULL: not set, or not readable. */
    char *chosen;
    char *runtime;
};

/* Finds out where the control socket of a process is. What this user may not read of the process is
 * left out. 0; -ESRCH: no such process; or another negative errno value. */
int spex_process_place(pid_t process, struct spex_process_place *place);
void spex_process_place_free(struct spex_process_place *place);

#endif
