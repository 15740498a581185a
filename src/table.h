/* SPDX-License-Identifier: MIT */
/* The table sink: metrics computed inside the program and printed when spex stops. */
#ifndef SPEX_TABLE_H
#define SPEX_TABLE_H

#include "sinks.h"

/* `out`: "-" for standard output, NULL for standard error, else a file to be written at the end.
 * 0, or a negative errno value with one line on standard error. */
int spex_table_open(const char *out, struct spex_sink **sink);

#endif
