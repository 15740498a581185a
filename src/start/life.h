/* SPDX-License-Identifier: MIT */
/* What the library's own parts above start and stop may ask of them. */
#ifndef SPEX_START_LIFE_H
#define SPEX_START_LIFE_H

#include <stddef.h>

/* Switches on what the process itself needs, whatever is selected: sites of which the selection
 * says nothing go by `probes`. 0; -EPERM where spex has not been started or has stopped; or as
 * spex_start, with the reason. */
int spex_life_need(const char *probes, char *why, size_t why_size);

#endif
