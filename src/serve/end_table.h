/* SPDX-License-Identifier: MIT */
/* The table that this process prints when spex stops. */
#ifndef SPEX_SERVE_END_TABLE_H
#define SPEX_SERVE_END_TABLE_H

#include <stdbool.h>

struct spex_end_table;

/* `out`: "-" for standard output, NULL for standard error, else a file, which is made or emptied
 * now, so that a file that cannot be written is noticed at once: one line says so, and the table
 * goes to standard error. `verbose`: with all notes. 0 or -ENOMEM. */
int spex_end_table_open(const char *out, bool verbose, struct spex_end_table **output);

/* Prints the table, and frees `output`. */
void spex_end_table_finish(struct spex_end_table *output);

/* Frees it, in the child of a fork. */
void spex_end_table_abandon(struct spex_end_table *output);

#endif
