/* SPDX-License-Identifier: MIT */
/* A change as text and as JSON. */
#ifndef SPEX_EXPLORE_REPORT_CHANGE_TEXT_H
#define SPEX_EXPLORE_REPORT_CHANGE_TEXT_H

#include <stddef.h>

#include <jansson.h>

#include "explore/findings/change.h"

/* "x 1.034 (1.021 to 1.047)", "+3.2 ms (1.1 to 5.3 ms)"; without an interval if it is not known.
 * `unit` is that of the values. */
void spex_change_text(const struct spex_change *change, const char *unit, char *text, size_t size);

/* Members: ratio or difference, interval, significant (null when it is not known). */
json_t *spex_change_json(const struct spex_change *change);

#endif
