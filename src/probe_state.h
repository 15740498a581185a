/* SPDX-License-Identifier: MIT */
#ifndef SPEX_PROBE_STATE_H
#define SPEX_PROBE_STATE_H

#include <stdint.h>

/* The first probe from site `index` on that is or was on, as its first site; spex_sites_count()
 * when there is none. */
uint32_t spex_profile_next_probe(uint32_t index);

#endif
