/* SPDX-License-Identifier: MIT */
/* A length of time as users write it. */
#ifndef SPEX_TOOLS_COMMON_DURATION_H
#define SPEX_TOOLS_COMMON_DURATION_H

#include <stdbool.h>

#define SPEX_DURATION_EXPECTED "a time was expected, as 90s, 10min or 2h"

/* Reads seconds, "90", or a number with its unit: ms, s, min, h or d. More than 0, and at most 30
 * days. For struct spex_option. */
bool spex_duration_read(const char *text, double *seconds);

#endif
