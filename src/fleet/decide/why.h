/* SPDX-License-Identifier: MIT */
/* Decisions in words. */
#ifndef SPEX_FLEET_DECIDE_WHY_H
#define SPEX_FLEET_DECIDE_WHY_H

#include "fleet/decide/master.h"

/* "none", "partial", "full"; "hold", "instrument", …; "new", "room", …. */
const char *spex_fleet_mode_name(enum spex_fleet_mode mode);
const char *spex_fleet_action_name(enum spex_fleet_action action);
const char *spex_fleet_cause_name(enum spex_fleet_cause cause);

/* One line: what was decided and by which figures. */
void spex_fleet_decision_text(const struct spex_fleet_decision *decision, char *text, size_t size);

/* One line: the instance's mode, since when, and why. `name` is what the instance is called. */
void spex_fleet_instance_text(const struct spex_fleet_map *map,
                              const struct spex_fleet_instance *instance, const char *name,
                              char *text, size_t size);

#endif
