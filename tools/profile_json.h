/* SPDX-License-Identifier: MIT */
/* A profile as JSON. Times are in seconds; what is not known is null. */
#ifndef SPEX_PROFILE_JSON_H
#define SPEX_PROFILE_JSON_H

#include <jansson.h>

#include "profile.h"

/* An object of the profile's figures: "seconds", …, "records", "probes", "types". NULL when memory is short. */
json_t *spex_profile_json(const struct spex_profile *profile);

/* Its parts: an element of "probes", and of "types". */
json_t *spex_profile_row_json(const struct spex_profile *profile,
                              const struct spex_profile_row *row);
json_t *spex_profile_type_json(const struct spex_profile *profile,
                               const struct spex_profile_type *type);

/* A text of any bytes; those that are no UTF-8 become "?". */
json_t *spex_text_json(const char *text);

#endif
