/* SPDX-License-Identifier: MIT */
/* The lines below a profile's table: what its figures rest on. */
#ifndef SPEX_PROFILE_TABLE_NOTES_H
#define SPEX_PROFILE_TABLE_NOTES_H

#include <stdio.h>

#include "profile/profile.h"

void spex_table_notes(FILE *file, const struct spex_profile *profile);

#endif
