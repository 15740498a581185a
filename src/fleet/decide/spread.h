/* SPDX-License-Identifier: MIT */
/* Which probes are on at which instance: so that the instances together record the whole map, each
 * within its budget. */
#ifndef SPEX_FLEET_DECIDE_SPREAD_H
#define SPEX_FLEET_DECIDE_SPREAD_H

#include "fleet/decide/master.h"

/* Switches the least recorded probes that fit its budget on at the instance, in the place of those
 * that it has. A probe that takes more than the budget is taken to fill it: the program's own
 * controller lengthens its period. */
void spex_fleet_spread_assign(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                              struct spex_fleet_instance *instance);

/* Switches all probes of the instance off. */
void spex_fleet_spread_clear(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             struct spex_fleet_instance *instance);

/* Switches on these probes of the map, in the place of those that the instance has, as a master
 * before this one has decided. */
void spex_fleet_spread_adopt(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             struct spex_fleet_instance *instance, const uint64_t *probes);

/* Takes the costs that the map has now, and switches the dearest probes off at instances whose
 * probes take more than their budgets. */
void spex_fleet_spread_bound(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                             double now);

/* True if other instances record all probes of this one. */
bool spex_fleet_spread_redundant(const struct spex_fleet_map *map,
                                 const struct spex_fleet_state *state,
                                 const struct spex_fleet_instance *instance);

/* Probes that are recorded somewhere. */
size_t spex_fleet_spread_covered(const struct spex_fleet_map *map,
                                 const struct spex_fleet_state *state);

/* Gives probes that nobody records to instrumented instances, where that uncovers no other. */
void spex_fleet_spread_repair(const struct spex_fleet_map *map, struct spex_fleet_state *state,
                              double now);

#endif
