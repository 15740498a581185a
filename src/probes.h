/* SPDX-License-Identifier: MIT */
/* The recording half of the probes, seen from inside the library. */
#ifndef SPEX_PROBES_H
#define SPEX_PROBES_H

#include <stddef.h>

/* Maps everything a probe writes to: rings of so many records, and the threads' states. To be
 * called before a site goes on; a later call changes nothing. 0 or a negative errno value. */
int spex_probes_prepare(size_t ring_records);

#endif
