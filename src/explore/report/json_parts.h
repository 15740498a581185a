/* SPDX-License-Identifier: MIT */
/* Parts that several JSON reports use. */
#ifndef SPEX_EXPLORE_REPORT_JSON_PARTS_H
#define SPEX_EXPLORE_REPORT_JSON_PARTS_H

#include <stdio.h>

#include <jansson.h>

#include "explore/space/space.h"
#include "explore/store/circumstances.h"
#include "text/error.h"

/* null when the value is not finite. */
json_t *spex_json_number(double value);

/* A string; what is not printable is "?". */
json_t *spex_json_text(const char *text);

/* An object of names and values; null for a parameter that does not apply. */
json_t *spex_json_config(const struct spex_space *space, const size_t *levels);

json_t *spex_json_criterion(const struct spex_criterion *criterion);
json_t *spex_json_machines(const struct spex_circumstances *machines, size_t count);

/* Writes and releases the object; NULL: out of memory. What is written has no control characters
 * but line ends. 0; -ENOMEM; -EIO. */
int spex_json_write(json_t *object, FILE *out, struct spex_error *error);

#endif
