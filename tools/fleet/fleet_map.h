/* SPDX-License-Identifier: MIT */
/* The probes of a program that an instrumentation map covers. */
#ifndef SPEX_TOOLS_FLEET_FLEET_MAP_H
#define SPEX_TOOLS_FLEET_FLEET_MAP_H

#include "fleet/decide/master.h"
#include "observe/objects/object_sites.h"

struct spex_fleet_probe {
    /* "liba/query:lat", printable. */
    char text[2 * SPEX_NAME_BYTES + 16];
    /* The first unit that has it; policy->unit_count: none has. */
    size_t unit;
};

struct spex_fleet_probes {
    struct spex_fleet_probe *items;
    /* All probes of the program, and those that a unit has. */
    size_t count, covered;
    /* The probe of the response time is there. */
    bool response;
};

/* Lists the probes of a program. An exit status, after a message unless it is SPEX_EXIT_OK. Free
 * the list in any case. */
int spex_fleet_probes_read(const struct spex_fleet_policy *policy, const char *program,
                           struct spex_fleet_probes *probes);
void spex_fleet_probes_free(struct spex_fleet_probes *probes);

#endif
