/* SPDX-License-Identifier: MIT */
/* What the commands of `spex fleet` share. */
#ifndef SPEX_TOOLS_FLEET_FLEET_H
#define SPEX_TOOLS_FLEET_FLEET_H

#include <stdbool.h>

#include "fleet/decide/simulation.h"
#include "tools/fleet/fleet_map.h"

extern const char spex_fleet_usage[];

/* The subcommands: exit statuses. argv[0] is the subcommand's name. */
int spex_fleet_check(int argc, char **argv);
int spex_fleet_simulate(int argc, char **argv);
int spex_fleet_master(int argc, char **argv);
int spex_fleet_status(int argc, char **argv);
int spex_fleet_why(int argc, char **argv);
int spex_fleet_history(int argc, char **argv);
int spex_fleet_models(int argc, char **argv);

/* Reads a policy: an exit status, after a message unless it is SPEX_EXIT_OK. */
int spex_fleet_policy_argument(const char *path, struct spex_fleet_policy **policy);

/* An exit status: that of writing where `status` is SPEX_EXIT_OK. */
int spex_fleet_flush(int status);

/* Print what a simulation has shown. An exit status. `why`: an instance that is to be explained; 0:
 * none. */
int spex_fleet_print_simulation(const struct spex_fleet_map *map,
                                const struct spex_simulation *simulation, uint64_t why, bool json);

#endif
