/* SPDX-License-Identifier: MIT */
/* The database files: one per page size and number of rows, since a database's page size is settled
 * when it is made. Functions that fail have said why in one line on standard error. */
#ifndef TAXI_DATABASE_H
#define TAXI_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#define AREA_COUNT 20 /* rows of the table `areas`: rectangles to query, all of the same cost */

struct database {
    const char *dir;
    int64_t page_size; /* in bytes */
    int64_t rows;
};

/* Writes the file's path; false when it is too long. */
bool database_path(const struct database *database, char *path, size_t size);

/* Makes the file, unless it is there and whole. */
bool database_make(const struct database *database);

/* Whether an open file is what its name says. */
bool database_check(const struct database *database, sqlite3 *db, const char *path);

/* The single integer that a statement gives; false with SQLite's reason in `db` when it gives none.
 */
bool database_integer(sqlite3 *db, const char *sql, int64_t *value);

#endif
