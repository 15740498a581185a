/* SPDX-License-Identifier: MIT */
/* Tables as text with commas (RFC 4180), strictly: each cell with the place it was found at. Lines end
 * in LF or CR LF, empty ones are passed over; blanks around a cell that is not quoted are no part of
 * it. */
#ifndef SPEX_CSV_H
#define SPEX_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "why.h"

struct spex_csv_cell {
    char *text;
    unsigned line, column; /* from 1 on; characters, not bytes */
    bool ends_row;
};

struct spex_csv {
    const char *name; /* of the source, for messages */
    char *text;
    struct spex_csv_cell *cells; /* row by row */
    size_t count;
};

/* Takes `text`, which was allocated and is zero-terminated at `length`; also when it fails. 0, -EINVAL,
 * -ENOMEM. */
int spex_csv_parse(struct spex_csv *csv, const char *name, char *text, size_t length,
                   struct spex_why *why);

/* The file at `path`, or standard input for "-". Or another negative errno value. */
int spex_csv_read(struct spex_csv *csv, const char *path, struct spex_why *why);

/* "FILE:LINE:COLUMN: …": what is wrong with a cell. -EINVAL. */
__attribute__((format(printf, 4, 5))) int spex_csv_complain(const struct spex_csv *csv,
                                                            const struct spex_csv_cell *cell,
                                                            struct spex_why *why,
                                                            const char *format, ...);

/* Decimal, 0 or more, as strtod takes it in the C locale, but no sign, no infinity and nothing hexadecimal. */
bool spex_csv_number(const char *text, double *value);

void spex_csv_free(struct spex_csv *csv);

#endif
