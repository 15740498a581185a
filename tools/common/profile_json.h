/* SPDX-License-Identifier: MIT */
/* A profile as JSON. Times are in seconds; an unknown figure is null. */
#ifndef SPEX_TOOLS_COMMON_PROFILE_JSON_H
#define SPEX_TOOLS_COMMON_PROFILE_JSON_H

#include <jansson.h>

#include "profile/profile.h"

/* An object with "seconds", …, "records", "probes" and "types". NULL: out of memory. */
json_t *spex_profile_json(const struct spex_profile *profile);

/* An element of "probes". */
json_t *spex_profile_row_json(const struct spex_profile *profile,
                              const struct spex_profile_row *row);

/* Adds to an object of a process what is leased, "leased" and "lease_seconds", if anything is. */
void spex_lease_json(json_t *json, const struct spex_profile_process *process);

#endif
