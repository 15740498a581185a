/* SPDX-License-Identifier: MIT */
/* The master's answers about its fleet, as JSON. */
#ifndef SPEX_FLEET_LEAD_LEAD_STATUS_H
#define SPEX_FLEET_LEAD_LEAD_STATUS_H

#include <jansson.h>

#include "fleet/lead/lead.h"

/* Most instances of one answer: more are asked for by the next request. */
enum { SPEX_LEAD_STATUS_INSTANCES = 500 };

/* The fleet, with its instances from number `from` on; with 0 also its probes and the overlap.
 * "next" is where to go on, or null. NULL: no memory. */
json_t *spex_lead_status(struct spex_lead *lead, size_t from);

/* One instance, with its "text" and the last decision; an object with "error" where there is no
 * such instance. NULL: no memory. */
json_t *spex_lead_why(struct spex_lead *lead, const char *name);

#endif
