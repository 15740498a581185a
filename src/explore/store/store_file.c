/* SPDX-License-Identifier: MIT */
/* Helpers for SQLite: errors, and statements that are kept prepared. Every error becomes a negative
 * errno value with a line that names the store. */
#include "explore/store/store_file.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "text/printable.h"

/* The system's own error is told where SQLite has one, because "disk I/O error" does not say what
 * to do. */
int spex_store_fail(const struct spex_store *store, const char *what, struct spex_error *error) {
    int code = sqlite3_errcode(store->db) & 0xff;
    int err = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
    int system = sqlite3_system_errno(store->db);
    if (code == SQLITE_NOTADB)
        return spex_fail(error, -EEXIST, "%s is no store of spex", store->path);
    if ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) && system)
        return spex_fail(error, -system, "cannot %s %s: %s", what, store->path, strerror(system));
    return spex_fail(error, err, "cannot %s %s: %s", what, store->path, sqlite3_errmsg(store->db));
}

int spex_store_execute(struct spex_store *store, const char *sql, const char *what,
                       struct spex_error *error) {
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return spex_store_fail(store, what, error);
}

int spex_store_prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                       struct spex_error *error) {
    if (sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK)
        return 0;
    return spex_store_fail(store, "use", error);
}

/* `sql` is compared by its address: it must be a constant. */
int spex_store_keep(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                    struct spex_error *error) {
    size_t k = 0;
    while (k < store->kept_count && store->kept[k].sql != sql)
        k++;
    if (k == store->kept_count) {
        assert(k < SPEX_STORE_KEPT_MAX);
        if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                               &store->kept[k].statement, NULL) != SQLITE_OK)
            return spex_store_fail(store, "use", error);
        store->kept[k].sql = sql;
        store->kept_count++;
    }
    *statement = store->kept[k].statement;
    return 0;
}

/* Leaves the statement without values: those that the next row does not bind are NULL. */
int spex_store_put_row(struct spex_store *store, sqlite3_stmt *statement,
                       struct spex_error *error) {
    int err = sqlite3_step(statement) == SQLITE_DONE
                  ? 0
                  : spex_store_fail(store, "write to the store", error);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return err;
}

/* A query without a row is an error. */
int spex_store_integer(struct spex_store *store, const char *sql, int64_t *value,
                       struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_prepare(store, sql, &statement, error);
    if (!err && sqlite3_step(statement) != SQLITE_ROW)
        err = spex_store_fail(store, "read", error);
    if (!err)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return err;
}

/* NULL: the column is NULL, or out of memory. */
char *spex_store_text(sqlite3_stmt *statement, int column) {
    char *text = spex_store_bytes(statement, column);
    if (text)
        spex_make_printable(text);
    return text;
}

char *spex_store_bytes(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? strdup(text) : NULL;
}
