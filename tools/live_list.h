/* SPDX-License-Identifier: MIT */
/* The probe sites of a running program, as a list to be shown: what they are, and what they do. */
#ifndef SPEX_LIVE_LIST_H
#define SPEX_LIVE_LIST_H

#include <stdio.h>

#include "profile.h"

/* `profile` is one that a command has received. 0, -ENOMEM, or what writing failed with. */
int spex_live_list_print(const struct spex_profile *profile, FILE *out);
int spex_live_list_print_json(const struct spex_profile *profile, FILE *out);

#endif
