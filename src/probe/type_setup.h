/* SPDX-License-Identifier: MIT */
/* Prepares a probe type before the first of its sites goes on. */
#ifndef SPEX_PROBE_TYPE_SETUP_H
#define SPEX_PROBE_TYPE_SETUP_H

#include <stdbool.h>

/* From now on each type is prepared before the first of its sites goes on: its rings get memory,
 * its counter is tried, and with `calibrate` its cost is measured. This takes up to some
 * milliseconds. To be called before any site is on. */
void spex_type_setup_begin(bool calibrate);

#endif
