/* SPDX-License-Identifier: MIT */
/* Reads tables of comma-separated values (RFC 4180): a line of names, then a row a line. A value may
 * be in quotes, lines may end in CRLF, blanks around values do not count, and blank lines are
 * skipped. */
#ifndef SPEX_EXPLORE_SPACE_TABLE_H
#define SPEX_EXPLORE_SPACE_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "text/error.h"

/* Larger files are refused. */
#define SPEX_TABLE_BYTES_MAX (8 << 20)

struct spex_table {
    const char *path;   /* for messages; not owned */
    const char **cells; /* the names, then the values of each row; in `text` */
    size_t *lines;      /* of the names and of each row */
    size_t columns;
    size_t rows; /* without the names */
    char *text;
};

/* Reads a file. *whole is its text, to be freed; NULL: not wanted. `path` has to stay as
 * long as the table, which is to be freed in any case. 0; -EINVAL: it is no table; or another
 * negative errno value, with a line in `error`. */
int spex_table_read(struct spex_table *table, const char *path, char **whole,
                    struct spex_error *error);

/* The same from a text that begins in line `line` of the file. */
int spex_table_parse(struct spex_table *table, const char *path, size_t line, const char *text,
                     struct spex_error *error);

void spex_table_free(struct spex_table *table);

static inline const char *spex_table_name(const struct spex_table *table, size_t column) {
    return table->cells[column];
}

static inline const char *spex_table_cell(const struct spex_table *table, size_t row,
                                          size_t column) {
    return table->cells[(row + 1) * table->columns + column];
}

/* Sets the error to "FILE:LINE: column N (NAME): …"; row -1 is that of the names. */
#define SPEX_TABLE_NAMES ((size_t)-1)
__attribute__((format(printf, 5, 6))) int spex_table_fail(const struct spex_table *table,
                                                          size_t row, size_t column,
                                                          struct spex_error *error,
                                                          const char *format, ...);

/* Writes a <parameter> of a space for the column, a line: of kind integer or real where all values
 * are numbers, and else categorical, with the values that occur. */
int spex_table_write_parameter(const struct spex_table *table, size_t column, FILE *out,
                               struct spex_error *error);

#endif
