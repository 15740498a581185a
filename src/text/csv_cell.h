/* SPDX-License-Identifier: MIT */
/* Writes cells of a CSV table (RFC 4180). Any thread. */
#ifndef SPEX_TEXT_CSV_CELL_H
#define SPEX_TEXT_CSV_CELL_H

#include <stdio.h>

/* Quotes a text that contains separators or quotes, which are doubled. */
void spex_csv_cell_text(FILE *out, const char *text);

/* An empty cell for a number that is not finite. */
void spex_csv_cell_number(FILE *out, double number);

#endif
