/* SPDX-License-Identifier: MIT */
/* Prints a profile as a table for people. Reads the profile alone, no state of the process. */
#ifndef SPEX_PROFILE_TABLE_H
#define SPEX_PROFILE_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

/* Prints the table and the notes below it. */
void spex_table_print(FILE *file, const struct spex_profile *profile);

/* The name of a probe's `n`th value: "time", "faults", "misses", "v0". */
const char *spex_value_name(uint32_t probe_type, unsigned n);

#endif
