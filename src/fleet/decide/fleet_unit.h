/* SPDX-License-Identifier: MIT */
/* The units of a policy's instrumentation map. */
#ifndef SPEX_FLEET_DECIDE_FLEET_UNIT_H
#define SPEX_FLEET_DECIDE_FLEET_UNIT_H

#include "fleet/decide/fleet_policy.h"
#include "xml/xml.h"

/* Reads all units, and makes the policy's selection of them. 0, -EINVAL or -ENOMEM. */
int spex_fleet_units_take(struct spex_xml *xml, const xmlNode *map,
                          struct spex_fleet_policy *policy);

#endif
