/* SPDX-License-Identifier: MIT */
/* Processes that have a control socket: all of them, and those of one program, such as the workers
 * of a server, found by the program's name, or by the process that has started them. Workers come
 * and go; who follows them finds them again and again, and merges their profiles by
 * profile_sum.h. */
#ifndef SPEX_OBSERVE_WORKERS_H
#define SPEX_OBSERVE_WORKERS_H

#include <stdbool.h>
#include <sys/types.h>

/* Finds the processes that have a control socket and that this user may connect to. Free
 * `*processes`. Returns their number, or a negative errno value: processes could not be looked at
 * for want of descriptors or memory, or there is no /proc. */
long spex_processes_list(pid_t **processes);

/* What is to become of a process: it is left out, connected to, or taken as it is. */
enum spex_process_look { SPEX_PROCESS_LEAVE, SPEX_PROCESS_TRY, SPEX_PROCESS_TAKE };

typedef enum spex_process_look spex_process_looker(void *user, pid_t process);

/* The same of those processes that `look` does not leave out. */
long spex_processes_list_where(spex_process_looker *look, void *user, pid_t **processes);

/* Whom a command is to reach. */
struct spex_workers_of {
    /* Those of which it returns true; NULL: `name`. */
    bool (*wanted)(const void *user, pid_t process);
    const void *user;
    /* The name of the program; NULL: `process`. */
    const char *name;
    /* This process if it has a control socket, and otherwise those that descend from it
     * (spex_workers_descend). */
    pid_t process;
};

/* Finds the processes that have a control socket and that this user may connect to, in the order of
 * their numbers. The socket of those among the `known_count` of `known` is not tried: they have
 * one. Free `*processes`. Their number; 0: there are none, and `*processes` is NULL; or a negative
 * errno value, as of spex_processes_list. */
long spex_workers_find(const struct spex_workers_of *of, const pid_t *known, long known_count,
                       pid_t **processes);

/* Whether the process was started by the other one, or by a process that was, and belongs to it: both
 * are of one session, or run the same file. Process 1, and managers of sessions and services, are
 * parents of what has nothing to do with them: orphans, and what they have given sessions of their
 * own. */
bool spex_workers_descend(pid_t process, pid_t ancestor);

#endif
