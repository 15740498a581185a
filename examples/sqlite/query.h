/* SPDX-License-Identifier: MIT */
/* A thread's connection to the database and the query that it runs. Functions that fail have said
 * why in one line on standard error. */
#ifndef TAXI_QUERY_H
#define TAXI_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "database.h"

/* What the explored parameters stand for. */
struct tuning {
    int64_t cache_mb; /* of the shared cache, or of each private one */
    int64_t mmap_mb;
    bool shared;
};

struct connection;

/* Before anything else of SQLite: connections without mutexes, each used by one thread at a time.
 */
bool query_setup(void);

/* Opens and configures a connection. `number` decides the order in which it queries the areas. */
struct connection *connection_open(const struct database *database, const struct tuning *tuning,
                                   uint64_t number);
void connection_close(struct connection *connection);

/* Fills the cache with what the queries read; makes no records. */
bool connection_warm(struct connection *connection);

/* Whether SQLite shares the cache among `count` connections as it was told to. */
bool connection_check_sharing(struct connection *connection, size_t count, bool shared);

/* Runs the query for the next area. */
bool connection_query(struct connection *connection);

#endif
