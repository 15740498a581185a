/* SPDX-License-Identifier: MIT */
/* Holds probes of another process switched on by a lease that is renewed in time: whoever dies
 * leaves nothing on, since the process itself ends the lease. Only taking and closing a lease wait.
 * Times are of CLOCK_BOOTTIME, as those of leases. */
#ifndef SPEX_TOOLS_ATTACH_HELD_LEASE_H
#define SPEX_TOOLS_ATTACH_HELD_LEASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "observe/profile_reader.h"
#include "text/error.h"

/* For how long commands lease, in ms. They renew after a third of that. */
enum { SPEX_HELD_LEASE_MS = 10000 };

enum spex_held_state {
    /* Nothing is held, or not yet. */
    SPEX_HELD_NOTHING,
    SPEX_HELD,
    /* Another client has switched off what was held, which stays so. */
    SPEX_HELD_ENDED,
    /* The process refuses the selection; `error` says why. */
    SPEX_HELD_REFUSED
};

struct spex_held_lease {
    pid_t process;
    uint32_t holder, ms;
    /* What is to be held; NULL: nothing. */
    char *probes;
    /* The share of its time that probes may take meanwhile, above 0 and at most 1; 0: as ever. */
    double budget;
    enum spex_held_state state;
    /* The connection; -1: there is none. */
    int socket;
    /* Of the last answer. */
    struct spex_profile_reader reader;
    struct spex_error error;
    /* A request is on its way: its kind, and when it was sent. */
    bool asked, renews;
    uint64_t asked_ns;
    /* When the next request is due, and until when the lease holds at least. */
    uint64_t due_ns, held_ns;
};

/* A lease of nothing. */
void spex_held_lease_open(struct spex_held_lease *lease, pid_t process, uint32_t ms);

/* Says what is to be held from now on: a selection, or NULL. 0 or -ENOMEM. */
int spex_held_lease_set(struct spex_held_lease *lease, const char *probes);

/* Says the same, and waits for the answer, which is in `reader`. 0, or a negative errno value with
 * the reason. */
int spex_held_lease_take(struct spex_held_lease *lease, const char *probes,
                         struct spex_error *error);

/* Takes the answer that has come and sends the request that is due. Returns when to call again at
 * the latest; earlier when `socket`, if there is one, is readable. */
uint64_t spex_held_lease_step(struct spex_held_lease *lease);

/* Ends the lease, and waits for that until the deadline. 0, or a negative errno value with the
 * reason. */
int spex_held_lease_close(struct spex_held_lease *lease, struct spex_deadline until,
                          struct spex_error *error);

#endif
