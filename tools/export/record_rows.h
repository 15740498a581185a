/* SPDX-License-Identifier: MIT */
/* Rows of the database's table `record` before they are inserted, as a virtual table of SQLite:
 * `INSERT INTO record SELECT * FROM rows` takes half of the time that a statement for each row
 * does. */
#ifndef SPEX_TOOLS_EXPORT_RECORD_ROWS_H
#define SPEX_TOOLS_EXPORT_RECORD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include <spex/record.h>

/* Columns of `record`. */
enum spex_record_column {
    SPEX_ROW_TIME,
    SPEX_ROW_PROBE,
    SPEX_ROW_THREAD,
    SPEX_ROW_CPU,
    SPEX_ROW_WEIGHT,
    SPEX_ROW_LOST,
    SPEX_ROW_DURATION,
    SPEX_ROW_CONTEXT,
    SPEX_ROW_VALUES,
    SPEX_ROW_COLUMNS = SPEX_ROW_VALUES + SPEX_MAX_FIELDS
};

_Static_assert(SPEX_ROW_COLUMNS <= 32, "a bit for each column");

enum { SPEX_ROWS_MAX = 1024 };

struct spex_record_row {
    /* By column; the time is signed. */
    uint64_t cells[SPEX_ROW_COLUMNS];
    /* A bit for each column that is not NULL. */
    uint32_t known;
    /* Those of the values, two bits each (enum spex_kind). */
    uint32_t kinds;
};

struct spex_record_rows {
    size_t count;
    struct spex_record_row rows[SPEX_ROWS_MAX];
};

static inline void spex_record_row_set(struct spex_record_row *row, unsigned column,
                                       uint64_t cell) {
    row->cells[column] = cell;
    row->known |= UINT32_C(1) << column;
}

/* Makes the rows the virtual table `rows` of the connection, with the columns that `declaration`, a
 * CREATE TABLE, has; both are used until it is closed. A result code of SQLite. */
int spex_record_rows_attach(struct spex_record_rows *rows, sqlite3 *db, const char *declaration);

#endif
