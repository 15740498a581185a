/* SPDX-License-Identifier: MIT */
/* Where a process's control socket would be: what /proc tells of its users, namespaces and environment. */
#ifndef SPEX_OBSERVE_PROCESS_PLACE_H
#define SPEX_OBSERVE_PROCESS_PLACE_H

#include <stddef.h>
#include <sys/types.h>

#include "wire/directory.h"

#define SPEX_PLACE_USERS 6

struct spex_process_place {
    pid_t process;                 /* as we see it */
    uid_t users[SPEX_PLACE_USERS]; /* effective, real, saved, that of the file system, as in its own
                                           namespace, root */
    char command[64];
    char name[SPEX_CONTROL_NAME_BYTES]; /* of the socket */
    char *chosen;                       /* its SPEX_CONTROL, NULL: not set */
    char *runtime;                      /* its XDG_RUNTIME_DIR */
};

/* 0; -ESRCH; or another negative errno value. What this user may not look at is left out. */
int spex_process_place(pid_t process, struct spex_process_place *place);
void spex_process_place_free(struct spex_process_place *place);

#endif
