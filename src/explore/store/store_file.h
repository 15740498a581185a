/* SPDX-License-Identifier: MIT */
/* The inside of the store: SQLite's handle and helpers for statements. */
#ifndef SPEX_EXPLORE_STORE_STORE_FILE_H
#define SPEX_EXPLORE_STORE_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "text/error.h"

/* Most statements that are kept prepared. */
#define SPEX_STORE_KEPT_MAX 24

struct spex_store_kept {
    const char *sql;
    sqlite3_stmt *statement;
};

struct spex_store {
    char *path;
    /* File descriptor with the writer's lock. It is closed after `db`, since closing any descriptor
     * of a file releases the locks that SQLite has on it. */
    int lock;
    sqlite3 *db;
    struct spex_store_kept kept[SPEX_STORE_KEPT_MAX];
    size_t kept_count;
    uint64_t synced_ns; /* CLOCK_MONOTONIC time of the last synchronisation */
    bool syncs;         /* the current transaction will be synchronised */
    int64_t machine;    /* row of the machine of new trials */
    char *space;
    char *identity;
    char *policy;
    char *program;
};

/* Reports SQLite's last error as an errno value and "cannot WHAT FILE: …". */
int spex_store_fail(const struct spex_store *store, const char *what, struct spex_error *error);

int spex_store_execute(struct spex_store *store, const char *sql, const char *what,
                       struct spex_error *error);

/* The statement is the caller's, to be finalised. */
int spex_store_prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                       struct spex_error *error);

/* The same, prepared once and owned by the store; `sql` has to be the same literal each time. To be
 * reset after use. */
int spex_store_keep(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                    struct spex_error *error);

/* Runs a statement that returns no rows, and resets it with its bindings. */
int spex_store_put_row(struct spex_store *store, sqlite3_stmt *statement, struct spex_error *error);

/* Sets *value to the first column of the only row. */
int spex_store_integer(struct spex_store *store, const char *sql, int64_t *value,
                       struct spex_error *error);

/* A copy of a text column, to be freed; NULL for NULL or when out of memory. It is printable,
 * whoever wrote the store. */
char *spex_store_text(sqlite3_stmt *statement, int column);

/* The same with all bytes as they are stored, for what is compared or parsed, and not shown. */
char *spex_store_bytes(sqlite3_stmt *statement, int column);

#endif
