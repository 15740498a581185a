/* SPDX-License-Identifier: MIT */
#include "query.h"

#include <err.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <spex/probe.h>

#include "random.h"

#define LOCKED_RETRIES 1000

static const char mean_passengers[] = "SELECT avg(passenger_count) FROM trips"
                                      " WHERE pickup_longitude >= ? AND pickup_longitude <= ?"
                                      " AND pickup_latitude >= ? AND pickup_latitude <= ?";

struct area {
    double west, east, south, north; /* degrees, in the order of the query's constraints */
};

struct connection {
    sqlite3 *db;
    sqlite3_stmt *statement;
    uint64_t random;
    unsigned next; /* of areas[]; they are shuffled when it gets to the end */
    struct area areas[AREA_COUNT];
};

bool query_setup(void) {
    if (sqlite3_config(SQLITE_CONFIG_MULTITHREAD) == SQLITE_OK &&
        sqlite3_initialize() == SQLITE_OK && sqlite3_threadsafe())
        return true;
    warnx("this SQLite cannot be used by several threads");
    return false;
}

static bool set_pragma(sqlite3 *db, const char *name, int64_t wanted) {
    char sql[96];
    int64_t actual = -1;
    snprintf(sql, sizeof(sql), "PRAGMA %s = %" PRId64, name, wanted);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        warnx("%s: %s", sql, sqlite3_errmsg(db));
        return false;
    }
    snprintf(sql, sizeof(sql), "PRAGMA %s", name);
    if (database_integer(db, sql, &actual) && actual == wanted)
        return true;
    warnx("PRAGMA %s: wanted %" PRId64 ", but SQLite has %" PRId64, name, wanted, actual);
    return false;
}

static bool configure(sqlite3 *db, const struct tuning *tuning, int64_t page_size) {
    return set_pragma(db, "cache_size", tuning->cache_mb * (1 << 20) / page_size) &&
           set_pragma(db, "mmap_size", tuning->mmap_mb * (1 << 20));
}

static bool load_areas(struct connection *connection) {
    sqlite3_stmt *statement = NULL;
    unsigned count = 0;
    sqlite3_prepare_v2(connection->db, "SELECT west, east, south, north FROM areas", -1, &statement,
                       NULL);
    while (count < AREA_COUNT && sqlite3_step(statement) == SQLITE_ROW) {
        struct area *area = &connection->areas[count++];
        area->west = sqlite3_column_double(statement, 0);
        area->east = sqlite3_column_double(statement, 1);
        area->south = sqlite3_column_double(statement, 2);
        area->north = sqlite3_column_double(statement, 3);
    }
    sqlite3_finalize(statement);
    connection->next = AREA_COUNT;
    return count == AREA_COUNT;
}

static bool prepare(struct connection *connection, const char *path) {
    if (load_areas(connection) && sqlite3_prepare_v2(connection->db, mean_passengers, -1,
                                                     &connection->statement, NULL) == SQLITE_OK)
        return true;
    warnx("%s: %s", path, sqlite3_errmsg(connection->db));
    return false;
}

static bool open_file(struct connection *connection, const struct database *database,
                      const char *path, bool shared) {
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX |
                (shared ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE);
    if (access(path, F_OK) != 0) {
        warnx("there is no %s; make it with: taxi --make %" PRId64 " --rows %" PRId64
              " --db-dir %s",
              path, database->page_size, database->rows, database->dir);
        return false;
    }
    if (sqlite3_open_v2(path, &connection->db, flags, NULL) == SQLITE_OK)
        return true;
    warnx("cannot open %s: %s", path, sqlite3_errmsg(connection->db));
    return false;
}

struct connection *connection_open(const struct database *database, const struct tuning *tuning,
                                   uint64_t number) {
    char path[4096];
    struct connection *connection = calloc(1, sizeof(*connection));
    if (!connection) {
        warnx("out of memory");
        return NULL;
    }
    connection->random = number;
    if (database_path(database, path, sizeof(path)) &&
        open_file(connection, database, path, tuning->shared) &&
        database_check(database, connection->db, path) &&
        configure(connection->db, tuning, database->page_size) && prepare(connection, path))
        return connection;
    connection_close(connection);
    return NULL;
}

void connection_close(struct connection *connection) {
    if (!connection)
        return;
    sqlite3_finalize(connection->statement);
    sqlite3_close(connection->db);
    free(connection);
}

/* SQLite charges a connection with its part of a shared cache. */
bool connection_check_sharing(struct connection *connection, size_t count, bool shared) {
    int all = 0, part = 0, unused;
    sqlite3_db_status(connection->db, SQLITE_DBSTATUS_CACHE_USED, &all, &unused, 0);
    sqlite3_db_status(connection->db, SQLITE_DBSTATUS_CACHE_USED_SHARED, &part, &unused, 0);
    if (count == 1 || (part < all) == shared)
        return true;
    warnx("this SQLite %s the cache among connections", shared ? "does not share" : "shares");
    return false;
}

static const struct area *next_area(struct connection *connection) {
    struct area *areas = connection->areas;
    if (connection->next == AREA_COUNT) {
        for (uint32_t i = AREA_COUNT - 1; i > 0; i--) {
            uint32_t other = random_below(&connection->random, i + 1);
            struct area area = areas[i];
            areas[i] = areas[other];
            areas[other] = area;
        }
        connection->next = 0;
    }
    return &areas[connection->next++];
}

/* One execution of the query, again if a lock was in the way: nobody writes, but another connection
 * may be reading the schema. */
static int execute(sqlite3_stmt *statement, const struct area *area) {
    int result = SQLITE_BUSY;
    sqlite3_bind_double(statement, 1, area->west);
    sqlite3_bind_double(statement, 2, area->east);
    sqlite3_bind_double(statement, 3, area->south);
    sqlite3_bind_double(statement, 4, area->north);
    for (int try = 0; try < LOCKED_RETRIES; try++) {
        result = sqlite3_step(statement);
        if (result != SQLITE_BUSY && result != SQLITE_LOCKED)
            break;
        sqlite3_reset(statement);
        sched_yield();
    }
    /* No trips at all give a null. */
    if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_FLOAT)
        result = SQLITE_MISMATCH;
    sqlite3_reset(statement);
    return result;
}

static bool succeeded(int result) {
    if (result == SQLITE_ROW)
        return true;
    warnx("the query failed: %s", sqlite3_errstr(result));
    return false;
}

bool connection_warm(struct connection *connection) {
    for (unsigned i = 0; i < AREA_COUNT; i++)
        if (!succeeded(execute(connection->statement, &connection->areas[i])))
            return false;
    return true;
}

bool connection_query(struct connection *connection) {
    const struct area *area = next_area(connection);
    SPEX_TPT_BEGIN(query);
    int result = execute(connection->statement, area);
    SPEX_TPT_END(query);
    return succeeded(result);
}
