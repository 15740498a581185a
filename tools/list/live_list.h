/* SPDX-License-Identifier: MIT */
/* Prints the probe sites of a running program, with their state and their figures. */
#ifndef SPEX_TOOLS_LIST_LIVE_LIST_H
#define SPEX_TOOLS_LIST_LIVE_LIST_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "profile/profile.h"

/* `profile` was received from the program. `all`: however wide that is. 0, -ENOMEM, or the negative errno value of writing. */
int spex_live_list_print(const struct spex_profile *profile, bool all, FILE *out);
int spex_live_list_print_json(const struct spex_profile *profile, FILE *out);

/* The same JSON as an object; NULL: out of memory. */
json_t *spex_live_list_json(const struct spex_profile *profile);

#endif
