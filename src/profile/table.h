/* SPDX-License-Identifier: MIT */
/* A profile as a table for people. */
#ifndef SPEX_PROFILE_TABLE_H
#define SPEX_PROFILE_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

void spex_table_print(FILE *file, const struct spex_profile *profile);

/* The name of a probe's `n`th value: "time", "faults", "misses", "v0". */
const char *spex_value_name(uint32_t probe_type, unsigned n);

#endif
