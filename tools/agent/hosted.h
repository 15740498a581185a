/* SPDX-License-Identifier: MIT */
/* One process that the agent looks after: what the policy wants of it, and the lease of that. */
#ifndef SPEX_TOOLS_AGENT_HOSTED_H
#define SPEX_TOOLS_AGENT_HOSTED_H

#include "fleet/decide/master.h"
#include "observe/worker_feed.h"
#include "tools/agent/hosted_probes.h"
#include "tools/agent/hosted_response.h"
#include "tools/attach/held_lease.h"

/* What is told of a process. */
struct spex_hosted_state {
    enum spex_fleet_mode mode;
    size_t on, wanted, wished;
    /* Why not all of it is on; empty: it is. */
    struct spex_error why;
};

struct spex_hosted {
    pid_t process;
    char command[SPEX_PROFILE_NAME_BYTES];
    /* Of the last report that was taken. */
    uint64_t heard_ns, loaded_ns;
    double seconds;
    bool elsewhere;
    /* The lease was ended by another client: the program and its collection have gone on. */
    bool ended;
    struct spex_hosted_probes probes;
    /* Under a master. */
    struct spex_hosted_response response;
    struct spex_held_lease lease;
    /* The report whose profile a master was sent last, and when to send another one; seconds of
     * CLOCK_MONOTONIC. */
    uint64_t profiled_ns;
    double profile_due;
    /* When its kernels were sampled last, by the same clock; 0: they were not, or off since. */
    double sampled;
    /* What was told last. */
    struct spex_hosted_state told;
    bool is_told;
};

void spex_hosted_open(struct spex_hosted *hosted, pid_t process, uint32_t lease_ms);
void spex_hosted_free(struct spex_hosted *hosted);

/* Takes the last report of the process, if it is a new one. `wish` NULL: there is no master. 0 or
 * -ENOMEM. */
int spex_hosted_report(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                       const struct spex_hosted_wish *wish, const struct spex_worker *worker);

/* Takes what a master wants now, between reports. 0 or -ENOMEM. */
int spex_hosted_wish(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                     const struct spex_hosted_wish *wish, const struct spex_worker *worker);

/* Forgets what the policy wanted, and what was learned of its probes: another policy holds. 0 or
 * -ENOMEM. */
int spex_hosted_forget(struct spex_hosted *hosted);

/* Renews the lease where that is due. Returns whether there is a new state to tell, which is in
 * `told` then. */
bool spex_hosted_step(struct spex_hosted *hosted);

#endif
