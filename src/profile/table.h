/* SPDX-License-Identifier: MIT */
/* Prints a profile as a table for people. Reads the profile alone, no state of the process. */
#ifndef SPEX_PROFILE_TABLE_H
#define SPEX_PROFILE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

/* How a table is printed. */
struct spex_table_look {
    unsigned width; /* of the longest line; SPEX_WIDTH_LEAST at least (base/terminal.h) */
    bool verbose;   /* with all notes */
    bool counts;    /* what is counted leaves no records: nothing is said of them */
};

/* With the width of the stream's terminal, or of a text. */
struct spex_table_look spex_table_look(FILE *file, bool verbose);

/* Prints the table and the notes below it. */
void spex_table_print(FILE *file, const struct spex_profile *profile, struct spex_table_look look);

/* The name of a probe's `n`th value: "time", "faults", "misses", "v0". */
const char *spex_value_name(uint32_t probe_type, unsigned n);

/* What all places of a SNAPSHOT in the source call its values, "length, oldest"; NULL: another type, or
 * they differ, or do not fit. */
const char *spex_profile_value_names(const struct spex_profile *profile,
                                     const struct spex_profile_probe *probe);

/* The name of the `n`th value by these names, which may be NULL. The result may be in `name`. */
const char *spex_profile_value_name(const char *names, uint32_t probe_type, unsigned n,
                                    char name[SPEX_PROFILE_FILE_BYTES]);

#endif
