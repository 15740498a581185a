/* SPDX-License-Identifier: MIT */
/* Below the table: what its figures rest on. */
#ifndef SPEX_TABLE_NOTES_H
#define SPEX_TABLE_NOTES_H

#include <stdio.h>

#include "tracer.h"

void spex_table_notes(FILE *file, const struct spex_tracer *tracer, double ticks_per_second);

#endif
