/* SPDX-License-Identifier: MIT */
/* A virtual table with what SQLite needs to read it from the first row to the last. It exists
 * without a CREATE VIRTUAL TABLE, as there is no xCreate, so the file knows nothing of it. */
#include "tools/export/record_rows.h"

#include <stdlib.h>

#include "ring/field_value.h"

struct table {
    sqlite3_vtab base;
    const struct spex_record_rows *rows;
};

struct cursor {
    sqlite3_vtab_cursor base;
    const struct spex_record_rows *rows;
    size_t at;
};

/* What is attached: the module's data. */
struct attached {
    const struct spex_record_rows *rows;
    const char *declaration;
};

static int table_connect(sqlite3 *db, void *data, int argc, const char *const *argv,
                         sqlite3_vtab **made, char **error) {
    const struct attached *attached = data;
    struct table *table = calloc(1, sizeof(*table));
    (void)argc, (void)argv, (void)error;
    if (!table)
        return SQLITE_NOMEM;
    table->rows = attached->rows;
    *made = &table->base;
    int result = sqlite3_declare_vtab(db, attached->declaration);
    if (result != SQLITE_OK)
        free(table);
    return result;
}

static int table_disconnect(sqlite3_vtab *table) {
    free(table);
    return SQLITE_OK;
}

/* There is one way to read the table. */
static int table_plan(sqlite3_vtab *table, sqlite3_index_info *info) {
    (void)table, (void)info;
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *table, sqlite3_vtab_cursor **made) {
    struct cursor *cursor = calloc(1, sizeof(*cursor));
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->rows = ((const struct table *)table)->rows;
    *made = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor) {
    free(cursor);
    return SQLITE_OK;
}

static int cursor_begin(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                        sqlite3_value **argv) {
    (void)plan, (void)text, (void)argc, (void)argv;
    ((struct cursor *)cursor)->at = 0;
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor) {
    ((struct cursor *)cursor)->at++;
    return SQLITE_OK;
}

static int cursor_is_behind(sqlite3_vtab_cursor *cursor) {
    const struct cursor *of = (const struct cursor *)cursor;
    return of->at >= of->rows->count;
}

/* A column without a result is NULL, as is one that is no number. SQLite's integers are signed: a
 * value of 2^63 and more is a real. */
static int cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const struct cursor *of = (const struct cursor *)cursor;
    const struct spex_record_row *row = &of->rows->rows[of->at];
    uint64_t cell = row->cells[column];
    if (!(row->known >> column & 1))
        return SQLITE_OK;
    unsigned kind = column < SPEX_ROW_VALUES
                        ? SPEX_KIND_UNSIGNED
                        : spex_kind_at(row->kinds, (unsigned)column - SPEX_ROW_VALUES);
    if (kind == SPEX_KIND_FLOATING)
        sqlite3_result_double(context, spex_bits_double(cell));
    else if (column == SPEX_ROW_TIME || kind == SPEX_KIND_SIGNED || cell <= INT64_MAX)
        sqlite3_result_int64(context, (sqlite3_int64)cell);
    else
        sqlite3_result_double(context, (double)cell);
    return SQLITE_OK;
}

static int cursor_row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number) {
    *number = (sqlite3_int64)((const struct cursor *)cursor)->at;
    return SQLITE_OK;
}

int spex_record_rows_attach(struct spex_record_rows *rows, sqlite3 *db, const char *declaration) {
    static const sqlite3_module module = {.iVersion = 1,
                                          .xConnect = table_connect,
                                          .xBestIndex = table_plan,
                                          .xDisconnect = table_disconnect,
                                          .xOpen = cursor_open,
                                          .xClose = cursor_close,
                                          .xFilter = cursor_begin,
                                          .xNext = cursor_next,
                                          .xEof = cursor_is_behind,
                                          .xColumn = cursor_column,
                                          .xRowid = cursor_row_number};
    struct attached *attached = malloc(sizeof(*attached));
    if (!attached)
        return SQLITE_NOMEM;
    *attached = (struct attached){rows, declaration};
    return sqlite3_create_module_v2(db, "rows", &module, attached, free);
}
