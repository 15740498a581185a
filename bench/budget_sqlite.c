/* SPDX-License-Identifier: MIT */
/* A database in memory: mostly queries for one row by its key, some for the sum over two
 * hundred rows. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sqlite3.h>

#include <spex/probe.h>

#include "budget_random.h"
#include "budget_workload.h"

enum { QUERY = 21, STEP, RESULT };
SPEX_PROBE_NAME(QUERY, "query");
SPEX_PROBE_NAME(STEP, "step");
SPEX_PROBE_NAME(RESULT, "result");

enum {
    ROWS = 100000,
    RANGE_ROWS = 200,
    POINTS = 15, /* queries for one row, for each query for a range */
};

struct database {
    sqlite3 *db;
    sqlite3_stmt *point, *range;
    uint64_t random;
    double sum;
};

static const char fill_sql[] =
    "CREATE TABLE accounts (id INTEGER PRIMARY KEY, holder TEXT, balance REAL);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
    " INSERT INTO accounts SELECT i, printf('holder %%d', i * 7919 %% 1000003), i * 0.25 FROM n;";

static void *sqlite_prepare(void) {
    struct database *database = calloc(1, sizeof(*database));
    char sql[sizeof(fill_sql) + 16];
    snprintf(sql, sizeof(sql), fill_sql, ROWS);
    if (!database)
        err(1, "sqlite");
    database->random = 1;
    if (sqlite3_open(":memory:", &database->db) != SQLITE_OK ||
        sqlite3_exec(database->db, sql, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(database->db, "SELECT holder, balance FROM accounts WHERE id = ?1", -1,
                           &database->point, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(database->db,
                           "SELECT holder, balance FROM accounts WHERE id BETWEEN ?1 AND ?2", -1,
                           &database->range, NULL) != SQLITE_OK)
        errx(1, "sqlite: %s", sqlite3_errmsg(database->db));
    return database;
}

static int statement_step(sqlite3_stmt *statement) {
    SPEX_LAT_PROBE_BEGIN(STEP, 1);
    int result = sqlite3_step(statement);
    SPEX_LAT_PROBE_END(STEP);
    return result;
}

static void database_query(struct database *database, sqlite3_stmt *statement, int first,
                           int last) {
    unsigned rows = 0, bytes = 0;
    SPEX_LAT_PROBE_BEGIN(QUERY, 1);
    sqlite3_bind_int(statement, 1, first);
    if (last > first)
        sqlite3_bind_int(statement, 2, last);
    while (statement_step(statement) == SQLITE_ROW) {
        bytes += (unsigned)sqlite3_column_bytes(statement, 0);
        database->sum += sqlite3_column_double(statement, 1);
        rows++;
    }
    sqlite3_reset(statement);
    SPEX_LAT_PROBE_END(QUERY);
    SPEX_SNAPSHOT_PROBE(RESULT, 1, rows, bytes);
}

static unsigned sqlite_work(void *state) {
    struct database *database = state;
    for (unsigned p = 0; p < POINTS; p++) {
        int id = 1 + (int)budget_random(&database->random, ROWS);
        database_query(database, database->point, id, id);
    }
    int first = 1 + (int)budget_random(&database->random, ROWS - RANGE_ROWS);
    database_query(database, database->range, first, first + RANGE_ROWS - 1);
    return POINTS + 1;
}

const struct budget_workload budget_sqlite = {
    .name = "sqlite", .prepare = sqlite_prepare, .work = sqlite_work};
