/* SPDX-License-Identifier: MIT */
/* What the files that write and read a store share. */
#ifndef SPEX_TOOLS_FLEET_FLEET_STORE_FILE_H
#define SPEX_TOOLS_FLEET_FLEET_STORE_FILE_H

#include <sqlite3.h>

#include "tools/fleet/fleet_store.h"

struct spex_fleet_store {
    sqlite3 *db;
    char *path, *fleet;
    sqlite3_int64 run;
    /* Records and executions of each probe in the last snapshot. */
    struct {
        uint64_t records;
        double count;
    } last[SPEX_FLEET_PROBES_MAX];
};

/* -EINVAL with what SQLite says. */
int spex_fleet_store_failed(const struct spex_fleet_store *store, struct spex_error *error);

/* 0 or -EINVAL with the reason. */
int spex_fleet_store_execute(struct spex_fleet_store *store, const char *sql,
                             struct spex_error *error);

#endif
