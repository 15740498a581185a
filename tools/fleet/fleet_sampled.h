/* SPDX-License-Identifier: MIT */
/* The samples of kernels' executions that agents send to the master: taken, kept and answered
 * for. */
#ifndef SPEX_TOOLS_FLEET_FLEET_SAMPLED_H
#define SPEX_TOOLS_FLEET_FLEET_SAMPLED_H

#include <jansson.h>

#include "fleet/lead/fleet_kernels.h"
#include "fleet/lead/lead.h"
#include "fleet/link/link.h"
#include "tools/fleet/fleet_store.h"

struct spex_fleet_sampled {
    struct spex_link_inbox *inbox;
    struct spex_fleet_kernels kernels;
    /* Malformed, or of an agent that is not the host's. */
    uint64_t refused;
};

/* 0 or a negative errno value. */
int spex_fleet_sampled_open(struct spex_fleet_sampled *sampled, struct spex_link *link,
                            const char *fleet);
void spex_fleet_sampled_close(struct spex_fleet_sampled *sampled);

/* Takes what has come, for 20 ms at most. The last one that was refused is in `error`, which is
 * empty otherwise. 0 or -ENOMEM. */
int spex_fleet_sampled_take(struct spex_fleet_sampled *sampled, const struct spex_lead *lead,
                            double now, struct spex_error *error);

/* The answer to "": what there is; and to "CLASS" or "CLASS PATH": the class's first kernel, or the
 * first one behind that path, as a message. */
json_t *spex_fleet_sampled_answer(const struct spex_fleet_sampled *sampled, const char *request);

#endif
