/* SPDX-License-Identifier: MIT */
/* Reads tables in the CSV format (RFC 4180) strictly, and keeps the position of each cell for
 * messages. Lines end in LF or CR LF. Empty lines are skipped. Blanks around a cell without quotes
 * are not part of it. */
#ifndef SPEX_TOOLS_COMMON_CSV_H
#define SPEX_TOOLS_COMMON_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "text/error.h"

struct spex_csv_cell {
    char *text;
    /* Position of the cell, from 1 on; columns count characters, not bytes. */
    unsigned line, column;
    bool ends_row;
};

struct spex_csv {
    /* The name of the source, for messages. */
    const char *name;
    char *text;
    /* Row by row. */
    struct spex_csv_cell *cells;
    size_t count;
};

/* Owns `text` from here on, also on failure; it was allocated and is zero-terminated at `length`.
 * 0, -EINVAL or -ENOMEM. */
int spex_csv_parse(struct spex_csv *csv, const char *name, char *text, size_t length,
                   struct spex_error *error);

/* The file at `path`, or standard input for "-". As above, or another negative errno value. */
int spex_csv_read(struct spex_csv *csv, const char *path, struct spex_error *error);

/* Sets the message about a cell, "FILE:LINE:COLUMN: …". Returns -EINVAL. */
__attribute__((format(printf, 4, 5))) int spex_csv_complain(const struct spex_csv *csv,
                                                            const struct spex_csv_cell *cell,
                                                            struct spex_error *error,
                                                            const char *format, ...);

/* A finite decimal number without a sign, "2", "0.25" or "1e-3". */
bool spex_csv_number(const char *text, double *value);

void spex_csv_free(struct spex_csv *csv);

#endif
