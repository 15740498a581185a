/* SPDX-License-Identifier: MIT */
/* Inside of the store: the file, shared by what opens it and what puts trials in and takes them out. */
#ifndef SPEX_STORE_FILE_H
#define SPEX_STORE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "why.h"

#define SPEX_STORE_USAGE_READINGS 3

struct spex_store {
    char *path;
    int lock; /* descriptor that holds the writer's lock; must outlive `db`, whose own locks on the
                 same file any close of ours would drop */
    sqlite3 *db;
    sqlite3_stmt *
        usage[SPEX_STORE_USAGE_READINGS]; /* prepared once: there are thousands of trials to read */
    int64_t machine;                      /* row of what is put in */
    char *space;
    char *identity;
    char *policy;
    char *program;
};

/* What SQLite last complained of, as an errno value and a line: "cannot WHAT FILE: …". */
int spex_store_fail(const struct spex_store *store, const char *what, struct spex_why *why);

int spex_store_execute(struct spex_store *store, const char *sql, const char *what,
                       struct spex_why *why);

int spex_store_prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                       struct spex_why *why);

/* Whether the file has this table: versions of spex differ in what they keep. 0 or what went wrong. */
int spex_store_has_table(struct spex_store *store, const char *table, bool *has,
                         struct spex_why *why);

/* A copy, to be freed; NULL for NULL. */
char *spex_store_text(sqlite3_stmt *statement, int column);

#endif
