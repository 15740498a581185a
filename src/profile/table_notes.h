/* SPDX-License-Identifier: MIT */
/* Prints the lines below a profile's table: losses, rings, costs, overhead, budget and marks. */
#ifndef SPEX_PROFILE_TABLE_NOTES_H
#define SPEX_PROFILE_TABLE_NOTES_H

#include <stdio.h>

#include "profile/profile.h"

void spex_table_notes(FILE *file, const struct spex_profile *profile);

#endif
