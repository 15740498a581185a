/* SPDX-License-Identifier: MIT */
/* The probes of one process that the policy's map wants, which of them are to be on, and what they
 * take. */
#ifndef SPEX_TOOLS_AGENT_HOSTED_PROBES_H
#define SPEX_TOOLS_AGENT_HOSTED_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/decide/fleet_policy.h"
#include "fleet/decide/message.h"
#include "profile/profile.h"
#include "site/provider.h"

/* What a master wants of the process. */
struct spex_hosted_wish {
    /* The probe of the response time, which is on wherever anything may be. */
    const struct spex_selection *response;
    /* Anything may be on: the master has been heard. */
    bool any;
    /* Of the map's probes, by their texts, those that are to be on; NULL: none. */
    const struct spex_fleet_texts *texts;
    const struct spex_fleet_set *set;
};

struct spex_hosted_probe {
    /* The number in the process, and "liba/query:lat". */
    uint16_t probe_id;
    uint32_t type;
    char text[SPEX_FLEET_PROBE_BYTES];
    /* It is loaded; in the policy's map; of the response time; wanted by the master. */
    bool there, mapped, response, wished;
    /* Seconds that it has cost so far, and the share of the time in the last interval. */
    double cost, share;
    /* Executions a second while it has been on; negative: none are known. */
    double rate;
};

struct spex_hosted_probes {
    struct spex_hosted_probe *items;
    size_t count;
    /* Of the last report: CPU time, and seconds since the collection began. */
    double cpu, seconds;
    /* How many of the map are loaded, how many of these the master wants, and how many are on. */
    size_t wanted, wished, on;
};

/* Takes a report: probes that have come or gone, and what those that are on have cost. `wish` NULL: there is no master, and all of the map is wanted. 0 or -ENOMEM. */
int spex_hosted_probes_take(struct spex_hosted_probes *probes,
                            const struct spex_fleet_policy *policy,
                            const struct spex_hosted_wish *wish,
                            const struct spex_profile *profile);

/* Takes what a master wants now. */
void spex_hosted_probes_wish(struct spex_hosted_probes *probes,
                             const struct spex_hosted_wish *wish);

/* Whether the probe is to be on now. */
static inline bool spex_hosted_probe_is_on(const struct spex_hosted_probe *probe) {
    return probe->there && probe->wished;
}

/* The selection of those that are on, "+a:lat,b:cnt@100"; NULL in *text: none is. What does not fit
 * into a request is left out. 0 or -ENOMEM. Free the text. */
int spex_hosted_probes_text(struct spex_hosted_probes *probes,
                            const struct spex_fleet_policy *policy,
                            const struct spex_profile *profile, char **text);

void spex_hosted_probes_free(struct spex_hosted_probes *probes);

#endif
