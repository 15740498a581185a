/* SPDX-License-Identifier: MIT */
/* Inside of the store: the file as SQLite has it, and the statements that are run on it. */
#ifndef SPEX_EXPLORE_STORE_STORE_FILE_H
#define SPEX_EXPLORE_STORE_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "text/error.h"

/* Statements that are used for every trial. */
#define SPEX_STORE_KEPT_MAX 24

struct spex_store_kept {
    const char *sql;
    sqlite3_stmt *statement;
};

struct spex_store {
    char *path;
    /* Descriptor that holds the writer's lock. It must outlive `db`: to close it drops the locks
     * that `db` has on the same file. */
    int lock;
    sqlite3 *db;
    struct spex_store_kept kept[SPEX_STORE_KEPT_MAX];
    size_t kept_count;
    uint64_t synced_ns; /* when a trial was last put on the disk at once; CLOCK_MONOTONIC */
    bool syncs;         /* what is written now will be */
    int64_t machine;    /* row of what is put in */
    char *space;
    char *identity;
    char *policy;
    char *program;
};

/* What SQLite last complained of, as an errno value and a line: "cannot WHAT FILE: …". */
int spex_store_fail(const struct spex_store *store, const char *what, struct spex_error *error);

int spex_store_execute(struct spex_store *store, const char *sql, const char *what,
                       struct spex_error *error);

int spex_store_prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                       struct spex_error *error);

/* The same, prepared once; `sql` has to be the same literal each time. It is the store's, and to be
 * reset after use. */
int spex_store_keep(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                    struct spex_error *error);

/* Runs a statement that gives no rows, and makes it ready for the next time. */
int spex_store_put_row(struct spex_store *store, sqlite3_stmt *statement, struct spex_error *error);

/* Whether the file has this table: versions of spex differ in what they keep. 0 or what went
 * wrong. */
int spex_store_has_table(struct spex_store *store, const char *table, bool *has,
                         struct spex_error *error);

/* The first column of the only row. */
int spex_store_integer(struct spex_store *store, const char *sql, int64_t *value,
                       struct spex_error *error);

/* A copy, to be freed; NULL for NULL. */
char *spex_store_text(sqlite3_stmt *statement, int column);

#endif
