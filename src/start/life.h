/* SPDX-License-Identifier: MIT */
/* Start and stop, for the rooms above. */
#ifndef SPEX_START_LIFE_H
#define SPEX_START_LIFE_H

#include "text/error.h"

/* spex_start, for a program that does not know of spex. Where one of its libraries calls
 * spex_start, the first call returns 0 and changes nothing. */
void spex_life_begin(void);

/* Switches on the probes that the process itself needs: `probes` applies to sites that the user's
 * selection does not match. Takes the lock of start and stop. 0; -EPERM where spex has not been
 * started or has stopped; or as spex_start, with the reason. */
int spex_life_need(const char *probes, struct spex_error *error);

#endif
