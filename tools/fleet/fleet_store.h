/* SPDX-License-Identifier: MIT */
/* The history of what a fleet has measured, in SQLite: snapshots of the sums, from which what was
 * measured between any two times follows. docs/fleet.md describes the tables. */
#ifndef SPEX_TOOLS_FLEET_FLEET_STORE_H
#define SPEX_TOOLS_FLEET_FLEET_STORE_H

#include "fleet/lead/fleet_kernels.h"
#include "fleet/lead/fleet_sums.h"

struct spex_fleet_store;

/* Opens a file for a master, which begins a run there, or, with `fleet` NULL, to read it. 0; or
 * -EINVAL with the reason. */
int spex_fleet_store_open(const char *path, const char *fleet, struct spex_fleet_store **store,
                          struct spex_error *error);
void spex_fleet_store_close(struct spex_fleet_store *store);

/* Writes a snapshot of the probes that have changed since the last one, and in place of what was
 * there the kernels of classes that have; `time` is in seconds since the epoch. All of it is
 * written or nothing. 0; -EINVAL or -ENOMEM with the reason. */
int spex_fleet_store_write(struct spex_fleet_store *store, double time,
                           const struct spex_fleet_sums *sums, struct spex_fleet_kernels *kernels,
                           struct spex_error *error);

/* Adds the kernels that were kept of the fleet, the newest ones first, as far as there is room. 0;
 * -EINVAL or -ENOMEM with the reason. */
int spex_fleet_store_read_kernels(struct spex_fleet_store *store, const char *fleet,
                                  struct spex_fleet_kernels *kernels, struct spex_error *error);

/* Adds to `sums` what was measured between these times, each probe of each run of a master as an
 * instance that stands for those that had told of it. Of a run it is what its snapshots differ by.
 * 0; -EINVAL or -ENOMEM with the reason. */
int spex_fleet_store_read(struct spex_fleet_store *store, double from, double to,
                          struct spex_fleet_sums *sums, struct spex_error *error);

#endif
