/* SPDX-License-Identifier: MIT */
/* Adds probes to the selection of a running program for a while: by a lease, so that they go off
 * also where the command is killed. */
#ifndef SPEX_TOOLS_ATTACH_ADDED_SELECTION_H
#define SPEX_TOOLS_ATTACH_ADDED_SELECTION_H

#include <stdbool.h>
#include <sys/types.h>

#include "profile/profile.h"
#include "text/error.h"
#include "tools/attach/held_lease.h"
#include "tools/attach/lease_keeper.h"

struct spex_added_selection {
    pid_t process;
    /* Set before the selection is made; as in held_lease.h. */
    double budget;
    struct spex_held_lease lease;
    struct spex_lease_keeper keeper;
};

/* A selection of probes that grows: "+3:kernel,7:lat@off". */
struct spex_added_list {
    char *text; /* to be freed; NULL: empty */
    size_t length;
    int err;
    unsigned count;
};

/* `behind`: what follows the probe, such as "@off". The first item begins with "+", which makes the
 * selection relative. Probes of several providers (`mixed`) are named with them. An error is kept
 * in the list. */
void spex_added_list_add(struct spex_added_list *list, const struct spex_profile_site *site,
                         bool mixed, const char *behind);

/* Adds to the selection of a program. `added` stays where it is until it is restored. 0, or a
 * negative errno value with the reason; spex_added_selection_restore is called in either case. */
int spex_added_selection_make(struct spex_added_selection *added, pid_t process,
                              const char *selection, struct spex_error *error);

/* The same, for probes that the user has named, with or without a leading "+". */
int spex_added_selection_make_of(struct spex_added_selection *added, pid_t process,
                                 const char *probes, struct spex_error *error);

/* Ends the lease, unless the program is gone (`over`, or as `process_fd` tells, which is a pidfd or
 * -1) or nothing was added. A failure is reported on standard error. */
void spex_added_selection_restore(struct spex_added_selection *added, bool over, int process_fd);

#endif
