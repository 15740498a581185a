/* SPDX-License-Identifier: MIT */
/* The processes of one program, such as the workers of a server: found by the program's name, or by
 * the process that has started them. Workers come and go; who follows them finds them again and
 * again, and merges their profiles by profile_sum.h. */
#ifndef SPEX_OBSERVE_WORKERS_H
#define SPEX_OBSERVE_WORKERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Whom a command is to reach. */
struct spex_workers_of {
    /* Those of which it returns true; NULL: `name`. */
    bool (*wanted)(const void *user, pid_t process);
    const void *user;
    /* The name of the program; NULL: `process`. */
    const char *name;
    /* This process if it has a control socket, and otherwise those that descend from it. */
    pid_t process;
};

/* Finds the processes that have a control socket and that this user may connect to, in the order of
 * their numbers. The socket of those among the `known_count` of `known` is not tried: they have
 * one. Free `*processes`. Their number; 0: there are none, and `*processes` is NULL; or a negative
 * errno value, as of spex_client_list. */
long spex_workers_find(const struct spex_workers_of *of, const pid_t *known, long known_count,
                       pid_t **processes);

#endif
