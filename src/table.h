/* SPDX-License-Identifier: MIT */
/* A profile as a table for people. */
#ifndef SPEX_TABLE_H
#define SPEX_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile.h"

void spex_table_print(FILE *file, const struct spex_profile *profile);

/* Below it: what its figures rest on. */
void spex_table_notes(FILE *file, const struct spex_profile *profile);

/* Four significant digits at least, and a unit; returns `text`. */
const char *spex_duration_text(double seconds, char *text, size_t size);

/* A probe's name, or its id, without control characters; returns `text`. */
const char *spex_probe_text(const struct spex_profile_probe *probe, char *text, size_t size);

/* The name of a probe's `n`th value: "time", "faults", "misses", "v0". */
const char *spex_value_name(uint32_t probe_type, unsigned n);

#endif
