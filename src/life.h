/* SPDX-License-Identifier: MIT */
/* What spex's start and stop let the control thread do. */
#ifndef SPEX_LIFE_H
#define SPEX_LIFE_H

#include <stddef.h>

/* As spex_set, for a user of the control socket: what is to be said goes into `answer`. -EBUSY, at once, while another
 * thread starts, sets or stops; it may wait for this one. */
int spex_life_select(const char *probes, char *answer, size_t size);

#endif
