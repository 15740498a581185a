/* SPDX-License-Identifier: MIT */
/* Prints the lines below a profile's table: costs, losses, and what makes figures untrue. */
#ifndef SPEX_PROFILE_TABLE_NOTES_H
#define SPEX_PROFILE_TABLE_NOTES_H

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

/* `verbose`: also tells how records are made, and how costs and figures were calculated. */
void spex_table_notes(FILE *file, const struct spex_profile *profile, bool verbose);

#endif
