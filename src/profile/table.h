/* SPDX-License-Identifier: MIT */
/* Prints a profile as a table for people. Reads the profile alone, no state of the process. */
#ifndef SPEX_PROFILE_TABLE_H
#define SPEX_PROFILE_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

/* How a table is printed. */
struct spex_table_look {
    unsigned width; /* no line has more characters; SPEX_WIDTH_LEAST at least (base/terminal.h) */
};

/* As wide as the terminal to which the stream goes, or as a text. */
struct spex_table_look spex_table_look(FILE *file);

/* Prints the table and the notes below it. */
void spex_table_print(FILE *file, const struct spex_profile *profile, struct spex_table_look look);

/* The name of a probe's `n`th value: "time", "faults", "misses", "v0". */
const char *spex_value_name(uint32_t probe_type, unsigned n);

#endif
